#include "objects/place_plan.hpp"

#include "objects/pair_walk.hpp"

#include <algorithm>

namespace remanence::objects {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

bool is_number(const type_row& row) { return form_of(row) == form::number; }

} // namespace

place_plan::place_plan(const row_matching& rows, heap_source& old_objects, object_builder& builder)
    : rows_(rows), old_objects_(old_objects), builder_(builder) {
    add({rows.from().root, rows.to().root});
    for (const auto& [from, to] : rows.pointees()) // also of classes to which only pointers to their bases lead
        add({from, to});
    while (!to_do_.empty()) {
        const row_pair next = to_do_.back();
        to_do_.pop_back();
        pair_plan plan = look_at(next);
        for (const auto* const all : {&plan.within, &plan.elements, &plan.keys, &plan.pointees})
            for (const row_pair& each : *all)
                add(each);
        pairs_[next] = std::move(plan);
    }
    if (!is_possible_)
        return;
    spread();
    for (const auto& [pair, plan] : pairs_) {
        for (const row_pair& each : plan.pointees) {
            const bool moves = moved_.contains(each.first);
            has_pointers_ = true;
            pairs_[pair].changes = moves; // a pointer changes only if its target moves
            is_possible_ = is_possible_ && !gone_.contains(each.first);
        }
    }
    spread();
    for (const auto& [pair, plan] : pairs_) {
        const auto changed = [&](const row_pair& each) { return changes(each.first, each.second); };
        is_possible_ = is_possible_ && std::none_of(plan.keys.begin(), plan.keys.end(), changed) &&
                       !(plan.changes && inspect::has_vptr(builder_.row(pair.second)));
    }
}

void place_plan::add(row_pair pair) {
    if (pairs_.try_emplace(pair).second)
        to_do_.push_back(pair);
}

/// Marks each pair that contains a changing pair as changing, too; likewise for pairs that lose members.
void place_plan::spread() {
    bool is_done = false;
    while (!is_done) {
        is_done = true;
        for (auto& [pair, plan] : pairs_) {
            const auto changed = [&](const row_pair& each) { return changes(each.first, each.second); };
            const auto lost = [&](const row_pair& each) { return loses(each.first, each.second); };
            const bool changes_now = plan.changes || std::any_of(plan.within.begin(), plan.within.end(), changed) ||
                                     std::any_of(plan.elements.begin(), plan.elements.end(), changed);
            const bool loses_now = plan.loses || std::any_of(plan.within.begin(), plan.within.end(), lost);
            is_done = is_done && changes_now == plan.changes && loses_now == plan.loses;
            plan.changes = changes_now;
            plan.loses = loses_now;
        }
    }
}

/// Compares size and alignment of two rows; the objects of one will replace those of the other in place.
void place_plan::compare(row_pair pair) {
    const type_row& was = old_objects_.row(pair.first);
    const type_row& is = builder_.row(pair.second);
    is_possible_ = is_possible_ && old_objects_.reader().size_of(pair.first) == builder_.size_of(pair.second) &&
                   alignment_of(rows_.from(), pair.first) == alignment_of(rows_.to(), pair.second) &&
                   was.note == is.note && !(inspect::has_vptr(is) && was.name != is.name);
}

place_plan::pair_plan place_plan::look_at(row_pair pair) {
    const auto [from, to] = pair;
    const type_row& was = old_objects_.row(from);
    const type_row& is = builder_.row(to);
    pair_plan plan;
    if (rows_.chain(from, to) != nullptr)
        is_possible_ = false;
    if (form_of_pair(rows_, from, to) == form::same) {
        compare(pair);
        plan.within.push_back(unwrapped(rows_, from, to));
        return plan;
    }
    if (is.kind == type_kind::pointer) {
        if (old_objects_.row(was.parts[0].type).kind == type_kind::plain ||
            builder_.row(is.parts[0].type).kind == type_kind::plain)
            return plan;
        plan.pointees.emplace_back(was.parts[0].type, is.parts[0].type);
        return plan;
    }
    compare(pair);
    if (members_of(was) != nullptr && members_of(is) != nullptr) {
        look_at_members(pair, plan);
        return plan;
    }
    if (is_character_array(rows_.from(), from) || is_character_array(rows_.to(), to)) {
        is_possible_ = is_possible_ && extent_of(was) == extent_of(is);
        return plan;
    }
    const form what = form_of(is);
    const bool are_arrays = is.kind == type_kind::array && was.kind == type_kind::array;
    if (!are_arrays &&
        (was.kind != is.kind || was.shape != is.shape || (what != form::number && was.numbers != is.numbers)))
        is_possible_ = false;
    // a container of another library is unchanged, since otherwise it would not match
    if (form_of(was) != what || inspect::is_foreign(is))
        return plan;
    switch (what) {
    case form::array:
    case form::optional:
    case form::packed:
        plan.within.emplace_back(was.parts[0].type, is.parts[0].type);
        break;
    case form::variant:
        look_at_alternatives(pair, plan);
        break;
    case form::sequence:
    case form::set:
    case form::map:
        look_at_container(pair, plan);
        break;
    case form::number:
        plan.changes = was.size <= k_word && !is_same_number(was, is);
        break;
    default:
        break;
    }
    return plan;
}

