#include "objects/lost_values.hpp"

#include "inspect/shape_walk.hpp"
#include "objects/pair_walk.hpp"

#include <algorithm>

namespace remanence::objects {

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
    const form what = form_of(row);
    if (inspect::is_held(what)) {
        auto held = source.held(of);
        if (!held)
            return held.error();
        if (what == form::optional || !*held || (*held)->alternative != 0)
            return what == form::variant || held->has_value();
        return has_value(source, **held);
    }
    if (what == form::text || what == form::serialised || is_character_array(source.schema(), of.row)) {
        auto text = source.text(of);
        if (!text)
            return text.error();
        return !text->empty();
    }
    bool is = false;
    REM_TRY(for_each_part(source, of, [&](const inspect::object_part& each) -> result<bool> {
        auto part = what > form::array ? result<bool>(true) : has_value(source, each.place);
        if (!part)
            return part.error();
        is = *part;
        return !is;
    }));
    if (what == form::members && !is && (inspect::has_bit_fields(row) || inspect::may_leave_out(row))) {
        auto rest = source.rest(of, inspect::k_all_room);
        if (!rest)
            return rest.error();
        return is_something(*rest);
    }
    if (what == form::members || what == form::same || what >= form::array)
        return is;
    if (what == form::hidden) {
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
    const bool have_members =
        members_of(source_.row(from.row)) != nullptr && members_of(rows_.to().rows[to]) != nullptr;
    const bool is_by_function = rows_.chain(from.row, to) != nullptr;
    if (is_by_function && !have_members)
        return {};
    REM_TRY(for_each_part_pair(source_, rows_, from, to, [&](const part_pair& each) -> result<void> {
        if (each.is_new)
            return {};
        const bool is_step = each.role != part_role::same && each.role != part_role::held;
        if (is_step)
            path_.push_back({each.member != nullptr ? std::string_view(each.member->name) : "", each.index});
        REM_TRY(visit(each.from, each.to, depth + 1));
        if (is_step)
            path_.pop_back();
        return {};
    }));
    // A function of the program may drop members of the object that it makes. No other conversion may lose a member.
    if (!have_members || is_by_function)
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
            found_.emplace(name, text_of(path_));
    }
    return {};
}

// NOLINTEND(misc-no-recursion)

std::vector<std::string> lost_values::found(const std::string& how) const {
    std::vector<std::string> all;
    for (const auto& [name, first] : found_)
        all.push_back(name + " is gone, and " + (first.empty() ? std::string("it") : first) +
                      " has a value of it, which would be lost (if it may go, " + how + ": \"" + name + "\")");
    return all;
}

} // namespace remanence::objects
