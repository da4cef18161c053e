#include "support/seed.hpp"
#include "volatile/heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace remanence::transient {
namespace {

constexpr heap_options k_threads_reserve{.reserve_bytes = 4 * GiB};
constexpr int k_workers = 4;

std::size_t check(const heap& of) {
    return of.check_invariants(
        [](std::uint64_t offset, std::string_view what) { ADD_FAILURE() << "at " << offset << ": " << what; });
}

struct filled_block {
    unsigned char* start;
    std::size_t bytes;
    unsigned char fill;
};

filled_block allocate_filled(heap& from, std::mt19937& random) {
    const std::size_t bytes = random() % 64 == 0 ? random() % 200'000 : random() % 400;
    const filled_block made{static_cast<unsigned char*>(from.allocate(bytes)), bytes,
                            static_cast<unsigned char>(random())};
    std::memset(made.start, made.fill, made.bytes);
    return made;
}

bool is_intact(const filled_block& of) {
    for (std::size_t i = 0; i < of.bytes; ++i) {
        if (of.start[i] != of.fill)
            return false;
    }
    return true;
}

template <class F>
void run_in_threads(int count, const F& f) {
    std::vector<std::thread> threads;
    for (int i = 0; i != count; ++i)
        threads.emplace_back(f, i);
    for (std::thread& each : threads)
        each.join();
}

TEST(volatile_heap_threads, blocks_that_others_free_stay_intact_until_then) {
    heap tested;
    ASSERT_EQ(tested.open(k_threads_reserve), 0);
    std::array<std::mutex, 8> locks;
    std::array<std::deque<filled_block>, 8> shelves;
    std::atomic<int> damaged = 0;
    run_in_threads(k_workers, [&](int number) {
        std::mt19937 random(test::seed_or(static_cast<unsigned>(number) + 1));
        for (int i = 0; i != 20'000; ++i) {
            const std::size_t at = random() % shelves.size();
            if (random() % 2 == 0) {
                const filled_block made = allocate_filled(tested, random);
                const std::scoped_lock lock(locks[at]);
                shelves[at].push_back(made);
                continue;
            }
            filled_block taken{};
            {
                const std::scoped_lock lock(locks[at]);
                if (shelves[at].empty())
                    continue;
                taken = shelves[at].front();
                shelves[at].pop_front();
            }
            damaged += is_intact(taken) ? 0 : 1;
            tested.free(taken.start);
        }
    });
    EXPECT_EQ(damaged, 0);
    EXPECT_EQ(check(tested), 0U);
    for (std::deque<filled_block>& each : shelves) {
        for (const filled_block& left : each)
            tested.free(left.start);
    }
    EXPECT_EQ(check(tested), 0U);
    EXPECT_EQ(tested.usage().usable_bytes, 0U);
}

TEST(volatile_heap_threads, many_heaps_in_turn_are_each_threads_own_also_when_some_end) {
    std::vector<std::unique_ptr<heap>> heaps(40);
    const auto make = [](std::unique_ptr<heap>& into) {
        into = std::make_unique<heap>();
        ASSERT_EQ(into->open({.reserve_bytes = GiB}), 0);
    };
    std::ranges::for_each(heaps, make);
    std::atomic<int> damaged = 0;
    const auto use_all = [&](int number) {
        std::mt19937 random(test::seed_or(static_cast<unsigned>(number) + 1));
        for (int round = 0; round != 10; ++round) {
            std::vector<filled_block> made;
            for (const auto& each : heaps)
                made.push_back(allocate_filled(*each, random));
            for (std::size_t i = 0; i != heaps.size(); ++i) {
                damaged += is_intact(made[i]) ? 0 : 1;
                heaps[i]->free(made[i].start);
            }
        }
    };
    for (int round = 0; round != 6; ++round) {
        use_all(0); // this thread has thread caches of heaps that end, and of those that come
        run_in_threads(2, use_all);
        for (std::size_t i = static_cast<std::size_t>(round); i < heaps.size(); i += 3)
            make(heaps[i]);
    }
    use_all(0);
    EXPECT_EQ(damaged, 0);
    for (const auto& each : heaps) {
        EXPECT_EQ(check(*each), 0U);
        EXPECT_EQ(each->usage().usable_bytes, 0U);
    }
}

TEST(volatile_heap_threads, what_ended_threads_left_is_used_by_those_that_come) {
    heap tested;
    ASSERT_EQ(tested.open(k_threads_reserve), 0);
    std::vector<void*> left;
    std::uint64_t after_ten = 0;
    for (int round = 0; round != 300; ++round) {
        std::thread([&] {
            std::array<void*, 200> blocks{};
            for (void*& each : blocks)
                each = tested.allocate(100);
            for (std::size_t i = 1; i != blocks.size(); ++i)
                tested.free(blocks[i]);
            left.push_back(blocks[0]);
        }).join();
        if (round == 10)
            after_ten = tested.usage().peak_bytes;
    }
    EXPECT_EQ(tested.usage().peak_bytes, after_ten);
    for (void* const each : left)
        tested.free(each); // owned by a thread cache that no thread has
    EXPECT_EQ(check(tested), 0U);
    void* const again = tested.allocate(100); // of this thread, which has had none, out of what others left
    EXPECT_EQ(tested.usage().peak_bytes, after_ten);
    tested.free(again);
}

TEST(volatile_heap_threads, a_consumer_that_never_allocates_gives_the_producer_its_memory_back) {
    heap tested;
    ASSERT_EQ(tested.open(k_threads_reserve), 0);
    std::mutex lock;
    std::deque<void*> queue;
    bool is_done = false;
    std::thread consumer([&] {
        for (;;) {
            void* taken = nullptr;
            {
                const std::scoped_lock held(lock);
                if (queue.empty() && is_done)
                    return;
                if (!queue.empty()) {
                    taken = queue.front();
                    queue.pop_front();
                }
            }
            if (taken != nullptr)
                tested.free(taken);
            else
                std::this_thread::yield();
        }
    });
    for (int i = 0; i < 100'000;) {
        const std::scoped_lock held(lock);
        for (int some = 0; queue.size() < 1000 && some != 100; ++some, ++i)
            queue.push_back(tested.allocate(200));
    }
    {
        const std::scoped_lock held(lock);
        is_done = true;
    }
    consumer.join();
    EXPECT_LT(tested.usage().peak_bytes, 100'000U * 208 / 4);
    EXPECT_EQ(tested.usage().usable_bytes, 0U);
    EXPECT_EQ(check(tested), 0U);
}

TEST(volatile_heap_threads, a_thread_uses_more_heaps_than_it_remembers_and_they_end_before_it) {
    std::array<heap, 3 * k_known_thread_caches> tested;
    for (heap& each : tested)
        ASSERT_EQ(each.open({.reserve_bytes = GiB}), 0);
    std::atomic<int> arrived = 0;
    std::atomic<bool> may_end = false;
    std::vector<std::thread> threads;
    for (int i = 0; i != k_workers; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round != 50; ++round) {
                for (heap& each : tested)
                    each.free(each.allocate(50));
            }
            ++arrived;
            arrived.notify_one();
            may_end.wait(false);
        });
    }
    for (int seen = 0; (seen = arrived) != k_workers;)
        arrived.wait(seen);
    for (heap& each : tested) {
        EXPECT_EQ(check(each), 0U);
        each.~heap();
        new (&each) heap;
        ASSERT_EQ(each.open({.reserve_bytes = GiB}), 0);
    }
    may_end = true;
    may_end.notify_all();
    for (std::thread& each : threads)
        each.join();
}

