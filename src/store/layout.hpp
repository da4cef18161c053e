// Where the parts of the heap file lie: pure computation from a superblock.
//
// The heap's addresses are divided into regions. Each region has a table of page checksums and one copy of every chunk,
// or two copies after one of its chunks was rewritten.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "format/superblock.hpp"
#include "store/chunk_map.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::store {

class layout {
public:
    /// Each call computes from the superblock as it is at that time. The superblock must outlive this object.
    explicit layout(const format::superblock& super) : super_(super) {}

    [[nodiscard]] std::uint64_t chunk_bytes() const { return super_.chunk_bytes; }
    [[nodiscard]] std::uint64_t chunk_pages() const { return super_.chunk_bytes / k_page_bytes; }
    [[nodiscard]] page_range pages_of_chunk(std::uint64_t chunk) const {
        return {chunk * chunk_pages(), chunk_pages()};
    }

    /// Returns how many bytes of the heap have a copy.
    [[nodiscard]] std::uint64_t region_bytes() const;
    /// The functions below require that a region covers the offset or the chunk.
    [[nodiscard]] std::size_t region_index(std::uint64_t heap_offset) const;
    [[nodiscard]] const format::region& region_of(std::uint64_t heap_offset) const {
        return super_.regions[region_index(heap_offset)];
    }
    /// Returns the index of a page within its region.
    [[nodiscard]] std::uint64_t page_in_region(std::uint64_t page, std::size_t region) const {
        return page - super_.regions[region].heap_offset / k_page_bytes;
    }
    [[nodiscard]] bool has_copies_b() const { return (super_.features_incompat & format::k_feature_copy_b) != 0; }
    [[nodiscard]] bool has_copy_b(std::uint64_t chunk) const {
        return super_.copy_b_offsets[region_index(chunk * super_.chunk_bytes)] != 0;
    }
    /// Returns the file offset of a heap offset in the given copy of its chunk. Precondition: the region has that copy.
    [[nodiscard]] std::uint64_t copy_in(chunk_place place, std::uint64_t heap_offset) const;

    /// The extent of one copy of a whole region.
    struct copies {
        file_range file;
        std::uint64_t heap_offset;
        chunk_place place;
    };
    /// Returns all copies of all regions, in the order of the file.
    [[nodiscard]] std::vector<copies> all_copies() const;
    /// Returns where the last part of the file ends, even if the file is still shorter. `next_map` is the area to which
    /// the next chunk map will be written.
    [[nodiscard]] std::uint64_t end(const format::map_reference& next_map) const;
    /// As end(), but only for the parts that every file must contain: superblocks, checksum tables, chunk maps and the
    /// like.
    [[nodiscard]] std::uint64_t end_of_structure(const format::map_reference& next_map) const;

    /// Calls `f(part)` for the parts of `heap` that lie in one region each, in order, until it returns a failure.
    template <class F>
    result<void> for_each_in_region(heap_range heap, const F& f) const {
        for (std::uint64_t from = heap.offset; from < heap.end();) {
            const format::region& r = region_of(from);
            const std::uint64_t end = std::min(heap.end(), r.heap_offset + r.bytes);
            REM_TRY(f(heap_range{from, end - from}));
            from = end;
        }
        return {};
    }

private:
    [[nodiscard]] std::uint64_t end_of_areas(const format::map_reference& next_map) const;

    const format::superblock& super_;
};

} // namespace remanence::store
