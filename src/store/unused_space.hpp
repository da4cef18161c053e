// Returns space that is no longer needed to the file system, and makes everything that is not stored read as zeros.
//
// Fresh chunks rely on zeros wherever nothing is written. R3: a copy retains its bytes if something durable may name it
// or if it is mapped; so does one to which a chunk was written early. I8: space that may still be needed is not given
// back. Protected by the lock of the store.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "store/chunk_copies.hpp"
#include "store/commit_room.hpp"
#include "store/sized_file.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace remanence::store {

class unused_space {
public:
    unused_space(sized_file& file, const format::superblock& current, chunk_copies& copies, commit_room& room)
        : file_(file), current_(current), copies_(copies), room_(room) {}

    /// Returns the stored chunks within these ranges as runs that a record may give back, and reserves room for the
    /// checkpoint after that record. If the chunk map or the disk is full, returns fewer runs or none. After a failure
    /// the caller must poison the heap.
    result<std::vector<chunk_range>> reserve_to_give_back(std::span<const heap_range> unused);
    /// Makes everything that is not stored read as zeros, no matter what an interrupted commit or another program wrote
    /// there. Spares the copies of chunks that were given back since the last checkpoint.
    result<void> discard_unstored();
    /// Returns the former copies of chunks to the file system, unless something durable names them or they are mapped.
    result<void> discard_retired();
    /// Sets whether the file retains its length, for a file at whose end other processes may have reserved room.
    void keep_length(bool kept) { keeps_length_ = kept; }
    /// Returns whether discard_unstored() was called since the last call of this function. If so, the zeros on which
    /// fresh chunks rely are not durable before a sync.
    [[nodiscard]] bool take_new_holes() { return std::exchange(has_new_holes_, false); }

private:
    /// Returns where the last part of the file that is in use ends.
    [[nodiscard]] std::uint64_t needed_end() const;
    [[nodiscard]] std::uint64_t end_of_copies(std::uint64_t chunk) const;
    /// Returns the parts of `heap` whose chunks are neither held early nor given back since the last checkpoint.
    [[nodiscard]] std::vector<heap_range> without_held(heap_range heap) const;
    [[nodiscard]] std::vector<heap_range> without_early(heap_range heap) const;
    result<void> discard_copies_a(heap_range heap);
    result<void> discard_dead_copies();
    result<void> discard_copies(chunk_place place, heap_range heap);
    result<void> discard_copies_but_retired(chunk_place place, heap_range heap);
    result<void> punch_copies(file_range copies);
    [[nodiscard]] heap_range behind_image() const {
        return {copies_.image_bytes(), copies_.where().region_bytes() - copies_.image_bytes()};
    }

    sized_file& file_;
    const format::superblock& current_;
    chunk_copies& copies_;
    commit_room& room_;
    bool has_new_holes_ = false;
    bool keeps_length_ = false;
};

} // namespace remanence::store
