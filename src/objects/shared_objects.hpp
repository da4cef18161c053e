// Whether a root has objects in common with others: it points at theirs, they at its, or both at the same.
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

/// An object that pointers lead to.
struct pointee {
    std::uint32_t row;
    std::uint64_t at;
    friend bool operator==(const pointee&, const pointee&) = default;
};
struct pointee_hash {
    std::size_t operator()(const pointee& key) const { return std::hash<std::uint64_t>()(key.at * 31 + key.row); }
};

/// And the first pointer found that leads to it.
struct named_pointee : pointee {
    std::uint32_t owner;     // row of the object that has the pointer
    std::string_view member; // of it: a view of the schema's; empty: an element of it
};

struct pointees_of_root {
    std::vector<named_pointee> all;
    std::unordered_map<pointee, std::uint64_t, pointee_hash> places; // of each, 0
};

/// True if a pointer is among the rows.
[[nodiscard]] bool has_pointer(const types::type_description& schema);
/// What the object points at, and what that points at. errc::corrupt. O(objects).
result<void> collect_pointees(heap_source& objects, object_place root, pointees_of_root& found);
/// Those that are parts of the root or of objects that pointers lead to, in the places that these have for them. errc::corrupt. O(objects).
result<std::unordered_set<pointee, pointee_hash>> pointees_in_objects(heap_source& objects, object_place root,
                                                                      const pointees_of_root& all);
/// Where blocks begin that the object owns, and what it leads to by pointers. errc::corrupt. O(objects).
result<std::vector<std::uint64_t>> blocks_of_all(txn::heap_memory& memory, heap_source& objects, object_place root);

/// A sentence about the first root found that has objects in common with this one; empty: there is none. Roots whose schemas say that it cannot
/// be are not looked at. Where classes hide what they have, or a root has no schema, each aligned word that may be an address counts as one,
/// and blocks that it leads to are looked at, too. errc::corrupt. O(objects of such roots).
result<std::string> root_with_common_objects(txn::heap_memory& memory, const std::vector<types::stored_schema>& schemas,
                                             std::string_view root, const types::type_description& schema,
                                             std::uint64_t object);

} // namespace remanence::objects
