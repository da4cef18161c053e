// Threads that share an allocator by thread caches: their blocks are disjoint and keep their contents, and once all is settled the allocator
// is exact. Run under the thread sanitizer, too.

#include "txn/slab_caches.hpp"

#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"
#include "unit/alloc/test_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::txn {
namespace {

/// Allocates and frees as heap_memory does once threads have waited for each other.
class shared_allocator {
public:
    void* allocate(std::size_t bytes) {
        if (void* const block = thread_caches_.allocate(bytes, 8))
            return block;
        const std::scoped_lock lock(mutex_);
        void* const block = thread_caches_.refill(bytes, 8);
        return block != nullptr ? block : heap_->allocate(bytes);
    }
    void deallocate(void* block, std::size_t bytes) {
        if (thread_caches_.deallocate(block, bytes))
            return;
        const std::scoped_lock lock(mutex_);
        thread_caches_.free_returned();
        thread_caches_.free(block, bytes, alloc::k_granule_bytes);
    }
    std::optional<alloc::block> block_of(const void* address) {
        const std::scoped_lock lock(mutex_);
        return thread_caches_.block_of(address);
    }
    bool settle() {
        const std::scoped_lock lock(mutex_);
        return thread_caches_.settle();
    }
    void expect_sound(std::uint64_t allocated_bytes) {
        settle();
        heap_->flush();
        EXPECT_EQ(heap_->check_invariants(
                      [](std::uint64_t at, std::string_view what) { ADD_FAILURE() << "at " << at << ": " << what; }),
                  0U);
        EXPECT_EQ(heap_->allocated_bytes(), allocated_bytes);
    }

    alloc::test_heap heap_;
    os::quick_mutex mutex_;
    slab_caches thread_caches_{*heap_};
};

struct filled_block {
    std::byte* at;
    std::size_t bytes;
    int filling;

    [[nodiscard]] bool is_whole() const {
        return std::all_of(at, at + bytes, [this](std::byte each) { return each == std::byte(filling); });
    }
};

std::size_t allocated(std::size_t bytes) { return alloc::block_allocator::block_bytes(bytes); }

/// What one thread does at random. Returns what it has in the end; `handed_over` are blocks that it may free.
std::vector<filled_block> allocate_and_free(shared_allocator& shared, unsigned seed, int steps,
                                            std::vector<filled_block> handed_over) {
    std::mt19937 random(seed);
    std::vector<filled_block> has = std::move(handed_over);
    for (int i = 0; i != steps; ++i) {
        if (has.empty() || random() % 100 < 55) {
            const std::size_t bytes = 1 + random() % (random() % 8 == 0 ? 1024 : 100);
            const filled_block got{static_cast<std::byte*>(shared.allocate(bytes)), bytes,
                                   static_cast<int>(random() % 256)};
            std::memset(got.at, got.filling, bytes);
            EXPECT_EQ(shared.block_of(got.at), (alloc::block{got.at, allocated(bytes)}));
            has.push_back(got);
        } else {
            std::swap(has[random() % has.size()], has.back());
            EXPECT_TRUE(has.back().is_whole()) << "somebody else has it, too";
            shared.deallocate(has.back().at, has.back().bytes);
            has.pop_back();
        }
        if (random() % 500 == 0)
            shared.settle();
    }
    return has;
}

// Each round, the blocks that are left go to threads that did not allocate them.
TEST(thread_caches_threads, blocks_are_disjoint_and_the_allocator_is_exact_when_all_is_settled) {
    constexpr unsigned k_threads = 3;
    const unsigned seed = test::random_seed();
    shared_allocator shared;
    std::vector<std::vector<filled_block>> have(k_threads);
    for (unsigned round = 0; round != 6; ++round) {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i != k_threads; ++i) {
            threads.emplace_back([&, i] {
                have[i] = allocate_and_free(shared, seed + round * k_threads + i, 2000, std::move(have[i]));
            });
        }
        for (std::thread& each : threads)
            each.join();
        std::uint64_t bytes = 0;
        for (const auto& of_one : have) {
            for (const filled_block& each : of_one) {
                EXPECT_TRUE(each.is_whole());
                bytes += allocated(each.bytes);
            }
        }
        shared.expect_sound(bytes);
        std::ranges::rotate(have, have.begin() + 1);
    }
    for (const auto& of_one : have) {
        for (const filled_block& each : of_one)
            shared.deallocate(each.at, each.bytes);
    }
    shared.expect_sound(0);
}

