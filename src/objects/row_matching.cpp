#include "objects/conversion.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace remanence::objects {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

void row_matching::note(std::string what, bool is_automatic) {
    type_change change{std::move(what), is_automatic};
    if (std::find(changes_.begin(), changes_.end(), change) == changes_.end())
        changes_.push_back(std::move(change));
}

std::string row_matching::place() const { return place_.empty() ? "it" : place_; }

std::string row_matching::was_and_is(std::uint32_t from, std::uint32_t to) const {
    return place() + " was " + from_.name_of(from) + ", is " + to_.name_of(to);
}

bool row_matching::refuse(std::uint32_t from, std::uint32_t to, const std::string& why) {
    note(was_and_is(from, to) + why, false);
    return false;
}

bool row_matching::accept(std::uint32_t from, std::uint32_t to, bool is_changed) {
    if (is_changed)
        note(was_and_is(from, to), true);
    return true;
}

const type_part* row_matching::origin_of(const type_part& member, std::uint32_t row,
                                         const std::vector<type_part>& members) const {
    if (&from_ == &to_)
        return &member;
    const std::string name = member_name(to_, member);
    const auto named = [&](std::string_view wanted) -> const type_part* {
        const auto found = std::find_if(members.begin(), members.end(), [&](const type_part& each) {
            if (!each.offset || !each.name.empty())
                return each.offset && each.name == wanted;
            const std::string base = from_.name_of(each.type);
            return base == wanted || present_name(base) == wanted;
        });
        return found == members.end() ? nullptr : &*found;
    };
    for (const renaming& each : renamings_) {
        if (each.type == to_.rows[row].name && each.new_name == name) {
            if (const type_part* const found = named(each.old_name))
                return found;
        }
    }
    return named(name);
}

const std::vector<const type_part*>& row_matching::origins(std::uint32_t from, std::uint32_t to) const {
    const auto [known, is_new] = origins_.try_emplace({from, to});
    if (is_new) {
        for (const type_part& each : *members_of(to_.rows[to]))
            known->second.push_back(each.offset ? origin_of(each, to, *members_of(from_.rows[from])) : nullptr);
    }
    return known->second;
}

bool row_matching::is_dropped(std::uint32_t from, std::uint32_t to, const std::string& member) const {
    return dropped_.contains(member) || dropped_.contains(from_.rows[from].name + '.' + member) ||
           dropped_.contains(to_.rows[to].name + '.' + member);
}

bool row_matching::is_dropped_enumerator(std::uint32_t from, const std::string& label, std::uint32_t to) const {
    return dropped_.contains(from_.rows[from].name + "::" + label) ||
           dropped_.contains(to_.rows[to].name + "::" + label);
}

const std::vector<const type_part*>& row_matching::lost(std::uint32_t from, std::uint32_t to) const {
    const auto [known, is_new] = lost_.try_emplace({from, to});
    if (!is_new || &from_ == &to_)
        return known->second;
    const auto& used = origins(from, to);
    for (const type_part& each : *members_of(from_.rows[from])) {
        if (each.offset && std::find(used.begin(), used.end(), &each) == used.end() &&
            !is_dropped(from, to, member_name(from_, each)))
            known->second.push_back(&each);
    }
    return known->second;
}

std::optional<std::size_t> row_matching::alternative(std::uint32_t from, std::size_t index, std::uint32_t to) const {
    const std::vector<type_part>& old_parts = from_.rows[from].parts;
    const std::vector<type_part>& new_parts = to_.rows[to].parts;
    const std::uint32_t part = old_parts[index].type;
    const auto named = [&](const std::string& name, std::ptrdiff_t before) -> std::optional<std::size_t> {
        for (std::size_t i = 0; i != new_parts.size(); ++i) {
            if (to_.name_of(new_parts[i].type) == name && before-- == 0)
                return i;
        }
        return {};
    };
    const std::string name = from_.name_of(part);
    const auto before = std::count_if(old_parts.begin(), old_parts.begin() + static_cast<std::ptrdiff_t>(index),
                                      [&](const type_part& each) { return from_.name_of(each.type) == name; });
    if (const auto found = named(name, before)) // same name, and same position among the alternatives of that name
        return found;
    if (const std::string present = present_name(name); present != name) {
        if (const auto found = named(present, before))
            return found;
    }
    std::optional<std::size_t> made;
    for (std::size_t i = 0; steps_ != nullptr && i != new_parts.size(); ++i) {
        if (steps_->find(from_, part, to_, new_parts[i].type).chain.empty())
            continue;
        if (made)
            return {}; // functions lead to more than one alternative
        made = i;
    }
    return made;
}

