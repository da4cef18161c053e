#include "os/fair_shared_mutex.hpp"

#include "support/waiting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace remanence::os {
namespace {

using std::chrono::steady_clock;

void wait_until_awaited(const fair_shared_mutex& mutex, std::uint64_t by = 1) {
    EXPECT_TRUE(test::comes_true([&] { return mutex.waiting() >= by; }));
}

TEST(fair_shared_mutex_threads, writers_are_alone_and_readers_see_whole_changes) {
    constexpr std::uint64_t k_each = 5000;
    fair_shared_mutex mutex;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::atomic<std::uint64_t> given_up = 0;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i != 4; ++i) {
            all.emplace_back([&] {
                for (std::uint64_t n = 0; n != k_each; ++n) {
                    if (n % 3 == 0 && !mutex.try_lock_until(steady_clock::now())) {
                        ++given_up;
                        continue;
                    }
                    const std::unique_lock lock =
                        n % 3 == 0 ? std::unique_lock(mutex, std::adopt_lock) : std::unique_lock(mutex);
                    ++first;
                    ++second;
                }
            });
            all.emplace_back([&] {
                for (std::uint64_t n = 0; n != k_each; ++n) {
                    const std::shared_lock lock(mutex);
                    EXPECT_EQ(first, second);
                }
            });
        }
    }
    EXPECT_EQ(first + given_up, 4 * k_each);
    EXPECT_EQ(mutex.waiting(), 0U);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST(fair_shared_mutex_threads, a_writer_that_leaves_lets_waiting_readers_in_before_waiting_writers) {
    fair_shared_mutex mutex;
    mutex.lock();
    std::atomic<int> readers = 0;
    std::atomic<bool> may_leave = false;
    std::atomic<bool> has_written = false;
    std::vector<std::jthread> all;
    for (int i = 0; i != 3; ++i) {
        all.emplace_back([&] {
            const std::shared_lock lock(mutex);
            ++readers;
            EXPECT_TRUE(test::comes_true([&] { return readers == 3; })); // all of them are in at once
            EXPECT_TRUE(test::comes_true([&] { return may_leave.load(); }));
            EXPECT_FALSE(has_written);
        });
    }
    all.emplace_back([&] {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(readers, 3);
        has_written = true;
    });
    wait_until_awaited(mutex, 4); // a reader that came later would queue behind the writer
    mutex.unlock();
    EXPECT_TRUE(test::comes_true([&] { return readers == 3 || has_written.load(); }));
    may_leave = true;
    all.clear();
    EXPECT_TRUE(has_written);
}

TEST(fair_shared_mutex_threads, readers_queue_behind_a_waiting_writer_and_go_on_when_it_gives_up) {
    fair_shared_mutex mutex;
    mutex.lock_shared();
    std::atomic<bool> has_read = false;
    std::jthread writer(
        [&] { EXPECT_FALSE(mutex.try_lock_until(steady_clock::now() + std::chrono::milliseconds(50))); });
    std::jthread reader([&] {
        if (mutex.try_lock_shared()) // the writer has not come yet, or has given up
            mutex.unlock_shared();
        const std::shared_lock lock(mutex);
        has_read = true;
    });
    EXPECT_TRUE(test::comes_true([&] { return has_read.load(); })); // while the first reader is still in
    writer.join();
    reader.join();
    mutex.unlock_shared();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST(fair_shared_mutex_threads, no_reader_passes_a_writer_that_waits) {
    fair_shared_mutex mutex;
    mutex.lock_shared();
    std::jthread writer([&] {
        mutex.lock();
        mutex.unlock();
    });
    wait_until_awaited(mutex);
    EXPECT_FALSE(mutex.try_lock_shared());
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock_shared();
    writer.join();
    EXPECT_TRUE(mutex.try_lock_shared());
    mutex.unlock_shared();
}

TEST(fair_shared_mutex_threads, a_writer_that_gives_up_wakes_the_next_one) {
    constexpr int k_rounds = 200;
    fair_shared_mutex mutex;
    for (int i = 0; i != k_rounds; ++i) {
        mutex.lock();
        std::jthread patient([&] {
            mutex.lock();
            mutex.unlock();
        });
        std::jthread hasty([&] {
            if (mutex.try_lock_until(steady_clock::now() + std::chrono::microseconds(i)))
                mutex.unlock();
        });
        wait_until_awaited(mutex);
        mutex.unlock();
    } // a lost wake-up would leave `patient` waiting for ever
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

} // namespace
} // namespace remanence::os