TEST(thread_caches, a_block_that_was_given_back_is_none_before_it_is_freed) {
    shared_allocator shared;
    void* const block = shared.heap_->allocate(64);
    shared.deallocate(block, 64); // not in this thread's slab, for it has none
    EXPECT_EQ(shared.block_of(block), std::nullopt);
    EXPECT_TRUE(shared.settle());
    EXPECT_FALSE(shared.settle());
    shared.expect_sound(0);
}

TEST(thread_caches, what_is_forgotten_is_as_the_memory_says) {
    shared_allocator shared;
    void* const kept = shared.heap_->allocate(64);
    shared.heap_->flush();
    const auto committed = shared.heap_.snapshot();
    ASSERT_NE(shared.allocate(64), nullptr);
    shared.deallocate(kept, 64);
    shared.heap_.restore(committed);
    ASSERT_TRUE(shared.heap_->check_state());
    shared.thread_caches_.forget();
    EXPECT_FALSE(shared.settle());
    shared.expect_sound(64);
    EXPECT_EQ(shared.block_of(kept), (alloc::block{kept, 64}));
}

TEST(thread_caches_DeathTest, a_block_that_is_freed_twice_ends_the_process) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            shared_allocator shared;
            void* const block = shared.allocate(64); // in a lent slab
            shared.deallocate(block, 64);
            shared.deallocate(block, 64);
        },
        "not an allocated block");
    EXPECT_DEATH(
        {
            shared_allocator shared;
            void* const block = shared.heap_->allocate(64);
            shared.deallocate(block, 64);
            shared.deallocate(block, 64);
            shared.settle();
            shared.heap_->flush();
        },
        "not an allocated block");
}

class thread_caches_of_a_heap : public testing::Test {
protected:
    thread_caches_of_a_heap() { open(); }
    void open() {
        engine_options options;
        options.reserve_bytes = 256 * MiB;
        options.chunk_bytes = 64 * KiB;
        options.has.thread_caches = slab_caches::make;
        auto opened = engine::open(disk_, "dir/heap", open_mode::open_or_create, options, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        heap_ = std::move(*opened);
    }
    void commit(commit_scope scope = commit_scope::everything) {
        const auto made = heap_->make_commit({.scope = scope});
        ASSERT_TRUE(made);
        ASSERT_TRUE(heap_->await(*made, log::durability::durable));
    }
    void* allocate(std::size_t bytes) {
        std::optional<unexpected> why;
        return heap_->memory().allocate(bytes, 8, why);
    }
    /// Each of three threads allocates blocks of 48 bytes, and as many others that it frees.
    void fill(int blocks_each) {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i != k_threads; ++i) {
            threads.emplace_back([this, i, blocks_each] {
                for (int n = 0; n != blocks_each; ++n) {
                    std::memset(allocate(48), 1, 48);
                    heap_->memory().deallocate(allocate(40 + 8 * i), 40 + 8 * i, 8);
                }
            });
        }
        for (std::thread& each : threads)
            each.join();
    }
    void fill_by_thread_caches(int blocks_each) {
        heap_->memory().expect_threads();
        fill(blocks_each);
    }
    [[nodiscard]] std::uint64_t allocated_bytes() const { return heap_->stats().allocated_bytes; }
    void expect_sound() {
        const auto found = heap_->verify();
        ASSERT_TRUE(found);
        EXPECT_TRUE(found->problems.empty()) << found->problems.front().what;
    }

    static constexpr unsigned k_threads = 3;
    simulation::simulated_disk disk_;
    std::unique_ptr<engine> heap_;
};

