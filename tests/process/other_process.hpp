// Other processes of a test, and what they and the test tell each other.
#pragma once

#include "support/waiting.hpp"
#include "unit/api/fixture.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

namespace remanence::test {

inline heap_options shared_heap() {
    heap_options options = small_heap();
    options.access = sharing::processes;
    return options;
}

inline fs::path shm_of(const fs::path& heap) { return heap.string() + "-shm"; }

/// What two processes tell each other.
class signals {
public:
    signals()
        : words_(static_cast<std::atomic<int>*>(
              ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    ~signals() { ::munmap(words_, 4096); }
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;
    void set(int which) { words_[which] = 1; }
    [[nodiscard]] bool is_set(int which) const { return words_[which] != 0; }
    void wait(int which) const {
        if (!comes_true([&] { return is_set(which); }))
            throw std::runtime_error("the other process does not come to " + std::to_string(which));
    }

private:
    std::atomic<int>* words_;
};

/// Calls `f` again as long as it fails because others are slow. The library waits for them for some seconds; on a busy machine that may
/// be too short.
template <class F>
auto when_others_let(const F& f) -> decltype(f()) {
    for (;;) {
        try {
            return f();
        } catch (const error& e) {
            if (e.reason() != errc::in_use && e.reason() != errc::readers_behind)
                throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

/// Another process, which ends with the test.
class other_process {
public:
    /// `inherited`, a heap or a file_backed, ends in it: else its addresses would be taken.
    template <class Handle, class F>
    other_process(Handle& inherited, F f)
        : other_process([&] {
              {
                  const Handle dead = std::move(inherited);
              }
              f();
          }) {}
    template <class F>
    explicit other_process(F f) : id_(::fork()) {
        if (id_ != 0)
            return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        int status = 0;
        try {
            f();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "in the other process: %s\n", e.what());
            status = 1;
        }
        ::_exit(status);
    }
    ~other_process() {
        if (id_ > 0)
            kill();
    }
    other_process(const other_process&) = delete;
    other_process& operator=(const other_process&) = delete;
    /// Nothing happens when it has ended: its number is -1 then, which is that of all processes to kill().
    void kill() {
        if (id_ <= 0)
            return;
        ::kill(id_, SIGKILL);
        (void)wait();
    }
    void stop() { // returns when it is
        if (id_ <= 0)
            throw std::logic_error("this process has ended");
        ::kill(id_, SIGSTOP);
        ::waitpid(id_, nullptr, WUNTRACED);
    }
    void go_on() {
        if (id_ <= 0)
            throw std::logic_error("this process has ended");
        ::kill(id_, SIGCONT);
    }
    [[nodiscard]] int id() const { return id_; }
    /// Its exit status; -1 when a signal ended it.
    int wait() {
        if (id_ <= 0)
            throw std::logic_error("this process has ended");
        int status = 0;
        ::waitpid(std::exchange(id_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t id_;
};

} // namespace remanence::test
