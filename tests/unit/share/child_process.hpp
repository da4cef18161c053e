// A forked process that does as it is told, for tests that kill and stop it.
#pragma once

#include "support/waiting.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace remanence::test {

/// Two pipes: what one side tells the other hears. A word of 8 bytes each.
class channel {
public:
    channel(int in, int out) : in_(in), out_(out) {}
    void tell(std::uint64_t word) const { (void)!::write(out_, &word, sizeof word); }
    /// ~0 when the other side is gone.
    [[nodiscard]] std::uint64_t hear() const {
        std::uint64_t word = 0;
        return ::read(in_, &word, sizeof word) == static_cast<ssize_t>(sizeof word) ? word : ~std::uint64_t{0};
    }

private:
    int in_;
    int out_;
};

/// Runs `body(channel)`, and dies with its parent, or when it hangs. Killed by the destructor.
class child_process {
public:
    template <class F>
    explicit child_process(F&& body) {
        int down[2];
        int up[2];
        if (::pipe(down) != 0 || ::pipe(up) != 0)
            ::abort();
        const pid_t parent = ::getpid();
        number_ = ::fork();
        if (number_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::alarm(k_hang_seconds);
            ::close(down[1]);
            ::close(up[0]);
            if (::getppid() == parent)
                body(channel(down[0], up[1]));
            ::_exit(testing::Test::HasFailure() ? 1 : 0);
        }
        ::close(down[0]);
        ::close(up[1]);
        in_ = up[0];
        out_ = down[1];
    }
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process() {
        kill();
        ::close(in_);
        ::close(out_);
    }

    void tell(std::uint64_t word) const { channel(in_, out_).tell(word); }
    [[nodiscard]] std::uint64_t hear() const { return channel(in_, out_).hear(); }
    [[nodiscard]] int number() const { return number_; }

    /// Returns when it is dead.
    void kill() {
        if (number_ <= 0)
            return;
        ::kill(number_, SIGKILL);
        ::waitpid(std::exchange(number_, 0), nullptr, 0);
    }
    /// Returns when it has stopped.
    void stop() const {
        ::kill(number_, SIGSTOP);
        int status = 0;
        EXPECT_EQ(::waitpid(number_, &status, WUNTRACED), number_);
        EXPECT_TRUE(WIFSTOPPED(status));
    }
    void go_on() const { ::kill(number_, SIGCONT); }
    /// Waits for its end. Whether its expectations held.
    bool ends_well() {
        int status = 0;
        ::waitpid(std::exchange(number_, 0), &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

private:
    pid_t number_;
    int in_ = -1;
    int out_ = -1;
};

} // namespace remanence::test
