#include "objects/lost_values.hpp"

#include <algorithm>

namespace remanence::objects {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

bool is_something(std::string_view bytes) { return bytes.find_first_not_of('\0') != std::string_view::npos; }

} // namespace

// NOLINTBEGIN(misc-no-recursion): bounded by what an object holds by value

result<bool> has_value(object_source& source, object_place of) {
    const type_row& row = source.row(of.row);
    if (row.kind == type_kind::pointer) {
        auto is_null = source.is_null(of);
        if (!is_null)
            return is_null.error();
        return !*is_null;
    }
    if (const auto* const members = members_of(row)) {
        for (const type_part& each : *members) {
            auto member = each.offset ? source.member(of, each) : result<std::optional<object_place>>(std::nullopt);
            if (!member)
                return member.error();
            auto is = *member ? has_value(source, **member) : result<bool>(false);
            if (!is || *is)
                return is;
        }
        if (!inspect::has_bit_fields(row) && !inspect::may_leave_out(row))
            return false;
        auto rest = source.rest(of, inspect::k_all_room);
        if (!rest)
            return rest.error();
        return is_something(*rest);
    }
    if (row.shape == shape_kind::same_as_part)
        return has_value(source, {row.parts[row.numbers[0]].type, of.at});
    if (row.shape == shape_kind::optional || row.shape == shape_kind::variant) {
        auto held = source.held(of);
        if (!held)
            return held.error();
        if (row.shape == shape_kind::optional || !*held || (*held)->alternative != 0)
            return row.shape == shape_kind::variant || held->has_value();
        return has_value(source, **held);
    }
    const bool is_text =
        inspect::is_text(row) || row.shape == shape_kind::serialised || is_character_array(source.schema(), of.row);
    if (is_text) {
        auto text = source.text(of);
        if (!text)
            return text.error();
        return !text->empty();
    }
    const bool is_array = row.kind == type_kind::array || row.shape == shape_kind::array;
    if (is_array || inspect::is_container(row)) {
        bool is = false;
        REM_TRY(source.for_each_element(of, [&](const element_place& each) -> result<bool> {
            auto element = is_array ? has_value(source, each.value) : result<bool>(true);
            if (!element)
                return element.error();
            is = *element;
            return !is;
        }));
        return is;
    }
    if (row.shape == shape_kind::none) {
        auto bytes = source.hidden(of);
        if (!bytes)
            return bytes.error();
        return is_something(*bytes);
    }
    auto number = source.number(of);
    if (!number)
        return number.error();
    if (number->what == scalar::form::real)
        return std::any_of(number->real_bits.begin(), number->real_bits.end(),
                           [](std::byte each) { return each != std::byte{0}; });
    return number->what == scalar::form::bytes ? is_something(number->bytes) : number->bits != 0;
}

result<void> lost_values::visit(object_place from, std::uint32_t to, unsigned depth) {
    if (depth == inspect::k_depth_max)
        return source_.too_deep(from);
    const type_row& was = source_.row(from.row);
    const type_row& is = rows_.to().rows[to];
    const bool have_members = members_of(was) != nullptr && members_of(is) != nullptr;
    if (rows_.chain(from.row, to) != nullptr)
        return have_members ? visit_members(from, to, depth, true) : result<void>();
    if (was.shape == shape_kind::same_as_part)
        return visit({was.parts[was.numbers[0]].type, from.at}, to, depth + 1);
    if (is.shape == shape_kind::same_as_part)
        return visit(from, is.parts[is.numbers[0]].type, depth + 1);
    if (is.kind == type_kind::pointer)
        return {};
    if (is.shape == shape_kind::optional && was.shape != shape_kind::optional)
        return visit(from, is.parts[0].type, depth + 1);
    if (have_members)
        return visit_members(from, to, depth, false);
    if (is.shape == shape_kind::optional || is.shape == shape_kind::variant) {
        auto held = source_.held(from);
        if (!held)
            return held.error();
        if (!*held)
            return {};
        const std::size_t index =
            is.shape == shape_kind::variant ? *rows_.alternatives(from.row, to)[(*held)->alternative] : 0;
        return visit(**held, is.parts[index].type, depth + 1);
    }
    const bool is_array = is.kind == type_kind::array || is.shape == shape_kind::array;
    if (!inspect::is_container(is) && (!is_array || is_character_array(rows_.to(), to)))
        return {};
    const inspect::element_rows rows = inspect::rows_of_elements(is);
    std::uint64_t index = 0;
    return source_.for_each_element(from, [&](const element_place& each) -> result<bool> {
        way_.push_back({{}, index++});
        if (each.has_key)
            REM_TRY(visit(each.key, rows.key, depth + 1));
        REM_TRY(visit(each.value, rows.value, depth + 1));
        way_.pop_back();
        return true;
    });
}

/// What a function makes of an object is its own affair; of members that follow by themselves it is not.
result<void> lost_values::visit_members(object_place from, std::uint32_t to, unsigned depth, bool by_function) {
    const auto& origins = rows_.origins(from.row, to);
    std::size_t index = 0;
    for (const type_part& each : *members_of(rows_.to().rows[to])) {
        const type_part* const origin = origins[index++];
        if (!each.offset || origin == nullptr)
            continue;
        auto member = source_.member(from, *origin);
        if (!member)
            return member.error();
        way_.push_back({each.name, 0});
        REM_TRY(visit(**member, each.type, depth + 1));
        way_.pop_back();
    }
    if (by_function)
        return {};
    for (const type_part* const each : rows_.lost(from.row, to)) {
        const std::string name = source_.row(from.row).name + '.' + member_name(source_.schema(), *each);
        if (found_.contains(name))
            continue;
        auto member = source_.member(from, *each);
        if (!member)
            return member.error();
        auto is = has_value(source_, **member);
        if (!is)
            return is.error();
        if (*is)
            found_.emplace(name, way());
    }
    return {};
}

// NOLINTEND(misc-no-recursion)

std::string lost_values::way() const {
    std::string text;
    for (const way_step& each : way_) {
        if (each.member.empty())
            text.append(1, '[').append(std::to_string(each.index)).append(1, ']');
        else
            text.append(text.empty() ? "" : ".").append(each.member);
    }
    return text;
}

std::vector<std::string> lost_values::found(const std::string& how) const {
    std::vector<std::string> all;
    for (const auto& [name, first] : found_)
        all.push_back(name + " is gone, and " + (first.empty() ? std::string("it") : first) +
                      " has a value of it, which would be lost (if it may go, " + how + ": \"" + name + "\")");
    return all;
}

} // namespace remanence::objects
