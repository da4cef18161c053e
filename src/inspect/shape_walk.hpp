// Visits the parts of an object by its form, whether the object lies in memory or in a dump.
#pragma once

#include "base/result.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/row_forms.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace remanence::inspect {

struct object_part {
    part_role role;
    object_place place;
    const types::type_part* member = nullptr; // lies in the schema
    std::uint64_t index = 0;                  // index of a member, an alternative or an element
};

/// Visits the parts of an object, elements included, until `visit` returns false or fails. A key is visited before its
/// value. The target of a pointer is not a part. `Source` is object_reader, or an object_source of src/objects, whose
/// objects may lie in a dump. Returns the errors of the source.
template <class Source, class Visit>
result<void> for_each_part(Source& source, object_place of, const Visit& visit) {
    const types::type_row& row = source.row(of.row);
    const form what = form_of(row);
    if (what == form::members) {
        const std::vector<types::type_part>& members = *members_of(row);
        for (std::size_t i = 0; i != members.size(); ++i) {
            result<std::optional<object_place>> place = source.member(of, members[i]);
            if (!place)
                return place.error();
            if (!*place) // a bit-field whose place is not known
                continue;
            result<bool> more = visit(object_part{part_role::member, **place, &members[i], i});
            if (!more || !*more)
                return ended(std::move(more));
        }
    } else if (what == form::same) {
        return ended(visit(object_part{part_role::same, {row.parts[row.numbers[0]].type, of.at}}));
    } else if (is_held(what)) {
        result<std::optional<held_place>> held = source.held(of);
        if (!held)
            return held.error();
        if (*held)
            return ended(visit(object_part{part_role::held, **held, nullptr, (*held)->alternative}));
    } else if (what >= form::array) {
        std::uint64_t index = 0;
        return source.for_each_element(of, [&](const element_place& each) -> result<bool> {
            if (each.has_key) {
                result<bool> more = visit(object_part{part_role::key, each.key, nullptr, index});
                if (!more || !*more)
                    return more;
            }
            return visit(object_part{part_role::element, each.value, nullptr, index++});
        });
    }
    return {};
}

} // namespace remanence::inspect
