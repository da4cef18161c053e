#include "alloc/block_allocator.hpp"

#include "support/seed.hpp"
#include "test_heap.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <random>

namespace remanence::alloc {
namespace {

// Mostly small, at times many pages.
std::size_t random_size(random_engine& random) {
    return random_below(random,
                        (std::size_t{1} << (1 + random_below(random, random_below(random, 20) == 0 ? 23 : 13))) + 1);
}

std::size_t random_alignment(random_engine& random) {
    return random_below(random, 8) != 0
               ? k_granule_bytes
               : std::size_t{1} << random_below(random, random_below(random, 8) == 0 ? 22 : 13);
}

// What the program believes to have: blocks by offset, filled with a pattern of their own.
class model {
public:
    explicit model(test_heap& heap) : heap_(heap) {}

    void add(void* address, std::size_t bytes, std::size_t alignment) {
        const std::uint64_t begin = heap_.offset_of(address);
        ASSERT_TRUE(is_aligned(begin, std::max<std::size_t>(alignment, 1))) << begin << " " << alignment;
        ASSERT_GE(begin, k_page_bytes);
        ASSERT_LE(begin + bytes, heap_.accessible_bytes());
        const auto next = blocks_.lower_bound(begin);
        if (next != blocks_.end()) {
            ASSERT_LE(begin + std::max<std::size_t>(bytes, 1), next->first);
        }
        if (next != blocks_.begin()) {
            ASSERT_LE(std::prev(next)->first + std::prev(next)->second.bytes, begin);
        }
        blocks_[begin] = {address, bytes, alignment};
        fill(blocks_[begin]);
    }
    live_block take(std::size_t nth) {
        const auto at = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(nth));
        const live_block taken = at->second;
        EXPECT_TRUE(is_filled(taken)) << "the block at " << at->first << " was written over";
        blocks_.erase(at);
        return taken;
    }
    [[nodiscard]] std::size_t count() const { return blocks_.size(); }
    [[nodiscard]] std::uint64_t allocated_bytes() const {
        return std::accumulate(
            blocks_.begin(), blocks_.end(), std::uint64_t{0}, [](std::uint64_t sum, const auto& entry) {
                return sum + block_allocator::block_bytes(entry.second.bytes, entry.second.alignment);
            });
    }
    void expect_same_blocks() const {
        auto at = blocks_.begin();
        heap_->for_each_block([&](block found) {
            ASSERT_NE(at, blocks_.end());
            EXPECT_EQ(found.start, at->second.address);
            EXPECT_EQ(found.bytes, block_allocator::block_bytes(at->second.bytes, at->second.alignment));
            const auto inside = static_cast<std::byte*>(found.start) + found.bytes * 3 / 4;
            EXPECT_EQ(heap_->block_of(found.start), found);
            EXPECT_EQ(heap_->block_of(inside), found);
            EXPECT_EQ(heap_->block_of(static_cast<std::byte*>(found.start) + found.bytes - 1), found);
            ++at;
        });
        EXPECT_EQ(at, blocks_.end());
    }

private:
    static unsigned char mark_of(const live_block& of) {
        return static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(of.address) >> 4 | 1);
    }
    static void fill(const live_block& of) {
        std::memset(of.address, mark_of(of), std::min<std::size_t>(of.bytes, 64));
        if (of.bytes > 64)
            std::memset(static_cast<std::byte*>(of.address) + of.bytes - 64, mark_of(of), 64);
    }
    static bool is_filled(const live_block& of) {
        const auto* const bytes = static_cast<const unsigned char*>(of.address);
        const std::size_t edge = std::min<std::size_t>(of.bytes, 64);
        const auto is_mark = [&](unsigned char c) { return c == mark_of(of); };
        return std::all_of(bytes, bytes + edge, is_mark) &&
               std::all_of(bytes + of.bytes - edge, bytes + of.bytes, is_mark);
    }

