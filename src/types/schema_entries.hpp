// The bytes of the type table. They are input, and checked here (I7).
#pragma once

#include "base/units.hpp"
#include "format/schema_table.hpp"
#include "types/heap_bytes.hpp"
#include "types/type_description.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace remanence::types {

inline bool may_be_table(const heap_bytes& heap, std::uint64_t offset) {
    return offset >= k_page_bytes && is_aligned(offset, alignof(std::uint64_t)) &&
           heap.contains(offset, sizeof(format::schema_table));
}

inline bool fits(const heap_bytes& heap, std::uint64_t offset, const format::schema_table& head) {
    return head.bytes <= format::k_schemas_bytes_max && heap.contains(offset, head.bytes) &&
           sizeof head + std::uint64_t{head.count} * sizeof(format::schema_entry) <= head.bytes;
}

/// Precondition: the table fits().
inline const format::schema_entry* entries_of(const format::schema_table& table) {
    return reinterpret_cast<const format::schema_entry*>(&table + 1);
}

/// The schemas of a table that fits(), one entry after the other.
class schema_texts {
public:
    explicit schema_texts(const format::schema_table& table)
        : at_(reinterpret_cast<const char*>(entries_of(table) + table.count)),
          left_(table.bytes - static_cast<std::uint64_t>(at_ - reinterpret_cast<const char*>(&table))) {}

    /// Returns nothing if the schema does not lie within the table.
    std::optional<std::string_view> next(const format::schema_entry& of) {
        if (of.schema_bytes > k_schema_bytes_max || of.schema_bytes > left_)
            return {};
        const std::string_view text(at_, of.schema_bytes);
        at_ += of.schema_bytes;
        left_ -= of.schema_bytes;
        return text;
    }

private:
    const char* at_;
    std::uint64_t left_;
};

} // namespace remanence::types
