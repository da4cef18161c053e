// Compares the members that classes declare (REM_REFLECT), and enumerators, with the stored ones. Linked only into
// programs that have such types.
#include "types/schema_entries.hpp"
#include "types/schema_table.hpp"
#include "types/type_difference.hpp"

#include <algorithm>
#include <iterator>
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

namespace {

/// Compares enumerations of the same name. New enumerators do not change what is stored, nor do removed ones.
void compare_enumerators(const type_description& stored, const type_description& program, class_change& into) {
    for (const type_row& was : stored.rows) {
        const auto found = std::find_if(program.rows.begin(), program.rows.end(), [&](const type_row& is) {
            return is.shape == detail::shape_kind::enumeration && is.shape == was.shape && is.name == was.name;
        });
        if (found == program.rows.end())
            continue;
        const type_row& is = *found;
        for (std::size_t i = 0; i != was.labels.size(); ++i) {
            const auto same_name = std::find(is.labels.begin(), is.labels.end(), was.labels[i]) - is.labels.begin();
            const auto same_value =
                std::find(is.numbers.begin(), is.numbers.end(), was.numbers[i]) - is.numbers.begin();
            const auto number = [](std::uint64_t of) { return std::to_string(static_cast<std::int64_t>(of)); };
            const bool is_known = same_name != std::ssize(is.labels);
            into.knows_more_stored = into.knows_more_stored || !is_known;
            if (is_known && is.numbers[static_cast<std::size_t>(same_name)] != was.numbers[i]) {
                into = {was.name + "::" + was.labels[i] + " had the value " + number(was.numbers[i]) + ", and has " +
                        number(is.numbers[static_cast<std::size_t>(same_name)])};
                return;
            }
            if (!is_known && same_value != std::ssize(is.numbers) && !into.what) {
                into.what = "the value " + number(was.numbers[i]) + " of " + was.name + " was named " + was.labels[i] +
                            ", and is named " + is.labels[static_cast<std::size_t>(same_value)];
                into.only_names = true;
            }
        }
    }
}

class_change compare(const format::schema_table& table, const detail::type_fingerprint& type) {
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
        class_change change;
        compare_enumerators(*was, *is, change);
        const auto difference = difference_between(with_own_members(std::move(*was)), with_own_members(std::move(*is)));
        if (difference)
            return {difference->what};
        return change;
    }
    return {};
}

} // namespace

static void tell_changes() noexcept { change_of_classes.store(compare, std::memory_order_relaxed); }

} // namespace remanence::types

namespace remanence::detail {
/// Declared in remanence/types/detail/reflect_access.hpp, which belongs to a layer above.
void tell_changes_of_classes() noexcept;
void tell_changes_of_classes() noexcept { types::tell_changes(); }
} // namespace remanence::detail
