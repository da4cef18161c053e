// Space that nothing needs any more goes back to the file system, and what is not stored reads as zeros.
//
// Fresh chunks rely on zeros where nothing is written. R3: a copy that something durable may name, or that somebody maps,
// keeps its bytes; so does one that a chunk was written to early. I8: in doubt, space is left alone. Under the lock of the
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

    /// Returns the chunks of these ranges that are stored, in runs as a record may give them back, once there is room for the
    /// checkpoint after that. They are fewer, or none, without room in the chunk map, or on the disk. After a failure the heap
    /// is to be poisoned.
    result<std::vector<chunk_range>> reserve_to_give_back(std::span<const heap_range> unused);
    /// Makes everything that is not stored read as zeros, whatever an interrupted commit, or anybody else, left there; but not
    /// the copies of chunks that were given back since the last checkpoint.
    result<void> discard_unstored();
    /// Gives back the space of copies that were left, as far as nothing durable names them and nobody maps them.
    result<void> discard_retired();
    /// Other processes may have the file open, and have reserved room at its end: it is not cut off any more.
    void keep_length(bool kept) { keeps_length_ = kept; }
    /// Whether discard_unstored() was called since the last time: then what fresh chunks rely on, zeros where nothing is
    /// written, is not durable before a sync.
    [[nodiscard]] bool take_new_holes() { return std::exchange(has_new_holes_, false); }

private:
    /// Where the last part of the file ends that is in use.
    [[nodiscard]] std::uint64_t needed_end() const;
    [[nodiscard]] std::uint64_t end_of_copies(std::uint64_t chunk) const;
    /// The parts in which chunks are neither held early nor given back since the last checkpoint.
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
