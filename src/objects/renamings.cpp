// Whether the members that a program says it has renamed are there.
//
//  RN1  A renaming that does not fit is refused, since what it was to keep would be lost. One whose new name is stored already was done
//       by an earlier release, and one that no release before the stored one has done finds neither name: nothing is lost by these.
#include "objects/conversion.hpp"

#include <algorithm>

namespace remanence::objects {

using types::type_description;
using types::type_part;

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

} // namespace

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