const std::vector<std::optional<std::size_t>>& row_matching::alternatives(std::uint32_t from, std::uint32_t to) const {
    const auto [known, is_new] = alternatives_.try_emplace({from, to});
    for (std::size_t i = 0; is_new && i != from_.rows[from].parts.size(); ++i)
        known->second.push_back(alternative(from, i, to));
    return known->second;
}

bool row_matching::match_class(std::uint32_t from, std::uint32_t to) {
    if (pointees_.try_emplace(from, to).first->second != to)
        return refuse(from, to, ", where another pointer leads to another type");
    return match(from, to);
}

bool row_matching::match(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion): visits each pair once
    if (&from_ == &to_ && from == to)
        return true;
    const std::tuple key(from, to, is_in_key_);
    if (const auto known = known_.find(key); known != known_.end())
        return known->second;
    known_[key] = true;
    bool matches = false;
    auto [chain, why] = steps_ == nullptr ? step_table::found() : steps_->find(from_, from, to_, to);
    const bool is_virtual = std::any_of(chain.begin(), chain.end(), [](const prepared_step* each) {
        return inspect::have_vptrs(each->was) || inspect::have_vptrs(each->is);
    });
    if (is_virtual) // the function would call virtual functions of objects whose classes have changed
        matches = refuse(from, to, ", which leads to objects with virtual functions, and such functions do not make");
    else if (!chain.empty())
        matches = is_in_key_ ? refuse(from, to, ", in a key, which functions do not make")
                             : match_by_steps(from, to, std::move(chain));
    else if (why && layout_difference(from_, from, to_, to, enumerators::any))
        matches = refuse(from, to, ", which functions make, but not of what is stored: " + *why);
    else
        matches = compute(from, to);
    compare_bytes(from, to);
    known_[key] = matches;
    return matches;
}

/// Matches the members that are converted automatically. Those that do not match are left to the function.
bool row_matching::match_by_steps(std::uint32_t from, std::uint32_t to, step_chain chain) { // NOLINT(misc-no-recursion)
    has_same_bytes_ = false;
    const std::vector<type_part>* const old_members = members_of(from_.rows[from]);
    const std::vector<type_part>* const new_members = members_of(to_.rows[to]);
    const std::string outer = place_;
    note(was_and_is(from, to) + ", by " +
             (chain.size() == 1 ? "a function" : std::to_string(chain.size()) + " functions") + " of the program",
         true);
    if (old_members != nullptr && new_members != nullptr) {
        std::vector<const type_part*> origins;
        for (const type_part& each : *new_members) {
            const type_part* origin = each.offset ? origin_of(each, to, *old_members) : nullptr;
            const bool is_pointing = origin != nullptr && has_pointer(to_, each.type);
            if (origin != nullptr && (leaves_out_pointers_ ? !is_pointing : is_pointing || chain.size() == 1)) {
                const auto known = known_;
                const auto pointees = pointees_;
                const auto chains = chains_;
                const auto changes = changes_;
                place_ = to_.rows[to].name + "." + member_name(to_, each);
                if (!match(origin->type, each.type)) {
                    known_ = known;
                    pointees_ = pointees;
                    chains_ = chains;
                    changes_ = changes;
                    origin = nullptr;
                }
            } else {
                origin = nullptr;
            }
            origins.push_back(origin);
        }
        place_ = outer;
        origins_[{from, to}] = std::move(origins);
    }
    chains_[{from, to}] = std::move(chain);
    return true;
}

void row_matching::compare_bytes(std::uint32_t from, std::uint32_t to) {
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    const auto has_other_name = [&] { // for example std::multiset instead of std::set
        return without_arguments(was.name) != without_arguments(is.name);
    };
    const bool is_keyed = !inspect::is_foreign(was) && (form_of(was) == form::set || form_of(was) == form::map);
    if (was.kind != is.kind || was.size != is.size || was.alignment != is.alignment || was.shape != is.shape ||
        was.number != is.number || was.extent != is.extent || was.note != is.note ||
        (inspect::has_vptr(is) && was.name != is.name) || // its vptrs change
        (was.shape != shape_kind::enumeration && was.shape != shape_kind::members && was.numbers != is.numbers) ||
        (is_keyed && (has_other_name() || names_of_key_functions(from_, from) != names_of_key_functions(to_, to))))
        has_same_bytes_ = false;
}

