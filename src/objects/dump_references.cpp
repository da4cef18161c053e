#include "objects/dump_references.hpp"

#include "inspect/object_parts.hpp"
#include "inspect/shape_walk.hpp"
#include "objects/json_source.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

namespace remanence::objects {

using types::type_part;
using types::type_row;

namespace {

bool read_number(std::string_view text, std::uint64_t& value) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

/// Returns the part of an object that lies at the object's own place, and for which a path has no step.
result<std::optional<object_place>> held_in_place(way_of_making& by, object_place place) {
    const form what = form_of(by.to.rows[place.row]);
    std::optional<object_place> found;
    if (what == form::same || inspect::is_held(what))
        REM_TRY(for_each_part(by.builder->built(), place, [&](const inspect::object_part& each) -> result<bool> {
            found = each.place;
            return true;
        }));
    return found;
}

/// Removes from the front of `which` the references whose step number `depth` is `step`, and returns them.
std::span<const dumped_reference> take_group(std::span<const dumped_reference>& which, std::size_t depth,
                                             const dumped_step& step) {
    std::size_t count = 0;
    while (count != which.size() && which[count].steps.size() > depth && which[count].steps[depth] == step)
        ++count;
    const auto group = which.first(count);
    which = which.subspan(count);
    return group;
}

} // namespace

std::optional<dumped_reference> reference_of(const json_document& document, std::uint32_t list) {
    dumped_reference made;
    const json_part& all = document.at(list);
    bool is_first = true;
    for (std::uint32_t i = list + 1; i != all.next; i = document.at(i).next) {
        const json_part& part = document.at(i);
        std::uint64_t index = 0;
        const bool is_index = part.kind == json_kind::number && read_number(part.text, index);
        // A name that is not UTF-8 is written as {"$bytes":"hex"}.
        const std::uint32_t hex =
            part.kind == json_kind::object && part.children == 1 ? document.member(i, "$bytes") : 0;
        std::optional<std::string> name;
        if (part.kind == json_kind::text)
            name = std::string(part.text);
        else if (hex != 0 && document.at(hex).kind == json_kind::text)
            name = bytes_of_hex(document.at(hex).text);
        if (!is_index && !name)
            return {};
        if (is_first) {
            made.is_in_object = is_index;
            made.object = index;
            made.root = name.value_or("");
        } else {
            made.steps.push_back({name.has_value(), index, name.value_or("")});
        }
        is_first = false;
    }
    return made;
}

void dump_references::put_element(object_place container, std::uint64_t number, const element_place& here) {
    auto& all = elements_[container.at];
    all.resize(std::max<std::size_t>(all.size(), number + 1));
    all[number] = here;
}

unexpected dump_references::leads_nowhere(const dumped_reference& which, const std::string& why) const {
    return fail(errc::invalid_argument,
                "the dump for " + path_ + " cannot be loaded: line " + std::to_string(which.line) +
                    ": a reference leads to " + why + ". Nothing was loaded.",
                path_);
}

result<void> dump_references::resolve(const std::map<std::string, made_object>& roots,
                                      const std::vector<made_object>& objects) {
    std::sort(all_.begin(), all_.end(),
              [](const dumped_reference& a, const dumped_reference& b) { return a.way() < b.way(); });
    for (std::size_t i = 0; i != all_.size();) {
        std::size_t end = i;
        const dumped_reference& first = all_[i];
        while (end != all_.size() && all_[end].is_in_object == first.is_in_object && all_[end].root == first.root &&
               all_[end].object == first.object)
            ++end;
        const made_object* owner = nullptr;
        if (first.is_in_object)
            owner = first.object < objects.size() ? &objects[first.object] : nullptr;
        else if (const auto found = roots.find(first.root); found != roots.end())
            owner = &found->second;
        if (owner == nullptr)
            return leads_nowhere(first, first.is_in_object
                                            ? "object " + std::to_string(first.object) + ", which is not there"
                                            : "a root \"" + first.root + "\", which is not there");
        REM_TRY(resolve_in(*owner->by, owner->place, references_span(all_).subspan(i, end - i), 0));
        i = end;
    }
    return {};
}

// NOLINTBEGIN(misc-no-recursion): as deep as objects are

result<void> dump_references::resolve_in(way_of_making& by, object_place place, references_span which,
                                         std::size_t depth) {
    for (; !which.empty() && which.front().steps.size() == depth; which = which.subspan(1))
        REM_TRY(resolve_here(by, place, which.front()));
    if (which.empty())
        return {};
    for (;;) {
        auto held = held_in_place(by, place);
        if (!held)
            return held.error();
        if (!*held)
            break;
        place = **held;
    }
    const type_row& row = by.to.rows[place.row];
    if (members_of(row) != nullptr)
        return resolve_in_members(by, place, which, depth);
    if (!inspect::is_container(row))
        return leads_nowhere(which.front(), "a part of a " + by.to.name_of(place.row) + ", which has none");
    return resolve_in_elements(by, place, which, depth);
}

/// Resolves a reference whose path ends at this place. Its target is the object at this place that has the target's
/// type.
result<void> dump_references::resolve_here(way_of_making& by, object_place place, const dumped_reference& which) {
    object_place found = place;
    while (by.to.name_of(found.row) != which.pointee) {
        auto held = held_in_place(by, found);
        if (!held)
            return held.error();
        if (!*held)
            return leads_nowhere(which, "a " + by.to.name_of(place.row) + ", not to a " + which.pointee);
        found = **held;
    }
    by.builder->put_address(which.at, found.at);
    return {};
}

result<void> dump_references::resolve_in_members(way_of_making& by, object_place place, references_span which,
                                                 std::size_t depth) {
    const auto& members = *members_of(by.to.rows[place.row]);
    while (!which.empty()) {
        const dumped_step& step = which.front().steps[depth];
        const auto found = std::find_if(members.begin(), members.end(), [&](const type_part& each) {
            return each.offset && step.is_member &&
                   (each.name.empty() ? by.to.rows[each.type].name : each.name) == step.member;
        });
        if (found == members.end())
            return leads_nowhere(which.front(), "a member that a " + by.to.name_of(place.row) + " does not have");
        REM_TRY(resolve_in(by, {found->type, place.at + *found->offset}, take_group(which, depth, step), depth + 1));
    }
    return {};
}

result<void> dump_references::resolve_in_elements(way_of_making& by, object_place place, references_span which,
                                                  std::size_t depth) {
    std::uint64_t index = 0;
    const auto visit = [&](const element_place& each) -> result<bool> {
        const references_span in_element = take_group(which, depth, {false, index++, {}});
        if (!in_element.empty())
            REM_TRY(resolve_in_element(by, each, in_element, depth + 1));
        return !which.empty();
    };
    if (const auto as_dumped = elements_.find(place.at); as_dumped != elements_.end()) {
        for (auto each = as_dumped->second.begin(); each != as_dumped->second.end() && !which.empty(); ++each) {
            if (auto more = visit(*each); !more)
                return more.error();
        }
    } else {
        REM_TRY(by.builder->built().for_each_element(place, visit));
    }
    if (!which.empty())
        return leads_nowhere(which.front(), "an element that a " + by.to.name_of(place.row) + " does not have");
    return {};
}

result<void> dump_references::resolve_in_element(way_of_making& by, const element_place& element, references_span which,
                                                 std::size_t depth) {
    if (!element.has_key)
        return resolve_in(by, element.value, which, depth);
    for (std::uint64_t side = 0; side != 2; ++side)
        REM_TRY(resolve_in(by, side == 0 ? element.key : element.value, take_group(which, depth, {false, side, {}}),
                           depth + 1));
    if (!which.empty())
        return leads_nowhere(which.front(), "an element of a map, and neither its key (0) nor its value (1)");
    return {};
}

// NOLINTEND(misc-no-recursion)

result<void> dump_references::check_orders(const std::string& root, const made_object& made) const {
    object_builder& builder = *made.by->builder;
    std::vector<bool> is_to_check(made.by->to.rows.size(), false);
    for (std::uint32_t i = 0; i != is_to_check.size(); ++i) {
        is_to_check[i] =
            is_ordered(builder.row(i)) && builder.functions_of(i) != nullptr && builder.has_pointers_in_keys(i);
    }
    if (std::find(is_to_check.begin(), is_to_check.end(), true) == is_to_check.end())
        return {};
    return inspect::for_each_part(builder.built().reader(), root, made.place,
                                  [&](const std::string& path, object_place of, bool) -> result<void> {
                                      return is_to_check[of.row] ? check_order(builder, path, of) : result<void>();
                                  });
}

result<void> dump_references::check_order(object_builder& builder, const std::string& path,
                                          object_place container) const {
    const std::byte* before = nullptr;
    return builder.built().for_each_element(container, [&](const element_place& each) -> result<bool> {
        const std::byte* const next = builder.at(each.has_key ? each.key.at : each.value.at);
        const std::string_view fault =
            before == nullptr ? std::string_view()
                              : fault_of_order(*builder.functions_of(container.row),
                                               has_several_of_a_key(builder.row(container.row)), before, next);
        before = next;
        if (fault.empty())
            return true;
        return fail(errc::invalid_argument,
                    "the dump for " + path_ + " cannot be loaded: a " + builder.schema().name_of(container.row) +
                        " gets " + std::string(fault) + ", in " + path + ". Nothing was loaded.",
                    path_);
    });
}

} // namespace remanence::objects
