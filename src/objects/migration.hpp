// A root of an older release of its type becomes one of the program's type, within the write section of the caller.
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
    /// Makes an object by default in raw memory, by the name of its class; empty where a class has no such constructor. Asked for once, if
    /// there is something to do.
    std::function<std::map<std::string, std::function<void(void*)>>()> makers;
    std::vector<member_renaming> renamings = {};
    std::vector<class_renaming> renamed_classes = {};
    std::vector<std::string> dropped = {}; // row_matching::drop()
    std::span<const conversion_step> steps = {};
    bool only_says = false;     // changes nothing
    bool estimates = false;     // with only_says: finds what memory it needs, which is O(objects)
    bool leaves_schema = false; // stays the stored one: other roots need it that are to be converted after this one
};

/// What heaps need for conversions one after the other, in bytes of blocks.
struct memory_need {
    std::uint64_t peak_bytes = 0;  // beyond what was in use before the first, at any time
    std::int64_t growth_bytes = 0; // after the last

    void add(const memory_need& next) {
        const std::int64_t peak = growth_bytes + static_cast<std::int64_t>(next.peak_bytes);
        peak_bytes = std::max(peak_bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(peak, 0)));
        growth_bytes += next.growth_bytes;
    }
};

struct migration_outcome {
    bool is_needed = false;  // false: the root is of this type, or is not there
    bool is_readable = true; // as this type, before it is done: only the schema is to have more enumerators
    bool is_possible = true;
    bool is_in_place = false; // objects keep their addresses
    memory_need memory;       // with `estimates`
    std::vector<type_change> changes;
};

/// Converts the root, all that it holds and points at, and frees what it was. So it does with all other roots that have the fingerprint of this
/// type, if enumerators or classes that say their members have changed since: they have one schema. Where nothing but names differ, no object is looked at; where
/// all sizes stay, objects are changed where they are (place_plan.hpp). With the write lock held; when it fails, or a maker or a function
/// throws, the caller rolls back. errc::type_mismatch, with all changes, when one of them is not automatic, or would lose values that are not named; errc::not_supported when the
/// heap does not have its schema, or a shape cannot be made; errc::exhausted; errc::corrupt. O(objects), which are there twice meanwhile
/// unless they stay, and memory for the address of each block, and of each object that pointers may lead to.
result<migration_outcome> migrate_root(txn::heap_memory& memory, const migration_request& request);

/// Whoever calls it has types::changes_of_root() in his program. It does nothing.
void link_root_changes() noexcept;

} // namespace remanence::objects
