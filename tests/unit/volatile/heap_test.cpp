#include "os/anonymous_memory.hpp"
#include "support/seed.hpp"
#include "volatile/heap.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace remanence::transient {
namespace {

constexpr heap_options k_small_reserve{.reserve_bytes = 4 * GiB};

std::size_t problems_of(const heap& of) {
    return of.check_invariants(
        [](std::uint64_t offset, std::string_view what) { ADD_FAILURE() << "at " << offset << ": " << what; });
}

/// What a program believes to have: blocks by address, each filled with a byte of its own.
class held_blocks {
public:
    explicit held_blocks(heap& from, placing how) : from_(from), how_(how) {}

    void add(void* address, std::size_t bytes, std::size_t alignment) {
        ASSERT_NE(address, nullptr);
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        const std::size_t usable = from_.usable_bytes(address);
        ASSERT_GE(usable, bytes);
        ASSERT_TRUE(is_aligned(at, std::max(alignment, k_step_bytes)));
        if (how_ == placing::on_lines && bytes > 0) {
            ASSERT_TRUE(bytes >= k_page_bytes ? is_aligned(at, k_page_bytes)
                        : bytes >= 64         ? is_aligned(at, 64)
                                              : at / 64 == (at + bytes - 1) / 64);
        }
        const auto next = blocks_.lower_bound(at);
        ASSERT_TRUE(next == blocks_.end() || at + usable <= next->first);
        ASSERT_TRUE(next == blocks_.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= at);
        const auto fill = static_cast<unsigned char>(++count_);
        std::memset(address, fill, usable);
        blocks_[at] = {usable, fill};
    }
    void expect_filled(std::uintptr_t at, std::size_t bytes, unsigned char fill) const {
        const auto* const content = reinterpret_cast<const unsigned char*>(at);
        for (std::size_t i = 0; i < bytes; i += i + 8 < bytes ? 7 : 1)
            ASSERT_EQ(content[i], fill) << "byte " << i << " of " << bytes;
    }
    void free_nth(std::size_t nth) {
        const auto at = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(nth % blocks_.size()));
        expect_filled(at->first, at->second.bytes, at->second.fill);
        from_.free(reinterpret_cast<void*>(at->first));
        blocks_.erase(at);
    }
    void reallocate_nth(std::size_t nth, std::size_t bytes) {
        const auto at = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(nth % blocks_.size()));
        const block_fill was = at->second;
        void* const moved = from_.reallocate(reinterpret_cast<void*>(at->first), bytes);
        blocks_.erase(at);
        ASSERT_NE(moved, nullptr);
        expect_filled(reinterpret_cast<std::uintptr_t>(moved), std::min(was.bytes, bytes), was.fill);
        add(moved, 0, 1);
    }
    void expect_same_blocks() const {
        std::vector<alloc::block> found;
        from_.for_each_block([&](const alloc::block& each) { found.push_back(each); });
        EXPECT_EQ(found.size(), blocks_.size());
        for (const alloc::block& each : found) {
            const auto at = blocks_.find(reinterpret_cast<std::uintptr_t>(each.start));
            ASSERT_NE(at, blocks_.end());
            EXPECT_EQ(each.bytes, at->second.bytes);
            EXPECT_EQ(from_.block_of(static_cast<std::byte*>(each.start) + each.bytes / 2), each);
        }
    }
    [[nodiscard]] bool is_empty() const { return blocks_.empty(); }

private:
    struct block_fill {
        std::size_t bytes;
        unsigned char fill;
    };
    heap& from_;
    placing how_;
    std::map<std::uintptr_t, block_fill> blocks_;
    unsigned count_ = 0;
};

/// Mostly small, at times up to 1 MiB.
std::size_t size_of(std::uint32_t seed) {
    const std::uint32_t width = seed % 32 == 0 ? 20 : seed % 8 == 0 ? 17 : 9;
    return (seed / 32) % (1U << width);
}

