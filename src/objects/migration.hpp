// Converts a root of an older release of its type to the program's type, within the caller's write section.
#pragma once

#include "base/result.hpp"
#include "objects/conversion.hpp"
#include "txn/heap_memory.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::objects {

struct member_renaming {
    std::string type, old_name, new_name;
};

struct class_renaming {
    std::string old_name, new_name;
};

struct migration_request {
    std::string_view root;
    const detail::type_fingerprint& type;
    /// Returns functions that make an object by default in raw memory, by the name of its class; the function is empty
    /// if the class has no default constructor. Called once, if there is something to convert.
    std::function<std::map<std::string, std::function<void(void*)>>()> makers;
    std::vector<member_renaming> renamings = {};
    std::vector<class_renaming> renamed_classes = {};
    std::vector<std::string> dropped = {}; // row_matching::drop()
    std::span<const conversion_step> steps = {};
    bool only_says = false;     // changes nothing, only reports
    bool estimates = false;     // with only_says: computes the memory that it needs, O(objects)
    bool leaves_schema = false; // keeps the stored schema, because other roots that are converted later need it
};

/// The memory that several conversions need, one after the other, in bytes of blocks.
struct memory_need {
    std::uint64_t peak_bytes = 0;  // the most at any time, beyond the use before the first
    std::int64_t growth_bytes = 0; // change of use after the last

    void add(const memory_need& next) {
        const std::int64_t peak = growth_bytes + static_cast<std::int64_t>(next.peak_bytes);
        peak_bytes = std::max(peak_bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(peak, 0)));
        growth_bytes += next.growth_bytes;
    }
};

struct migration_outcome {
    bool is_needed = false;  // false: the root has this type, or does not exist
    bool is_readable = true; // the root can be read as this type already: only its schema lacks enumerators
    bool is_possible = true;
    bool is_in_place = false; // objects keep their addresses
    memory_need memory;       // with `estimates`
    std::vector<type_change> changes;
};

/// Converts the root and everything that it holds and points at, and frees the old objects. If enumerators, or classes
/// that state their members, have changed, it also converts all other roots with this fingerprint, because they share
/// one schema. If only names differ, no object is visited; if all sizes stay, objects are changed in place
/// (place_plan.hpp). The caller holds the write lock. When the function fails, or a maker or a function of the program
/// throws, the caller rolls back.
/// errc::type_mismatch, with all changes, if a change is not automatic, or would lose values that are not named;
/// errc::not_supported if the heap does not have the schema, or a shape cannot be made; errc::exhausted; errc::corrupt.
/// O(objects). Unless objects are changed in place, they exist twice meanwhile. Also takes memory for the address of
/// each block, and of each object that pointers may lead to.
result<migration_outcome> migrate_root(txn::heap_memory& memory, const migration_request& request);

/// Does nothing. A program that calls it links types::changes_of_root().
void link_root_changes() noexcept;

} // namespace remanence::objects