void place_plan::look_at_alternatives(row_pair pair, pair_plan& plan) {
    const type_row& was = old_objects_.row(pair.first);
    const type_row& is = builder_.row(pair.second);
    for (std::size_t i = 0; i != was.parts.size(); ++i) {
        const auto becomes = rows_.alternatives(pair.first, pair.second)[i];
        is_possible_ = is_possible_ && becomes == i;
        if (becomes)
            plan.within.emplace_back(was.parts[i].type, is.parts[*becomes].type);
    }
}

void place_plan::look_at_container(row_pair pair, pair_plan& plan) {
    const type_row& was = old_objects_.row(pair.first);
    const type_row& is = builder_.row(pair.second);
    const bool is_keyed = form_of(is) != form::sequence;
    if (is_keyed)
        is_possible_ =
            is_possible_ && without_arguments(was.name) == without_arguments(is.name) &&
            names_of_key_functions(rows_.from(), pair.first) == names_of_key_functions(rows_.to(), pair.second);
    (is_keyed ? plan.keys : plan.elements).emplace_back(was.parts[0].type, is.parts[0].type);
    if (inspect::is_map(was) && inspect::is_map(is))
        plan.elements.emplace_back(was.parts[1].type, is.parts[1].type);
}

void place_plan::look_at_members(row_pair pair, pair_plan& plan) {
    const auto [from, to] = pair;
    const type_row& was = old_objects_.row(from);
    const type_row& is = builder_.row(to);
    largest_ = std::max(largest_, was.size);
    const auto& origins = rows_.origins(from, to);
    std::size_t index = 0;
    for (const type_part& each : *members_of(is)) {
        const type_part* const origin = origins[index++];
        if (!each.offset) {
            is_possible_ = false;
        } else if (origin == nullptr) {
            plan.changes = true;
            // A new base is made over its padding, where a member with a vptr may lie.
            const bool may_cover_vptr = each.name.empty() && inspect::have_vptrs(rows_.to());
            is_possible_ = is_possible_ && !may_cover_vptr && !conversion::why_not(builder_, each.type);
        } else {
            const type_row& old_member = old_objects_.row(origin->type);
            const type_row& new_member = builder_.row(each.type);
            const bool moves = origin->offset != each.offset;
            plan.changes = plan.changes || moves;
            if (moves) {
                is_possible_ = is_possible_ && can_move(origin->type);
                add_parts(origin->type, false, moved_);
            }
            if (is_number(old_member) && is_number(new_member) && old_member.size != new_member.size)
                plan.changes = true; // the number grows over the place of the member beside it
            else
                plan.within.emplace_back(origin->type, each.type);
        }
    }
    for (const type_part& each : *members_of(was)) {
        if (!each.offset)
            is_possible_ = false;
        if (std::find(origins.begin(), origins.end(), &each) == origins.end()) {
            plan.changes = true;
            plan.loses = true;
            add_parts(each.type, true, gone_);
        }
    }
}

// NOLINTBEGIN(misc-no-recursion): sound schemas end

bool place_plan::can_move(std::uint32_t from) const {
    const type_row& was = old_objects_.row(from);
    const form what = form_of(was);
    switch (was.shape) {
    case shape_kind::text:
    case shape_kind::text_by_link:
    case shape_kind::contiguous:
    case shape_kind::linked_block:
    case shape_kind::deque:
    case shape_kind::bits:
        return true;
    default:
        break;
    }
    if (what == form::pointer || what == form::number)
        return true;
    if (what == form::hidden)
        return inspect::is_told_by_bytes(was);
    if (inspect::has_vptr(was)) // such objects keep their vptrs where they are
        return false;
    if (what < form::members || what > form::array) // other forms contain their own address, or have nodes that do
        return false;
    const std::vector<inspect::row_part> parts = inspect::parts_of(was);
    return std::all_of(parts.begin(), parts.end(), [&](const inspect::row_part& part) { return can_move(part.row); });
}

/// Adds a row and the rows of its parts.
void place_plan::add_parts(std::uint32_t from, bool with_elements, std::set<std::uint32_t>& rows) const {
    const type_row& was = old_objects_.row(from);
    if (!rows.insert(from).second || was.kind == type_kind::pointer)
        return;
    if (inspect::is_container(was) && !with_elements)
        return;
    const auto* const members = members_of(was);
    for (const type_part& each : members != nullptr ? *members : was.parts)
        add_parts(each.type, with_elements, rows);
}

// NOLINTEND(misc-no-recursion)

} // namespace remanence::objects