bool row_matching::compute(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    const form a = form_of(was);
    const form b = form_of(is);
    if (b == form::optional && a != form::optional)
        return match_in_optional(from, to);
    if (a == form::same || b == form::same)
        return match_wrapped(from, to);
    if (inspect::is_foreign(is))
        return match_foreign(from, to);
    switch (b) {
    case form::hidden:
        return match_hidden(from, to);
    case form::pointer:
        return a == b ? match_pointers(from, to) : refuse(from, to);
    case form::array:
        return match_arrays(from, to);
    case form::members:
        return a == b ? match_members(from, to) : refuse(from, to);
    case form::optional:
        return match(was.parts[0].type, is.parts[0].type);
    case form::variant:
        return a == b ? match_variants(from, to) : refuse(from, to);
    case form::text:
        return a == b || is_character_array(from_, from) ? accept(from, to, was.name != is.name) : refuse(from, to);
    case form::serialised:
        return (a == b && was.name == is.name && was.note == is.note) ||
               refuse(from, to, ", which only the program can read");
    case form::packed:
        return a == b ? match_packed(from, to) : refuse(from, to);
    case form::sequence:
    case form::set:
        return match_elements(from, to);
    case form::map:
        return a == b ? match_maps(from, to) : refuse(from, to);
    case form::number:
        return a == b ? match_numbers(from, to) : refuse(from, to);
    case form::same:
        break;
    }
    return false;
}

bool row_matching::match_in_optional(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    if (!match(from, to_.rows[to].parts[0].type))
        return false;
    note(place_ + " was " + from_.name_of(from) + ", is " + to_.name_of(to), true);
    return true;
}

/// Matches a row that another one describes, or two such rows. A number with a unit matches only one with the same
/// unit.
bool row_matching::match_wrapped(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    const bool was_wrapped = form_of(was) == form::same;
    const bool is_wrapped = form_of(is) == form::same;
    if (was_wrapped && !inspect::has_unit(was))
        return match(was.parts[was.numbers[0]].type, to);
    if (is_wrapped && !inspect::has_unit(is))
        return match(from, is.parts[is.numbers[0]].type);
    if (was_wrapped != is_wrapped)
        return refuse(from, to, ": a number does not say of what it is a number, so a function has to");
    if (was.name != is.name)
        return refuse(from, to, ": another unit");
    return match(was.parts[was.numbers[0]].type, is.parts[is.numbers[0]].type);
}

bool row_matching::match_foreign(std::uint32_t from, std::uint32_t to) {
    if (!inspect::is_foreign(from_.rows[from]) || layout_difference(from_, from, to_, to, enumerators::same))
        return refuse(from, to, ", which only its own library makes: .migrate<Old, New>(function) has to");
    only_in_place_.push_back(place() + " is a " + to_.name_of(to) + ", which only its own library makes");
    return true;
}

bool row_matching::match_hidden(std::uint32_t from, std::uint32_t to) {
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    if (form_of(was) == form::hidden && inspect::is_told_by_bytes(was) && inspect::is_told_by_bytes(is) &&
        was.name == is.name && was.size == is.size && was.alignment == is.alignment)
        return true;
    return refuse(from, to, is.name == was.name ? ", a class that does not say its members (REM_REFLECT)" : "");
}

bool row_matching::match_pointers(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    const std::uint32_t old_pointee = from_.rows[from].parts[0].type;
    const std::uint32_t new_pointee = to_.rows[to].parts[0].type;
    if (from_.rows[old_pointee].kind == type_kind::plain || to_.rows[new_pointee].kind == type_kind::plain) {
        only_in_place_.push_back(place() + " points at what no type describes, and may lead to an object that moves");
        return true;
    }
    if (pointees_.try_emplace(old_pointee, new_pointee).first->second != new_pointee)
        return refuse(from, to, ", where another pointer leads to another type");
    const bool outer = std::exchange(is_in_key_, false);
    const bool matches = match(old_pointee, new_pointee);
    is_in_key_ = outer;
    return matches;
}

