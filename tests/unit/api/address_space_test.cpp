// Where find_address_space() finds room.
#include "fixture.hpp"

#include <remanence/address_space.hpp>
#include <remanence/remanence.h>

namespace remanence::test {

namespace {

constexpr std::uintptr_t k_begin = 4 * GiB;
constexpr std::uintptr_t k_end = 64 * TiB;

/// Addresses that are taken while it lives.
class taken_range {
public:
    taken_range(std::uintptr_t base, std::uint64_t bytes)
        : base_(::mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)),
          bytes_(bytes) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base_), base);
    }
    ~taken_range() { ::munmap(base_, bytes_); }
    taken_range(const taken_range&) = delete;
    taken_range& operator=(const taken_range&) = delete;

private:
    void* base_;
    std::uint64_t bytes_;
};

TEST(address_space, found_is_free_and_the_first_from_its_end) {
    for (const std::uint64_t bytes : {std::uint64_t{1}, 3 * GiB / 2, 2 * TiB}) {
        const std::uintptr_t low = find_address_space(bytes, address_end::low);
        const std::uintptr_t high = find_address_space(bytes, address_end::high);
        EXPECT_TRUE(is_aligned(low, GiB) && is_aligned(high, GiB));
        EXPECT_TRUE(k_begin <= low && low < high && high + bytes <= k_end);
        const taken_range first(low, bytes);
        const taken_range last(high, bytes);
        const std::uintptr_t next_low = find_address_space(bytes, address_end::low);
        const std::uintptr_t next_high = find_address_space(bytes, address_end::high);
        EXPECT_GE(next_low, low + bytes);
        EXPECT_LE(next_high + bytes, high);
        const taken_range second(next_low, bytes);
    }
}

TEST(address_space, a_gap_is_found_that_is_just_large_enough) {
    const std::uintptr_t around = find_address_space(4 * GiB, address_end::low);
    const taken_range begin(around, GiB);
    const taken_range end(around + 3 * GiB, GiB);
    EXPECT_EQ(find_address_space(2 * GiB, address_end::low), around + GiB);
    EXPECT_GT(find_address_space(2 * GiB + 1, address_end::low), around + 3 * GiB);
}

TEST(address_space, of_more_bytes_than_there_are_is_an_error) {
    for (const address_end from : {address_end::low, address_end::high}) {
        EXPECT_THROW((void)find_address_space(k_end, from), error);
        EXPECT_THROW((void)find_address_space(~std::uint64_t{0}, from), error);
        EXPECT_THROW((void)find_address_space(0, from), error);
    }
}

TEST(address_space, found_may_be_the_base_of_a_heap) {
    const temp_dir dir = temp_dir::in_memory();
    heap_options options = small_heap();
    options.memory.base = find_address_space(options.memory.reserve_bytes, address_end::high);
    const heap h = heap::open(dir / "h", options);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(h.base()), options.memory.base);
}

TEST(address_space, is_found_from_c) {
    std::uintptr_t base = 0;
    EXPECT_EQ(rem_find_address_space(GiB, REM_LOW, &base), REM_OK);
    EXPECT_EQ(base, find_address_space(GiB, address_end::low));
    EXPECT_EQ(rem_find_address_space(GiB, REM_HIGH, &base), REM_OK);
    EXPECT_EQ(base, find_address_space(GiB, address_end::high));
    EXPECT_EQ(rem_find_address_space(GiB, REM_LOW, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_EQ(rem_find_address_space(GiB, static_cast<rem_address_end>(2), &base), REM_INVALID_ARGUMENT);
    EXPECT_EQ(rem_find_address_space(k_end, REM_LOW, &base), REM_EXHAUSTED);
}

} // namespace

} // namespace remanence::test
