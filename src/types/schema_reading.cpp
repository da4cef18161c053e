// Reads the schemas of a heap, from an open heap or from a file, for code that inspects heaps.
#include "types/schema_entries.hpp"
#include "types/schema_table.hpp"

#include <algorithm>

namespace remanence::types {

result<std::vector<stored_schema>> read_schemas(heap_bytes& heap, const std::string& path, std::uint64_t offset) {
    const auto damaged = [&] {
        return fail(errc::corrupt,
                    "the type table of " + path + " is damaged at heap offset " + std::to_string(offset) +
                        ". The roots can be used nevertheless; the next program that opens them for writing renews it.",
                    path);
    };
    if (offset == 0)
        return std::vector<stored_schema>();
    if (!may_be_table(heap, offset))
        return damaged();
    auto head = heap.at(offset, sizeof(format::schema_table));
    if (!head)
        return head.error();
    const format::schema_table read = *reinterpret_cast<const format::schema_table*>(*head);
    if (read.magic != format::k_schemas_magic)
        return damaged();
    if (read.version != format::k_schemas_version)
        return std::vector<stored_schema>();
    if (!fits(heap, offset, read))
        return damaged();
    auto whole = heap.at(offset, read.bytes);
    if (!whole)
        return whole.error();
    const auto& table = *reinterpret_cast<const format::schema_table*>(*whole);
    std::vector<stored_schema> all;
    schema_texts texts(table);
    for (const format::schema_entry* each = entries_of(table); each != entries_of(table) + read.count; ++each) {
        const auto encoded = texts.next(*each);
        if (!encoded)
            return damaged();
        const auto place = static_cast<std::uint64_t>(encoded->data() - reinterpret_cast<const char*>(*whole));
        all.push_back({each->fingerprint_hash, each->fingerprint_algorithm, each->shapes, each->classes_hash, *encoded,
                       offset + place});
    }
    return all;
}

const stored_schema* find_schema(const std::vector<stored_schema>& all, std::uint64_t hash, std::uint32_t algorithm) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const stored_schema& each) {
        return each.hash == hash && each.algorithm == algorithm;
    });
    return found == all.end() ? nullptr : &*found;
}

result<std::optional<type_description>> schema_of(const std::vector<stored_schema>& all, std::uint64_t hash,
                                                  std::uint32_t algorithm, const std::string& path) {
    const stored_schema* const found = find_schema(all, hash, algorithm);
    if (found == nullptr)
        return std::optional<type_description>();
    auto schema = type_description::decode(found->encoded, row_contents::schema);
    if (!schema || !is_sound_schema(*schema)) {
        return fail(errc::corrupt,
                    "a schema in the type table of " + path + " is damaged at heap offset " +
                        std::to_string(found->place) +
                        ". The roots can be used nevertheless; restore the heap from a copy to look inside.",
                    path);
    }
    return schema;
}

std::uint64_t bytes_of_root(const type_description& schema) {
    const type_row& root = schema.rows[schema.root];
    return root.kind == type_kind::object || root.kind == type_kind::members ? root.size : 0;
}

failure smaller_than_schema(std::string_view root, const std::string& path) {
    return {errc::corrupt,
            "the root \"" + std::string(root) + "\" of " + path +
                " is smaller than its schema says. Restore the heap from a copy.",
            path};
}

} // namespace remanence::types
