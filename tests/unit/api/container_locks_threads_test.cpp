// Locks of containers in one process: guards that are ranges, lock() and unlock() as a stack, and what misuse says.

#include "unit/api/fixture.hpp"

#include <remanence/containers/btree_map.hpp>

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::test {
namespace {

using namespace std::chrono_literals;
using count_file = file_backed<btree_map<std::uint64_t, std::uint64_t>>;
using list_file = file_backed<vector<std::uint64_t>>;
using texts = file_backed<map<std::uint64_t, fragile<std::string>>>;

class container_locks : public testing::Test {
protected:
    template <class File>
    File open(file_backed_options options = {}) {
        options.lock_timeout = 50ms;
        return File(file_, options);
    }
    list_file open_other() { return list_file(dir_ / "other.rem", {.lock_timeout = 50ms}); }
    template <class File>
    static bool is_locked(File& file) {
        bool locked = true;
        std::thread([&] {
            try {
                (void)file.exclusive();
                locked = false;
            } catch (const error& why) {
                EXPECT_EQ(why.reason(), errc::in_use);
            }
        }).join();
        return locked;
    }

    temp_dir dir_;
    const fs::path file_ = dir_ / "counts.rem";
};

template <class F>
testing::AssertionResult is_conflict(F&& f, const char* text) {
    try {
        f();
    } catch (const error& why) {
        if (why.reason() == errc::section_conflict && std::string(why.what()).find(text) != std::string::npos)
            return testing::AssertionSuccess();
        return testing::AssertionFailure() << why.what();
    }
    return testing::AssertionFailure() << "nothing was thrown";
}

TEST_F(container_locks, a_loop_over_a_guard_locks_and_commits) {
    auto file = open<count_file>();
    {
        auto all = file.exclusive();
        for (std::uint64_t i = 0; i < 100; ++i)
            all->emplace(i, 0U);
    }
    for (auto&& [key, value] : file.exclusive()) {
        value = key * key;
        EXPECT_TRUE(key != 50 || is_locked(file));
    }
    EXPECT_FALSE(is_locked(file));
    file.rollback();
    std::uint64_t sum = 0;
    for (const auto& [key, value] : file.shared())
        sum += value - key * key;
    EXPECT_EQ(sum, 0U);
    EXPECT_EQ(std::ranges::count_if(file.shared(), [](const auto& each) { return each.second > 100; }), 89);
}

TEST_F(container_locks, an_exception_rolls_an_exclusive_guard_back) {
    auto file = open<list_file>();
    const auto fail = [&] {
        const auto all = file.exclusive();
        all->push_back(1);
        throw std::runtime_error("half way");
    };
    EXPECT_THROW(fail(), std::runtime_error);
    EXPECT_TRUE(file->empty());
}

TEST_F(container_locks, an_exception_that_ends_an_inner_guard_fails_the_outer_one) {
    auto file = open<list_file>();
    {
        testing::internal::CaptureStderr();
        const auto outer = file.exclusive();
        outer->push_back(1);
        try {
            const auto inner = file.exclusive();
            inner->push_back(2);
            throw std::runtime_error("half way");
        } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): as intended
        }
    }
    EXPECT_NE(testing::internal::GetCapturedStderr().find("could not commit"), std::string::npos);
    EXPECT_TRUE(is_error(error_of([&] { file.commit(); }), errc::rolled_back, file_, "rolled the section back"));
    EXPECT_TRUE(file->empty());
}

TEST_F(container_locks, pending_errors_keep_no_lock_from_ending) {
    auto file = open<list_file>();
    file.lock(lock_mode::shared);
    {
        testing::internal::CaptureStderr();
        const auto outer = file.exclusive();
        EXPECT_THROW(file.write([] { throw std::runtime_error("inner"); }), std::runtime_error);
    }
    EXPECT_NE(testing::internal::GetCapturedStderr(), "");
    EXPECT_NO_THROW(file.unlock());
    EXPECT_FALSE(is_locked(file));
    EXPECT_THROW(file.commit(), error);
}

