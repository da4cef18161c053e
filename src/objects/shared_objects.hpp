// Finds out if a root shares objects with other roots: it points at theirs, they point at its, or both point at the
// same.
#pragma once

#include "base/result.hpp"
#include "objects/object_source.hpp"
#include "txn/heap_memory.hpp"
#include "types/schema_table.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace remanence::objects {

/// The target of a pointer.
struct pointee {
    std::uint32_t row;
    std::uint64_t at;
    friend bool operator==(const pointee&, const pointee&) = default;
};
struct pointee_hash {
    std::size_t operator()(const pointee& key) const { return std::hash<std::uint64_t>()(key.at * 31 + key.row); }
};

/// A target with the first pointer found that leads to it.
struct named_pointee : pointee {
    std::uint32_t owner;     // row of the object that has the pointer
    std::string_view member; // that member, a view of the schema's; empty: an element
};

struct pointees_of_root {
    std::vector<named_pointee> all;
    std::unordered_map<pointee, std::uint64_t, pointee_hash> places; // all targets, with the value 0
};

/// True if one of the rows is a pointer.
[[nodiscard]] bool has_pointer(const types::type_description& schema);
/// Collects the targets of the object's pointers, and the targets of their pointers. errc::corrupt. O(objects).
result<void> collect_pointees(heap_source& objects, object_place root, pointees_of_root& found);
/// Returns the targets that are parts of the root, or of objects that pointers lead to, at the places of these parts.
/// errc::corrupt. O(objects).
result<std::unordered_set<pointee, pointee_hash>> pointees_in_objects(heap_source& objects, object_place root,
                                                                      const pointees_of_root& all);
/// Returns the blocks that the object owns, and those that its pointers lead to. errc::corrupt. O(objects).
result<std::vector<std::uint64_t>> blocks_of_all(txn::heap_memory& memory, heap_source& objects, object_place root);

/// Returns a sentence about the first root that shares objects with this one; empty if there is none. Skips roots whose
/// schemas exclude it. If classes hide their members, or a root has no schema, each aligned word that may be an address
/// counts as a pointer, and the block that it leads to is searched, too. errc::corrupt. O(objects of such roots).
result<std::string> root_with_common_objects(txn::heap_memory& memory, const std::vector<types::stored_schema>& schemas,
                                             std::string_view root, const types::type_description& schema,
                                             std::uint64_t object);

} // namespace remanence::objects
