// Which of its copies each chunk is in, and what a commit may do with it. All of it is in memory.
//
// A chunk is stored nowhere, or in one of its two copies. A commit places a fresh chunk at its copy A, and moves a
// rewritten one to the copy that it is not in. A checkpoint writes the chunk map. A spill may write a chunk earlier to
// the copy that it takes with the next commit: the chunk is then *held early*.
//
// Invariants: accepted chunks have room in the chunk map, since each exception costs two mappings at worst (a process
// has 65,530); R3, with retired_copies and given_back. Under the lock of the store.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/chunk_map.hpp"
#include "store/given_back.hpp"
#include "store/layout.hpp"
#include "store/retired_copies.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace remanence::store {

/// A part of the heap as it is to be mapped.
struct extent {
    heap_range heap;           // false: it reads as zeros
    bool stored;               // if stored
    std::uint64_t file_offset; // of a stored one
};

class chunk_copies {
public:
    /// Begins as the superblock says, without its chunk map. The superblock must outlive this, and is always the
    /// current one.
    explicit chunk_copies(const format::superblock& current)
        : current_(current), layout_(current), next_map_area_(current.map), image_bytes_(current.image_bytes) {}
    /// Reads the chunk map that the superblock names. errc::corrupt.
    result<void> read_map(os::file& file);

    [[nodiscard]] const layout& where() const { return layout_; }

    // What is committed.

    /// Returns the end of the committed part of the heap. Beyond it, and in zero chunks, everything reads as zeros.
    [[nodiscard]] std::uint64_t image_bytes() const { return image_bytes_; }
    /// True if the chunk has a place in the file.
    [[nodiscard]] bool is_stored(std::uint64_t chunk) const {
        return chunk * layout_.chunk_bytes() < image_bytes_ && map_.place_of(chunk) != chunk_place::nowhere;
    }
    [[nodiscard]] std::vector<extent> extents() const;
    /// Returns where a heap offset lies in the file: in the copy that its chunk is in, or was in last, or will be in
    /// first. Precondition: covered by a region.
    [[nodiscard]] std::uint64_t copy_of(std::uint64_t heap_offset) const;
    /// Returns where this copy of a chunk ends.
    [[nodiscard]] std::uint64_t end_of_copy(std::uint64_t chunk) const {
        return copy_of(chunk * layout_.chunk_bytes()) + layout_.chunk_bytes();
    }
    /// Returns the heap offset whose chunk is in the copy at this file offset; nothing if there is none.
    [[nodiscard]] std::optional<std::uint64_t> heap_offset_at(std::uint64_t file_offset) const;
    /// Returns the copy that the chunk is not in. Precondition: its region has two.
    [[nodiscard]] chunk_place other_place_of(std::uint64_t chunk) const;
    [[nodiscard]] std::uint64_t other_copy_of(std::uint64_t chunk) const {
        return layout_.copy_in(other_place_of(chunk), chunk * layout_.chunk_bytes());
    }

    // What a commit may do.

    /// True if a commit may move the chunk, once the region has copies B (R3).
    [[nodiscard]] bool may_move(std::uint64_t chunk) const;
    /// True if a commit may move it now, or after a checkpoint.
    [[nodiscard]] bool may_move_after_checkpoint(std::uint64_t chunk) const;
    /// True if a record may say that the chunk moves there.
    [[nodiscard]] bool can_move(std::uint64_t chunk, chunk_place to) const;
    /// Returns how many of these chunks, from the first one on, may move before the chunk map is full. Counts those
    /// held early.
    [[nodiscard]] std::size_t room_to_move(std::span<const std::uint64_t> chunks) const;
    /// True if the chunk map can be written once all of these have moved. For records: they have chunks in another
    /// order, and a process with a higher limit may have written them.
    [[nodiscard]] bool may_all_move(std::span<const std::uint64_t> chunks) const;
    /// Returns how many of these runs, from the first one on, the chunk map has room to give back.
    [[nodiscard]] std::size_t room_to_give_back(std::span<const chunk_range> chunks) const;
    /// Returns what image_bytes() becomes once these runs (sorted) are given back. Nothing if a chunk is not stored, or
    /// if the chunk map has no room.
    [[nodiscard]] std::optional<std::uint64_t> image_bytes_without(std::span<const chunk_range> chunks) const;
    /// Returns chunks whose move would shrink the chunk map and the number of mappings: the shortest runs at copies B,
    /// up to `chunks` chunks. Empty if the map has at most `exceptions`. O(exceptions).
    [[nodiscard]] std::vector<std::uint64_t> scattered(std::size_t exceptions, std::uint64_t chunks) const;