TEST_F(container_locks, of_several_files_defer_cancellation_until_the_last_one_ends) {
    const auto is_deferred = [] {
        int state = 0;
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        ::pthread_setcancelstate(state, nullptr);
        return state == PTHREAD_CANCEL_DISABLE;
    };
    auto file = open<list_file>();
    auto other = open_other();
    file.lock();
    other.lock();
    file.unlock();
    EXPECT_TRUE(is_deferred());
    other.unlock();
    EXPECT_FALSE(is_deferred());
    auto first = file.exclusive();
    auto second = other.exclusive();
    first.unlock();
    EXPECT_TRUE(is_deferred());
    second.unlock();
    EXPECT_FALSE(is_deferred());
}

TEST_F(container_locks, text_files_are_written_by_one_thread_at_a_time_and_not_shared) {
    auto file = list_file(file_, {.form = file_form::portable});
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t != 3; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t i = 0; i != 20; ++i)
                file.exclusive()->push_back(20 * t + i);
        });
    }
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(file.shared()->size(), 60U);
    file.close();
    EXPECT_EQ(list_file(file_, {.form = file_form::portable})->size(), 60U);
    file_backed_options sharing_it{.form = file_form::portable};
    sharing_it.heap.access = sharing::processes;
    EXPECT_TRUE(is_error(error_of([&] { list_file opened(file_, sharing_it); }), errc::not_supported, file_,
                         "cannot be shared by processes"));
}

TEST_F(container_locks, iterators_hold_the_lock_as_long_as_they_live) {
    auto file = open<list_file>();
    file.exclusive()->assign(10, 7U);
    {
        auto at = file.exclusive().begin();
        static_assert(std::random_access_iterator<decltype(at)>);
        EXPECT_TRUE(is_locked(file));
        *(at + 3) = 8;
        at += 9;
        EXPECT_EQ(at - 6 - (at - 9), 3);
        EXPECT_EQ(at[-6], 8U);
        auto copy = at--;
        EXPECT_TRUE(at < copy && at != copy && ++at == copy);
        at = {};
        EXPECT_TRUE(is_locked(file)) << "by the copy";
    }
    EXPECT_FALSE(is_locked(file));
    file.rollback();
    EXPECT_EQ((*file)[3], 8U);
}

TEST_F(container_locks, references_to_fragile_elements_hold_the_lock_and_are_written_back_before_it_ends) {
    auto file = open<texts>();
    file.exclusive()->emplace(1, std::string("one"));
    {
        const auto reference = [&] {
            auto all = file.exclusive();
            return *all->begin()->second;
        }();
        reference->append(" and more");
        EXPECT_TRUE(is_locked(file));
    }
    EXPECT_FALSE(is_locked(file));
    file.rollback();
    EXPECT_EQ(file->begin()->second.value(), "one and more");
    for (auto& [key, text] : file.exclusive())
        text->push_back('!');
    file.rollback();
    EXPECT_EQ(file->begin()->second.value(), "one and more!");
}

TEST_F(container_locks, guards_can_be_moved_and_ended_in_any_order) {
    auto file = open<list_file>();
    auto other = open_other();
    auto first = file.exclusive();
    auto of_other = other.exclusive();
    auto moved = std::move(first);
    EXPECT_TRUE(is_conflict([&] { (void)first.begin(); }, "moved from")); // NOLINT(bugprone-use-after-move)
    auto inner = file.exclusive();
    moved->push_back(1);
    moved.unlock();
    EXPECT_TRUE(is_locked(file)) << "by the inner one";
    inner->push_back(2);
    auto file_moved = std::move(file);
    inner.unlock();
    EXPECT_FALSE(is_locked(file_moved));
    EXPECT_TRUE(is_locked(other));
    file_moved.rollback();
    EXPECT_EQ(file_moved->size(), 2U);
}

TEST_F(container_locks, an_iterator_says_that_its_guard_was_unlocked) {
    auto file = open<list_file>();
    auto all = file.exclusive();
    all->push_back(1);
    auto at = all.begin();
    all.unlock();
    all.unlock();
    EXPECT_TRUE(is_conflict([&] { (void)*at; }, "after the guard has unlocked"));
    EXPECT_TRUE(is_conflict([&] { ++at; }, "after the guard has unlocked"));
    EXPECT_TRUE(is_conflict([&] { (void)all->size(); }, "after the guard has unlocked"));
    EXPECT_FALSE(is_locked(file));
}

