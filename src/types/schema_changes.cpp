// How the members that a class states differ from those that it had: part of programs with such classes only (weak in schema_table.hpp).
#include "types/schema_entries.hpp"
#include "types/schema_table.hpp"
#include "types/type_difference.hpp"

#include <utility>

namespace remanence::types {

type_description with_own_members(type_description schema) {
    for (type_row& row : schema.rows) {
        if (row.shape != detail::shape_kind::members || row.fields.empty())
            continue;
        row.kind = type_kind::members;
        row.parts = std::move(row.fields);
    }
    return schema;
}

std::optional<std::string> change_of_classes(const format::schema_table& table, const detail::type_fingerprint& type) {
    schema_texts texts(table);
    for (const format::schema_entry* each = entries_of(table); each != entries_of(table) + table.count; ++each) {
        const auto encoded = texts.next(*each);
        if (!encoded)
            return {};
        if (each->fingerprint_hash != type.hash || each->fingerprint_algorithm != type.algorithm)
            continue;
        detail::structure_writer out;
        type.structure(out);
        auto was = type_description::decode(*encoded, row_contents::schema);
        auto is = type_description::decode(std::move(out).schema(), row_contents::schema);
        if (!was || !is)
            return {};
        const auto difference = difference_between(with_own_members(std::move(*was)), with_own_members(std::move(*is)));
        return difference ? std::optional(difference->what) : std::nullopt;
    }
    return {};
}

} // namespace remanence::types

namespace remanence::detail {
/// Declared in remanence/types/reflect.hpp, which is of a layer above.
void tell_changes_of_classes() noexcept;
void tell_changes_of_classes() noexcept {}
} // namespace remanence::detail
