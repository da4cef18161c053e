// Reserves room in the heap file for what a commit, and the checkpoint after it, will write.
//
// I5: all room is reserved before the first byte is written, so that no write fails because the disk is full. I8: a
// place that has become too small is left as it is. Protected by the lock of the store.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "store/chunk_copies.hpp"
#include "store/page_checksums.hpp"
#include "store/sized_file.hpp"
#include "store/superblock_pair.hpp"

#include <cstdint>
#include <span>

namespace remanence::store {

class commit_room {
public:
    commit_room(sized_file& file, superblock_pair& supers, chunk_copies& copies, page_checksums& checksums)
        : file_(file), supers_(supers), copies_(copies), checksums_(checksums) {}

    // Regions and copies B. Each add_...() writes a superblock that names the new places: call reserve_places() before,
    // and only while no publication is under way. needs_...() tells whether that call would write.

    /// Returns the error for a heap that has reached a limit of its format.
    [[nodiscard]] unexpected exhausted() const;
    /// Adds regions until every heap byte below `heap_bytes` has a copy. errc::exhausted.
    result<void> add_regions(std::uint64_t heap_bytes);
    [[nodiscard]] bool needs_regions(std::uint64_t heap_bytes) const {
        return heap_bytes > copies_.where().region_bytes();
    }
    /// Adds copies B until each of these chunks has one. errc::exhausted.
    result<void> add_copies_b(std::span<const std::uint64_t> chunks);
    [[nodiscard]] bool needs_copies_b(std::span<const std::uint64_t> chunks) const;

    // What keeps the file long although it holds nothing. Only while nothing is reserved.

    /// Plans the next chunk map for the beginning of the file, if it lies elsewhere and fits there; then returns true.
    bool return_map();
    /// Removes the regions at the end that hold nothing. Writes a superblock if there are any; then returns true.
    /// Precondition: no publication is under way, and this process alone has the heap open.
    result<bool> remove_regions();

    /// Notes that another process wrote the current superblock.
    void note_other_superblock() { places_reserved_ = false; }

    // Room on the disk. Error: errc::no_space.

    /// Reserves room for these pages, which are contiguous in heap and file, and for their checksums. If the file
    /// system allocates space when holes are read, reserves their chunks completely.
    result<void> reserve_pages(std::uint64_t first_page, std::uint64_t count);
    /// Extends the file to the end of the copy of a chunk that is not stored, since the whole chunk will be mapped.
    result<void> extend_to_fresh(std::uint64_t chunk);
    /// Reserves room for the next superblocks and the next chunk map. If the heap was copied with cp --sparse, their
    /// places may be holes.
    result<void> reserve_places();
    /// Reserves room for the chunk map with up to `more` further exceptions.
    result<void> reserve_map(std::uint64_t more);
    /// Reserves room for moving these chunks, whose other copies must be contiguous, and for their checksums.
    result<void> reserve_move(std::uint64_t first_chunk, std::uint64_t count);
    /// Reserves room for recording that these chunks are no longer stored. `runs`: how many runs the commit gives back
    /// so far, including this one.
    result<void> reserve_to_give_back(chunk_range chunks, std::uint64_t runs);

private:
    sized_file& file_;
    superblock_pair& supers_;
    chunk_copies& copies_;
    page_checksums& checksums_;
    bool places_reserved_ = false;
};

} // namespace remanence::store
