// Converts a root of an older release of its type to the program's type, within the caller's write section.
#pragma once

#include "base/result.hpp"
#include "objects/conversion.hpp"
#include "objects/migrated_classes.hpp"
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

struct migration_request {
    std::string_view root;
    const detail::type_fingerprint& type;
    /// Returns, for each name of a class, a function that default-constructs an object in raw memory; the function is
    /// empty if the class has no default constructor. Called once, if there is something to convert.
    std::function<std::map<std::string, std::function<void(void*)>>()> makers;
    std::vector<member_renaming> renamings = {};
    std::vector<class_renaming> renamed_classes = {};
    migrated_classes* classes = nullptr;   // shared by all roots of a migration; null: the heap has none
    std::vector<std::string> dropped = {}; // members whose values may be lost: row_matching::drop()
    std::span<const conversion_step> steps = {};
    bool only_says = false;     // only reports, without a change
    bool estimates = false;     // with only_says, also computes the memory needed, O(objects)
    bool leaves_schema = false; // keeps the stored schema, because roots that are converted later need it
};

/// How much memory several conversions in turn need, in bytes of blocks.
struct memory_need {
    std::uint64_t peak_bytes = 0;  // the most used at any time, beyond the use before the first
    std::int64_t growth_bytes = 0; // change of use after the last

    void add(const memory_need& next) {
        const std::int64_t peak = growth_bytes + static_cast<std::int64_t>(next.peak_bytes);
        peak_bytes = std::max(peak_bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(peak, 0)));
        growth_bytes += next.growth_bytes;
    }
};

struct migration_outcome {
    bool is_needed = false;  // false if the root has the program's type already, or does not exist
    bool is_readable = true; // objects fit the program's type as they are; only the schema may lack enumerators
    bool is_possible = true;
    bool is_in_place = false; // objects keep their addresses
    memory_need memory;       // with `estimates`
    std::vector<type_change> changes;
};

/// Converts the root, everything in it, and everything to which it points. An object with virtual functions stays one of
/// its own class, and gets the vptrs of the program's. When all roots are migrated, the caller must call
/// migrated_classes::finish(). Frees the old objects. If the enumerators,
/// or the members of a class that states them, have changed, also converts all other roots with this fingerprint,
/// because they share one schema. If only names differ, no object is visited. If all sizes stay the same, objects are
/// changed in place (place_plan.hpp). The caller holds the write lock. If this function fails, or a function of the
/// program throws, the caller must roll back.
/// errc::type_mismatch, with all changes, if a change is not automatic, or would lose values without permission;
/// errc::not_supported if the heap does not have the schema, or a shape cannot be made; errc::exhausted; errc::corrupt.
/// O(objects). Unless objects are changed in place, old and new objects exist together for a time. Also uses memory for
/// the address of each block, and of each object to which pointers may lead.
result<migration_outcome> migrate_root(txn::heap_memory& memory, const migration_request& request);

/// Does nothing. But a program that calls it links types::changes_of_root().
void link_root_changes() noexcept;

} // namespace remanence::objects
