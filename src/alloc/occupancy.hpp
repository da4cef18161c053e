// How an allocator's memory is used, in numbers, for inspection. Depends on base.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace remanence::alloc {

struct occupancy {
    /// Blocks larger than half of `bytes_max(index)`, up to that size.
    struct size_class {
        std::uint64_t blocks = 0;
        std::uint64_t bytes = 0; // rounded to granules or pages: the sizes of the blocks
    };
    static constexpr std::size_t k_class_count = 45; // a heap ends at 16 TiB
    static constexpr std::size_t class_of(std::uint64_t bytes) {
        return bytes <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(bytes - 1));
    }
    static constexpr std::uint64_t bytes_max(std::size_t index) { return std::uint64_t{1} << index; }

    std::array<size_class, k_class_count> classes{};
    std::uint64_t blocks = 0;
    std::uint64_t allocated_bytes = 0;
    std::uint64_t slabs = 0;           // how many slabs (64 KiB, for blocks up to 8 KiB)
    std::uint64_t slab_free_bytes = 0; // bytes in holes between the blocks of slabs
    std::uint64_t free_runs = 0;       // how many free runs of whole pages
    std::uint64_t free_run_bytes = 0;
    std::uint64_t longest_free_run_bytes = 0;
    std::uint64_t metadata_bytes = 0;   // header pages, and pages of planes that are not all zero
    std::uint64_t block_page_bytes = 0; // pages that any block lies on
    double availability = 1;            // how well holes and free runs serve requests: availability.hpp

    /// Returns the sum of allocated and free bytes in all pages that were ever used.
    [[nodiscard]] std::uint64_t taken_bytes() const { return allocated_bytes + slab_free_bytes + free_run_bytes; }
    /// Returns the bytes of blocks as a share of all pages with blocks or with the allocator's structures; 1 if there
    /// are none.
    [[nodiscard]] double page_efficiency() const {
        const std::uint64_t pages = block_page_bytes + metadata_bytes;
        return pages == 0 ? 1 : static_cast<double>(allocated_bytes) / static_cast<double>(pages);
    }
};

} // namespace remanence::alloc
