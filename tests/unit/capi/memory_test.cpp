// Blocks: what rem_alloc() gives, what rem_free() takes, and what it refuses.
#include "fixture.hpp"

#include "base/units.hpp"
#include "os/memory_marks.hpp"
#include "support/seed.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::test {

namespace {

class c_memory : public c_heap {
protected:
    void SetUp() override { open(REM_SNAPSHOT); }
    rem_stats stats() {
        rem_stats found{};
        found.size = sizeof found;
        EXPECT_OK(rem_get_stats(heap, &found));
        return found;
    }
    std::uint64_t allocated() { return stats().allocated_bytes; }
    void expect_sound() { EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr)); }
};

bool is_aligned_to(const void* block, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

TEST_F(c_memory, blocks_are_aligned_as_those_of_malloc) {
    for (std::size_t size = 0; size < 5000; size += size < 200 ? 1 : 37) {
        void* const block = rem_alloc(heap, size);
        ASSERT_NE(block, nullptr) << size;
        EXPECT_TRUE(is_aligned_to(block, size < alignof(std::max_align_t) ? 8 : alignof(std::max_align_t))) << size;
        EXPECT_GE(rem_usable_size(block), std::max<std::size_t>(size, 1));
    }
}

TEST_F(c_memory, any_power_of_two_is_an_alignment_and_nothing_else_is) {
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 30; alignment *= 2) {
        void* const block = rem_alloc_aligned(heap, alignment, 100);
        ASSERT_NE(block, nullptr) << alignment;
        EXPECT_TRUE(is_aligned_to(block, alignment)) << alignment;
        EXPECT_OK(rem_free(block));
    }
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{2} << 30}) {
        EXPECT_EQ(rem_alloc_aligned(heap, alignment, 100), nullptr) << alignment;
        EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    }
    expect_sound();
}

TEST_F(c_memory, all_that_was_allocated_is_free_again_after_free) {
    const std::uint64_t before = allocated();
    std::vector<void*> blocks;
    for (std::size_t size = 1; size < 300'000; size = size * 3 / 2 + 1) {
        for (const std::size_t alignment : {8U, 64U, 4096U})
            blocks.push_back(rem_alloc_aligned(heap, alignment, size));
    }
    EXPECT_GT(allocated(), before);
    for (void* block : blocks)
        EXPECT_OK(rem_free(block));
    EXPECT_EQ(allocated(), before);
    expect_sound();
}

TEST_F(c_memory, calloc_gives_zeros_where_something_was_before) {
    void* const dirty = rem_alloc(heap, 1000);
    std::memset(dirty, 0xab, 1000);
    ASSERT_OK(rem_free(dirty));
    for (int i = 0; i < 20; ++i) {
        const auto* const block = static_cast<const unsigned char*>(rem_calloc(heap, 10, 100));
        ASSERT_NE(block, nullptr);
        EXPECT_TRUE(std::all_of(block, block + 1000, [](unsigned char each) { return each == 0; }));
    }
}

TEST_F(c_memory, requests_that_no_memory_has_fail_and_change_nothing) {
    const std::uint64_t before = allocated();
    constexpr std::size_t k_max = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(rem_calloc(heap, k_max / 8, 16), nullptr);
    EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    EXPECT_EQ(rem_calloc(heap, 2, k_max / 2 + 1), nullptr);
    EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    for (const std::size_t size : {k_max, k_max - 1, k_max - 4095, k_max / 2, std::size_t{1} << 50}) {
        EXPECT_EQ(rem_alloc(heap, size), nullptr) << size;
        EXPECT_EQ(last_status(), REM_EXHAUSTED) << size;
        EXPECT_EQ(rem_alloc_aligned(heap, 4096, size), nullptr) << size;
        EXPECT_EQ(last_status(), REM_EXHAUSTED) << size;
    }
    EXPECT_EQ(allocated(), before);
    EXPECT_NE(rem_alloc(heap, 100), nullptr);
    expect_sound();
}