// What a thread had at its end is in the commit, or is free.
TEST_F(thread_caches_of_a_heap, a_commit_is_exact_and_a_rollback_takes_all_of_it_back) {
    constexpr int k_blocks = 4000;
    constexpr std::uint64_t k_bytes = std::uint64_t{k_threads} * k_blocks * 48;
    for (std::uint64_t round = 1; round != 4; ++round) {
        fill_by_thread_caches(k_blocks);
        commit();
        EXPECT_EQ(allocated_bytes(), round * k_bytes);
        fill_by_thread_caches(k_blocks / 2);
        ASSERT_TRUE(heap_->rollback());
        EXPECT_EQ(allocated_bytes(), round * k_bytes);
        expect_sound();
        EXPECT_GE(heap_->memory().slabs_lent(), k_threads);
    }
    fill_by_thread_caches(k_blocks); // is in no commit
    heap_.reset();                   // as if the process had been killed
    open();
    EXPECT_EQ(allocated_bytes(), 3 * k_bytes);
    expect_sound();
}

TEST_F(thread_caches_of_a_heap, slabs_are_lent_once_threads_wait_for_each_other) {
    for (int n = 0; n != 1000 && heap_->memory().slabs_lent() < k_threads; ++n)
        fill(2000);
    EXPECT_GE(heap_->memory().slabs_lent(), k_threads);
}

TEST_F(thread_caches_of_a_heap, one_thread_borrows_none) {
    for (int n = 0; n != 10000; ++n)
        ASSERT_NE(allocate(48), nullptr);
    commit();
    EXPECT_EQ(heap_->memory().slabs_lent(), 0U);
}

TEST_F(thread_caches_of_a_heap, a_commit_ends_the_loan) {
    heap_->memory().expect_threads();
    ASSERT_NE(allocate(48), nullptr);
    EXPECT_EQ(heap_->memory().slabs_lent(), 1U);
    commit();
    ASSERT_NE(allocate(48), nullptr);
    EXPECT_EQ(heap_->memory().slabs_lent(), 1U);
}

TEST_F(thread_caches_of_a_heap, a_savepoint_takes_back_what_threads_had_since) {
    fill_by_thread_caches(1000);
    const auto point = heap_->points().make(1);
    ASSERT_TRUE(point);
    fill_by_thread_caches(1000);
    ASSERT_TRUE(heap_->points().roll_back_to(*point));
    EXPECT_EQ(allocated_bytes(), k_threads * 1000 * 48U);
    expect_sound();
    fill_by_thread_caches(1000);
    commit();
    EXPECT_EQ(allocated_bytes(), k_threads * 2000 * 48U);
    expect_sound();
}

// Its commits take only what was declared: what thread caches changed before is not.
TEST_F(thread_caches_of_a_heap, a_declared_section_has_none_and_commits_what_they_changed_before) {
    void* const freed = allocate(48);
    commit();
    heap_->memory().expect_threads();
    heap_->memory().deallocate(freed, 48, 8);
    heap_->memory().begin_declared();
    heap_->memory().expect_threads();
    std::memset(allocate(64), 1, 64);
    EXPECT_EQ(heap_->memory().slabs_lent(), 0U);
    commit(commit_scope::declared);
    heap_->memory().end_declared();
    heap_.reset();
    open();
    EXPECT_EQ(allocated_bytes(), 64U);
    expect_sound();
}

// The thread that frees has another slab, or none.
TEST_F(thread_caches_of_a_heap, blocks_of_an_arena_are_freed_with_it_or_before) {
    const auto arena = heap_->memory().make_arena("names", {.room_bytes = MiB});
    ASSERT_TRUE(arena);
    std::optional<unexpected> why;
    void* const freed = heap_->memory().allocate(48, 8, why, *arena);
    void* const left = heap_->memory().allocate(48, 8, why, *arena);
    heap_->memory().expect_threads();
    heap_->memory().deallocate(freed, 48, 8);
    EXPECT_EQ(heap_->memory().arenas().front().allocated_bytes, 48U);
    heap_->memory().expect_threads();
    heap_->memory().deallocate(left, 48, 8);
    heap_->memory().destroy_arena(*arena);
    commit();
    EXPECT_EQ(allocated_bytes(), 0U);
    expect_sound();
}

} // namespace
} // namespace remanence::txn
