// Finds out whether a root shares objects with other roots: it points at objects of theirs, they point at its own, or
// both point at the same.
#pragma once

#include "base/result.hpp"
#include "objects/migrated_classes.hpp"
#include "objects/object_source.hpp"
#include "txn/heap_memory.hpp"
#include "types/schema_table.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace remanence::objects {

/// The target of a pointer: its row in the schema, and its heap offset.
struct pointee {
    std::uint32_t row;
    std::uint64_t at;
    friend bool operator==(const pointee&, const pointee&) = default;
};
struct pointee_hash {
    std::size_t operator()(const pointee& key) const { return std::hash<std::uint64_t>()(key.at * 31 + key.row); }
};

/// A target, with the first pointer to it that was found.
struct named_pointee : pointee {
    std::uint32_t owner;     // row of the object that has this pointer
    std::string_view member; // name of the pointer's member, in the schema; empty for an element
    bool is_base = false;    // lies in another target, an object of a derived class
};

struct pointees_of_root {
    std::vector<named_pointee> all;
    std::unordered_map<pointee, std::uint64_t, pointee_hash> places; // all targets as keys; the value is 0
    // Of objects with virtual functions, by the numbers of the heap's classes:
    std::set<std::size_t> classes; // also of objects to which no pointer leads
    /// Of objects to which pointers to their bases lead, with the rows of these bases.
    std::map<std::size_t, std::set<std::uint32_t>> derived;
    std::vector<std::string> not_known; // the pointers to objects whose class is not known, or does not say its members
};

/// True if a row of the schema is a pointer.
[[nodiscard]] bool has_pointer(const types::type_description& schema);
/// Collects the targets of all pointers in an object, and of all pointers in these targets. If `objects` knows classes,
/// the object to which a pointer to its base leads is a target, too. errc::corrupt. O(objects).
result<void> collect_pointees(heap_source& objects, object_place root, pointees_of_root& found);
/// True if an object of a root, or one to which it leads, hides bytes that may be an address. errc::corrupt. O(objects) if
/// `objects` knows classes.
result<bool> leads_to_hidden(heap_source& objects, std::uint64_t root);
/// Searches these blocks, and blocks to which a word in them may be an address: true if is_block() is true of the place
/// of one, or is_word() of a word in one.
bool search_words(txn::heap_memory& memory, std::vector<std::uint64_t> blocks,
                  const std::function<bool(std::uint64_t)>& is_block,
                  const std::function<bool(std::uint64_t)>& is_word);
/// Returns those targets that are parts of the root's object, or of an object to which pointers lead. errc::corrupt.
/// O(objects).
result<std::unordered_set<pointee, pointee_hash>> pointees_in_objects(heap_source& objects, object_place root,
                                                                      const pointees_of_root& all);
/// Returns the blocks of the object and of all objects to which its pointers lead, with the blocks that these own.
/// errc::corrupt. O(objects).
result<std::vector<std::uint64_t>> blocks_of_all(txn::heap_memory& memory, heap_source& objects, object_place root);

/// Returns a sentence about the first root that shares objects with this one; empty if there is none. Skips roots whose
/// schemas exclude that. If a class hides its members, or a root has no schema, each aligned word that may be an
/// address counts as a pointer, and the block to which it leads is searched, too. `objects` reads the root by its schema;
/// `classes` are those of the heap, or null. errc::corrupt. O(objects of such roots).
result<std::string> root_with_common_objects(txn::heap_memory& memory, const std::vector<types::stored_schema>& schemas,
                                             const migrated_classes* classes, std::string_view root,
                                             heap_source& objects, std::uint64_t object);

} // namespace remanence::objects