TEST(volatile_heap_threads, blocks_are_looked_at_while_threads_allocate) {
    heap tested;
    ASSERT_EQ(tested.open(k_threads_reserve), 0);
    std::atomic<bool> is_done = false;
    std::thread worker([&] {
        std::mt19937 random(test::seed_or(7));
        for (int i = 0; i != 5000; ++i)
            tested.free(allocate_filled(tested, random).start);
        is_done = true;
    });
    while (!is_done)
        EXPECT_LE(tested.usage().usable_bytes, 400'000U);
    worker.join();
}

TEST(volatile_heap_threads_no_sanitizer, a_forked_child_goes_on_while_the_parents_threads_allocate) {
    heap tested;
    ASSERT_EQ(tested.open(k_threads_reserve), 0);
    std::atomic<bool> is_done = false;
    std::vector<std::thread> workers;
    for (int i = 0; i != 2; ++i) {
        workers.emplace_back([&, i] {
            std::mt19937 random(test::seed_or(static_cast<unsigned>(i)));
            while (!is_done)
                tested.free(allocate_filled(tested, random).start);
        });
    }
    void* const before = tested.allocate(100);
    for (int round = 0; round != 100; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            tested.free(before);
            std::mt19937 random(1);
            for (int i = 0; i != 300; ++i)
                tested.free(allocate_filled(tested, random).start);
            ::_exit(0);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }
    is_done = true;
    for (std::thread& each : workers)
        each.join();
    tested.free(before);
    EXPECT_EQ(check(tested), 0U);
}

} // namespace
} // namespace remanence::transient
