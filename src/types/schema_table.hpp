// The schema of a heap: what the types of its roots consist of, so that a program that does not have them can read it. A block
// of the heap's contents, found from its header (docs/format.md, "Type table").
//
// It is input (I7). Entries are found by the fingerprints of roots, so a writer that does not know of the table leaves nothing
// wrong behind: an entry that no root has is not looked at.
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

/// What the table says of one type.
struct stored_schema {
    std::uint64_t hash;
    std::uint32_t algorithm;
    std::uint32_t shapes;
    std::uint32_t classes_hash;
    std::string_view encoded; // in the heap; not looked into yet
    std::uint64_t place = 0;  // heap offset of these bytes
};

/// Reads the table, wherever the heap's memory is. `offset`: what the header says; 0: there is none. Nothing when there is
/// none, or one of a later layout. errc::corrupt.
result<std::vector<stored_schema>> read_schemas(heap_bytes& heap, const std::string& path, std::uint64_t offset);

/// The one of this fingerprint; null: it is not stored.
[[nodiscard]] const stored_schema* find_schema(const std::vector<stored_schema>& all, std::uint64_t hash,
                                               std::uint32_t algorithm);

/// The schema of this fingerprint, decoded. Nothing when it is not stored. errc::corrupt, when its rows do not fit each other.
result<std::optional<type_description>> schema_of(const std::vector<stored_schema>& all, std::uint64_t hash,
                                                  std::uint32_t algorithm, const std::string& path);

/// Size of an object of the type that a sound schema is of; 0 where it is not known.
[[nodiscard]] std::uint64_t bytes_of_root(const type_description& schema);
/// That a root has fewer bytes than that.
[[nodiscard]] failure smaller_than_schema(std::string_view root, const std::string& path);

[[nodiscard]] bool is_utf8(std::string_view text);

/// Whether rows can be followed, and names be printed: parts lie within the objects they are parts of and not in each other, and by value
/// nothing holds itself. O(rows).
bool is_sound_schema(const type_description& schema);

/// The same with the members that classes say they have (REM_REFLECT) as members, to be compared.
type_description with_own_members(type_description schema);

/// How what classes say of their members, and enumerators, differ from the stored ones.
struct class_change {
    std::optional<std::string> what; // nothing: not so that stored objects mean something else, or that cannot be told
    bool only_names = false;         // they may have been renamed
    bool knows_more_stored = false;  // the schema has enumerators that the program does not know
};
/// Null until the program has written the structure of a type with an enumeration, or a class that says its members, and so
/// called detail::tell_changes_of_classes().
using class_comparer = class_change (*)(const format::schema_table& table, const detail::type_fingerprint& type);
inline constinit std::atomic<class_comparer> change_of_classes = nullptr;

/// All in which a root differs from this type, which are automatic, and how to convert it, as sentences for a message; empty where that
/// cannot be told. Null in programs that migrate no roots, and before statics are initialized (src/objects has it).
using root_comparer = std::string (*)(txn::heap_memory& memory, std::string_view name,
                                      const detail::type_fingerprint& type);
inline constinit root_comparer changes_of_root = nullptr;

/// What the open heap knows of a type.
struct known_schema {
    bool is_stored = false;                 // as much as the program knows
    std::optional<std::string> has_changed; // of a class that says its members, or of an enumeration: how
    bool only_names = false;                // of enumerators, which may have been renamed
};
/// Never fails: of a damaged table nothing is known. O(types).
known_schema look_up_schema(txn::heap_memory& memory, const detail::type_fingerprint& type);

/// The schema that the program has of its type, encoded; empty: it is too large for one.
std::string schema_of_program(const detail::type_fingerprint& type);

/// Adds the schemas of these types (perhaps none), and leaves out those that no root has. With the write lock held. errc::exhausted; nothing
/// has changed then. O(size of the table).
result<void> store_schemas(txn::heap_memory& memory, std::span<const detail::type_fingerprint* const> types);

struct schema_to_store {
    format::schema_entry entry;
    std::string_view encoded;
};
/// The same of schemas that are at hand.
result<void> store_encoded_schemas(txn::heap_memory& memory, std::span<const schema_to_store> made);

} // namespace remanence::types
