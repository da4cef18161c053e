#include "inspect/row_forms.hpp"

#include <remanence/types/detail/virtual_functions.hpp>

#include <algorithm>

namespace remanence::inspect {

using detail::foreign_way;
using detail::shape_kind;
using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

form form_with_keys(const type_row& row) { return row.numbers.back() == 0 ? form::set : form::map; }

/// Returns the form of those containers of ours into which a foreign container can be converted.
form form_of_foreign(const type_row& row) {
    switch (static_cast<foreign_way>(row.numbers[0])) {
    case foreign_way::text:
        return form::text;
    case foreign_way::tree:
    case foreign_way::buckets:
        return form_with_keys(row);
    case foreign_way::run:
    case foreign_way::blocks:
    case foreign_way::pointers:
    case foreign_way::ring:
        break;
    }
    return row.numbers.back() == 0 ? form::sequence : form::map;
}

} // namespace

form form_of(const type_row& row) {
    if (row.kind == type_kind::pointer)
        return form::pointer;
    if (row.kind == type_kind::array)
        return row.extent == 0 ? form::hidden : form::array;
    if (row.kind == type_kind::members)
        return form::members;
    switch (row.shape) {
    case shape_kind::none:
        return form::hidden;
    case shape_kind::signed_number:
    case shape_kind::unsigned_number:
    case shape_kind::floating:
    case shape_kind::boolean:
    case shape_kind::character:
    case shape_kind::enumeration:
        break;
    case shape_kind::members:
        return form::members;
    case shape_kind::same_as_part:
        return form::same;
    case shape_kind::array:
        return form::array;
    case shape_kind::optional:
        return form::optional;
    case shape_kind::variant:
        return form::variant;
    case shape_kind::text:
    case shape_kind::text_by_link:
    case shape_kind::packed_text:
        return form::text;
    case shape_kind::serialised:
        return form::serialised;
    case shape_kind::contiguous:
    case shape_kind::linked_block:
    case shape_kind::deque:
    case shape_kind::ring:
    case shape_kind::chain:
    case shape_kind::bits:
        return form::sequence;
    case shape_kind::tree:
    case shape_kind::hash_chain:
    case shape_kind::btree:
    case shape_kind::hash_table:
        return form_with_keys(row);
    case shape_kind::packed:
        return form::packed;
    case shape_kind::foreign:
        return form_of_foreign(row);
    }
    return form::number;
}

bool is_container(const type_row& row) { return row.kind == type_kind::array || form_of(row) >= form::array; }

bool is_map(const type_row& row) { return form_of(row) >= form::map; }

element_rows rows_of_elements(const type_row& container) {
    if (container.shape == shape_kind::packed)
        return {container.fields[0].type, container.fields[1].type};
    const std::uint32_t first = container.parts[0].type;
    return {first, is_map(container) ? container.parts[1].type : first};
}

bool is_text(const type_row& row) { return form_of(row) == form::text; }

bool is_foreign(const type_row& row) { return row.shape == shape_kind::foreign; }

bool has_several_of_a_key(const type_row& container) {
    return container.name.substr(0, container.name.find('<')).find("multi") != std::string::npos;
}

bool is_told_by_bytes(const type_row& row) {
    constexpr std::uint64_t k_word = 8;
    return row.kind == type_kind::object && row.shape == shape_kind::none && row.alignment < k_word && row.size != 0;
}

const std::vector<type_part>* members_of(const type_row& row) {
    if (row.shape == shape_kind::members)
        return &row.fields;
    return row.kind == type_kind::members ? &row.parts : nullptr;
}

bool has_vptr(const type_row& row) {
    return row.kind == type_kind::object && row.note.ends_with(detail::k_virtual_note);
}

