#include "os/quick_mutex.hpp"

#include "support/waiting.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace remanence::os {
namespace {

constexpr int k_rivals = 4;

void in_threads(const auto& f) {
    std::vector<std::jthread> all;
    for (int i = 0; i != k_rivals; ++i)
        all.emplace_back(f);
}

TEST(quick_mutex_threads, lets_one_in_at_a_time) {
    constexpr std::uint64_t k_each = 20'000;
    quick_mutex mutex;
    std::uint64_t count = 0;
    std::uint64_t tried = 0;
    in_threads([&] {
        for (std::uint64_t i = 0; i != k_each; ++i) {
            if (const std::unique_lock lock(mutex, std::try_to_lock); lock.owns_lock())
                ++tried;
            const std::lock_guard lock(mutex);
            ++count;
        }
    });
    EXPECT_EQ(count, k_rivals * k_each);
    EXPECT_LE(tried, k_rivals * k_each);
    EXPECT_GT(tried, 0U);
}

TEST(quick_mutex_threads, is_had_in_the_end_by_all_who_sleep) {
    quick_mutex mutex;
    int count = 0;
    std::array<std::atomic<pid_t>, k_rivals> rivals{};
    std::atomic<std::size_t> begun = 0;
    std::unique_lock first(mutex);
    std::jthread others([&] {
        in_threads([&] {
            rivals[begun++] = ::gettid();
            const std::lock_guard lock(mutex);
            std::this_thread::yield();
            ++count;
        });
    });
    EXPECT_TRUE(test::comes_true([&] {
        return std::ranges::all_of(rivals,
                                   [](const auto& each) { return each != 0 && test::is_asleep(::getpid(), each); });
    }));
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_EQ(count, 0);
    first.unlock();
    others.join();
    EXPECT_EQ(count, k_rivals);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

} // namespace
} // namespace remanence::os