    /// Notes that pages of this chunk are being written early, to early_copy_of(). unused_space keeps them until the
    /// chunk is accepted or release_early() is called. Returns false if the chunk map has no room, or if something
    /// durable may still name that copy.
    bool hold_early(std::uint64_t chunk);
    /// True if hold_early() would succeed.
    [[nodiscard]] bool may_hold_early(std::uint64_t chunk) const;
    void release_early(std::uint64_t chunk) noexcept;
    /// Returns where the chunk's pages are written early: its other copy if it is stored, else its copy.
    [[nodiscard]] std::uint64_t early_copy_of(std::uint64_t chunk) const {
        return is_stored(chunk) ? other_copy_of(chunk) : copy_of(chunk * layout_.chunk_bytes());
    }
    [[nodiscard]] const std::set<std::uint64_t>& held_early() const { return early_; }

    // What a commit did: the log has the record that says so.

    /// Notes that the chunk, which had no contents, is at its copy A.
    void place_fresh(std::uint64_t chunk, std::uint64_t version);
    /// Notes that the chunk is in its other copy. room_to_move(), hold_early() or may_all_move() said that the map has
    /// room for all chunks of the record. `maps_former_copy`: see retired_copies::add().
    void move(std::uint64_t chunk, std::uint64_t version, bool maps_former_copy);
    /// Notes that these chunks hold nothing any more. Precondition: image_bytes_without() returned a value for them.
    void give_back(std::span<const chunk_range> chunks, std::uint64_t version);

    /// Returns chunks given back since the last checkpoint: the current superblock may still name them.
    [[nodiscard]] const given_back& not_yet_free() const { return given_back_; }
    [[nodiscard]] retired_copies& retired() { return retired_; }
    [[nodiscard]] const retired_copies& retired() const { return retired_; }
    /// Returns the length of the copies that chunks left since the last checkpoint. Nothing may move there before the
    /// next one.
    [[nodiscard]] std::uint64_t retired_bytes() const { return retired_.newly_retired() * layout_.chunk_bytes(); }

    // The chunk map, for the code that writes it.

    [[nodiscard]] chunk_map& map() { return map_; }
    /// Returns where the last part of the file ends, whether or not the file is that long.
    [[nodiscard]] std::uint64_t file_end() const { return layout_.end(next_map_area_); }
    /// Returns the area that the next map is written to. Its `slot` is the current one.
    [[nodiscard]] const format::map_reference& next_map_area() const { return next_map_area_; }
    void use_map_area(const format::map_reference& area) { next_map_area_ = area; }
    /// Notes that a checkpoint has made another superblock current, with this map.
    void note_checkpoint();

private:
    /// Moves the chunk in `map`, which is map_ or a copy of it that says what map_ will be.
    void move_in(chunk_map& map, std::uint64_t chunk, std::uint64_t version) const;
    [[nodiscard]] const chunk_map& map_with_early() const;

    const format::superblock& current_;
    const layout layout_;
    chunk_map map_;
    format::map_reference next_map_area_;
    std::uint64_t image_bytes_;
    retired_copies retired_;
    given_back given_back_;
    std::set<std::uint64_t> early_;
    // map_ as if all stored chunks of early_ had moved. Computed when it is first asked for.
    mutable std::optional<chunk_map> map_with_early_;
};

} // namespace remanence::store
