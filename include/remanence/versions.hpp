// Versions of a heap that its history keeps, and what differs between two of its states: heap::versions(), heap::diff(). Depends on the
// standard library only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remanence {

/// A version that heap::keep() retains.
struct kept_version {
    std::uint64_t version;
    std::optional<std::uint64_t> parent; ///< the kept version that comes before it, if there is one
    std::string name;
    std::chrono::system_clock::time_point time; ///< of its last commit
    /// What has changed between it and the next state towards the present one, as history_step::bytes counts it, twice as much at
    /// most. If limits have passed the version, drop() gives that back; else its step goes as others do. 0: it is the present one.
    std::uint64_t bytes;
    bool is_present; ///< memory is in this state
};

/// What differs between two states of a heap: heap::diff().
struct version_difference {
    enum class change { added, removed, changed };
    /// Of the heap's memory, from its base: in words of 8 bytes, sorted, and none touches the next one.
    struct range {
        std::uint64_t offset;
        std::uint64_t bytes;
        friend bool operator==(const range&, const range&) = default;
    };
    /// Allocated memory. It is `changed` if bytes in it differ, or its size.
    struct block {
        change how;
        std::uint64_t offset;
        std::uint64_t bytes; ///< in the second state; of a removed one in the first
        std::string root;    ///< the first by name that leads to it, as far as pointers and distances tell; empty: none
    };
    /// A root is `changed` if it is another object, or of another type, or leads to a block that differs.
    struct root {
        change how;
        std::string name;
        std::string type; ///< in the second state; of a removed one in the first
    };
    /// A part of a root that has a schema (rem schema), as a path that `rem get` takes, but of a set the element stands in brackets.
    /// Pointers are not followed.
    struct member {
        change how;
        std::string path;
        std::string before; ///< as JSON; empty, if it was added
        std::string after;  ///< likewise; empty, if it was removed
    };
    std::vector<range> ranges;   ///< all, those of the allocator's own structures, too
    std::vector<block> blocks;   ///< by offset
    std::vector<root> roots;     ///< by name
    std::vector<member> members; ///< by root, then by path
    [[nodiscard]] bool is_empty() const noexcept { return ranges.empty(); }
};

} // namespace remanence