void run(const std::vector<std::uint32_t>& seeds, placing how, bool holds_no_addresses = false) {
    heap tested;
    ASSERT_EQ(tested.open({.reserve_bytes = 4 * GiB, .holds_no_addresses = holds_no_addresses, .how = how}), 0);
    held_blocks held(tested, how);
    for (const std::uint32_t seed : seeds) {
        const std::size_t bytes = size_of(seed / 8);
        if (seed % 8 < 4 || held.is_empty()) {
            const std::size_t alignment = seed % 8 == 3 ? std::size_t{1} << (seed / 8 % 20) : 1;
            held.add(tested.allocate(bytes, alignment), bytes, alignment);
        } else if (seed % 8 < 7) {
            held.free_nth(seed / 8);
        } else {
            held.reallocate_nth(seed / 8, bytes);
        }
        if (testing::Test::HasFatalFailure())
            return;
    }
    held.expect_same_blocks();
    EXPECT_EQ(problems_of(tested), 0U);
    while (!held.is_empty())
        held.free_nth(0);
    EXPECT_EQ(problems_of(tested), 0U);
}

RC_GTEST_PROP(volatile_heap_model, blocks_are_disjoint_aligned_and_intact, (const std::vector<std::uint32_t>& seeds)) {
    run(seeds, placing::on_lines);
    run(seeds, placing::compact);
    RC_ASSERT(!testing::Test::HasFailure());
}

