// The schemas of the roots' types in the heap: one block, to which heap_header::type_table refers. Part of the heap's
// contents. A release that does not know this table may ignore it and still write to the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::uint64_t k_schemas_magic = 0x53454d4548435352; // "RSCHEMES"
inline constexpr std::uint32_t k_schemas_version = 1;
inline constexpr std::uint64_t k_schemas_bytes_max = std::uint64_t{1} << 26;

struct schema_table {
    std::uint64_t magic;   // k_schemas_magic
    std::uint32_t version; // k_schemas_version
    std::uint32_t count;   // entries
    std::uint64_t bytes;   // total length: this struct, the entries, the schemas one behind the other
    // then schema_entry[count]
};
static_assert(sizeof(schema_table) == 24 && offsetof(schema_table, bytes) == 16);

struct schema_entry {
    std::uint64_t fingerprint_hash;      // of the types of the roots that use this schema
    std::uint32_t fingerprint_algorithm; // of that fingerprint
    std::uint32_t shapes;                // number of the schema's types that have a shape (docs/format.md)
    std::uint32_t classes_hash;          // of the members and enumerators of the schema's classes; 0: none
    std::uint32_t schema_bytes;          // length of the schema, at most 1 MiB
};
static_assert(sizeof(schema_entry) == 24 && offsetof(schema_entry, schema_bytes) == 20);
static_assert(std::is_trivially_copyable_v<schema_table> && std::is_trivially_copyable_v<schema_entry>);

} // namespace remanence::format
