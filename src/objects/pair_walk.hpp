// Visits old objects together with what they become: their parts in pairs, as row_matching has matched the rows.
#pragma once

#include "inspect/row_forms.hpp"
#include "objects/conversion.hpp"
#include "objects/object_source.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace remanence::objects {

using inspect::part_role;

struct part_pair {
    part_role role;
    object_place from; // not set if the member is new
    std::uint32_t to;
    const types::type_part* member = nullptr; // in the newer row
    bool is_new = false;
    std::uint64_t index = 0; // of an element, in the older object
};

/// Returns the form in which a pair is visited. It is `same` if at least one of the two rows is described by a third
/// one, except when an optional is made from something else. Otherwise it is the newer row's form.
inline form form_of_pair(const row_matching& rows, std::uint32_t from, std::uint32_t to) {
    const form was = form_of(rows.from().rows[from]);
    const form is = form_of(rows.to().rows[to]);
    if (is == form::optional && was != form::optional)
        return is;
    return was == form::same || is == form::same ? form::same : is;
}
/// If one of the rows is described by another row, returns the pair with that row in its place, as row_matching has
/// matched the rows. A number with a unit is replaced last, together with the number with a unit in the other schema.
inline std::pair<std::uint32_t, std::uint32_t> unwrapped(const row_matching& rows, std::uint32_t from,
                                                         std::uint32_t to) {
    const types::type_row& was = rows.from().rows[from];
    const types::type_row& is = rows.to().rows[to];
    const auto inner = [](const types::type_row& row, std::uint32_t index) {
        return form_of(row) == form::same ? row.parts[row.numbers[0]].type : index;
    };
    if (form_of(was) == form::same && !inspect::has_unit(was))
        return {inner(was, from), to};
    if (form_of(is) == form::same && !inspect::has_unit(is))
        return {from, inner(is, to)};
    return {inner(was, from), inner(is, to)};
}

/// Visits the pairs of direct parts; `visit` may go on to their parts. For a row that another one describes, and for an
/// object that becomes an optional, the only pair is the object itself with the inner row. Members that are gone are in
/// no pair. Pointers and arrays of characters have no parts. Precondition: the rows match. Returns the errors of
/// `source` and `visit`.
template <class Source, class Visit>
result<void> for_each_part_pair(Source& source, const row_matching& rows, object_place from, std::uint32_t to,
                                const Visit& visit) {
    const types::type_row& is = rows.to().rows[to];
    const form what = form_of_pair(rows, from.row, to);
    if (what == form::same) {
        const auto [old_row, new_row] = unwrapped(rows, from.row, to);
        return visit(part_pair{part_role::same, {old_row, from.at}, new_row});
    }
    if (what == form::optional && form_of(rows.from().rows[from.row]) != form::optional)
        return visit(part_pair{part_role::held, from, is.parts[0].type});
    if (what == form::members) {
        const auto& origins = rows.origins(from.row, to);
        std::size_t index = 0;
        for (const types::type_part& each : *members_of(is)) {
            const types::type_part* const origin = origins[index++];
            if (!each.offset)
                continue;
            part_pair pair{part_role::member, {}, each.type, &each, origin == nullptr};
            if (origin != nullptr) {
                result<std::optional<object_place>> place = source.member(from, *origin);
                if (!place)
                    return place.error();
                pair.from = **place; // exists, because an origin has an offset
            }
            REM_TRY(visit(pair));
        }
    } else if (inspect::is_held(what)) {
        result<std::optional<held_place>> held = source.held(from);
        if (!held)
            return held.error();
        if (!*held)
            return {};
        const std::size_t becomes = what == form::variant ? *rows.alternatives(from.row, to)[(*held)->alternative] : 0;
        return visit(part_pair{part_role::held, **held, is.parts[becomes].type});
    } else if (what >= form::array && !is_character_array(rows.to(), to)) {
        const inspect::element_rows becomes = inspect::rows_of_elements(is);
        std::uint64_t index = 0;
        return source.for_each_element(from, [&](const element_place& each) -> result<bool> {
            if (each.has_key)
                REM_TRY(visit(part_pair{part_role::key, each.key, becomes.key, nullptr, false, index}));
            REM_TRY(visit(part_pair{part_role::element, each.value, becomes.value, nullptr, false, index++}));
            return true;
        });
    }
    return {};
}

} // namespace remanence::objects
