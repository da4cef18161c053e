// Which chunks are not at their copy A: a sorted list of exceptions.
//
// Exceptions are chunks that hold nothing although the heap extends beyond them (never committed, or given back), and
// chunks at their copy B. Mappings limit their number (a process may have 65,530), so the list is one array. A
// checkpoint writes it whole to the other one of two places (I1). Its checksum is in the superblock.
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
    /// Notes that the chunk, which held nothing, was committed at its copy A.
    void erase(std::uint64_t chunk);
    /// Notes that [first, first+count), which lies beyond every other exception, was skipped. Without room for another
    /// exception the chunks count as stored: they are holes in the file, which read as zeros, too.
    void append_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version);

    /// Notes that [first, first+count), which is stored, no longer is. Returns false, and changes nothing, without room
    /// for another exception.
    bool add_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version);

    // Chunks move one by one, so there may be more than k_exceptions_max exceptions in the middle of a commit. The
    // caller makes sure that there are not in the end.

    /// Notes that the chunk, which is stored, is now at its copy B, at `location` of the file.
    void move_to_copy_b(std::uint64_t chunk, std::uint64_t location, std::uint64_t chunk_bytes,
                        std::uint64_t birth_version);
    /// Notes that the chunk is at its copy A again.
    void move_to_copy_a(std::uint64_t chunk);

    /// Removes zero runs at the end of `chunk_count` chunks. Returns how many chunks are left.
    std::uint64_t without_zeros_at_end(std::uint64_t chunk_count);

    [[nodiscard]] std::span<const format::chunk_exception> exceptions() const { return exceptions_; }
    [[nodiscard]] bool changed() const { return changed_; }
    /// Makes a map that is not empty count as changed.
    void take_over() { changed_ = changed_ || !exceptions_.empty(); }

    /// The list as it is to be written to the slot that is not current, and the reference for the superblock that is to
    /// name it.
    struct placed {
        format::map_reference reference;
        planned_write write; // empty if the list is empty
    };
    /// Composes that write. The map counts as unchanged from then on.
    placed place(format::map_reference area);

    static constexpr std::size_t k_exceptions_max = 16384; // two mappings each at worst: half of what a process has

private:
    /// Replaces all exceptions in [first, first+count) by this one, or by none. Returns false, and changes nothing, if
    /// that would make more than `exceptions_max` exceptions, and more than before.
    bool replace(std::uint64_t first, std::uint64_t count, const std::optional<format::chunk_exception>& by,
                 std::size_t exceptions_max = k_exceptions_max);

    std::vector<format::chunk_exception> exceptions_; // sorted by chunk, disjoint, adjacent ones joined where possible
    bool changed_ = false;
};

} // namespace remanence::store
