// Tells in which copy each chunk is, and what a commit may do with it. All of this state is in memory.
//
// A chunk is stored nowhere, or in one of its two copies. A commit places a fresh chunk in its copy A, and moves a
// rewritten chunk to its other copy. A checkpoint writes the chunk map. A spill may write a chunk before the next
// commit, to the copy to which that commit will move it: the chunk is then *held early*.
//
// Invariants: the chunk map has room for every accepted chunk. Its size is limited because each exception adds at most
// two mappings, and a process may have 65,530. This class, retired_copies and given_back enforce R3. Protected by the
// lock of the store.
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
    heap_range heap;           // the part; it reads as zeros if `stored` is false
    bool stored;               // true if the part has a place in the file
    std::uint64_t file_offset; // of the stored part
};

class chunk_copies {
public:
    /// Begins with the state that the superblock describes, without its chunk map. The superblock must outlive this
    /// object and always be the current one.
    explicit chunk_copies(const format::superblock& current)
        : current_(current), layout_(current), next_map_area_(current.map), image_bytes_(current.image_bytes) {}
    /// Reads the chunk map that the superblock names. errc::corrupt.
    result<void> read_map(os::file& file);

    [[nodiscard]] const layout& where() const { return layout_; }

    // The committed state.

    /// Returns the end of the committed part of the heap. Beyond it, and in zero chunks, everything reads as zeros.
    [[nodiscard]] std::uint64_t image_bytes() const { return image_bytes_; }
    /// True if the chunk has a place in the file.
    [[nodiscard]] bool is_stored(std::uint64_t chunk) const {
        return chunk * layout_.chunk_bytes() < image_bytes_ && map_.place_of(chunk) != chunk_place::nowhere;
    }
    /// True if neither the image nor anything durable has a chunk at this heap offset or behind it, as far as a quick look
    /// shows. (A chunk that has left a copy is in the image.)
    [[nodiscard]] bool holds_nothing_from(std::uint64_t heap_offset) const {
        return image_bytes_ <= heap_offset && early_.empty() && given_back_.empty();
    }
    [[nodiscard]] std::vector<extent> extents() const;
    /// Returns the file offset of a heap offset: in the copy that its chunk is in, or in copy A if the chunk is not
    /// stored. Precondition: a region covers it.
    [[nodiscard]] std::uint64_t copy_of(std::uint64_t heap_offset) const;
    /// Returns the file offset at which the chunk's copy ends.
    [[nodiscard]] std::uint64_t end_of_copy(std::uint64_t chunk) const {
        return copy_of(chunk * layout_.chunk_bytes()) + layout_.chunk_bytes();
    }
    /// Returns the heap offset of the chunk whose current copy contains this file offset; nothing if there is none.
    [[nodiscard]] std::optional<std::uint64_t> heap_offset_at(std::uint64_t file_offset) const;
    /// Returns which copy the chunk is not in. Precondition: its region has both copies.
    [[nodiscard]] chunk_place other_place_of(std::uint64_t chunk) const;
    [[nodiscard]] std::uint64_t other_copy_of(std::uint64_t chunk) const {
        return layout_.copy_in(other_place_of(chunk), chunk * layout_.chunk_bytes());
    }

    // What a commit may do.

