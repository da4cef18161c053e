// Sections among threads: exclusive writers, shared readers, helpers that allocate within a section. Run under the
// thread sanitizer, too.

#include "unit/api/fixture.hpp"

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace remanence::test {
namespace {

TEST(sections_threads, readers_never_see_half_a_section) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& pair = h.root<numbers>("pair", 2, std::uint64_t{0});
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> reads{0};
    std::vector<std::thread> threads;
    for (int r = 0; r < 3; ++r) {
        threads.emplace_back([&] {
            while (!done) {
                h.read([&] { EXPECT_EQ(pair[0], pair[1]); });
                ++reads;
                std::this_thread::yield();
            }
        });
    }
    std::vector<std::thread> writers;
    for (int w = 0; w < 2; ++w) {
        writers.emplace_back([&, w] {
            for (int i = 0; i < 50; ++i) {
                const bool fails = w == 1 && i % 5 == 0;
                const auto change = [&] {
                    h.write([&] {
                        ++pair[0];
                        if (fails)
                            throw std::runtime_error("rolled back: nobody ever sees it");
                        ++pair[1];
                    });
                };
                if (fails)
                    EXPECT_THROW(change(), std::runtime_error);
                else
                    change();
            }
        });
    }
    for (auto& writer : writers)
        writer.join();
    done = true;
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(pair[0], 90U);
    EXPECT_EQ(pair[1], 90U);
    h.close();
    h = heap::open(dir / "h", small_heap());
    EXPECT_EQ(h.find_root<numbers>("pair")->front(), 90U);
}

TEST(sections_threads, helpers_allocate_within_a_section_while_the_heap_grows) {
    temp_dir dir;
    // So small that the reservation is extended while the others allocate and look pointers up.
    heap h = heap::create(dir / "h", {.memory = {.reserve_bytes = 4 * MiB}});
    constexpr std::size_t k_threads = 4;
    auto& lists = h.root<vector<numbers>>("lists");
    h.write([&] {
        lists.resize(k_threads);
        std::vector<std::thread> helpers;
        for (std::size_t t = 0; t < k_threads; ++t) {
            helpers.emplace_back([&, t] {
                for (std::uint64_t i = 0; i < 100'000; ++i) {
                    lists[t].push_back(i);
                    if (i % 1000 == 0) {
                        EXPECT_EQ(heap_of(lists[t].data()), &h);
                        auto* block = h.make<names>();
                        (*block)["a string that is too long for the small string buffer"] = i;
                        h.destroy(block);
                    }
                }
            });
        }
        for (auto& helper : helpers)
            helper.join();
    });
    h.close();
    h = heap::open(dir / "h", {.memory = {.reserve_bytes = 4 * MiB}});
    for (const auto& list : *h.find_root<vector<numbers>>("lists")) {
        ASSERT_EQ(list.size(), 100'000U);
        for (std::uint64_t i = 0; i < list.size(); ++i)
            ASSERT_EQ(list[i], i);
    }
    EXPECT_TRUE(h.verify().clean());
}

TEST(sections_threads, one_root_is_constructed_once_by_whomever) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    constexpr std::size_t k_threads = 4;
    for (int round = 0; round < 10; ++round) {
        std::array<std::uint64_t*, k_threads> found{};
        std::barrier start(k_threads);
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < k_threads; ++t) {
            threads.emplace_back([&, t] {
                start.arrive_and_wait();
                found[t] = &h.root<std::uint64_t>("root " + std::to_string(round), t);
            });
        }
        for (auto& thread : threads)
            thread.join();
        EXPECT_EQ(std::count(found.begin(), found.end(), found[0]), static_cast<std::ptrdiff_t>(k_threads));
    }
    EXPECT_EQ(h.roots().size(), 10U);
}

TEST(sections_threads, times_that_are_over_or_never_come_get_no_lock_that_another_thread_has) {
    using clock = std::chrono::steady_clock;
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    {
        const std::lock_guard section(h);
        std::thread([&] {
            EXPECT_FALSE(h.try_lock_until(clock::time_point::min()));
            EXPECT_FALSE(h.try_lock_until(clock::now() - std::chrono::hours(24 * 365 * 100)));
            EXPECT_FALSE(h.try_lock_for(std::chrono::hours::min()));
            EXPECT_FALSE(h.try_lock_for(std::chrono::seconds(0)));
        }).join();
    }
    for (const auto& lock : std::vector<std::function<bool()>>{
             [&] { return h.try_lock_until(clock::time_point::max()); },
             [&] { return h.try_lock_for(std::chrono::nanoseconds::max()); },
             [&] { return h.try_lock_for(std::chrono::hours::max()); },
             [&] { return h.try_lock_until(clock::time_point::min()); }}) { // nobody has it
        std::thread([&] {
            ASSERT_TRUE(lock());
            h.unlock();
        }).join();
    }
    h.write([] {}); // the lock is whole
    h.close();
}

TEST(sections_threads, try_lock_and_close_meet_other_threads_sections) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    for (bool writing : {true, false}) {
        std::barrier meeting(2);
        std::thread other([&] {
            auto body = [&] {
                meeting.arrive_and_wait();
                meeting.arrive_and_wait();
            };
            if (writing) {
                h.write(body);
            } else {
                h.read(body);
            }
        });
        meeting.arrive_and_wait();
        EXPECT_FALSE(h.try_lock());
        EXPECT_EQ(h.try_lock_shared(), !writing);
        if (!writing)
            h.unlock_shared();
        EXPECT_TRUE(is_error(error_of([&] { h.close(); }), errc::section_open, dir / "h", "End every section first"));
        meeting.arrive_and_wait();
        other.join();
        EXPECT_TRUE(h.try_lock());
        h.unlock();
    }
    EXPECT_TRUE(has_contents(h));
}

TEST(sections_threads, statistics_and_verification_beside_writers) {
    temp_dir dir;
    heap h = heap::create(dir / "h", {.log = {.log_limit_bytes = 64 * KiB}, .memory = {.reserve_bytes = 64 * MiB}});
    put_contents(h);
    std::atomic<bool> done{false};
    std::thread watcher([&] {
        while (!done) {
            h.read([&] { EXPECT_EQ(h.stats().commits, h.version()); });
            EXPECT_TRUE(h.verify().clean());
            EXPECT_EQ(h.roots().size(), 2U);
            std::this_thread::yield();
        }
    });
    for (std::uint64_t i = 0; i < 30; ++i) {
        h.write([&] {
            auto& list = *h.find_root<numbers>("numbers");
            for (auto& n : list)
                n += i;
        });
    }
    done = true;
    watcher.join();
    h.close();
}

} // namespace
} // namespace remanence::test
