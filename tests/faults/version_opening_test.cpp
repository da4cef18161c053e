// Every allocation of a program that opens an old version fails, also while another process has the heap open, and of one that reads the steps of a history late: nothing changes on
// the disk, or in memory, and it may be done again.
#include "api/heap_impl.hpp"
#include "api/history_calls.hpp"
#include "failing_new.hpp"
#include "program.hpp"
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace remanence::faults {

using old_numbers = remanence::vector<std::uint64_t>;

namespace {

heap_options with_steps_kept() {
    return {.history = {.steps_max = 100, .kept_over_sessions = true},
            .memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}};
}

/// A heap of numbers that are 1, then 2, ... up to 5; closed, or as a killed process leaves it. Returns the version of the 2.
std::uint64_t make_versions(const std::filesystem::path& path, bool is_closed) {
    const std::filesystem::path running = path.string() + ".running";
    std::uint64_t two = 0;
    heap h = heap::open(is_closed ? path : running, with_steps_kept());
    auto& all = h.root<old_numbers>("numbers");
    for (std::uint64_t i = 1; i < 6; ++i) {
        h.write([&] { all.assign(1000 * i, i); });
        if (i == 2)
            two = h.keep("two");
    }
    if (is_closed) {
        h.close();
        return two;
    }
    for (const char* end : {"", "-log", "-history"})
        std::filesystem::copy_file(running.string() + end, path.string() + end);
    return two;
}

/// Calls `f` until it does not lack memory, with one allocation failing each time; returns how many there were.
template <class F>
std::uint64_t fail_each_allocation(const F& f, std::uint64_t usual_stride = 1) {
    std::uint64_t n = 0;
    for (const std::uint64_t stride = stride_of_faults(usual_stride);; n += stride) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        allocations() = {.armed = true, .from_then_on = false, .left = n};
        bool has_heard = false;
        try {
            f();
        } catch (const std::bad_alloc&) {
            has_heard = true;
        }
        allocations().armed = false;
        if (allocations().failed == 0)
            return n;
        EXPECT_TRUE(has_heard || allocations().was_optional) << "nobody heard of it";
    }
}

/// Another process that has such a heap open until this ends.
class heap_open_elsewhere {
public:
    explicit heap_open_elsewhere(const std::filesystem::path& path) {
        if (::pipe(there_) != 0 || ::pipe(back_) != 0)
            throw std::runtime_error("no pipe");
        id_ = ::fork();
        if (id_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            heap h = heap::open(path, with_steps_kept());
            auto& all = h.root<old_numbers>("numbers");
            std::uint64_t two = 0;
            for (std::uint64_t i = 1; i < 6; ++i) {
                h.write([&] { all.assign(1000 * i, i); });
                if (i == 2)
                    two = h.keep("two");
            }
            (void)!::write(there_[1], &two, sizeof two);
            (void)!::read(back_[0], &two, 1);
            ::_exit(0);
        }
        if (::read(there_[0], &two_, sizeof two_) != sizeof two_)
            throw std::runtime_error("the other process has no heap");
    }
    ~heap_open_elsewhere() {
        (void)!::write(back_[1], "x", 1);
        ::waitpid(id_, nullptr, 0);
        for (const int each : {there_[0], there_[1], back_[0], back_[1]})
            ::close(each);
    }
    heap_open_elsewhere(const heap_open_elsewhere&) = delete;
    heap_open_elsewhere& operator=(const heap_open_elsewhere&) = delete;
    [[nodiscard]] std::uint64_t two() const { return two_; }

private:
    int there_[2]{};
    int back_[2]{};
    pid_t id_ = 0;
    std::uint64_t two_ = 0;
};

class failing_allocations_of_old_versions : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(closed, failing_allocations_of_old_versions, testing::Bool());

