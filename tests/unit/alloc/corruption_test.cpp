// The allocator over damaged memory: whatever its bytes say, it must not crash, hang, or write outside what is
// accessible.
//
// A run: of 1,200 heaps with damaged structures 1,174 were noticed as such, and none crashed or was left.
#include "alloc/block_allocator.hpp"
#include "base/range.hpp"

#include "support/seed.hpp"
#include "test_heap.hpp"

#include <algorithm>
#include <random>

namespace remanence::alloc {
namespace {

std::size_t random_small_size(random_engine& random) {
    return random_below(random, (std::size_t{1} << (1 + random_below(random, 17))) + 1);
}

// A heap with something of everything: slabs in many bins, large blocks, free runs, three sections.
void populate(test_heap& heap, random_engine& random) {
    std::vector<live_block> blocks;
    for (int step = 0; step < 1200; ++step) {
        const std::size_t bytes = random_small_size(random);
        blocks.push_back({heap->allocate(bytes), bytes, k_granule_bytes});
    }
    std::shuffle(blocks.begin(), blocks.end(), random);
    for (std::size_t i = 0; i < blocks.size() * 2 / 3; ++i)
        heap->deallocate(blocks[i].address, blocks[i].bytes);
}

// The metadata in use: the state, and the arrays of each plane that is accessible.
std::vector<heap_range> metadata_of(const test_heap& heap) {
    std::vector<heap_range> ranges{{test_heap::k_state_offset, sizeof(format::alloc_state)}};
    for (std::uint32_t i = 0; i < k_section_count; ++i) {
        const section& at = section_at(i);
        if (heap.state().used_pages[i] == 0)
            continue;
        const std::uint32_t pages = at.first_data_page - at.first_page + heap.state().used_pages[i];
        ranges.push_back({at.descriptor_offset(at.first_page), pages * sizeof(format::page_descriptor)});
        ranges.push_back({at.used_bits_offset(at.first_page), pages * k_bitmap_bytes});
        ranges.push_back({at.start_bits_offset(at.first_page), pages * k_bitmap_bytes});
    }
    return ranges;
}

std::byte* random_byte(test_heap& heap, const std::vector<heap_range>& ranges, random_engine& random) {
    const heap_range in = ranges[random_below(random, ranges.size())];
    return heap.base() + in.offset + random_below(random, in.bytes);
}

// A bit, a byte, a plausible word, or some hundred bytes.
void damage_something(test_heap& heap, const std::vector<heap_range>& ranges, random_engine& random) {
    std::byte* const at = random_byte(heap, ranges, random);
    const std::size_t kind = random_below(random, 8);
    if (kind < 3) {
        *at ^= std::byte{1} << random_below(random, 8);
    } else if (kind < 5) {
        *at = static_cast<std::byte>(random_below(random, 256));
    } else if (kind < 7) {
        const auto word = static_cast<std::uint32_t>(random_below(random, kind == 5 ? 4096 : ~std::uint32_t{0}));
        std::memcpy(heap.base() + align_down(heap.offset_of(at), 4), &word, sizeof word);
    } else {
        std::byte* const from = random_byte(heap, ranges, random);
        const std::size_t bytes = 16 * (1 + random_below(random, 8));
        std::memmove(at, from,
                     std::min<std::size_t>({bytes, heap.accessible_bytes() - heap.offset_of(at),
                                            heap.accessible_bytes() - heap.offset_of(from)}));
    }
}

// What a program would do with the heap, as far as it stays a correct program.
void use(test_heap& heap, random_engine& random) {
    std::vector<live_block> blocks;
    for (int step = 0; step < 60; ++step) {
        const std::size_t bytes = random_small_size(random);
        void* const got = heap->allocate(bytes, random_below(random, 10) == 0 ? 8 * KiB : k_granule_bytes);
        if (got == nullptr)
            continue;
        ASSERT_LE(heap.offset_of(got), heap.accessible_bytes() - bytes) << "a block outside the heap";
        blocks.push_back({got, bytes, k_granule_bytes});
    }
    heap->for_each_block([&](block found) { static_cast<void>(heap->block_of(found.start)); });
    for (int i = 0; i < 100; ++i)
        static_cast<void>(heap->block_of(heap.base() + random_below(random, heap.accessible_bytes())));
    std::vector<block> found;
    heap->for_each_block([&](block each) {
        if (random_below(random, 4) == 0)
            found.push_back(each);
    });
    for (const block& each : found) {
        const bool is_ambiguous = each.bytes <= k_small_bytes_max &&
                                  is_aligned(each.bytes, k_page_bytes); // a slot, or pages for their alignment
        if (is_ambiguous || heap->block_of(each.start) != each)
            continue; // freeing it might be refused, and rightly so
        heap->deallocate(each.start, each.bytes);
        heap->free_returned(); // before the next one is asked about
    }
    heap->release_empty_slab();
}

class corruption : public testing::TestWithParam<int> {};

TEST_P(corruption, never_crashes_hangs_or_leads_outside_the_heap) {
    random_engine random(test::random_seed());
    test_heap heap({.limit_bytes = 16 * MiB, .step_bytes = k_page_bytes});
    populate(heap, random);
    ASSERT_TRUE(is_sound(*heap));
    const auto committed = heap.snapshot();
    const auto ranges = metadata_of(heap);
    std::size_t noticed = 0;
    constexpr std::size_t k_tries = 300;
    for (std::size_t i = 0; i < k_tries; ++i) {
        heap.restore(committed);
        for (int n = 0; n < GetParam(); ++n)
            damage_something(heap, ranges, random);
        const bool is_changed = heap.snapshot() != committed;
        const auto state = heap->check_state();
        if (!state) {
            ASSERT_TRUE(state.why().code == errc::corrupt || state.why().code == errc::exhausted);
        }
        const std::size_t problems = heap->check_invariants([](std::uint64_t, std::string_view) {});
        noticed += problems != 0;
        EXPECT_LE(problems != 0, is_changed);
        if (i % 2 == 0 || state) { // also where opening would have refused
            ASSERT_NO_FATAL_FAILURE(use(heap, random)) << "try " << i;
        }
        if (heap->damaged()) {
            EXPECT_EQ(heap->failure().why().code, errc::corrupt);
            EXPECT_EQ(heap->allocate(16), nullptr);
        }
        heap->check_invariants([](std::uint64_t, std::string_view) {});
    }
    std::printf("%zu of %zu noticed\n", noticed, k_tries);
    EXPECT_GT(noticed, k_tries / 2);
    heap.restore(committed);
    ASSERT_TRUE(heap->check_state());
    EXPECT_NE(heap->allocate(16), nullptr);
    ASSERT_TRUE(is_sound(*heap));
}

INSTANTIATE_TEST_SUITE_P(places, corruption, testing::Values(1, 3, 30, 1000));

struct restore_byte {
    std::byte& where;
    std::byte value;
    ~restore_byte() { where = value; }
};

// Bits by which a damaged plane describes other blocks, but sound ones: a start bit inside a block parts it in two, one
// that is missing between two joins them.
bool is_start_bit(std::uint64_t offset) {
    const section& home = section_of(static_cast<std::uint32_t>(offset / k_page_bytes));
    return offset >= home.start_bits_offset(home.first_page);
}

// A slab's longest hole may be entered behind its beginning, too, where what is left is long enough for its bin.
bool is_hole(std::uint64_t offset) {
    const section& home = section_of(static_cast<std::uint32_t>(offset / k_page_bytes));
    const std::uint64_t descriptors = home.descriptor_offset(home.first_page);
    return offset >= descriptors && offset < home.used_bits_offset(home.first_page) &&
           (offset - descriptors) % sizeof(format::page_descriptor) / sizeof(std::uint16_t) == 1;
}

TEST(check_invariants, every_changed_byte_of_the_metadata_is_noticed) {
    random_engine random(11);
    test_heap heap({.limit_bytes = 16 * MiB});
    populate(heap, random);
    ASSERT_TRUE(is_sound(*heap));
    for (const heap_range& range : metadata_of(heap)) {
        for (std::uint64_t at = range.offset; at < range.end();
             at += 1 + random_below(random, range.bytes < 2000 ? 1 : 41)) {
            std::byte& changed = heap.base()[at];
            const std::byte was = changed;
            const restore_byte at_end{changed, was};
            changed ^= std::byte{1} << random_below(random, 8);
            if ((is_start_bit(at) || is_hole(at)) && is_sound(*heap))
                continue;
            std::size_t reports = 0;
            const std::size_t problems = heap->check_invariants([&](std::uint64_t, std::string_view) { ++reports; });
            EXPECT_NE(problems, 0U) << "at " << at;
            EXPECT_EQ(problems, reports);
        }
    }
    ASSERT_TRUE(is_sound(*heap));
}

TEST(check_state, names_the_place_of_what_cannot_be) {
    test_heap heap;
    static_cast<void>(heap->allocate(100));
    const auto sound = heap.state();
    const auto expect_corrupt = [&](std::uint64_t member) {
        const auto state = heap->check_state();
        ASSERT_FALSE(state);
        EXPECT_EQ(state.why().code, errc::corrupt);
        EXPECT_EQ(state.why().offset, test_heap::k_state_offset + member) << state.why().message;
        heap.state() = sound;
    };
    heap.state().version = 99;
    expect_corrupt(0);
    heap.state().current_slab += 1;
    expect_corrupt(offsetof(format::alloc_state, current_slab));
    heap.state().hole_begin = 0;
    expect_corrupt(offsetof(format::alloc_state, current_slab));
    heap.state().used_bins = 1;
    expect_corrupt(offsetof(format::alloc_state, used_bins));
    heap.state().used_pages[3] = ~0U;
    expect_corrupt(offsetof(format::alloc_state, used_pages) + 12);
    heap.state().used_pages[30] = 1;
    expect_corrupt(offsetof(format::alloc_state, used_pages) + 120);
    heap.state().free_run_root = 7;
    expect_corrupt(offsetof(format::alloc_state, free_run_root));
    heap.state().slab_head[5] = 16;
    heap.state().used_bins = 1U << 5;
    expect_corrupt(offsetof(format::alloc_state, slab_head) + 20);
    heap.state().allocated_bytes = ~std::uint64_t{0};
    expect_corrupt(offsetof(format::alloc_state, allocated_bytes));
    EXPECT_TRUE(heap->check_state());
}

TEST(damage, stops_all_operations_until_the_memory_is_restored) {
    test_heap heap;
    void* const block = heap->allocate(100);
    const auto committed = heap.snapshot();
    heap.state().current_slab = 0x7fff'fff0;
    EXPECT_EQ(heap->allocate(100), nullptr);
    ASSERT_TRUE(heap->damaged());
    EXPECT_EQ(heap->failure().why().code, errc::corrupt);
    const auto damaged = heap.snapshot();
    EXPECT_EQ(heap->allocate(16), nullptr);
    EXPECT_EQ(heap->allocate(MiB), nullptr);
    heap->deallocate(block, 100);
    heap->release_empty_slab();
    EXPECT_EQ(heap.snapshot(), damaged);
    heap.restore(committed);
    ASSERT_TRUE(heap->check_state());
    EXPECT_FALSE(heap->damaged());
    heap->deallocate(block, 100);
    EXPECT_EQ(heap->allocated_bytes(), 0U);
}

} // namespace
} // namespace remanence::alloc
