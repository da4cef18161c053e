// The schema of a heap: the structure of the types of its roots. With it, a program that does not have these types can
// read the heap. The schema is a block of the heap's contents; the heap's header leads to it (docs/format.md, "Type
// table").
//
// The schema is input (I7). Entries are looked up by the fingerprints of roots, and an entry whose fingerprint no root
// has is ignored. So the table stays correct when a program that does not know of the table adds or changes roots.
#pragma once

#include "base/result.hpp"
#include "format/schema_table.hpp"
#include "txn/heap_memory.hpp"
#include "types/heap_bytes.hpp"
#include "types/type_description.hpp"

#include <atomic>
#include <remanence/types/detail/fingerprint.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::types {

/// An entry of the table: the schema of one type.
struct stored_schema {
    std::uint64_t hash;
    std::uint32_t algorithm;
    std::uint32_t shapes;
    std::uint32_t classes_hash;
    std::string_view encoded; // in the heap; not checked yet
    std::uint64_t place = 0;  // heap offset of these bytes
};

/// Reads the table, from an open heap or from a file. `offset`: the word in the header; 0 if there is no table. Returns
/// nothing if there is no table, or one of a later layout. Error: errc::corrupt.
result<std::vector<stored_schema>> read_schemas(heap_bytes& heap, const std::string& path, std::uint64_t offset);

/// Returns the schema of this fingerprint; null if it is not stored.
[[nodiscard]] const stored_schema* find_schema(const std::vector<stored_schema>& all, std::uint64_t hash,
                                               std::uint32_t algorithm);

/// Returns the schema of this fingerprint, decoded; nothing if it is not stored. Fails with errc::corrupt if its rows
/// do not fit each other.
result<std::optional<type_description>> schema_of(const std::vector<stored_schema>& all, std::uint64_t hash,
                                                  std::uint32_t algorithm, const std::string& path);

/// Returns the size of an object of the type that a sound schema describes; 0 if it is not known.
[[nodiscard]] std::uint64_t bytes_of_root(const type_description& schema);
/// Returns the failure for a root that has fewer bytes than its schema says.
[[nodiscard]] failure smaller_than_schema(std::string_view root, const std::string& path);

[[nodiscard]] bool is_utf8(std::string_view text);

/// True if code can follow the rows and print the names: parts lie within their objects and do not overlap, and no
/// object contains itself by value. O(rows).
bool is_sound_schema(const type_description& schema);

/// Returns the schema with the members that classes declare (REM_REFLECT) as their members, for comparison.
type_description with_own_members(type_description schema);

/// How the members that classes declare (REM_REFLECT), and enumerators, differ from the stored ones.
struct class_change {
    std::optional<std::string> what; // nothing: stored objects keep their meaning, or the difference is not known
    bool only_names = false;         // they may have been renamed
    bool knows_more_stored = false;  // the schema has enumerators that the program does not know
};
/// Null until the program has called detail::tell_changes_of_classes(). A program calls this when it writes the
/// structure of a type with an enumeration, or with a class that declares its members.
using class_comparer = class_change (*)(const format::schema_table& table, const detail::type_fingerprint& type);
inline constinit std::atomic<class_comparer> change_of_classes = nullptr;

/// Returns, as sentences for a message: all differences between a root and this type, which of them are converted
/// automatically, and how to convert the root. Empty if that is not known. Null in programs that migrate no roots, and
/// before statics are initialized (src/objects sets it).
using root_comparer = std::string (*)(txn::heap_memory& memory, std::string_view name,
                                      const detail::type_fingerprint& type);
inline constinit root_comparer changes_of_root = nullptr;

/// What the open heap's schema says about a type.
struct known_schema {
    bool is_stored = false;                 // the schema has all that the program knows of the type
    std::optional<std::string> has_changed; // how a class that declares its members, or an enumeration, has changed
    bool only_names = false;                // only names of enumerators differ: they may have been renamed
};
/// Never fails: returns an empty result if the table is damaged. O(types).
known_schema look_up_schema(txn::heap_memory& memory, const detail::type_fingerprint& type);

/// Returns the schema that the program has of its type, encoded; empty if it is too large to be stored.
std::string schema_of_program(const detail::type_fingerprint& type);

/// Adds the schemas of these types (perhaps none), and removes those that no root has; none if objects in the heap have
/// virtual functions. The caller must hold the write
/// lock. Error: errc::exhausted; then nothing has changed. O(size of the table).
result<void> store_schemas(txn::heap_memory& memory, std::span<const detail::type_fingerprint* const> types);

struct schema_to_store {
    format::schema_entry entry;
    std::string_view encoded;
};
/// Like store_schemas(), for schemas that are encoded already.
result<void> store_encoded_schemas(txn::heap_memory& memory, std::span<const schema_to_store> made);

} // namespace remanence::types