TEST_F(container_locks, lock_and_unlock_nest_like_a_stack) {
    auto file = open<list_file>();
    file.lock();
    file.lock(lock_mode::shared);
    file.lock(lock_mode::exclusive);
    file->push_back(1);
    const std::uint64_t before = file.get_heap().version();
    file.unlock();
    file.unlock();
    EXPECT_EQ(file.get_heap().version(), before);
    EXPECT_TRUE(is_locked(file));
    file.unlock();
    EXPECT_FALSE(is_locked(file));
    EXPECT_TRUE(is_conflict([&] { file.unlock(); }, "has not locked it"));
    file.rollback();
    EXPECT_EQ(file->size(), 1U);
    {
        const std::scoped_lock by_standard_library(file);
        EXPECT_TRUE(is_locked(file));
    }
    file.lock();
    std::thread([&] { EXPECT_TRUE(is_conflict([&] { file.unlock(); }, "has not locked it")); }).join();
    file.unlock();
}

TEST_F(container_locks, an_exclusive_lock_within_a_shared_one_needs_nobody_else) {
    auto file = open<list_file>();
    file.lock(lock_mode::shared);
    file.lock(lock_mode::exclusive);
    file->push_back(1);
    file.unlock();
    EXPECT_EQ(file->size(), 1U);
    std::thread([&] {
        EXPECT_EQ(file.shared()->size(), 1U) << "what is left is a shared lock";
        file.lock(lock_mode::shared);
        EXPECT_TRUE(is_conflict([&] { file.lock(); }, "another thread of this program reads it"));
        EXPECT_EQ(file.shared()->size(), 1U);
        file.unlock();
    }).join();
    EXPECT_TRUE(is_locked(file));
    {
        const auto both = file.exclusive();
        both->push_back(2);
    }
    file.unlock();
    EXPECT_FALSE(is_locked(file));
    file.rollback();
    EXPECT_EQ(file->size(), 2U);
}

TEST_F(container_locks, a_timeout_names_what_the_thread_has_locked_itself) {
    auto file = open<list_file>();
    auto other = open_other();
    const auto held = file.exclusive();
    std::thread([&] {
        const auto mine = other.exclusive();
        for (const bool shared : {true, false}) {
            try {
                file.lock(shared ? lock_mode::shared : lock_mode::exclusive);
                ADD_FAILURE();
            } catch (const error& why) {
                EXPECT_EQ(why.reason(), errc::in_use);
                EXPECT_EQ(std::string(why.what()),
                          file_.string() +
                              " could not be locked within 50 ms: another thread of this program holds it. "
                              "This thread has locked " +
                              (dir_ / "other.rem").string() +
                              " meanwhile: if the other one waits for that, both wait for each other. Lock in the same "
                              "order everywhere.");
            }
        }
    }).join();
    EXPECT_TRUE(held->empty());
}

TEST_F(container_locks, files_that_are_read_only_have_shared_locks) {
    (void)open<list_file>();
    file_backed_options reading;
    reading.heap.read_only = true;
    auto file = open<list_file>(reading);
    EXPECT_TRUE(std::as_const(file).shared()->empty());
    try {
        file.lock();
        ADD_FAILURE();
    } catch (const error& why) {
        EXPECT_EQ(why.reason(), errc::read_only);
    }
}

TEST_F(container_locks, a_file_that_is_destroyed_under_its_lock_ends_the_guard) {
    std::optional<list_file> file(open<list_file>());
    file->exclusive()->push_back(1);
    {
        auto all = file->exclusive();
        EXPECT_THROW(file->close(), error);
        all->push_back(2);
        auto at = all.begin();
        file.reset();
        EXPECT_THROW((void)*at, error);
        EXPECT_THROW((void)all->size(), error);
    }
    EXPECT_EQ(open<list_file>().shared()->size(), 1U);
}

TEST_F(container_locks, a_text_file_is_written_when_the_outermost_lock_ends) {
    auto file = open<list_file>({.form = file_form::portable});
    const auto size = fs::file_size(file_);
    file.lock();
    for (const std::uint64_t each : {1U, 2U, 3U})
        file.exclusive()->push_back(each);
    EXPECT_EQ(fs::file_size(file_), size);
    file.unlock();
    EXPECT_GT(fs::file_size(file_), size);
}

} // namespace
} // namespace remanence::test