    /// True if a commit may move the chunk, once the region has copies B (R3).
    [[nodiscard]] bool may_move(std::uint64_t chunk) const;
    /// True if a commit may move the chunk now or after the next checkpoint.
    [[nodiscard]] bool may_move_after_checkpoint(std::uint64_t chunk) const;
    /// True if a record may move the chunk to `to`.
    [[nodiscard]] bool can_move(std::uint64_t chunk, chunk_place to) const;
    /// Returns how many of these chunks, from the first one on, may move before the chunk map is full. Counts the
    /// chunks held early as if they had moved.
    [[nodiscard]] std::size_t room_to_move(std::span<const std::uint64_t> chunks) const;
    /// True if the chunk map can still be written after all of these chunks have moved. For reading records: a record
    /// lists its chunks in another order, and a process with a higher limit may have written it.
    [[nodiscard]] bool may_all_move(std::span<const std::uint64_t> chunks) const;
    /// Returns how many of these runs, from the first one on, the chunk map has room to give back.
    [[nodiscard]] std::size_t room_to_give_back(std::span<const chunk_range> chunks) const;
    /// Returns what image_bytes() becomes once these runs (sorted) are given back. Nothing if a chunk is not stored, or
    /// if the chunk map has no room.
    [[nodiscard]] std::optional<std::uint64_t> image_bytes_without(std::span<const chunk_range> chunks) const;
    /// Returns chunks whose move would shrink the chunk map and the number of mappings: the shortest runs at copies B,
    /// up to `chunks` chunks. Returns none unless the map has more than `exceptions` exceptions. O(exceptions).
    [[nodiscard]] std::vector<std::uint64_t> scattered(std::size_t exceptions, std::uint64_t chunks) const;

    /// Notes that pages of this chunk are being written early, to early_copy_of(). unused_space spares that copy until
    /// the chunk is accepted or release_early() is called. Returns false if the chunk map has no room, or if something
    /// durable may still name that copy.
    bool hold_early(std::uint64_t chunk);
    /// True if hold_early() would succeed.
    [[nodiscard]] bool may_hold_early(std::uint64_t chunk) const;
    void release_early(std::uint64_t chunk) noexcept;
    /// Returns where the chunk's pages are written early: in its other copy if it is stored, else in its copy A.
    [[nodiscard]] std::uint64_t early_copy_of(std::uint64_t chunk) const {
        return is_stored(chunk) ? other_copy_of(chunk) : copy_of(chunk * layout_.chunk_bytes());
    }
    [[nodiscard]] const std::set<std::uint64_t>& held_early() const { return early_; }

    // What a commit did. Call these after the log has the commit's record.

    /// Notes that the chunk, which held nothing, is now in its copy A.
    void place_fresh(std::uint64_t chunk, std::uint64_t version);
    /// Notes that the chunk is now in its other copy. Precondition: room_to_move(), hold_early() or may_all_move() has
    /// confirmed that the map has room for all chunks of the record. `maps_former_copy`: see retired_copies::add().
    void move(std::uint64_t chunk, std::uint64_t version, bool maps_former_copy);
    /// Notes that these chunks hold nothing now. Precondition: image_bytes_without() returned a value for them.
    void give_back(std::span<const chunk_range> chunks, std::uint64_t version);

    /// Returns the chunks given back since the last checkpoint, whose copies the current superblock may still name.
    [[nodiscard]] const given_back& not_yet_free() const { return given_back_; }
    [[nodiscard]] retired_copies& retired() { return retired_; }
    [[nodiscard]] const retired_copies& retired() const { return retired_; }
    /// Returns the total length of the copies that chunks left since the last checkpoint. No chunk may move to them
    /// before the next checkpoint.
    [[nodiscard]] std::uint64_t retired_bytes() const { return retired_.newly_retired() * layout_.chunk_bytes(); }

    // The chunk map, for the code that writes it.

    [[nodiscard]] chunk_map& map() { return map_; }
    /// Returns where the last part of the file ends, even if the file is still shorter.
    [[nodiscard]] std::uint64_t file_end() const { return layout_.end(next_map_area_); }
    /// Returns the area to which the next map will be written. Its `slot` is the one in use now.
    [[nodiscard]] const format::map_reference& next_map_area() const { return next_map_area_; }
    void use_map_area(const format::map_reference& area) { next_map_area_ = area; }
    /// Notes that a checkpoint has made a new superblock current, which names a new map.
    void note_checkpoint();

private:
    /// Moves the chunk in `map`: map_ itself, or a copy of it that shows what map_ will become.
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
    // map_ as if all stored chunks of early_ had moved. Computed when first needed.
    mutable std::optional<chunk_map> map_with_early_;
};

} // namespace remanence::store
