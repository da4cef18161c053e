// The renamings that a program declares. Checks that the members exist that they name.
//
//  RN1  A renaming that fits nothing is refused, since the values that it should preserve would be lost. Two cases are
//       harmless: an earlier release has done the renaming, so the new name is stored already; or the stored release
//       did not have the member yet, so neither name is found.
#include "objects/conversion.hpp"

#include <algorithm>
#include <utility>

namespace remanence::objects {

using types::type_description;
using types::type_part;
using types::type_row;

namespace {

const type_part* member_named(const type_description& schema, const std::vector<type_part>& members,
                              const std::string& name) {
    const auto found = std::find_if(members.begin(), members.end(), [&](const type_part& each) {
        return each.offset && member_name(schema, each) == name;
    });
    return found == members.end() ? nullptr : &*found;
}

std::string names_of(const type_description& schema, const std::vector<type_part>& members) {
    std::string text;
    for (const type_part& each : members) {
        if (each.offset)
            text += (text.empty() ? "" : ", ") + member_name(schema, each);
    }
    return text;
}

/// Replaces a class's name within a type's name, for example in "rem::vector<app::circle>".
std::string with_name_replaced(std::string type, const std::string& old_name, const std::string& new_name) {
    const auto goes_on = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
    };
    for (std::size_t at = 0; !old_name.empty() && (at = type.find(old_name, at)) != std::string::npos;) {
        const std::size_t end = at + old_name.size();
        const bool is_whole = (at == 0 || !goes_on(type[at - 1])) && (end == type.size() || !goes_on(type[end]));
        if (is_whole)
            type.replace(at, old_name.size(), new_name);
        at += is_whole ? new_name.size() : 1;
    }
    return type;
}

} // namespace

void row_matching::rename(std::string type, std::string old_name, std::string new_name) {
    renamings_.push_back({std::move(type), std::move(old_name), std::move(new_name)});
}

void row_matching::rename_class(std::string old_name, std::string new_name) {
    renamed_classes_.emplace_back(std::move(old_name), std::move(new_name));
}

std::string row_matching::present_name(std::string type) const {
    for (const auto& [old_name, new_name] : renamed_classes_)
        type = with_name_replaced(std::move(type), old_name, new_name);
    return type;
}

std::optional<std::size_t> row_matching::enumerator(std::uint32_t from, const std::string& label,
                                                    std::uint32_t to) const {
    const type_row& is = to_.rows[to];
    const auto named = [&](const std::string& name) -> std::optional<std::size_t> {
        const auto found = std::find(is.labels.begin(), is.labels.end(), name);
        return found == is.labels.end() ? std::nullopt
                                        : std::optional(static_cast<std::size_t>(found - is.labels.begin()));
    };
    for (const renaming& each : renamings_) {
        if ((each.type == is.name || each.type == from_.rows[from].name) && each.old_name == label) {
            if (const auto found = named(each.new_name))
                return found;
        }
    }
    return named(label);
}

std::optional<std::string> row_matching::why_not(const renaming& each, std::uint32_t from, std::uint32_t to) const {
    const std::vector<type_part>& old_members = *members_of(from_.rows[from]);
    const std::vector<type_part>& new_members = *members_of(to_.rows[to]);
    const auto& made_from = origins(from, to);
    const auto uses = [&](const type_part& of) { return std::count(made_from.begin(), made_from.end(), &of); };

    const type_part* const is = member_named(to_, new_members, each.new_name);
    if (is == nullptr)
        return "it has no member " + each.new_name + ". Its members are " + names_of(to_, new_members);
    const type_part* const origin = made_from[static_cast<std::size_t>(is - new_members.data())];
    const type_part* const was = member_named(from_, old_members, each.old_name);
    if (was == nullptr) {
        const bool is_any_lost = std::any_of(old_members.begin(), old_members.end(),
                                             [&](const type_part& old) { return old.offset && uses(old) == 0; });
        if (origin == nullptr && is_any_lost)
            return "what is stored has no member " + each.old_name + ". Its members are " +
                   names_of(from_, old_members);
        return {};
    }
    if (origin != was)
        return "another renaming leads to " + each.new_name + ", too";
    if (uses(*was) > 1)
        return "it still has a member " + each.old_name;
    const type_part* const replaced = member_named(from_, old_members, each.new_name);
    if (replaced != nullptr && uses(*replaced) == 0)
        return "what is stored has both, and its " + each.new_name + " would be lost. Its members are " +
               names_of(from_, old_members);
    return {};
}

bool row_matching::check_renamings(std::uint32_t from, std::uint32_t to) {
    const std::string& type = to_.rows[to].name;
    bool all_fit = true;
    for (const renaming& each : renamings_) {
        if (each.type != type)
            continue;
        if (const auto why = why_not(each, from, to)) {
            note(type + "." + each.old_name + " cannot be renamed to " + each.new_name + ": " + *why, false);
            all_fit = false;
        }
    }
    return all_fit;
}

} // namespace remanence::objects