// NOLINTNEXTLINE(misc-no-recursion): no type contains itself by value
bool has_vptr_at(const type_description& schema, std::uint32_t index, std::uint64_t offset) {
    const type_row& row = schema.rows[index];
    const std::vector<type_part>* const members = members_of(row);
    if (offset == 0 && has_vptr(row))
        return true;
    return members != nullptr && std::any_of(members->begin(), members->end(), [&](const type_part& each) {
               return each.name.empty() && each.offset && *each.offset <= offset &&
                      has_vptr_at(schema, each.type, offset - *each.offset);
           });
}

bool have_vptrs(const type_description& type) { return std::any_of(type.rows.begin(), type.rows.end(), has_vptr); }

std::uint64_t extent_of(const type_row& row) { return row.kind == type_kind::array ? row.extent : row.numbers[0]; }

bool has_unit(const types::type_row& row) { return row.name.starts_with("std::chrono::"); }

bool is_character_array(const type_description& schema, std::uint32_t index) {
    const type_row& row = schema.rows[index];
    if (row.kind != type_kind::array && row.shape != shape_kind::array)
        return false;
    const type_row& element = schema.rows[row.parts[0].type];
    return element.shape == shape_kind::character && element.kind == type_kind::object;
}

std::string member_name(const type_description& schema, const type_part& part) {
    return part.name.empty() ? schema.name_of(part.type) : part.name;
}

std::vector<row_part> parts_of(const type_row& row) {
    std::vector<row_part> all;
    switch (form_of(row)) {
    case form::pointer:
        return {{part_role::pointee, row.parts[0].type}};
    case form::members:
        for (const type_part& each : *members_of(row))
            all.push_back({part_role::member, each.type, &each});
        return all;
    case form::same:
        return {{part_role::same, row.parts[row.numbers[0]].type}};
    case form::optional:
        return {{part_role::held, row.parts[0].type}};
    case form::variant:
        for (const type_part& each : row.parts)
            all.push_back({part_role::held, each.type});
        return all;
    case form::array:
    case form::sequence:
    case form::set:
        return {{part_role::element, row.parts[0].type}};
    case form::map:
    case form::packed: {
        const element_rows rows = rows_of_elements(row);
        return {{part_role::key, rows.key}, {part_role::element, rows.value}};
    }
    case form::hidden:
        if (row.kind == type_kind::array)
            return {{part_role::element, row.parts[0].type}};
        return {};
    case form::number:
    case form::text:
    case form::serialised:
        break;
    }
    return {};
}

namespace {

class rows_leading_on {
public:
    rows_leading_on(const type_description& schema, bool through_pointers)
        : schema_(schema), through_pointers_(through_pointers), known_(schema.rows.size(), answer::unknown) {}

    bool ask(std::uint32_t index) { // NOLINT(misc-no-recursion): no type contains itself by value
        if (known_[index] == answer::unknown)
            known_[index] = find(schema_.rows[index]) ? answer::yes : answer::no;
        return known_[index] == answer::yes;
    }

private:
    enum class answer : char { unknown, no, yes };

    bool find(const type_row& row) { // NOLINT(misc-no-recursion)
        const form what = form_of(row);
        if (what == form::pointer)
            return through_pointers_;
        if (what == form::text || what == form::serialised || what > form::array)
            return true;
        std::vector<row_part> parts = parts_of(row);
        if (row.kind == type_kind::members) // a class that states its members may have others, too
            for (const type_part& each : row.parts)
                parts.push_back({part_role::member, each.type, &each});
        // NOLINTNEXTLINE(misc-no-recursion)
        return std::any_of(parts.begin(), parts.end(), [&](const row_part& each) { return ask(each.row); });
    }

    const type_description& schema_;
    bool through_pointers_;
    std::vector<answer> known_;
};

} // namespace

std::vector<char> rows_that_lead_on(const type_description& schema, bool through_pointers) {
    rows_leading_on all(schema, through_pointers);
    std::vector<char> told;
    for (std::uint32_t i = 0; i != schema.rows.size(); ++i)
        told.push_back(all.ask(i) ? 1 : 0);
    return told;
}

} // namespace remanence::inspect
