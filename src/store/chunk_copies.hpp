// Which of its copies each chunk is in, and what may become of that: all in memory.
//
// A chunk is nowhere, or at one of its two copies. A commit places a fresh one at its copy A, and moves one that was
// rewritten to the copy where it is not; a checkpoint writes the chunk map. Before that, a spill may have written the chunk
// to the copy that it takes with the next commit: it is *held early*.
//
// Kept here: what is accepted has room in the chunk map, whose exceptions each cost two mappings at worst (a process has
// 65,530); R3, with retired_copies and given_back. Under the lock of the store.
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
    heap_range heap;           // multiple of the chunk size
    bool stored;               // else zeros
    std::uint64_t file_offset; // of a stored one
};

class chunk_copies {
public:
    /// As the superblock says, but for its chunk map; the superblock must outlive this, and is the current one.
    explicit chunk_copies(const format::superblock& current)
        : current_(current), layout_(current), next_map_area_(current.map), image_bytes_(current.image_bytes) {}
    /// Reads the chunk map that it names. errc::corrupt.
    result<void> read_map(os::file& file);

    [[nodiscard]] const layout& where() const { return layout_; }

    // What is committed.

    /// End of the committed part of the heap; beyond it, and in zero chunks, everything reads as zeros.
    [[nodiscard]] std::uint64_t image_bytes() const { return image_bytes_; }
    /// Whether the chunk has a place in the file.
    [[nodiscard]] bool is_stored(std::uint64_t chunk) const {
        return chunk * layout_.chunk_bytes() < image_bytes_ && map_.place_of(chunk) != chunk_place::nowhere;
    }
    [[nodiscard]] std::vector<extent> extents() const;
    /// Where a heap offset of a region lies in the file: in the copy where its chunk is, or was last, or will be first.
    /// Precondition: covered by a region.
    [[nodiscard]] std::uint64_t copy_of(std::uint64_t heap_offset) const;
    /// Likewise, where its chunk's copy ends.
    [[nodiscard]] std::uint64_t end_of_copy(std::uint64_t chunk) const {
        return copy_of(chunk * layout_.chunk_bytes()) + layout_.chunk_bytes();
    }
    /// The heap offset whose copy, the one where its chunk is, lies at this place of the file.
    [[nodiscard]] std::optional<std::uint64_t> heap_offset_at(std::uint64_t file_offset) const;
    /// The copy where it is not, and where that lies in the file. Precondition: its region has two.
    [[nodiscard]] chunk_place other_place_of(std::uint64_t chunk) const;
    [[nodiscard]] std::uint64_t other_copy_of(std::uint64_t chunk) const {
        return layout_.copy_in(other_place_of(chunk), chunk * layout_.chunk_bytes());
    }

    // What a commit may do.

    /// Whether it may move the chunk, once the region has copies B (R3).
    [[nodiscard]] bool may_move(std::uint64_t chunk) const;
    /// Whether it may, or might if a checkpoint was made before.
    [[nodiscard]] bool may_move_after_checkpoint(std::uint64_t chunk) const;
    /// Whether a record may say that it moves there.
    [[nodiscard]] bool can_move(std::uint64_t chunk, chunk_place to) const;
    /// For how many of these chunks, from the first one on, the chunk map has room when they move, with those held early.
    [[nodiscard]] std::size_t room_to_move(std::span<const std::uint64_t> chunks) const;
    /// Whether the chunk map can be written once all of these have moved: for records, in which they are in another order, and
    /// which may come from who allows himself more.
    [[nodiscard]] bool may_all_move(std::span<const std::uint64_t> chunks) const;
    /// How many of these runs, from the first one on, the chunk map has room to give back.
    [[nodiscard]] std::size_t room_to_give_back(std::span<const chunk_range> chunks) const;
    /// What image_bytes() is once these runs, which are sorted, are given back; nothing when that cannot be: one is not stored,
    /// or the chunk map has no room.
    [[nodiscard]] std::optional<std::uint64_t> image_bytes_without(std::span<const chunk_range> chunks) const;
    /// Chunks of which each makes the chunk map, and the mappings, more than they need be: the shortest runs at copies B,
    /// about so many chunks, if the map has more than `exceptions`. O(exceptions).
    [[nodiscard]] std::vector<std::uint64_t> scattered(std::size_t exceptions, std::uint64_t chunks) const;

    /// Pages of this chunk are in the copy that it takes with the next commit before that, its other one, if it is stored:
    /// unused_space leaves them there until it is accepted, or until release_early(). False, for want of room in the chunk map, or
    /// while something durable may name that copy: it cannot be.
    bool hold_early(std::uint64_t chunk);
    /// Whether hold_early() would.
    [[nodiscard]] bool may_hold_early(std::uint64_t chunk) const;
    void release_early(std::uint64_t chunk) noexcept;
    /// Where its pages go then, and lie until it is accepted.
    [[nodiscard]] std::uint64_t early_copy_of(std::uint64_t chunk) const {
        return is_stored(chunk) ? other_copy_of(chunk) : copy_of(chunk * layout_.chunk_bytes());
    }
    [[nodiscard]] const std::set<std::uint64_t>& held_early() const { return early_; }

    // What it did: the log has the record that says so.

    /// The chunk, which had no contents, is at its copy A.
    void place_fresh(std::uint64_t chunk, std::uint64_t version);
    /// The chunk is in its other copy; the map has room for all that the record names, by room_to_move(), hold_early() or
    /// may_all_move(). `maps_former_copy`: as retired_copies::add().
    void move(std::uint64_t chunk, std::uint64_t version, bool maps_former_copy);
    /// The chunks, for which image_bytes_without() has an answer, hold nothing any more.
    void give_back(std::span<const chunk_range> chunks, std::uint64_t version);

    /// Those that no superblock covers yet.
    [[nodiscard]] const given_back& not_yet_free() const { return given_back_; }
    [[nodiscard]] retired_copies& retired() { return retired_; }
    [[nodiscard]] const retired_copies& retired() const { return retired_; }
    /// Bytes of copies that were left since the last checkpoint, which cannot be moved to before the next one.
    [[nodiscard]] std::uint64_t retired_bytes() const { return retired_.newly_retired() * layout_.chunk_bytes(); }

    // The chunk map, for who writes it.

    [[nodiscard]] chunk_map& map() { return map_; }
    /// Where the last part of the file ends, whether or not the file reaches as far.
    [[nodiscard]] std::uint64_t file_end() const { return layout_.end(next_map_area_); }
    /// The area that the next map is written to; its slot is the current one.
    [[nodiscard]] const format::map_reference& next_map_area() const { return next_map_area_; }
    void use_map_area(const format::map_reference& area) { next_map_area_ = area; }
    /// the current superblock is another one since, with this map.
    void note_checkpoint();

private:
    /// Moves the chunk in `map`, which is to become map_ or what that will be.
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
    mutable std::optional<chunk_map>
        map_with_early_; // as if those of early_ that are stored had moved; once it was asked for
};

} // namespace remanence::store
