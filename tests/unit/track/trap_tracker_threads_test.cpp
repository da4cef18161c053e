// Several threads trap at once; see track/trap_tracker.cpp.

#include "unit/track/tracked_memory.hpp"

#include <atomic>
#include <thread>

namespace remanence::track {
namespace {

TEST(trap_tracker_threads, many_threads_write_the_same_pages_at_once_and_lose_nothing) {
    constexpr std::uint64_t k_threads = 4;
    constexpr std::uint64_t k_many = 1024;
    tracked_memory memory;
    ASSERT_EQ(memory.make(tracker_choice::trap, k_many, k_many / 2), "");
    (void)memory.collect();
    for (int round = 1; round <= 20; ++round) {
        std::atomic<std::uint64_t> ready = 0;
        std::vector<std::thread> threads;
        for (std::uint64_t mine = 0; mine < k_threads; ++mine) {
            threads.emplace_back([&, mine] {
                for (++ready; ready < k_threads;)
                    std::this_thread::yield();
                for (std::uint64_t page = 0; page < k_many; page += 2) // each thread has bytes of its own in each page
                    memory.base()[page * k_page_bytes + mine] = static_cast<std::byte>(round);
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        for (std::uint64_t page = 0; page < k_many; page += 2) {
            for (std::uint64_t mine = 0; mine < k_threads; ++mine)
                ASSERT_EQ(memory.base()[page * k_page_bytes + mine], static_cast<std::byte>(round));
        }
        const auto reported = memory.collect();
        for (std::uint64_t page = 0; page < k_many; page += 2)
            ASSERT_TRUE(reported.contains(page)) << page;
        ASSERT_EQ(memory.collect().size(), 0U);
    }
}

} // namespace
} // namespace remanence::track
