// The types that heap::versions() and heap::diff() return: kept versions, and what differs between two states. Depends
// on the standard library only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remanence {

/// A version that is kept under a name: see heap::keep().
struct kept_version {
    std::uint64_t version;                      ///< number of the version
    std::optional<std::uint64_t> parent;        ///< the kept version before it, if there is one
    std::string name;                           ///< the name that keep() gave it
    std::chrono::system_clock::time_point time; ///< when its last commit was made
    /// Bytes that changed between this version and the next state towards the present one, counted as
    /// history_step::bytes, or up to twice as many; 0 for the present state. drop() frees these bytes if the limits
    /// would have dropped the version already; otherwise the version's step stays until the limits drop it.
    std::uint64_t bytes;
    bool is_present; ///< memory is in this state
};

/// What differs between two states of a heap: see heap::diff().
struct version_difference {
    /// How something differs in the second state.
    enum class change {
        added,   ///< only the second state has it
        removed, ///< only the first state has it
        changed  ///< both have it, and it differs
    };
    /// A stretch of the heap's memory, in words of 8 bytes. The ranges are sorted and do not touch each other.
    struct range {
        std::uint64_t offset; ///< offset from the heap's base
        std::uint64_t bytes;  ///< length of the range
        /// Returns true if both are the same stretch.
        friend bool operator==(const range&, const range&) = default;
    };
    /// A block of allocated memory. It is `changed` if its size, or bytes in it, differ.
    struct block {
        change how;           ///< how it differs
        std::uint64_t offset; ///< offset from the heap's base
        std::uint64_t bytes;  ///< size in the second state; of a removed block, in the first
        /// The first root by name that leads to the block, as far as pointers and distances tell; empty: none.
        std::string root;
    };
    /// A root. It is `changed` if it is another object, has another type, or leads to a block that differs.
    struct root {
        change how;       ///< how it differs
        std::string name; ///< its name
        std::string type; ///< type in the second state; of a removed root, in the first
    };
    /// A part of a root that has a schema (`rem schema`). Pointers are not followed.
    struct member {
        change how;         ///< how it differs
        std::string path;   ///< as `rem get` accepts it; for an element of a set, the element stands in brackets
        std::string before; ///< value as JSON; empty for an added member
        std::string after;  ///< value as JSON; empty for a removed member
    };
    std::vector<range> ranges;   ///< all that differs, the allocator's own structures included
    std::vector<block> blocks;   ///< sorted by offset
    std::vector<root> roots;     ///< sorted by name
    std::vector<member> members; ///< sorted by root, then by path
    /// Returns true if nothing differs.
    [[nodiscard]] bool is_empty() const noexcept { return ranges.empty(); }
};

} // namespace remanence
