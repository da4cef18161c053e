// Which chunks are not at their copy A: a sorted list of exceptions.
//
// An exception is a run of chunks that either hold nothing although the heap extends beyond them (never committed, or
// given back), or are at their copy B. The limit on mappings (65,530 for a process) also limits the number of
// exceptions, so the list is one array. A checkpoint writes the whole list to the one of two places that is not current
// (I1). The superblock contains its checksum.
#pragma once

#include "base/result.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/planned_write.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace remanence::store {

/// Where a chunk lies.
enum class chunk_place { copy_a, copy_b, nowhere };

class chunk_map {
public:
    /// Reads and validates the map that a superblock names.
    static result<chunk_map> read(os::file& file, const format::superblock& super);

    [[nodiscard]] chunk_place place_of(std::uint64_t chunk) const;
    /// Notes that the chunk, which held nothing, is now stored at its copy A.
    void erase(std::uint64_t chunk);
    /// Adds an exception for [first, first+count), which lies beyond all others and holds nothing. If there is no room
    /// for another exception, the chunks count as stored: they are holes in the file, which also read as zeros.
    void append_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version);

    /// Notes that the stored chunks [first, first+count) now hold nothing. Returns false, and changes nothing, if there
    /// is no room for another exception.
    bool add_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version);

    // Chunks move one by one, so the list may exceed k_exceptions_max in the middle of a commit. The caller makes sure
    // that it does not at the end.

    /// Notes that the stored chunk is now at its copy B, at file offset `location`.
    void move_to_copy_b(std::uint64_t chunk, std::uint64_t location, std::uint64_t chunk_bytes,
                        std::uint64_t birth_version);
    /// Notes that the chunk is at its copy A again.
    void move_to_copy_a(std::uint64_t chunk);

    /// Removes zero runs at the end of `chunk_count` chunks. Returns how many chunks are left.
    std::uint64_t without_zeros_at_end(std::uint64_t chunk_count);

    [[nodiscard]] std::span<const format::chunk_exception> exceptions() const { return exceptions_; }
    [[nodiscard]] bool changed() const { return changed_; }
    /// Marks the map as changed, so that the next checkpoint writes it to another place.
    void note_moved() { changed_ = true; }
    /// Marks the map as changed unless it is empty.
    void take_over() { changed_ = changed_ || !exceptions_.empty(); }

    /// The write that puts the list into the slot that is not current, and the reference to it for the next superblock.
    struct placed {
        format::map_reference reference;
        planned_write write; // empty if the list is empty
    };
    /// Composes the write of the present list, and marks the map as unchanged.
    placed place(format::map_reference area);

    /// Each exception adds at most two mappings: together at most about half of the 65,530 that a process may have.
    static constexpr std::size_t k_exceptions_max = 16384;

private:
    /// Replaces all exceptions within [first, first+count) by `by`, or removes them. If the list would then exceed both
    /// `exceptions_max` and its present length, changes nothing and returns false.
    bool replace(std::uint64_t first, std::uint64_t count, const std::optional<format::chunk_exception>& by,
                 std::size_t exceptions_max = k_exceptions_max);

    std::vector<format::chunk_exception> exceptions_; // sorted by chunk, disjoint, adjacent ones joined where possible
    bool changed_ = false;
};

} // namespace remanence::store