TEST_P(failing_allocations_of_old_versions, leave_nothing_open) {
    const test::temp_dir dir;
    const std::filesystem::path path = dir.path() / "heap";
    const std::uint64_t two = make_versions(path, GetParam());
    const auto open = [&](bool by_name) {
        heap_options how{.memory = {.reserve_bytes = 64 << 20}};
        how.read_only = true;
        if (by_name)
            how.kept_version = "two";
        else
            how.version = two;
        heap h = heap::open(path, how);
        allocations().armed = false;
        const old_numbers* const all = h.find_root<old_numbers>("numbers");
        ASSERT_NE(all, nullptr);
        EXPECT_EQ(all->size(), 2000U);
        EXPECT_EQ(all->back(), 2U);
        EXPECT_EQ(h.version(), two);
    };
    open(true); // what is allocated once for all
    for (const bool by_name : {true, false})
        EXPECT_GT(fail_each_allocation([&] { open(by_name); }), 50U);
}

TEST(failing_allocations_of_a_recent_version_of_a_long_history, leave_nothing_open) {
    const test::temp_dir dir;
    const std::filesystem::path path = dir.path() / "heap";
    std::uint64_t before_last = 0;
    {
        heap h = heap::open(path, with_steps_kept());
        auto& all = h.root<old_numbers>("numbers");
        for (std::uint64_t i = 1; i <= 60; ++i) {
            if (i == 60)
                before_last = h.version();
            h.write([&] { all.assign(1000, i); });
        }
        h.close();
    }
    ASSERT_GT(std::filesystem::file_size(path.string() + "-history"), 300'000U);
    const auto open = [&] {
        heap_options how{.memory = {.reserve_bytes = 64 << 20}};
        how.read_only = true;
        how.version = before_last;
        heap h = heap::open(path, how);
        allocations().armed = false;
        EXPECT_EQ(h.find_root<old_numbers>("numbers")->back(), 59U);
        EXPECT_EQ(h.version(), before_last);
    };
    open(); // what is allocated once for all
    EXPECT_GT(fail_each_allocation(open), 50U);
}

TEST(failing_allocations_of_an_old_version_of_a_heap_that_is_open_elsewhere, leave_nothing_open) {
    const test::temp_dir dir;
    const std::filesystem::path path = dir.path() / "heap";
    const heap_open_elsewhere other(path);
    const auto open = [&] {
        heap_options how{.memory = {.reserve_bytes = 64 << 20}};
        how.read_only = true;
        how.kept_version = "two";
        heap h = heap::open(path, how);
        allocations().armed = false;
        const old_numbers* const all = h.find_root<old_numbers>("numbers");
        ASSERT_NE(all, nullptr);
        EXPECT_EQ(all->size(), 2000U);
        EXPECT_EQ(all->back(), 2U);
        EXPECT_EQ(h.version(), other.two());
    };
    open();                                         // what is allocated once for all
    EXPECT_GT(fail_each_allocation(open, 7), 100U); // each takes milliseconds
}

TEST(failing_allocations_of_a_history_that_is_read_late, leave_memory_and_history_as_they_were) {
    const test::temp_dir dir;
    const std::filesystem::path path = dir.path() / "heap";
    (void)make_versions(path, true);
    std::uint64_t heard = 0;
    for (std::uint64_t n = 0;; n += stride_of_faults(1)) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        heap h = heap::open(path, with_steps_kept());
        EXPECT_FALSE(detail::undo_of(detail::impl_of(h)).has_read_history());
        const std::uint64_t steps = h.undo_depth();
        allocations() = {.armed = true, .from_then_on = false, .left = n};
        try {
            (void)h.history();
        } catch (const std::bad_alloc&) {
            ++heard;
        }
        allocations().armed = false;
        const bool is_done = allocations().failed == 0;
        EXPECT_EQ(h.why_history_is_new(), "");
        EXPECT_EQ(h.history().size(), steps + 1);
        EXPECT_EQ(h.undo_depth(), steps);
        EXPECT_EQ(h.find_root<old_numbers>("numbers")->back(), 5U);
        if (is_done) {
            h.undo(steps);
            h.redo(steps);
            EXPECT_EQ(h.find_root<old_numbers>("numbers")->back(), 5U);
            break;
        }
    }
    EXPECT_GT(heard, 20U);
}

} // namespace
} // namespace remanence::faults
