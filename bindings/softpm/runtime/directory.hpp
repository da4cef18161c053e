// The part of a container's heap beside the arena. It contains only numbers and offsets, so that the heap can be mapped
// at any address.
#pragma once

#include "modules.hpp"

#include <remanence/containers/vector_pi.hpp>

#include <cstdint>

namespace remanence::softpm {

inline constexpr std::uint32_t k_directory_version = 2;
inline constexpr const char* k_root_name = "softpm";

/// A guest: a block outside of the container to which the container's pointers lead, and the place of its copy in the
/// arena.
struct guest_entry {
    std::uint64_t address; // address of the original, in the process that took the point
    std::uint64_t bytes;
    std::uint64_t copy; // offset from the beginning of the arena, like all offsets below

    bool operator==(const guest_entry&) const = default;
};
/// A variable of the program (pGlobal), and its copy.
struct global_entry {
    std::uint64_t bytes;
    std::uint64_t copy;

    bool operator==(const global_entry&) const = default;
};
struct lock_entry {
    std::uint64_t offset;
    std::uint64_t kind; // its mark (enum mark)

    bool operator==(const lock_entry&) const = default;
};

/// A block that is excluded from points (pExclude).
struct excluded_entry {
    std::uint64_t offset;
    std::uint64_t bytes;

    bool operator==(const excluded_entry&) const = default;
};

/// Flags of a page of the arena, in one byte.
enum page_flag : std::uint8_t {
    k_leads_to_modules = 1,
    k_leads_outside = 2, // to guests, or to targets that do not outlive the process
};

struct directory {
    std::uint32_t version = k_directory_version;
    std::int32_t magic = 0;
    std::uint64_t words_base = 0; // address of the arena when its pointers were stored
    // Offsets from the beginning of the heap:
    std::uint64_t arena = 0;
    std::uint64_t page_table = 0;
    std::uint64_t marks = 0; // one bit for each word of the arena: whether it holds a pointer
    std::uint64_t flags = 0; // one byte for each page (page_flag)
    std::uint64_t pages_max = 0;
    std::uint64_t pages_used = 0;
    std::uint64_t structure = 0; // the program's struct: offset in the arena
    std::uint64_t structure_bytes = 0;
    // pages_used when a restore last visited everything reachable; later pages may have unreachable blocks
    std::uint64_t pages_walked = 0;
    vector_pi<module_entry> modules;
    vector_pi<guest_entry> guests;
    vector_pi<global_entry> globals;
    vector_pi<lock_entry> locks;
    vector_pi<excluded_entry> excluded;
    // Symbols of the modules to which pointers lead, if the program asked for them (cattr::symbol_names).
    vector_pi<char> names;
};

} // namespace remanence::softpm