bool row_matching::match_arrays(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    const bool was_text = is_character_array(from_, from);
    const bool is_text = is_character_array(to_, to);
    if (was_text || is_text)
        return was_text && is_text && extent_of(was) <= extent_of(is)
                   ? accept(from, to, extent_of(was) != extent_of(is) && was.name != is.name)
                   : refuse(from, to);
    const bool was_array = form_of(was) == form::array;
    if (!was_array || extent_of(was) != extent_of(is))
        return refuse(from, to, was_array ? ", with another number of elements" : "");
    return match(was.parts[0].type, is.parts[0].type);
}

bool row_matching::match_variants(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    bool matches = true;
    for (std::size_t i = 0; i != was.parts.size(); ++i) {
        const auto becomes = alternatives(from, to)[i];
        has_same_bytes_ = has_same_bytes_ && becomes == i;
        if (!becomes)
            matches = refuse(from, to,
                             ", which does not hold a " + from_.name_of(was.parts[i].type) +
                                 " (of a class that has another name now, rem::renamed_class says so)");
        else
            matches = match(was.parts[i].type, is.parts[*becomes].type) && matches;
    }
    return matches && accept(from, to, was.name != is.name);
}

bool row_matching::match_packed(std::uint32_t from, std::uint32_t to) {
    if (layout_difference(from_, from, to_, to, enumerators::any)) // also compares the tree's rows
        has_same_bytes_ = false;
    return accept(from, to, from_.rows[from].name != to_.rows[to].name);
}

/// Matches what becomes a sequence or a set. It can be made from a sequence, a set or an array.
bool row_matching::match_elements(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    const form a = form_of(was);
    const bool has_elements = a == form::sequence || a == form::set || a == form::array;
    if (!has_elements || is_character_array(from_, from))
        return refuse(from, to);
    return (form_of(is) == form::set ? match_key(was.parts[0].type, is.parts[0].type)
                                     : match(was.parts[0].type, is.parts[0].type)) &&
           match_order(from, to) && accept(from, to, was.name != is.name);
}

bool row_matching::match_maps(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    const bool keys = match_key(was.parts[0].type, is.parts[0].type);
    return match(was.parts[1].type, is.parts[1].type) && keys && match_order(from, to) &&
           accept(from, to, was.name != is.name);
}

bool row_matching::match_key(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    if (has_pointer(from_, from))
        only_in_place_.push_back(
            place() + " has keys with pointers, whose order is another one when objects have other addresses");
    const bool outer = std::exchange(is_in_key_, true);
    const bool matches = match(from, to);
    is_in_key_ = outer;
    return matches;
}

/// If the comparator of an ordered container is a function of the program, it cannot be called here. Then the old
/// elements must already be in its order.
bool row_matching::match_order(std::uint32_t from, std::uint32_t to) {
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    if (!is_ordered(is) || function_of_keys(to_, to) != key_function::own)
        return true;
    const std::string comparator = names_of_key_functions(to_, to);
    const std::uint32_t old_key = was.parts[0].type;
    const std::uint32_t new_key = is.parts[0].type;
    const bool is_by_address = from_.rows[old_key].kind == type_kind::pointer &&
                               to_.rows[new_key].kind == type_kind::pointer &&
                               (comparator == "std::less" || comparator == "std::greater");
    if (is_ordered(was) && names_of_key_functions(from_, from) == comparator &&
        (has_several_of_a_key(is) || !has_several_of_a_key(was)) &&
        (is_by_address || is_same_key(from_, old_key, to_, new_key)))
        return true;
    const std::string is_now = to_.name_of(to);
    const std::string was_then = from_.name_of(from);
    note(place() + (was_then == is_now ? " is a " + is_now : " was " + was_then + ", is " + is_now) +
             ", whose order a function of the program's makes. It stays only where the comparator and the keys are "
             "those that were; else .migrate<Old, New>(function) of the container, or of the class that has it, makes "
             "it anew",
         false);
    return false;
}

