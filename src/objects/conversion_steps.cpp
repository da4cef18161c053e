#include "objects/conversion_steps.hpp"

#include "objects/conversion.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <string_view>
#include <utility>

namespace remanence::objects {

using detail::shape_kind;
using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

std::optional<type_description> schema_of_program(const detail::type_fingerprint& type) {
    return type_description::decode(types::schema_of_program(type), types::row_contents::schema);
}

namespace {

/// Returns the name of a template without namespace and arguments: "set" for "ns::set<int>".
std::string_view name_of_template(std::string_view name) {
    name = without_arguments(name);
    const std::size_t qualified = name.rfind("::");
    return qualified == std::string_view::npos ? name : name.substr(qualified + 2);
}

class layout_comparison {
public:
    layout_comparison(const type_description& was, const type_description& is, enumerators which)
        : was_(was), is_(is), which_(which) {}

    // NOLINTNEXTLINE(misc-no-recursion): each pair once
    std::optional<std::string> find(std::uint32_t was_row, std::uint32_t is_row, const std::string& place) {
        if (!seen_.emplace(was_row, is_row).second)
            return {};
        const type_row& was = was_.rows[was_row];
        const type_row& is = is_.rows[is_row];
        const auto* const old_members = members_of(was);
        const auto* const new_members = members_of(is);
        const auto differs = [&] {
            return (place.empty() ? "it" : place) + " is stored as " + was_.name_of(was_row) + " of " +
                   std::to_string(was.size) + " bytes, and is a " + is_.name_of(is_row) + " of " +
                   std::to_string(is.size) + " bytes there";
        };
        if (was.size != is.size || was.alignment != is.alignment || was.shape != is.shape || was.number != is.number ||
            was.extent != is.extent || was.note != is.note || !has_same_numbers(was, is) ||
            (old_members == nullptr) != (new_members == nullptr))
            return differs();
        if (old_members != nullptr)
            return find_in(*old_members, *new_members, place.empty() ? is.name : place);
        if (was.kind != is.kind || was.parts.size() != is.parts.size() ||
            (was.shape != shape_kind::enumeration && name_of_template(was.name) != name_of_template(is.name)))
            return differs();
        for (std::size_t i = 0; i != was.parts.size(); ++i) {
            if (auto found = find(was.parts[i].type, is.parts[i].type, place))
                return found;
        }
        return {};
    }

private:
    [[nodiscard]] bool has_same_numbers(const type_row& was, const type_row& is) const {
        if (was.shape == shape_kind::members) // the numbers of bit-fields; schemas of older releases have none
            return was.numbers == is.numbers || was.numbers.empty() || is.numbers.empty();
        if (was.shape != shape_kind::enumeration || which_ == enumerators::same)
            return was.numbers == is.numbers && was.labels == is.labels;
        return which_ == enumerators::any || has_all_enumerators(was, is);
    }
    // NOLINTNEXTLINE(misc-no-recursion): each pair once
    std::optional<std::string> find_in(const std::vector<type_part>& was, const std::vector<type_part>& is,
                                       const std::string& place) {
        for (std::size_t i = 0; i != std::max(was.size(), is.size()); ++i) {
            if (i >= is.size())
                return place + " has no member " + member_name(was_, was[i]) + " there";
            const std::string name = place + "." + member_name(is_, is[i]);
            if (i >= was.size() || was[i].name != is[i].name)
                return name + " is no member of what is stored, or lies at another place there";
            if (was[i].offset != is[i].offset)
                return name + " lies at another place in what is stored";
            if (auto found = find(was[i].type, is[i].type, name))
                return found;
        }
        return {};
    }

    const type_description& was_;
    const type_description& is_;
    enumerators which_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen_;
};

// NOLINTNEXTLINE(misc-no-recursion): each row once
bool reaches_pointer(const type_description& schema, std::uint32_t index, std::set<std::uint32_t>& seen) {
    if (!seen.insert(index).second)
        return false;
    const type_row& row = schema.rows[index];
    if (row.kind == type_kind::pointer)
        return true;
    const auto leads = [&](const type_part& part) { // NOLINT(misc-no-recursion)
        return reaches_pointer(schema, part.type, seen);
    };
    const auto* const members = members_of(row);
    const auto& parts = members != nullptr ? *members : row.parts;
    return std::any_of(parts.begin(), parts.end(), leads);
}

} // namespace

std::optional<std::string> layout_difference(const type_description& was, std::uint32_t was_row,
                                             const type_description& is, std::uint32_t is_row, enumerators which) {
    return layout_comparison(was, is, which).find(was_row, is_row, {});
}

bool has_all_enumerators(const type_row& was, const type_row& is) {
    for (std::size_t i = 0; i != was.labels.size(); ++i) {
        const auto found = std::find(is.labels.begin(), is.labels.end(), was.labels[i]);
        if (found == is.labels.end() ||
            is.numbers[static_cast<std::size_t>(found - is.labels.begin())] != was.numbers[i])
            return false;
    }
    return true;
}

bool is_same_key(const type_description& was, std::uint32_t was_row, const type_description& is, std::uint32_t is_row) {
    return was.name_of(was_row) == is.name_of(is_row) &&
           !layout_comparison(was, is, enumerators::more).find(was_row, is_row, {});
}

bool has_pointer(const type_description& schema, std::uint32_t row) {
    std::set<std::uint32_t> seen;
    return reaches_pointer(schema, row, seen);
}

step_table::~step_table() = default;

result<void> step_table::prepare(std::span<const conversion_step> steps) {
    for (const conversion_step& each : steps) {
        auto was = schema_of_program(each.was);
        auto is = schema_of_program(each.is);
        if (!was || !is)
            return fail(errc::not_supported,
                        "the type " + (was ? each.is : each.was).name + " is too large for a schema");
        steps_.push_back({&each, std::move(*was), std::move(*is), nullptr});
    }
    for (prepared_step& each : steps_) {
        each.rows = std::make_unique<row_matching>(each.was, each.is);
        each.rows->use(*this);
        each.rows->leave_out_pointers();
        (void)each.rows->match(each.was.root, each.is.root);
    }
    return {};
}

step_table::found step_table::find(const type_description& from, std::uint32_t from_row, const type_description& to,
                                   std::uint32_t to_row) const {
    struct reached {
        const prepared_step* step;
        std::size_t next; // index in `all`, or k_none
    };
    constexpr std::size_t k_none = ~std::size_t{0};
    std::vector<reached> all;
    const auto add = [&](const prepared_step& step, std::size_t next) {
        if (std::none_of(all.begin(), all.end(), [&](const reached& each) { return each.step == &step; }))
            all.push_back({&step, next});
    };
    for (const prepared_step& each : steps_) {
        if (each.given->is.name == to.name_of(to_row) && !layout_difference(each.is, each.is.root, to, to_row))
            add(each, k_none);
    }
    found result;
    for (std::size_t i = 0; i != all.size(); ++i) { // `all` grows in this loop
        const prepared_step& step = *all[i].step;
        auto differs = layout_difference(from, from_row, step.was, step.was.root);
        if (!differs) {
            for (std::size_t at = i; at != k_none; at = all[at].next)
                result.chain.push_back(all[at].step);
            result.why.reset();
            return result;
        }
        if (!result.why)
            result.why = step.given->was.name + " is another one: " + *differs;
        for (const prepared_step& each : steps_) {
            if (each.given->is.name == step.given->was.name)
                add(each, i);
        }
    }
    return result;
}

} // namespace remanence::objects
