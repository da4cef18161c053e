#include "condemned.hpp"

#include "operations.hpp"

#include "os/file.hpp"
#include "process/observed_files.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>

namespace remanence::test {

namespace {

/// Memory that both processes have.
class shared_memory {
public:
    shared_memory()
        : first_(static_cast<char*>(
              ::mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
        if (first_ == MAP_FAILED)
            throw std::bad_alloc();
    }
    shared_memory(const shared_memory&) = delete;
    shared_memory& operator=(const shared_memory&) = delete;
    ~shared_memory() { ::munmap(first_, k_bytes); }

    void restart() { at_ = 0; }
    void put(std::size_t number) { put_bytes(&number, sizeof number); }
    void put(const texts& all) {
        put(all.size());
        for (const std::string& each : all) {
            put(each.size());
            put_bytes(each.data(), each.size());
        }
    }
    std::size_t take_number() {
        std::size_t number = 0;
        std::memcpy(&number, first_ + at_, sizeof number);
        at_ += sizeof number;
        return number;
    }
    texts take_texts() {
        texts all(take_number());
        for (std::string& each : all) {
            each.resize(take_number());
            std::memcpy(each.data(), first_ + at_, each.size());
            at_ += each.size();
        }
        return all;
    }

private:
    static constexpr std::size_t k_bytes = std::size_t{16} << 20;
    void put_bytes(const void* from, std::size_t bytes) {
        require(bytes <= k_bytes - at_, "the contents are larger than what the processes share");
        std::memcpy(first_ + at_, from, bytes);
        at_ += bytes;
    }

    char* first_;
    std::size_t at_ = 0;
};

class observed_child final : public condemned, public operation_observer {
public:
    explicit observed_child(shared_memory& memory) : memory_(memory) {}

    void say(const last_words& words) override {
        memory_.restart();
        memory_.put(words.failures);
        memory_.put(words.committed);
        memory_.put(words.in_flight);
    }
    void die_after(unsigned edges) override { edges_left_ = edges + 1; }
    void begins(os::call_site) noexcept override { pass_edge(); }
    void ends(os::call_site) noexcept override { pass_edge(); }

private:
    void pass_edge() noexcept {
        if (edges_left_ == 0)
            return;
        --edges_left_;
        if (edges_left_ == 0)
            die_now();
    }

    shared_memory& memory_;
    std::atomic<unsigned> edges_left_{0}; // 0: it lives on
};

[[noreturn]] void live(shared_memory& memory, const condemned_work& work) {
    try {
        const time_limit its_life; // alarms of the parent are not the child's
        observed_child child(memory);
        observed_file_system files(os::posix_file_system(), child);
        work(child, files);
        std::cerr << "the child was not killed\n";
    } catch (const std::exception& failure) {
        std::cerr << "in the child: " << failure.what() << '\n';
    }
    std::cerr.flush();
    ::_exit(1);
}

} // namespace

void condemned::die_now() {
    ::kill(::getpid(), SIGKILL);
    for (;;) // until it is delivered
        ::pause();
}

last_words run_until_killed(const condemned_work& work) {
    shared_memory memory;
    const pid_t child = ::fork();
    require(child >= 0, "fork");
    if (child == 0)
        live(memory, work);
    int status = 0;
    require(::waitpid(child, &status, 0) == child, "waitpid");
    require(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the child failed");
    last_words words{};
    words.failures = memory.take_number();
    words.committed = memory.take_texts();
    words.in_flight = memory.take_texts();
    return words;
}

} // namespace remanence::test
