// Which chunks are not at their copy A: a sorted list of exceptions.
//
// They are chunks that hold nothing although the heap extends beyond them (they were never committed, or given back), and
// chunks at their copy B. Exceptions are bounded by the mappings a process may have (65,530), so the list is one
// array, written whole to the other one of two places by a checkpoint (I1), and its checksum stands in the superblock.
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
    /// Chunk, which holds nothing, was committed at its copy A.
    void erase(std::uint64_t chunk);
    /// [first, first+count), beyond every other exception, was skipped. Without room for another exception the chunks
    /// count as stored: they are holes in the file, which read as zeros, too.
    void append_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version);

    /// [first, first+count), which is stored, is not any more. False, and nothing changed, without room for another exception.
    bool add_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version);

    // Chunks move one by one, and so there may be more than k_exceptions_max until the last of a commit has moved: the caller
    // sees to it that there are not then.

    /// Chunk, which is stored, is at its copy B now, which lies at `location` of the file.
    void move_to_copy_b(std::uint64_t chunk, std::uint64_t location, std::uint64_t chunk_bytes,
                        std::uint64_t birth_version);
    /// Chunk is at its copy A again.
    void move_to_copy_a(std::uint64_t chunk);

    /// Forgets zero runs at the end of so many chunks, and returns how many are left.
    std::uint64_t without_zeros_at_end(std::uint64_t chunk_count);

    [[nodiscard]] std::span<const format::chunk_exception> exceptions() const { return exceptions_; }
    [[nodiscard]] bool changed() const { return changed_; }
    /// From now on it counts as changed, if it holds anything.
    void take_over() { changed_ = changed_ || !exceptions_.empty(); }

    /// The list on its way to the slot of the area that is not current, and the reference for the superblock that is to
    /// name it. From now on it counts as unchanged.
    struct placed {
        format::map_reference reference;
        planned_write write; // of nothing, when it is empty
    };
    placed place(format::map_reference area);

    static constexpr std::size_t k_exceptions_max = 16384; // two mappings each at worst: half of a process's

private:
    /// Makes [first, first+count) this exception, or none. False, and nothing changed, if there were more than so many then,
    /// and than before.
    bool replace(std::uint64_t first, std::uint64_t count, const std::optional<format::chunk_exception>& by,
                 std::size_t exceptions_max = k_exceptions_max);

    std::vector<format::chunk_exception> exceptions_; // sorted by chunk, not overlapping, none that continues another
    bool changed_ = false;
};

} // namespace remanence::store
