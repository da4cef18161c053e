#include "os/lone_mutex.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace remanence::os {
namespace {

TEST(lone_mutex, is_held_by_one) {
    lone_mutex mutex;
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock();
    mutex.lock();
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST(lone_mutex_threads, lets_one_in_at_a_time) {
    constexpr int k_threads = 4;
    constexpr int k_times = 50'000;
    lone_mutex mutex;
    int count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < k_threads; ++i) {
        threads.emplace_back([&] {
            for (int time = 0; time < k_times; ++time) {
                const std::lock_guard guard(mutex);
                ++count;
            }
        });
    }
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(count, k_threads * k_times);
}

TEST(lone_mutex_threads, keeps_out_a_thread_that_is_started_while_it_is_held) {
    lone_mutex mutex;
    int order = 0;
    int seen = 0;
    mutex.lock();
    std::thread second([&] {
        const std::lock_guard guard(mutex);
        seen = order;
    });
    order = 1;
    mutex.unlock();
    second.join();
    EXPECT_EQ(seen, 1);
}

} // namespace
} // namespace remanence::os