    test_heap& heap_;
    std::map<std::uint64_t, live_block> blocks_;
};

format::alloc_state empty_state() {
    format::alloc_state state;
    block_allocator::format(state);
    return state;
}

bool is_empty(const test_heap& heap) {
    const format::alloc_state empty = empty_state();
    return std::memcmp(&heap.state(), &empty, sizeof empty) == 0;
}

std::vector<void*> allocate_many(test_heap& heap, std::size_t count, std::size_t bytes) {
    std::vector<void*> blocks(count);
    for (void*& at : blocks)
        at = heap->allocate(bytes);
    return blocks;
}

TEST(block_allocator, random_sequences_keep_blocks_aligned_and_apart) {
    random_engine random(test::random_seed());
    test_heap heap;
    model expected(heap);
    for (int step = 0; step < 60'000; ++step) {
        const bool growing = step / 10'000 % 2 == 0;
        if (expected.count() == 0 || random_below(random, 10) < (growing ? 6U : 4U)) {
            const std::size_t bytes = random_size(random);
            const std::size_t alignment = random_alignment(random);
            void* const got = heap->allocate(bytes, alignment);
            ASSERT_NE(got, nullptr) << heap->failure().why().message;
            ASSERT_NO_FATAL_FAILURE(expected.add(got, bytes, alignment));
        } else {
            const live_block gone = expected.take(random_below(random, std::min<std::size_t>(expected.count(), 500)));
            heap->deallocate(gone.address, gone.bytes, gone.alignment);
        }
        if (random_below(random, 300) == 0)
            heap->flush();
        if (step % 5'000 == 0) {
            ASSERT_TRUE(is_sound(*heap)) << step;
            if (step % 10'000 == 0) {
                heap->flush();
                ASSERT_TRUE(heap->check_state());
                ASSERT_EQ(heap.state().allocated_bytes, expected.allocated_bytes());
            }
            ASSERT_EQ(heap->allocated_bytes(), expected.allocated_bytes());
            ASSERT_NO_FATAL_FAILURE(expected.expect_same_blocks());
        }
    }
    while (expected.count() != 0) {
        const live_block gone = expected.take(random_below(random, expected.count()));
        heap->deallocate(gone.address, gone.bytes, gone.alignment);
    }
    heap->release_empty_slab();
    ASSERT_TRUE(is_sound(*heap));
    EXPECT_TRUE(is_empty(heap)) << "memory was not returned exactly";
}

TEST(block_allocator, what_is_allocated_together_lies_together_whatever_its_sizes) {
    test_heap heap;
    std::uint64_t end = 0;
    for (int i = 0; i < 100; ++i) {
        for (const std::size_t bytes : {40U, 24U, 19U, 192U}) {
            const std::uint64_t begin = heap.offset_of(heap->allocate(bytes));
            if (end != 0) {
                EXPECT_GE(begin, end);
                EXPECT_LT(begin - end, 64U) << "at most the padding of an alignment";
            }
            end = begin + block_allocator::block_bytes(bytes);
        }
    }
}

TEST(block_allocator, the_last_block_freed_is_the_next_allocated) {
    test_heap heap;
    static_cast<void>(heap->allocate(64));
    void* const temporary = heap->allocate(100);
    heap->deallocate(temporary, 100);
    const auto before = heap.snapshot();
    for (int i = 0; i < 100; ++i) {
        void* const again = heap->allocate(100);
        EXPECT_EQ(again, temporary);
        heap->deallocate(again, 100);
        ASSERT_EQ(heap.snapshot(), before);
    }
}

TEST(block_allocator, freed_blocks_are_used_again_before_the_heap_grows) {
    test_heap heap;
    for (const std::size_t bytes : {16U, 48U, 192U, 600U, 5000U}) {
        auto blocks = allocate_many(heap, 4000, bytes);
        const std::uint64_t used = heap.accessible_bytes();
        for (std::size_t i = 0; i < blocks.size(); i += 2)
            heap->deallocate(blocks[i], bytes);
        for (std::size_t i = 0; i < blocks.size(); i += 2)
            blocks[i] = heap->allocate(bytes);
        EXPECT_EQ(heap.accessible_bytes(), used) << bytes;
        ASSERT_TRUE(is_sound(*heap));
    }
}

