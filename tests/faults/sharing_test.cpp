// Every allocation fails of a section that follows what another process has committed: whoever lacks memory hears of it, and keeps
// neither the lock of the sections nor the writer lock.
//
// A run: 232 allocations failed, each heard of, and nobody waited.
#include "api/heap_impl.hpp"
#include "failing_new.hpp"
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

namespace remanence::faults {
namespace {

heap_options shared_heap(bool with_history) {
    heap_options options{.access = sharing::processes,
                         .memory = {.reserve_bytes = 64U << 20U, .chunk_bytes = 64U << 10U}};
    if (with_history)
        options.history = {.steps_max = 5, .kept_over_sessions = true};
    return options;
}

using numbers = vector<std::uint64_t>;

/// Another process, which commits once for each byte that it is sent, and sends that back.
class committer {
public:
    committer(const std::filesystem::path& path, const heap_options& how) {
        if (::pipe(orders_) != 0 || ::pipe(answers_) != 0)
            throw std::runtime_error("no pipe");
        id_ = ::fork();
        if (id_ != 0)
            return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        heap mine = heap::open(path, how);
        auto& list = mine.root<numbers>("numbers");
        char order = 0;
        while (::read(orders_[0], &order, 1) == 1) {
            mine.write([&] {
                list.resize(20'000 + list.size() % 7 + 1); // another size, some other chunks
                for (std::size_t i = 0; i < list.size(); i += 500)
                    ++list[i];
            });
            if (::write(answers_[1], &order, 1) != 1)
                break;
        }
        ::_exit(0);
    }
    ~committer() {
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
        for (const int each : {orders_[0], orders_[1], answers_[0], answers_[1]})
            ::close(each);
    }
    committer(const committer&) = delete;
    committer& operator=(const committer&) = delete;
    [[nodiscard]] bool commits() {
        char order = 1;
        pollfd answer{answers_[0], POLLIN, 0};
        return ::write(orders_[1], &order, 1) == 1 && ::poll(&answer, 1, 60'000) == 1 &&
               ::read(answers_[0], &order, 1) == 1;
    }

private:
    int orders_[2] = {};
    int answers_[2] = {};
    pid_t id_ = 0;
};

enum class section { reading, writing, undoing };

class failing_allocations_of_sharing : public testing::TestWithParam<bool> {};

TEST_P(failing_allocations_of_sharing, are_heard_of_and_keep_nobody_waiting) {
    const auto dir = test::temp_dir::in_memory();
    const heap_options how = shared_heap(GetParam());
    auto other = std::make_unique<committer>(dir / "h", how);
    ASSERT_TRUE(other->commits());
    std::uint64_t failed = 0;
    std::uint64_t poisoned = 0;
    for (const section what : {section::reading, section::writing, section::undoing}) {
        if (what == section::undoing && !GetParam())
            continue;
        for (std::uint64_t n = 0;; ++n) {
            SCOPED_TRACE("section " + std::to_string(static_cast<int>(what)) + ", allocation " + std::to_string(n));
            heap h = heap::open(dir / "h", how);
            ASSERT_TRUE(other->commits());
            bool is_heard = false;
            allocations() = {.armed = true, .from_then_on = false, .left = n};
            try {
                if (what == section::undoing)
                    h.undo();
                else
                    what == section::writing ? h.write([] {}) : h.read([] {});
            } catch (const std::bad_alloc&) {
                is_heard = true;
            } catch (const error& e) {
                is_heard = e.reason() == errc::poisoned;
            }
            allocations().armed = false;
            const bool struck = allocations().failed > 0;
            if (struck) {
                ++failed;
                EXPECT_TRUE(is_heard || allocations().was_optional);
            }
            // In the midst of a commit it poisons the heap in all processes; those that open it again go on.
            const bool is_poisoned =
                what == section::undoing && detail::impl_of(h).engine().shared()->protocol().is_poisoned();
            if (is_poisoned) {
                ++poisoned;
                EXPECT_TRUE(is_heard);
                other.reset();
            } else {
                ASSERT_TRUE(other->commits()) << "the writer lock is kept";
            }
            try {
                h.close(); // which the lock of the sections would keep
            } catch (const error& e) {
                EXPECT_EQ(e.reason(), errc::poisoned) << e.what();
            } catch (const std::bad_alloc&) {
                EXPECT_TRUE(is_heard);
            }
            if (is_poisoned) {
                {
                    const heap gone = std::move(h);
                }
                other = std::make_unique<committer>(dir / "h", how);
                ASSERT_TRUE(other->commits());
            }
            if (!struck)
                break;
        }
    }
    EXPECT_GT(failed, 20U);
    std::cout << failed << " allocations failed, " << poisoned << " of them in the midst of a commit\n";
    heap h = heap::open(dir / "h", how);
    EXPECT_TRUE(h.verify().clean());
    if (GetParam()) {
        const std::uint64_t depth = h.undo_depth(); // what was undone last is a branch
        EXPECT_GE(depth, 4U);
        h.undo(depth);
        h.redo(depth);
    }
}

INSTANTIATE_TEST_SUITE_P(histories, failing_allocations_of_sharing, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "kept" : "none"; });

} // namespace
} // namespace remanence::faults