TEST(volatile_heap_core, thousands_of_random_operations_leave_blocks_intact) {
    std::mt19937_64 random(test::random_seed());
    std::vector<std::uint32_t> seeds(10'000);
    for (std::uint32_t& each : seeds)
        each = static_cast<std::uint32_t>(random());
    run(seeds, placing::on_lines);
    run(seeds, placing::compact);
    run(seeds, placing::compact, true);
}

/// Of the process: its address space, or what is in memory.
std::uint64_t bytes_of_process(bool in_memory) {
    std::ifstream from("/proc/self/statm");
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    from >> all >> resident;
    return (in_memory ? resident : all) * k_page_bytes;
}

#ifndef REMANENCE_TSAN_BASES // there all heaps hold their addresses
TEST(volatile_heap_core, addresses_that_are_not_held_do_not_count_until_they_are_needed) {
    const std::uint64_t before = bytes_of_process(false);
    {
        heap tested;
        ASSERT_EQ(tested.open({.reserve_bytes = 4 * TiB, .holds_no_addresses = true}), 0);
        EXPECT_EQ(tested.reserved_bytes(), 4 * TiB);
        EXPECT_LT(bytes_of_process(false), before + 4 * MiB);
        void* const got = tested.allocate(100 * MiB);
        ASSERT_NE(got, nullptr);
        std::memset(got, 1, 100 * MiB);
        EXPECT_GE(bytes_of_process(false), before + 100 * MiB);
        EXPECT_EQ(problems_of(tested), 0U);
    }
    EXPECT_LT(bytes_of_process(false), before + 4 * MiB);
}

/// In a child that may have so many bytes of addresses more.
template <class F>
void run_with_few_addresses(std::uint64_t bytes, const F& f) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit limit{bytes_of_process(false) + bytes, RLIM_INFINITY};
        ::_exit(::setrlimit(RLIMIT_AS, &limit) == 0 && f() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(volatile_heap_no_sanitizer, with_few_addresses_heaps_begin_small_and_grow_up_to_the_limit) {
    run_with_few_addresses(600 * MiB, [] {
        std::array<heap, 20> heaps;
        for (heap& each : heaps) {
            if (each.open({.reserve_bytes = 64 * GiB}) != 0)
                return false;
        }
        for (heap& each : heaps) {
            void* const got = each.allocate(5 * MiB);
            if (got == nullptr || !each.holds(got) || each.allocate(400 * MiB) != nullptr)
                return false;
            std::memset(got, 1, 5 * MiB);
        }
        int others = 0; // no two have the same addresses
        for (const heap& one : heaps) {
            for (const heap& other : heaps)
                others += one.holds(other.base()) ? 1 : 0;
        }
        return others == 20 && heaps[7].allocate(100 * MiB) != nullptr && heaps[8].allocate(100 * MiB) == nullptr;
    });
}

TEST(volatile_heap_core, what_lies_where_such_a_heap_would_grow_stays_as_it_is) {
    heap tested;
    ASSERT_EQ(tested.open({.reserve_bytes = 4 * GiB, .holds_no_addresses = true}), 0);
    ASSERT_NE(tested.allocate(1000), nullptr);
    constexpr std::size_t k_bytes = 8192;
    void* const in_the_way = ::mmap(tested.base() + 200 * MiB, k_bytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_EQ(in_the_way, tested.base() + 200 * MiB);
    std::memset(in_the_way, 7, k_bytes);
    EXPECT_EQ(tested.allocate(300 * MiB), nullptr);
    held_blocks held(tested, placing::compact);
    std::size_t count = 0;
    for (void* got = nullptr; (got = tested.allocate(MiB)) != nullptr; ++count)
        held.add(got, MiB, 1);
    EXPECT_GT(count, 150U);
    EXPECT_LT(count, 200U);
    EXPECT_EQ(problems_of(tested), 0U);
    const auto* const bytes = static_cast<const unsigned char*>(in_the_way);
    EXPECT_TRUE(std::all_of(bytes, bytes + k_bytes, [](unsigned char each) { return each == 7; }));
    ::munmap(in_the_way, k_bytes);
    EXPECT_NE(tested.allocate(300 * MiB), nullptr) << "now nothing is in the way";
}
#endif

TEST(volatile_heap_core, every_alignment_up_to_1_gib_is_kept_and_others_refused) {
    heap tested;
    ASSERT_EQ(tested.open({.reserve_bytes = 64 * GiB}), 0);
    for (std::size_t alignment = 1; alignment <= k_alignment_max; alignment *= 2) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{70'000}}) {
            void* const got = tested.allocate(bytes, alignment);
            ASSERT_NE(got, nullptr) << alignment;
            EXPECT_TRUE(is_aligned(reinterpret_cast<std::uintptr_t>(got), alignment));
            tested.free(got);
        }
    }
    EXPECT_EQ(tested.allocate(1, 2 * k_alignment_max), nullptr);
    EXPECT_EQ(tested.allocate(1, 48), nullptr);
    EXPECT_EQ(tested.allocate(~std::size_t{0}), nullptr);
    EXPECT_EQ(tested.allocate(~std::size_t{0} - 100, 64), nullptr);
    EXPECT_EQ(problems_of(tested), 0U);
}

TEST(volatile_heap_core, zeros_are_zeros_also_where_blocks_lay_before) {
    heap tested;
    ASSERT_EQ(tested.open(k_small_reserve), 0);
    for (const std::size_t bytes : {std::size_t{24}, std::size_t{5000}, std::size_t{300'000}}) {
        void* const dirty = tested.allocate(bytes);
        ASSERT_NE(dirty, nullptr);
        std::memset(dirty, 0xee, bytes);
        tested.free(dirty);
        const auto* const zeros = static_cast<const unsigned char*>(tested.allocate_zeros(bytes));
        ASSERT_NE(zeros, nullptr);
        EXPECT_TRUE(std::all_of(zeros, zeros + bytes, [](unsigned char each) { return each == 0; }));
    }
}

TEST(volatile_heap_core, a_large_block_grows_in_place_or_moves_with_its_contents) {
    heap tested;
    ASSERT_EQ(tested.open(k_small_reserve), 0);
    constexpr std::size_t k_words = 20 * MiB / sizeof(std::uint64_t);
    ASSERT_NE(tested.allocate(20 * MiB), nullptr); // elsewhere: the next are the first two of a section
    auto* const first = static_cast<std::uint64_t*>(tested.allocate(20 * MiB));
    auto* const behind = static_cast<std::uint64_t*>(tested.allocate(20 * MiB));
    ASSERT_EQ(behind, first + k_words);
    for (std::size_t i = 0; i < k_words; i += 512)
        first[i] = i;
    auto* const moved = static_cast<std::uint64_t*>(tested.reallocate(first, 20 * MiB + 1));
    ASSERT_NE(moved, nullptr);
    EXPECT_NE(moved, first);
    auto* const grown = static_cast<std::uint64_t*>(tested.reallocate(moved, 30 * MiB));
    for (std::size_t i = 0; i < k_words; i += 512)
        ASSERT_EQ(grown[i], i);
    EXPECT_EQ(tested.reallocate(behind, 10 * MiB), behind);
    EXPECT_EQ(tested.reallocate(behind, 20 * MiB), behind);
    void* const hole = tested.allocate(19 * MiB); // best fit: where the first was
    EXPECT_EQ(hole, first);
    EXPECT_EQ(first[512], 0U) << "its memory is another now";
    EXPECT_EQ(problems_of(tested), 0U);
}

/// Mappings of the process that begin in the heap.
std::size_t mappings_of(const heap& of) {
    std::ifstream maps("/proc/self/maps");
    std::size_t found = 0;
    for (std::string line; std::getline(maps, line);) {
        const std::uint64_t begin = std::stoull(line, nullptr, 16);
        found += of.holds(reinterpret_cast<const void*>(begin)) ? 1U : 0U;
    }
    return found;
}

/// Two blocks, one behind the other, of which the first grows: it has to move, and moves by its page tables.
void* moved_block(heap& from) {
    void* const first = from.allocate(256 * KiB);
    void* const behind = from.allocate(256 * KiB);
    std::memset(first, 7, 256 * KiB);
    void* const moved = from.reallocate(first, 512 * KiB);
    EXPECT_NE(moved, first);
    EXPECT_EQ(static_cast<const char*>(moved)[256 * KiB - 1], 7);
    from.free(behind);
    return moved;
}

TEST(volatile_heap_core, a_block_that_shrinks_fills_a_hole_at_a_lower_address) {
    heap tested;
    ASSERT_EQ(tested.open(k_small_reserve), 0);
    ASSERT_NE(tested.allocate(20 * MiB), nullptr); // elsewhere: the next two are the first of a section
    void* const hole = tested.allocate(20 * MiB);
    void* const wall = tested.allocate(20 * MiB);
    ASSERT_EQ(wall, static_cast<char*>(hole) + 20 * MiB);
    auto* const block = static_cast<char*>(tested.allocate(22 * MiB)); // in the section behind
    std::memset(block, 7, 22 * MiB);
    tested.free(hole);
    EXPECT_EQ(tested.reallocate(block, 12 * MiB), block) << "half of it is left";
    const std::uint64_t resident = tested.usage().resident_bytes;
    auto* const moved = static_cast<char*>(tested.reallocate(block, 5 * MiB));
    EXPECT_EQ(moved, hole);
    EXPECT_TRUE(std::all_of(moved, moved + 5 * MiB, [](char each) { return each == 7; }));
    EXPECT_LE(tested.usage().resident_bytes, resident);
    EXPECT_EQ(problems_of(tested), 0U);
    EXPECT_EQ(tested.allocate(15 * MiB), moved + 5 * MiB) << "the rest of the hole";
    EXPECT_EQ(tested.reallocate(wall, 3 * MiB), wall) << "no hole is left";
    EXPECT_EQ(tested.usage().large_bytes, 43 * MiB);
}

// More than may be there at a time.
TEST(volatile_heap_core, blocks_that_were_moved_leave_no_mappings_behind) {
    heap tested;
    ASSERT_EQ(tested.open(k_small_reserve), 0);
    void* const kept = moved_block(tested);
    const std::size_t before = mappings_of(tested);
    for (int i = 0; i != 16 * 1024; ++i)
        tested.free(moved_block(tested));
    EXPECT_EQ(mappings_of(tested), before);
    void* const last = moved_block(tested);
    EXPECT_GT(mappings_of(tested), before) << "it was copied";
    // Longer where it is, and shorter.
    EXPECT_EQ(tested.reallocate(last, 768 * KiB), last);
    EXPECT_EQ(tested.reallocate(last, 400 * KiB), last);
    EXPECT_EQ(problems_of(tested), 0U);
    tested.free(last);
    EXPECT_EQ(mappings_of(tested), before);
    tested.free(kept);
    EXPECT_LT(mappings_of(tested), before);
    EXPECT_EQ(problems_of(tested), 0U);
}

TEST(volatile_heap_core, a_block_with_room_grows_where_it_is) {
    heap tested;
    ASSERT_EQ(tested.open(k_small_reserve), 0);
    void* const block = tested.allocate_with_room(1000, 100 * MiB);
    ASSERT_NE(block, nullptr);
    EXPECT_LT(tested.usage().resident_bytes, 2 * MiB);
    EXPECT_EQ(tested.usable_bytes(block), 100 * MiB);
    EXPECT_EQ(tested.reallocate(block, 100 * MiB), block);
    std::memset(block, 1, 20 * MiB);
    const std::uint64_t resident = tested.usage().resident_bytes;
    for (const std::size_t bytes : {MiB, std::uint64_t{10}, 50 * MiB}) {
        EXPECT_EQ(tested.reallocate(block, bytes), block);
        void* const other = tested.allocate(MiB); // in the room, if it were not kept
        ASSERT_NE(other, nullptr);
    }
    EXPECT_LT(tested.usage().resident_bytes, resident - 15 * MiB);
    EXPECT_EQ(tested.usable_bytes(block), 100 * MiB);
    EXPECT_EQ(problems_of(tested), 0U);
    void* const moved = tested.reallocate(block, 200 * MiB);
    ASSERT_NE(moved, nullptr);
    EXPECT_EQ(tested.reallocate(moved, 20 * MiB), moved);
    EXPECT_EQ(tested.usable_bytes(moved), 20 * MiB);
    EXPECT_EQ(problems_of(tested), 0U);
}

TEST(volatile_heap_core, what_was_freed_goes_back_to_the_system) {
    heap tested;
    ASSERT_EQ(tested.open(k_small_reserve), 0);
    std::vector<void*> blocks;
    for (int i = 0; i != 2000; ++i) {
        blocks.push_back(tested.allocate(40'000));
        ASSERT_NE(blocks.back(), nullptr);
        std::memset(blocks.back(), 1, 40'000);
    }
    EXPECT_GT(tested.usage().resident_bytes, 80'000'000U);
    for (void* const each : blocks)
        tested.free(each);
    tested.trim();
    EXPECT_LT(tested.usage().resident_bytes, 4'000'000U);
    EXPECT_EQ(tested.usage().usable_bytes, 0U);
}

// no_sanitizer: a sanitizer touches memory of its own for each block.
TEST(volatile_heap_no_sanitizer, a_large_block_that_nobody_touched_does_not_keep_freed_memory) {
    heap tested;
    ASSERT_EQ(tested.open({.reserve_bytes = 64 * GiB}), 0);
    ASSERT_NE(tested.allocate(8 * GiB), nullptr);
    constexpr std::size_t k_count = 8000;
    std::vector<void*> blocks;
    for (std::size_t i = 0; i != k_count; ++i) {
        blocks.push_back(tested.allocate(40'000));
        ASSERT_NE(blocks.back(), nullptr);
        std::memset(blocks.back(), 1, 40'000);
    }
    const std::uint64_t before = tested.usage().resident_bytes;
    EXPECT_GT(before, k_count * 40'000);
    for (void* const each : blocks)
        tested.free(each);
    EXPECT_LT(tested.usage().resident_bytes, before / 2);
    EXPECT_EQ(problems_of(tested), 0U);
}

TEST(volatile_heap_core, headers_of_slabs_go_back_unless_other_threads_may_know_them) {
    constexpr std::uint64_t k_headers = 64 * MiB / k_unit_bytes * sizeof(slab);
    const auto resident_after = [](bool has_another_thread) {
        heap tested;
        EXPECT_EQ(tested.open(k_small_reserve), 0);
        std::vector<void*> blocks;
        while (tested.usage().peak_bytes < 64 * MiB) {
            for (int i = 0; i != 10'000; ++i)
                blocks.push_back(tested.allocate(64));
        }
        if (has_another_thread) {
            std::thread([&] { tested.free(blocks.back()); }).join();
            blocks.pop_back();
        }
        std::ranges::for_each(blocks, [&](void* each) { tested.free(each); });
        tested.trim();
        EXPECT_EQ(problems_of(tested), 0U);
        const std::uint64_t resident = tested.usage().resident_bytes;
        EXPECT_NE(tested.allocate(64), nullptr);
        return resident;
    };
    EXPECT_LT(resident_after(false) + k_headers / 2, resident_after(true));
}

TEST(volatile_heap_core, usage_counts_blocks_by_size) {
    heap tested;
    ASSERT_EQ(tested.open(k_small_reserve), 0);
    for (int i = 0; i != 100; ++i)
        ASSERT_NE(tested.allocate(100), nullptr);
    ASSERT_NE(tested.allocate(MiB), nullptr);
    const heap_usage found = tested.usage();
    EXPECT_EQ(found.classes[class_of(100)].blocks, 100U);
    EXPECT_EQ(found.large_blocks, 1U);
    EXPECT_EQ(found.usable_bytes, 100 * 112 + MiB);
    EXPECT_GE(found.peak_bytes, MiB + k_unit_bytes);
}

// --- no memory

std::atomic<int> pages_left;

int fail_at_last(std::byte* where, std::uint64_t bytes, os::addresses are) noexcept {
    return pages_left.fetch_sub(1) <= 0 ? ENOMEM : os::make_writable(where, bytes, are);
}

TEST(volatile_heap_without_memory, each_refused_growth_leaves_blocks_and_heap_intact) {
    for (int refused = 0;; ++refused) {
        pages_left = refused;
        heap tested;
        const int code = tested.open({.reserve_bytes = GiB, .make_writable = fail_at_last});
        if (code != 0) {
            EXPECT_EQ(code, ENOMEM);
            continue;
        }
        held_blocks held(tested, placing::compact);
        bool has_failed = false;
        for (std::uint32_t i = 0; i != 400; ++i) {
            const std::size_t bytes = size_of(i * 2654435761U);
            void* const got = tested.allocate(bytes);
            has_failed = has_failed || got == nullptr;
            if (got != nullptr)
                held.add(got, bytes, 1);
            if (i % 3 == 2 && !held.is_empty())
                held.free_nth(i);
        }
        pages_left = 1000;
        EXPECT_EQ(problems_of(tested), 0U);
        void* const later = tested.allocate(100'000);
        EXPECT_NE(later, nullptr) << "it can go on when there is memory again";
        held.add(later, 100'000, 1);
        held.expect_same_blocks();
        ASSERT_FALSE(testing::Test::HasFailure()) << refused;
        if (!has_failed)
            return;
    }
}

TEST(volatile_heap_without_memory, a_full_heap_refuses_and_serves_again_after_a_free) {
    heap tested;
    ASSERT_EQ(tested.open({.reserve_bytes = GiB}), 0);
    std::vector<void*> blocks;
    for (void* got = nullptr; (got = tested.allocate(3 * MiB)) != nullptr;)
        blocks.push_back(got);
    EXPECT_GT(blocks.size(), 300U);
    EXPECT_EQ(tested.allocate(3 * MiB), nullptr);
    void* const kept = blocks.back();
    EXPECT_EQ(tested.reallocate(kept, 512 * MiB), nullptr);
    EXPECT_EQ(tested.usable_bytes(kept), 3 * MiB);
    tested.free(blocks.front());
    EXPECT_NE(tested.allocate(3 * MiB), nullptr);
    EXPECT_EQ(problems_of(tested), 0U);
}

// --- mistakes

TEST(volatile_heap_mistakes, are_reported_at_once_with_the_address) {
    testing::GTEST_FLAG(death_test_style) = "fast";
    heap tested;
    ASSERT_EQ(tested.open(k_small_reserve), 0);
    for (const std::size_t bytes : {std::size_t{24}, std::size_t{3000}, std::size_t{200'000}}) {
        auto* const block = static_cast<std::byte*>(tested.allocate(bytes));
        auto* const other = static_cast<std::byte*>(tested.allocate(bytes));
        ASSERT_NE(block, nullptr);
        EXPECT_DEATH(tested.free(block + 8), "0x[0-9a-f]+: free.. or realloc.. of an address at which no block begins");
        EXPECT_DEATH(tested.free(block + bytes / 16 * 16), "at which no block begins") << bytes;
        tested.free(block);
        EXPECT_DEATH(tested.free(block), "freed already") << bytes;
        EXPECT_DEATH((void)tested.reallocate(block, 1), "freed already") << bytes;
        EXPECT_DEATH((void)tested.usable_bytes(block), "freed already") << bytes;
        tested.free(other);
    }
    int local = 0;
    EXPECT_DEATH(tested.free(&local), "never allocated here");
    void* const mallocs = std::malloc(10);
    EXPECT_DEATH(tested.free(mallocs), "never allocated here");
    std::free(mallocs);
    EXPECT_DEATH(tested.free(tested.base()), "never allocated here");
    EXPECT_EQ(problems_of(tested), 0U);
}

} // namespace
} // namespace remanence::transient