TEST(block_allocator, neighbouring_free_blocks_serve_a_longer_one) {
    test_heap heap;
    const auto blocks = allocate_many(heap, 2000, 112);
    const std::uint64_t used = heap.accessible_bytes();
    for (std::size_t i = 500; i < 516; ++i)
        heap->deallocate(blocks[i], 112);
    bool found = false;
    while (heap.accessible_bytes() == used) {
        const void* const longer = heap->allocate(std::size_t{16} * 112);
        found = found || (longer >= blocks[500] && longer < blocks[516]);
    }
    EXPECT_TRUE(found) << "before the heap grew";
    ASSERT_TRUE(is_sound(*heap));
}

TEST(block_allocator, a_few_small_blocks_touch_few_pages) {
    test_heap heap;
    for (const std::size_t bytes : {16U, 40U, 100U, 200U}) {
        for (int i = 0; i < 4; ++i)
            std::memset(heap->allocate(bytes), 0xff, bytes);
    }
    EXPECT_EQ(heap.nonzero_pages(), 4U + 1U) << "the header, descriptors, two bitmaps, and one page of blocks";
    EXPECT_LE(heap.accessible_bytes(), 128 * KiB);
}

TEST(block_allocator, allocating_and_freeing_touch_no_data_page) {
    test_heap heap;
    const auto blocks = allocate_many(heap, 20'000, 40);
    void* const large = heap->allocate(500 * KiB);
    EXPECT_EQ(heap.nonzero_pages(), 1U + 9U + 1U) << "the header, the first section's plane, descriptors in the second";
    for (void* at : blocks)
        heap->deallocate(at, 40);
    heap->deallocate(large, 500 * KiB);
    heap->release_empty_slab();
    EXPECT_EQ(heap.nonzero_pages(), 1U);
}

TEST(block_allocator, an_empty_block_is_a_block) {
    test_heap heap;
    void* const first = heap->allocate(0);
    void* const second = heap->allocate(0);
    EXPECT_NE(first, second);
    EXPECT_EQ(block_allocator::block_bytes(0), 8U);
    heap->deallocate(first, 0);
    heap->deallocate(second, 8);
    EXPECT_EQ(heap->allocated_bytes(), 0U);
}

TEST(block_allocator, a_large_block_grows_into_what_is_free_behind_it_and_shrinks) {
    test_heap heap;
    void* const first = heap->allocate(100 * k_page_bytes);
    ASSERT_TRUE(heap->resize(first, 100 * k_page_bytes, 150 * k_page_bytes)); // into the wilderness
    void* const second = heap->allocate(10 * k_page_bytes);
    void* const third = heap->allocate(10 * k_page_bytes);
    EXPECT_FALSE(heap->resize(first, 150 * k_page_bytes, 151 * k_page_bytes));
    heap->deallocate(second, 10 * k_page_bytes);
    EXPECT_FALSE(heap->resize(first, 150 * k_page_bytes, 161 * k_page_bytes));
    EXPECT_TRUE(heap->resize(first, 150 * k_page_bytes, 154 * k_page_bytes)); // into a part of a free run
    EXPECT_TRUE(is_sound(*heap));
    EXPECT_TRUE(heap->resize(first, 154 * k_page_bytes, 160 * k_page_bytes)); // and all of the rest
    EXPECT_EQ(heap->block_of(static_cast<std::byte*>(first) + 159 * k_page_bytes), (block{first, 160 * k_page_bytes}));
    EXPECT_EQ(heap->allocated_bytes(), 170 * k_page_bytes);
    EXPECT_TRUE(heap->resize(first, 160 * k_page_bytes, 3 * k_page_bytes));
    EXPECT_EQ(heap->block_of(static_cast<std::byte*>(first) + 3 * k_page_bytes), std::nullopt);
    EXPECT_FALSE(heap->resize(first, 160 * k_page_bytes, 170 * k_page_bytes)) << "it has another size";
    EXPECT_TRUE(is_sound(*heap));
    heap->deallocate(first, 3 * k_page_bytes);
    heap->deallocate(third, 10 * k_page_bytes);
    EXPECT_EQ(heap->allocated_bytes(), 0U);
}

TEST(block_allocator, alignments_up_to_1_gib_are_kept) {
    test_heap heap({.limit_bytes = 4 * GiB, .step_bytes = GiB});
    for (std::size_t alignment = 1; alignment <= k_alignment_max; alignment *= 2) {
        for (const std::size_t bytes : {1U, 100U, 5000U, 40'000U}) {
            void* const got = heap->allocate(bytes, alignment);
            ASSERT_NE(got, nullptr);
            EXPECT_TRUE(is_aligned(reinterpret_cast<std::uintptr_t>(got), alignment));
            heap->deallocate(got, bytes, alignment);
        }
    }
    EXPECT_EQ(heap->allocated_bytes(), 0U);
}

TEST(block_allocator, other_alignments_are_refused) {
    test_heap heap;
    const auto before = heap.snapshot();
    EXPECT_EQ(heap->allocate(64, 2 * k_alignment_max), nullptr);
    EXPECT_EQ(heap->failure().why().code, errc::invalid_argument);
    EXPECT_EQ(heap->allocate(64, 48), nullptr);
    EXPECT_EQ(heap.snapshot(), before);
}

TEST(block_allocator, a_request_beyond_the_limit_changes_nothing) {
    test_heap heap({.limit_bytes = 8 * MiB});
    static_cast<void>(heap->allocate(100));
    const auto before = heap.snapshot();
    for (const std::size_t bytes : {8 * MiB, 4 * GiB, ~std::size_t{0}, ~std::size_t{0} - 4095, std::size_t{1} << 63}) {
        EXPECT_EQ(heap->allocate(bytes), nullptr);
        EXPECT_EQ(heap->failure().why().code, errc::exhausted);
    }
    EXPECT_EQ(heap.snapshot(), before);
}

TEST(block_allocator, freeing_all_returns_the_wilderness_exactly) {
    for (const std::size_t bytes : {16U, 200U, 3000U, 8192U, 8193U, 20'000U, 300'000U}) {
        random_engine random(bytes);
        test_heap heap;
        auto blocks = allocate_many(heap, 2000, bytes);
        std::shuffle(blocks.begin(), blocks.end(), random);
        for (void* at : blocks)
            heap->deallocate(at, bytes);
        heap->release_empty_slab();
        ASSERT_TRUE(is_sound(*heap));
        EXPECT_TRUE(is_empty(heap)) << bytes;
    }
}

TEST(block_allocator, skipped_wilderness_serves_later_small_requests) {
    test_heap heap;
    EXPECT_EQ(heap.offset_of(heap->allocate(900 * KiB)), 10 * k_page_bytes);
    EXPECT_EQ(heap.offset_of(heap->allocate(900 * KiB)), 265 * k_page_bytes) << "does not fit behind it in section 0";
    EXPECT_LT(heap.offset_of(heap->allocate(32 * KiB)), MiB);
    ASSERT_TRUE(is_sound(*heap));
}

TEST(block_allocator, a_large_block_is_found_from_each_of_its_pages) {
    test_heap heap;
    for (const std::size_t pages : {1U, 2U, 3U, 7U, 64U, 100U, 1000U, 5000U}) {
        static_cast<void>(heap->allocate(3 * k_page_bytes, k_page_bytes * 2));
        auto* const start = static_cast<std::byte*>(heap->allocate(pages * k_page_bytes, 2 * k_page_bytes));
        const block expected{start, pages * k_page_bytes};
        for (std::size_t i = 0; i < pages; ++i)
            ASSERT_EQ(heap->block_of(start + i * k_page_bytes + 5), expected) << i << " of " << pages;
        EXPECT_NE(heap->block_of(start - 1), expected);
        EXPECT_NE(heap->block_of(start + expected.bytes), expected);
    }
    ASSERT_TRUE(is_sound(*heap));
}

TEST(block_allocator, no_block_is_found_where_there_is_none) {
    test_heap heap;
    void* const small = heap->allocate(100);
    void* const large = heap->allocate(MiB / 2);
    void* const last = heap->allocate(100'000);
    heap->deallocate(small, 100);
    heap->deallocate(large, MiB / 2);
    EXPECT_EQ(heap->block_of(small), std::nullopt);
    for (std::uint64_t at = 0; at < MiB / 2; at += k_page_bytes)
        EXPECT_EQ(heap->block_of(static_cast<std::byte*>(large) + at), std::nullopt);
    EXPECT_EQ(heap->block_of(heap.base()), std::nullopt);
    EXPECT_EQ(heap->block_of(heap.base() + k_page_bytes), std::nullopt);
    EXPECT_EQ(heap->block_of(heap.base() - 1), std::nullopt);
    EXPECT_EQ(heap->block_of(&heap), std::nullopt);
    EXPECT_EQ(heap->block_of(nullptr), std::nullopt);
    EXPECT_NE(heap->block_of(last), std::nullopt);
}

TEST(block_allocator, a_page_is_free_when_no_block_lies_in_it) {
    random_engine random(test::random_seed());
    test_heap heap({.limit_bytes = 16 * MiB});
    std::vector<live_block> blocks;
    for (int step = 0; step < 2000; ++step) {
        const std::size_t bytes = step % 100 == 0 ? random_below(random, 100'000) : random_below(random, 3000);
        blocks.push_back({heap->allocate(bytes), bytes, k_granule_bytes});
        if (blocks.back().address == nullptr)
            blocks.pop_back();
        for (std::size_t i = random_below(random, 3); i > 0 && blocks.size() > 100; --i) {
            std::swap(blocks[random_below(random, blocks.size())], blocks.back());
            heap->deallocate(blocks.back().address, blocks.back().bytes);
            blocks.pop_back();
        }
    }
    heap->flush();
    const std::uint64_t page_count = heap.accessible_bytes() / k_page_bytes;
    std::vector<bool> holds_block(page_count);
    heap->for_each_block([&](block each) {
        const std::uint64_t begin = heap.offset_of(each.start);
        for (std::uint64_t at = begin / k_page_bytes; at <= (begin + each.bytes - 1) / k_page_bytes; ++at)
            holds_block[at] = true;
    });
    std::uint64_t free_pages = 0;
    for (std::uint64_t page = 0; page < page_count; ++page) {
        const bool is_data = section_of(static_cast<std::uint32_t>(page)).first_data_page <= page;
        EXPECT_EQ(heap->is_free_page(page), is_data && !holds_block[page]) << page;
        free_pages += heap->is_free_page(page);
    }
    EXPECT_GT(free_pages, 0U);
    EXPECT_LT(free_pages, page_count) << "the test shows little";
    EXPECT_FALSE(heap->is_free_page(page_count)) << "not accessible";
}

// The sizes stay the same and only change places, so that whatever the heap grows by is fragmentation.
// At the ends of a slab, between holes of any length, and with more granules than a window of bits shows.
TEST(block_allocator, is_sound_after_each_block_that_is_freed) {
    const std::uint64_t seed = test::random_seed();
    for (const std::uint32_t granules :
         {0U, 1U, 2U, 3U, 7U, 8U, 55U, 56U, 57U, 58U, 63U, 64U, 65U, 100U}) { // 0: any of them
        random_engine random(seed + granules);
        test_heap heap;
        std::vector<std::pair<void*, std::size_t>> blocks;
        for (std::uint32_t sum = 0; sum < 2 * k_slab_granules;) {
            const auto count = granules != 0 ? granules : 1 + static_cast<std::uint32_t>(random_below(random, 70));
            blocks.emplace_back(heap->allocate(count * k_granule_bytes), count * k_granule_bytes);
            sum += count;
        }
        std::shuffle(blocks.begin(), blocks.end(), random);
        std::uint64_t left = heap->allocated_bytes();
        for (const auto& [at, bytes] : blocks) {
            heap->deallocate(at, bytes);
            heap->flush();
            left -= bytes;
            ASSERT_EQ(heap.state().allocated_bytes, left) << granules;
            ASSERT_EQ(heap->block_of(at), std::nullopt) << granules;
            ASSERT_TRUE(is_sound(*heap)) << granules;
        }
        ASSERT_EQ(left, 0U);
    }
}

TEST(block_allocator, steady_churn_does_not_grow_the_heap) {
    random_engine random(test::random_seed());
    test_heap heap;
    std::vector<live_block> blocks(5000);
    for (live_block& block : blocks) {
        const bool large = random_below(random, 100) == 0;
        const std::size_t bytes = large ? random_below(random, 200 * KiB) : 16 + random_below(random, 500);
        block = {heap->allocate(bytes), bytes, k_granule_bytes};
    }
    std::uint64_t bytes_after_warm_up = 0;
    for (std::size_t step = 0; step < 200'000; ++step) {
        if (step == 100'000)
            bytes_after_warm_up = heap.accessible_bytes();
        const std::array changed = {&blocks[random_below(random, blocks.size())],
                                    &blocks[random_below(random, blocks.size())]};
        if (changed[0] == changed[1])
            continue;
        for (const live_block* block : changed)
            heap->deallocate(block->address, block->bytes);
        std::swap(changed[0]->bytes, changed[1]->bytes);
        for (live_block* block : changed)
            block->address = heap->allocate(block->bytes);
    }
    EXPECT_LE(heap.accessible_bytes(), bytes_after_warm_up + bytes_after_warm_up / 8);
    ASSERT_TRUE(is_sound(*heap));
}

// The fragmentation that bump allocation through holes settles at, for an address book's sizes.
TEST(block_allocator, churn_of_mixed_sizes_keeps_the_heap_nearly_full) {
    random_engine random(test::random_seed());
    test_heap heap;
    constexpr std::array<std::size_t, 6> k_sizes = {192, 32, 48, 32, 64, 400};
    std::vector<live_block> blocks(60'000);
    for (std::size_t step = 0; step < 1'000'000; ++step) {
        live_block& at = blocks[step < blocks.size() ? step : random_below(random, blocks.size())];
        if (at.address != nullptr)
            heap->deallocate(at.address, at.bytes);
        const std::size_t bytes = k_sizes[random_below(random, k_sizes.size())];
        at = {heap->allocate(bytes), bytes, k_granule_bytes};
    }
    ASSERT_TRUE(is_sound(*heap));
    std::uint64_t used_pages = 0;
    for (const std::uint32_t pages : heap.state().used_pages)
        used_pages += pages;
    const std::uint64_t percent = heap->allocated_bytes() * 100 / (used_pages * k_page_bytes);
    std::printf("%llu %% of the pages in use is allocated\n", static_cast<unsigned long long>(percent));
    EXPECT_GE(percent, 70U);
}

TEST(block_allocator, a_block_that_comes_and_goes_over_the_edge_of_a_slab_does_not_make_one_each_time) {
    test_heap heap;
    const auto filling = allocate_many(heap, k_slab_bytes / 128, 128); // a whole slab
    heap->deallocate(heap->allocate(128), 128);
    const auto before = heap.snapshot();
    for (int i = 0; i < 100; ++i) {
        heap->deallocate(heap->allocate(128), 128);
        ASSERT_EQ(heap.snapshot(), before);
    }
}

TEST(block_allocator, a_restored_snapshot_continues_as_before) {
    random_engine random(test::random_seed());
    test_heap heap;
    std::vector<live_block> blocks;
    const auto churn = [&](random_engine& with, std::vector<live_block>& live) {
        std::vector<void*> trace;
        for (int step = 0; step < 3000; ++step) {
            if (live.empty() || random_below(with, 5) < 3) {
                const std::size_t bytes = random_size(with);
                live.push_back({heap->allocate(bytes), bytes, k_granule_bytes});
                trace.push_back(live.back().address);
            } else {
                std::swap(live[random_below(with, live.size())], live.back());
                heap->deallocate(live.back().address, live.back().bytes);
                live.pop_back();
            }
        }
        return trace;
    };
    churn(random, blocks);
    heap->flush();
    const auto committed = heap.snapshot();
    const auto committed_blocks = blocks;
    random_engine again = random;
    const auto trace = churn(random, blocks);
    for (int round = 0; round < 3; ++round) {
        heap.restore(committed);
        ASSERT_TRUE(heap->check_state());
        ASSERT_TRUE(is_sound(*heap));
        if (round == 1)
            heap.open();
        auto live = committed_blocks;
        random_engine same = again;
        EXPECT_EQ(churn(same, live), trace);
        ASSERT_TRUE(is_sound(*heap));
    }
}

TEST(block_allocator, a_failed_extension_leaves_the_heap_as_it_was) {
    bool had_failure = true;
    for (std::uint64_t nth = 1; had_failure; ++nth) {
        test_heap heap({.step_bytes = 64 * KiB});
        heap.fail_extension(nth);
        had_failure = false;
        random_engine random(7);
        for (int step = 0; step < 200; ++step) {
            const std::size_t bytes = random_below(random, 20'000);
            const std::size_t alignment = step % 10 == 0 ? 64 * KiB : k_granule_bytes;
            const auto before = heap.next_extension_fails() ? heap.snapshot() : std::vector<std::byte>();
            void* const got = heap->allocate(bytes, alignment);
            if (got == nullptr) {
                EXPECT_EQ(heap->failure().why().code, errc::no_space);
                ASSERT_EQ(heap.snapshot(), before);
                had_failure = true;
            }
        }
        ASSERT_TRUE(is_sound(*heap)) << nth;
        heap.allow_extension();
        EXPECT_NE(heap->allocate(MiB), nullptr);
        ASSERT_TRUE(is_sound(*heap)) << nth;
    }
}

TEST(block_allocator, an_exhausted_heap_is_used_to_the_last_page) {
    test_heap heap({.limit_bytes = 4 * MiB});
    std::vector<void*> blocks;
    for (void* at = nullptr; (at = heap->allocate(3 * k_page_bytes)) != nullptr;)
        blocks.push_back(at);
    EXPECT_GT(blocks.size(), (4 * MiB - 96 * KiB) / k_page_bytes / 3 - 16);
    ASSERT_TRUE(is_sound(*heap));
    for (void* at : blocks)
        heap->deallocate(at, 3 * k_page_bytes);
    EXPECT_NE(heap->allocate(MiB), nullptr);
    ASSERT_TRUE(is_sound(*heap));
}

TEST(block_allocator, an_exhausted_heap_is_used_to_the_last_granule_of_its_slabs) {
    test_heap heap({.limit_bytes = MiB});
    std::uint64_t count = 0;
    while (heap->allocate(k_granule_bytes) != nullptr)
        ++count;
    EXPECT_EQ(count, (MiB / k_slab_bytes - 1) * k_slab_granules) << "all but the slab in place of the plane";
    ASSERT_TRUE(is_sound(*heap));
}

TEST(block_allocator, a_reopened_heap_makes_accessible_what_it_uses) {
    test_heap heap;
    void* const large = heap->allocate(10 * MiB);
    block_allocator again(
        heap.base(), heap.state(), [](std::uint64_t end) -> result<std::uint64_t> { return end; }, 4 * GiB,
        k_page_bytes);
    ASSERT_TRUE(again.check_state());
    EXPECT_EQ(again.block_of(large), (block{large, 10 * MiB}));
    block_allocator refused(
        heap.base(), heap.state(), [](std::uint64_t) -> result<std::uint64_t> { return fail(errc::no_space, "no"); },
        4 * GiB, k_page_bytes);
    const auto state = refused.check_state();
    ASSERT_FALSE(state);
    EXPECT_EQ(state.why().code, errc::no_space);
}

// Counted in links followed, not in time.
std::uint64_t steps_to_free(std::size_t count, std::size_t bytes, int order) {
    random_engine random(count);
    test_heap heap;
    auto blocks = allocate_many(heap, count, bytes);
    if (order == 1)
        std::reverse(blocks.begin(), blocks.end());
    if (order == 2)
        std::shuffle(blocks.begin(), blocks.end(), random);
    if (order == 3)
        std::partition(blocks.begin(), blocks.end(), [&](void* at) { return heap.offset_of(at) / bytes % 2 == 0; });
    const std::uint64_t before = heap->tree_step_count();
    for (void* at : blocks)
        heap->deallocate(at, bytes);
    heap->flush(); // what it keeps, too
    EXPECT_EQ(heap->allocated_bytes(), 0U);
    return heap->tree_step_count() - before;
}

TEST(block_allocator, freeing_in_any_order_costs_a_logarithm_each) {
    for (const std::size_t bytes : {200U, 4096U, 20'000U}) {
        for (const std::size_t count : {10'000U, 100'000U}) {
            const auto freed = static_cast<double>(bytes < k_page_bytes ? count * bytes / k_slab_bytes : count); // runs
            const auto steps_max = static_cast<std::uint64_t>(freed * 3 * std::log2(freed));
            for (int order = 0; order < 4; ++order)
                EXPECT_LE(steps_to_free(count, bytes, order), steps_max)
                    << count << " of " << bytes << ", order " << order;
        }
    }
}

using block_allocator_death = testing::Test;

TEST(block_allocator_death, freeing_what_is_no_block_aborts) {
    GTEST_FLAG_SET(death_test_style, "fast");
    test_heap heap;
    auto* const small = static_cast<std::byte*>(heap->allocate(200));
    auto* const large = static_cast<std::byte*>(heap->allocate(100'000));
    auto* const gone = static_cast<std::byte*>(heap->allocate(200));
    heap->deallocate(gone, 200);
    int elsewhere = 0;
    const auto free = [&](void* address, std::size_t bytes) {
        heap->deallocate(address, bytes);
        heap->free_returned();
    };
    const char* const message = "not an allocated block of this size";
    EXPECT_DEATH(free(gone, 200), message);
    EXPECT_DEATH(free(small + 16, 200), message);
    EXPECT_DEATH(free(small, 100), message);
    EXPECT_DEATH(free(small, 100'000), message);
    EXPECT_DEATH(free(small, 32 * GiB), message); // no granules, in 32 bits
    EXPECT_DEATH(free(large, 200), message);
    EXPECT_DEATH(free(large, 50'000), message);
    EXPECT_DEATH(free(large + k_page_bytes, 100'000 - k_page_bytes), message);
    EXPECT_DEATH(free(heap.base(), 200), message);
    EXPECT_DEATH(free(heap.base() + k_page_bytes, 200), message);
    EXPECT_DEATH(free(heap.base() + 3 * GiB, 200), message);
    EXPECT_DEATH(free(&elsewhere, 200), message);
    EXPECT_DEATH(free(nullptr, 200), message);
}

} // namespace
} // namespace remanence::alloc
