// Gives space that is no longer needed back to the file system, and makes what is not stored read as zeros.
//
// Fresh chunks rely on zeros where nothing is written. R3: a copy that something durable may name, or that is mapped,
// keeps its bytes; so does one to which a chunk was written early. I8: in doubt, space is kept. Under the lock of the
// store.
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

    /// Returns the stored chunks of these ranges, in runs that a record may give back, and reserves room for the
    /// checkpoint after it. They are fewer, or none, without room in the chunk map or on the disk. After a failure the
    /// heap must be poisoned.
    result<std::vector<chunk_range>> reserve_to_give_back(std::span<const heap_range> unused);
    /// Makes everything that is not stored read as zeros, whatever an interrupted commit or another program left there.
    /// Spares the copies of chunks that were given back since the last checkpoint.
    result<void> discard_unstored();
    /// Gives back the space of copies that chunks left, if nothing durable names them and nobody maps them.
    result<void> discard_retired();
    /// Sets whether the file keeps its length: other processes that have it open may have reserved room at its end.
    void keep_length(bool kept) { keeps_length_ = kept; }
    /// True if discard_unstored() was called since the last call. Then the zeros that fresh chunks rely on are not
    /// durable before a sync.
    [[nodiscard]] bool take_new_holes() { return std::exchange(has_new_holes_, false); }

private:
    /// Returns where the last part of the file ends that is in use.
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