bool row_matching::match_members(std::uint32_t from, std::uint32_t to) { // NOLINT(misc-no-recursion)
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    const std::string outer = place_;
    const auto& old_members = *members_of(was);
    const auto& new_members = *members_of(is);
    bool matches = true;
    std::vector<const type_part*> used;
    for (const type_part& each : new_members) {
        if (!each.offset)
            continue;
        const std::string name = member_name(to_, each);
        const type_part* const origin = origin_of(each, to, old_members);
        place_ = is.name + "." + name;
        if (origin == nullptr) {
            note(place_ + " is new", true);
            has_same_bytes_ = false;
            continue;
        }
        used.push_back(origin);
        if (member_name(from_, *origin) != name)
            note(place_ + " was named " + member_name(from_, *origin), true);
        matches = match(origin->type, each.type) && matches;
        place_ = is.name + "." + name;
        if (origin->offset != each.offset)
            has_same_bytes_ = false;
        if (matches && origin->offset != each.offset)
            note(place_ + " moved", true);
    }
    for (const type_part& each : old_members) {
        if (each.offset && std::find(used.begin(), used.end(), &each) == used.end()) {
            note(was.name + "." + member_name(from_, each) + " is gone", true);
            has_same_bytes_ = false;
        }
    }
    may_lose_ = may_lose_ || !lost(from, to).empty();
    place_ = outer;
    const auto has_no_place = [](const type_part& each) { return !each.offset; };
    const bool is_whole = std::none_of(old_members.begin(), old_members.end(), has_no_place) &&
                          std::none_of(new_members.begin(), new_members.end(), has_no_place);
    // Then the bytes outside of members are copied unchanged.
    const bool is_told = inspect::has_bit_fields(was) || inspect::may_leave_out(was);
    if (!is_whole && (!is_told || layout_difference(from_, from, to_, to)))
        return refuse(from, to, ", with members whose place is not known, such as bit-fields");
    return check_renamings(from, to) && matches;
}

bool row_matching::match_numbers(std::uint32_t from, std::uint32_t to) {
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    const auto changed = [&] { return accept(from, to, was.name != is.name || was.size != is.size); };
    if (was.shape == shape_kind::enumeration && is.shape == shape_kind::enumeration) {
        const auto& stored = from_.rows[was.parts[0].type];
        const auto& now = to_.rows[is.parts[0].type];
        for (std::size_t i = 0; i != was.labels.size(); ++i) {
            const auto becomes = enumerator(from, was.labels[i], to);
            if (!becomes && !is_dropped_enumerator(from, was.labels[i], to))
                return refuse(from, to, ", which has no " + was.labels[i]);
            if (becomes && is.labels[*becomes] != was.labels[i])
                note(is.name + "::" + is.labels[*becomes] + " was named " + was.labels[i], true);
            if (!becomes || is.numbers[*becomes] != was.numbers[i]) {
                note(is.name + "::" + was.labels[i] + (becomes ? " has another value" : " is gone, and becomes 0"),
                     true);
                has_same_bytes_ = false;
            }
        }
        if (is.labels.size() != was.labels.size())
            note(is.name + " has more enumerators", true);
        if (now.size < stored.size || now.shape != stored.shape)
            return refuse(from, to, ", which is stored as " + now.name);
        return changed();
    }
    if (was.shape == is.shape && was.size == is.size)
        return was.shape == shape_kind::enumeration || changed();
    if (was.shape == shape_kind::character || is.shape == shape_kind::character)
        return refuse(from, to, ": a char is a character, and is not converted to or from numbers");
    const auto is_signed = [](shape_kind shape) { return shape == shape_kind::signed_number; };
    const auto is_whole = [&](shape_kind shape) { return is_signed(shape) || shape == shape_kind::unsigned_number; };
    if (was.size > 8 || (is.size > 8 && is.shape != shape_kind::floating))
        return refuse(from, to);
    if (was.shape == shape_kind::boolean && is_whole(is.shape))
        return changed();
    if (is_whole(was.shape) && is_whole(is.shape)) {
        const bool fits = is_signed(was.shape) ? is_signed(is.shape) && is.size >= was.size
                                               : is.size > was.size || (!is_signed(is.shape) && is.size >= was.size);
        return fits ? changed() : refuse(from, to, ", which does not have all of its values");
    }
    if (is.shape == shape_kind::floating) {
        // A number of this size represents all whole numbers of so many bytes exactly.
        const std::uint64_t exact = is.size == 4 ? 2 : is.size == 8 ? 4 : 8;
        if (was.shape == shape_kind::floating ? is.size >= was.size : is_whole(was.shape) && was.size <= exact)
            return changed();
    }
    return refuse(from, to, ", which does not have all of its values");
}

} // namespace remanence::objects