TEST_F(c_memory, realloc_keeps_the_contents_and_frees_the_former_block) {
    std::mt19937 random(test::seed_or(20261126));
    const std::uint64_t before = allocated();
    std::string expected;
    char* block = nullptr;
    for (int i = 0; i < 400; ++i) {
        const std::size_t size = random() % (i % 7 == 0 ? 100'000 : 500);
        block = static_cast<char*>(rem_realloc(heap, block, size));
        ASSERT_NE(block, nullptr);
        ASSERT_GE(rem_usable_size(block), size);
        ASSERT_EQ(std::string(block, std::min(size, expected.size())), expected.substr(0, size));
        expected.assign(size, '\0');
        for (char& each : expected)
            each = static_cast<char>(random());
        std::copy(expected.begin(), expected.end(), block);
    }
    EXPECT_OK(rem_free(block));
    EXPECT_EQ(allocated(), before);
}

TEST_F(c_memory, blocks_of_many_pages_change_their_size_where_they_are) {
    constexpr std::size_t k_small = 100'000;
    constexpr std::size_t k_large = 250'000;
    add_account("first", 1); // so that roots, too, have their pages
    const std::uint64_t before = allocated();
    auto* const block = static_cast<char*>(rem_alloc(heap, k_small));
    std::memset(block, 'x', k_small);
    ASSERT_OK(rem_root_set(heap, "block", block));
    ASSERT_EQ(rem_realloc(heap, block, k_large), block); // nothing is behind it
    std::memset(block + k_small, 'y', k_large - k_small);
    EXPECT_EQ(rem_heap_of(block + k_large - 1), heap);
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    ASSERT_EQ(rem_realloc(heap, block, 2 * k_large), block);
    ASSERT_OK(rem_rollback(heap));
    EXPECT_LT(rem_usable_size(block), k_large + 4096);
    void* const behind = rem_alloc(heap, k_small);
    auto* const moved = static_cast<char*>(rem_realloc(heap, block, 3 * k_large)); // something is
    ASSERT_NE(moved, block);
    EXPECT_EQ(rem_usable_size(block), 0U);
    ASSERT_EQ(rem_realloc(heap, moved, k_small), moved);
    EXPECT_LT(rem_usable_size(moved), k_small + 4096);
    ASSERT_OK(rem_root_set(heap, "block", moved));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    reopen(REM_SNAPSHOT);
    EXPECT_EQ(rem_root_get(heap, "block"), moved);
    EXPECT_TRUE(std::all_of(moved, moved + k_small, [](char each) { return each == 'x'; }));
    expect_sound();
    ASSERT_OK(rem_root_remove(heap, "block"));
    EXPECT_OK(rem_free(moved));
    EXPECT_OK(rem_free(behind));
    EXPECT_EQ(allocated(), before);
}

TEST_F(c_memory, a_large_block_that_moves_takes_its_memory_along) {
    constexpr std::size_t k_bytes = std::size_t{64} << 20;
    auto* const block = static_cast<char*>(rem_alloc(heap, k_bytes));
    ASSERT_NE(block, nullptr);
    std::memset(block, 'x', k_bytes);
    block[k_bytes - 1] = 'y';
    ASSERT_NE(rem_alloc(heap, 100'000), nullptr); // behind it
    auto* const moved = static_cast<char*>(rem_realloc(heap, block, 2 * k_bytes));
    ASSERT_NE(moved, nullptr);
    ASSERT_NE(moved, block);
    // The checking library, which sanitizers are used with, writes zeros over what is freed.
    if (std::string_view(stats().tracker) != "trap" && !os::k_marks_memory) {
        std::vector<unsigned char> in_memory(k_bytes / k_page_bytes); // of where it was
        ASSERT_EQ(::mincore(block, k_bytes, in_memory.data()), 0);
        EXPECT_LT(std::ranges::count_if(in_memory, [](unsigned char each) { return (each & 1U) != 0; }), 256)
            << "pages were copied";
    }
    EXPECT_EQ(std::count(moved, moved + k_bytes, 'x'), static_cast<std::ptrdiff_t>(k_bytes - 1));
    EXPECT_EQ(moved[k_bytes - 1], 'y');
    ASSERT_OK(rem_root_set(heap, "block", moved));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    reopen(REM_SNAPSHOT);
    EXPECT_EQ(rem_root_get(heap, "block"), moved);
    EXPECT_EQ(std::count(moved, moved + k_bytes, 'x'), static_cast<std::ptrdiff_t>(k_bytes - 1));
    expect_sound();
}

TEST_F(c_memory, what_realloc_adds_is_part_of_a_declared_commit) {
    add_account("first", 1); // so that roots, too, have their pages
    auto* const block = static_cast<char*>(rem_alloc(heap, 100'000));
    ASSERT_OK(rem_root_set(heap, "block", block));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    reopen(REM_TRANSACTIONAL);
    ASSERT_OK(rem_write_begin_declared(heap));
    ASSERT_EQ(rem_realloc(heap, block, 200'000), block);
    std::memset(block + 110'000, 'z', 90'000);
    ASSERT_OK(rem_write_end(heap));
    reopen(REM_TRANSACTIONAL);
    EXPECT_TRUE(std::all_of(block + 110'000, block + 200'000, [](char each) { return each == 'z'; }));
    expect_sound();
}

TEST_F(c_memory, room_of_a_dynamic_block_takes_no_space_until_it_is_written) {
    constexpr std::size_t k_room = std::size_t{64} << 20;
    auto* const block = static_cast<char*>(rem_alloc_dynamic(heap, 10, k_room));
    ASSERT_NE(block, nullptr);
    EXPECT_GE(rem_usable_size(block), k_room);
    std::strcpy(block, "contents");
    ASSERT_OK(rem_root_set(heap, "block", block));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    EXPECT_EQ(rem_realloc(heap, block, k_room), block);
    block[k_room - 1] = 'x';
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    ASSERT_OK(rem_checkpoint(heap));
    struct stat file{};
    ASSERT_EQ(::stat(path.c_str(), &file), 0);
    EXPECT_LT(static_cast<std::size_t>(file.st_blocks) * 512, k_room / 8);
    reopen(REM_SNAPSHOT);
    const auto* const found = static_cast<char*>(rem_root_get(heap, "block"));
    EXPECT_STREQ(found, "contents");
    EXPECT_EQ(found[k_room - 1], 'x');
    expect_sound();
    EXPECT_EQ(rem_alloc_dynamic(heap, 10, std::numeric_limits<std::size_t>::max()), nullptr);
    EXPECT_EQ(last_status(), REM_EXHAUSTED);
}

TEST_F(c_memory, whether_blocks_lie_on_lines_is_what_the_file_was_created_with) {
    EXPECT_EQ(rem_usable_size(rem_alloc(heap, 65)), 72U);
    for (const bool is_asked_for : {true, false}) {
        rem_options options = options_of(REM_SNAPSHOT);
        options.aligned_blocks = is_asked_for;
        const std::string other = (dir / "aligned.rem").string();
        rem_heap* opened = nullptr;
        ASSERT_OK(rem_open(other.c_str(), &options, &opened));
        for (const auto& [size, usable] :
             {std::pair{8, 8}, {24, 32}, {65, 128}, {4000, 4032}, {4095, 4096}, {5000, 8192}})
            EXPECT_EQ(rem_usable_size(rem_alloc(opened, static_cast<std::size_t>(size))),
                      static_cast<std::size_t>(usable));
        EXPECT_EQ(rem_alloc(opened, std::numeric_limits<std::size_t>::max()), nullptr);
        EXPECT_EQ(last_status(), REM_EXHAUSTED);
        ASSERT_OK(rem_close(opened));
        ASSERT_OK(rem_close(heap));
        options.aligned_blocks = true;
        ASSERT_OK(rem_open(path.c_str(), &options, &heap)); // one without
        EXPECT_EQ(rem_usable_size(rem_alloc(heap, 65)), 72U);
    }
}

TEST_F(c_memory, aligned_blocks_begin_at_multiples_of_what_divides_their_size) {
    rem_options options = options_of(REM_SNAPSHOT);
    options.aligned_blocks = true;
    rem_heap* opened = nullptr;
    ASSERT_OK(rem_open((dir / "aligned.rem").c_str(), &options, &opened));
    const auto alignment_of = [](const void* block) {
        const auto at = reinterpret_cast<std::uintptr_t>(block);
        return at & -at;
    };
    for (int i = 0; i != 300; ++i) {
        EXPECT_NE(rem_alloc(opened, 40), nullptr); // so that nothing is aligned by chance
        EXPECT_GE(alignment_of(rem_alloc(opened, 128)), 128U);
        EXPECT_GE(alignment_of(rem_alloc(opened, 64 * KiB)), 64 * KiB);
        EXPECT_GE(alignment_of(rem_alloc(opened, 5000)), 8 * KiB);
    }
    void* grown = rem_alloc(opened, 4 * KiB);
    for (std::size_t bytes = 8 * KiB; bytes <= 4 * MiB; bytes *= 2) {
        grown = rem_realloc(opened, grown, bytes);
        EXPECT_GE(alignment_of(grown), bytes >= 2 * MiB ? 2 * MiB : std::min<std::size_t>(bytes, 64 * KiB));
    }
    EXPECT_OK(rem_verify(opened, nullptr, nullptr, nullptr));
    ASSERT_OK(rem_close(opened));
}

// With or without aligned_blocks.
TEST_F(c_memory, an_alignment_that_is_asked_for_is_what_the_block_has) {
    std::mt19937 random(random_seed());
    for (int i = 0; i != 1000; ++i) {
        const std::size_t alignment = std::size_t{1} << random() % 22;
        void* const block = rem_alloc_aligned(heap, alignment, 1 + random() % 10'000);
        ASSERT_NE(block, nullptr) << alignment;
        EXPECT_TRUE(is_aligned(reinterpret_cast<std::uintptr_t>(block), alignment));
        if (random() % 3 == 0) {
            EXPECT_OK(rem_free(block));
        }
    }
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{48}, std::size_t{2} << 30U}) {
        EXPECT_EQ(rem_alloc_aligned(heap, alignment, 100), nullptr) << alignment;
        EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    }
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

TEST_F(c_memory, is_evicted_beyond_the_limit_of_the_heap) {
    constexpr std::size_t k_mib = 1024 * 1024;
    ASSERT_OK(rem_close(heap));
    heap = nullptr;
    rem_options options = options_of(REM_SNAPSHOT);
    ASSERT_OK(rem_open(path.c_str(), &options, &heap));
    EXPECT_STATUS(rem_limit_memory(heap, k_mib - 1), REM_INVALID_ARGUMENT);
    ASSERT_OK(rem_limit_memory(heap, k_mib));
    auto* const block = static_cast<char*>(rem_alloc(heap, 8 * k_mib));
    std::memset(block, 'x', 8 * k_mib);
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    rem_stats stats{};
    stats.size = sizeof stats;
    ASSERT_OK(rem_get_stats(heap, &stats));
    EXPECT_LE(stats.resident_bytes, k_mib);
    EXPECT_LE(stats.dirty_bytes, stats.resident_bytes);
    EXPECT_GE(stats.evicted_bytes, 6 * k_mib);
    EXPECT_EQ(std::count(block, block + 8 * k_mib, 'x'), static_cast<std::ptrdiff_t>(8 * k_mib));
    const std::uint64_t evicted = stats.evicted_bytes;
    ASSERT_OK(rem_limit_memory(heap, 0)); // again nobody counts
    ASSERT_OK(rem_get_stats(heap, &stats));
    EXPECT_EQ(stats.resident_bytes, 0U);
    EXPECT_EQ(stats.dirty_bytes, 0U);
    EXPECT_EQ(stats.evicted_bytes, evicted);
}

TEST_F(c_memory, realloc_that_fails_leaves_the_block) {
    auto* const block = static_cast<char*>(rem_alloc(heap, 100));
    std::strcpy(block, "still here");
    EXPECT_EQ(rem_realloc(heap, block, std::numeric_limits<std::size_t>::max()), nullptr);
    EXPECT_EQ(last_status(), REM_EXHAUSTED);
    EXPECT_STREQ(block, "still here");
    EXPECT_EQ(rem_realloc(heap, block + 1, 200), nullptr);
    EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    EXPECT_OK(rem_free(block));
    EXPECT_EQ(rem_realloc(heap, block, 200), nullptr);
    EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
}

TEST_F(c_memory, a_block_is_freed_once) {
    for (const std::size_t size : {1U, 16U, 100U, 511U, 513U, 5000U, 40'000U, 300'000U}) {
        void* const kept = rem_alloc(heap, size);
        void* const block = rem_alloc(heap, size);
        const std::uint64_t with_both = allocated();
        EXPECT_OK(rem_free(block));
        const std::uint64_t with_one = allocated();
        EXPECT_LT(with_one, with_both);
        EXPECT_STATUS(rem_free(block), REM_INVALID_ARGUMENT);
        EXPECT_NE(std::string(rem_last_error()->message).find("belongs to no block"), std::string::npos);
        ASSERT_OK(rem_commit(heap, REM_DURABLE)); // magazines are empty then
        EXPECT_STATUS(rem_free(block), REM_INVALID_ARGUMENT);
        EXPECT_EQ(rem_usable_size(block), 0U);
        EXPECT_EQ(allocated(), with_one);
        EXPECT_OK(rem_free(kept));
        expect_sound();
    }
}

TEST_F(c_memory, nothing_is_freed_from_within_a_block) {
    for (const std::size_t size : {16U, 100U, 5000U, 300'000U}) {
        auto* const block = static_cast<char*>(rem_alloc(heap, size));
        for (const std::size_t inside : {std::size_t{1}, std::size_t{8}, size / 2, size - 1}) {
            EXPECT_STATUS(rem_free(block + inside), REM_INVALID_ARGUMENT);
            EXPECT_NE(std::string(rem_last_error()->message).find("inside a block"), std::string::npos);
        }
        EXPECT_OK(rem_free(block));
    }
    expect_sound();
}

TEST_F(c_memory, nothing_is_freed_that_no_heap_owns) {
    int local = 0;
    static int constant = 0;
    std::vector<int> of_malloc(10);
    auto* const base = static_cast<char*>(rem_base(heap));
    for (void* const wild :
         {static_cast<void*>(&local), static_cast<void*>(&constant), static_cast<void*>(of_malloc.data()),
          reinterpret_cast<void*>(1), reinterpret_cast<void*>(std::numeric_limits<std::uintptr_t>::max()),
          static_cast<void*>(base), static_cast<void*>(base + 8), static_cast<void*>(base + 4096),
          static_cast<void*>(base + (std::size_t{60} << 20))}) {
        EXPECT_STATUS(rem_free(wild), REM_INVALID_ARGUMENT);
        EXPECT_EQ(rem_usable_size(wild), 0U);
    }
    expect_sound();
}

TEST_F(c_memory, null_is_no_block) {
    EXPECT_OK(rem_free(nullptr));
    EXPECT_EQ(rem_usable_size(nullptr), 0U);
    EXPECT_EQ(rem_heap_of(nullptr), nullptr);
}

TEST_F(c_memory, each_block_knows_its_heap) {
    rem_heap* other = nullptr;
    const rem_options options = options_of(REM_SNAPSHOT);
    ASSERT_OK(rem_open((dir / "other.rem").c_str(), &options, &other));
    auto* const here = static_cast<char*>(rem_alloc(heap, 100));
    auto* const there = static_cast<char*>(rem_alloc(other, 100));
    EXPECT_EQ(rem_heap_of(here), heap);
    EXPECT_EQ(rem_heap_of(here + 50), heap);
    EXPECT_EQ(rem_heap_of(there), other);
    EXPECT_EQ(rem_heap_of(&options), nullptr);
    EXPECT_EQ(rem_realloc(heap, there, 200), nullptr);
    EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    EXPECT_OK(rem_free(there));
    ASSERT_OK(rem_close(other));
    EXPECT_EQ(rem_heap_of(there), nullptr);
    EXPECT_STATUS(rem_free(there), REM_INVALID_ARGUMENT);
}

} // namespace

} // namespace remanence::test
