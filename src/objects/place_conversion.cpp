#include "objects/place_conversion.hpp"

#include "objects/object_blocks.hpp"
#include "objects/pair_walk.hpp"

#include <algorithm>
#include <utility>

namespace remanence::objects {

using detail::shape_kind;
using types::type_part;
using types::type_row;

// NOLINTBEGIN(misc-no-recursion): bounded

result<void> place_conversion::change(object_place from, std::uint32_t to, unsigned depth) {
    if (depth == inspect::k_depth_max)
        return old_objects_.too_deep(from);
    if (!plan_.changes(from.row, to))
        return {};
    const form what = form_of_pair(rows_, from.row, to);
    if (what == form::members)
        return change_members(from, to, depth);
    if (what != form::same)
        told_.placed(from, {to, from.at});
    if (what == form::number)
        return values_.make(from, {to, from.at});
    if (what == form::pointer) {
        auto is_null = old_objects_.is_null(from);
        if (!is_null)
            return is_null.error();
        return *is_null ? result<void>() : told_.point(from, {to, from.at});
    }
    if (what > form::array) {
        const std::uint32_t was = inspect::rows_of_elements(old_objects_.row(from.row)).value;
        const std::uint32_t is = inspect::rows_of_elements(builder_.row(to)).value;
        const bool is_told = plan_.has_pointers() || plan_.loses(was, is); // each element needs a look
        if (const auto* const plan = is_told ? nullptr : rows_.whole_plan(was, is))
            return change_elements(*plan, from, is);
    }
    return for_each_part_pair(old_objects_, rows_, from, to, [&](const part_pair& each) -> result<void> {
        return each.role == part_role::key ? result<void>() : change(each.from, each.to, depth + 1); // keys stay (PP1)
    });
}

/// Changes the elements of a container whose bytes a plan copies; `to` is their row.
result<void> place_conversion::change_elements(const row_matching::member_plan& plan, object_place container,
                                               std::uint32_t to) {
    std::vector<row_matching::member_plan::bytes> moves = plan.copies;
    std::erase_if(moves, [](const auto& each) { return each.from == each.to; });
    return old_objects_.for_each_element(container, [&](const element_place& each) -> result<bool> {
        const std::uint64_t at = each.value.at;
        auto bytes = old_objects_.bytes(each.value);
        if (!bytes)
            return bytes.error();
        for (const auto& move : moves) // by the copy, since moves may overlap (PC1)
            builder_.put_bytes(copy_ + move.from, *bytes + move.from, move.count);
        for (const auto& move : moves)
            builder_.put_bytes(at + move.to, builder_.at(copy_ + move.from), move.count);
        if (!plan.defaults.empty())
            REM_TRY(values_.put_defaults(plan, {to, at}));
        return true;
    });
}

result<void> place_conversion::change_members(object_place from, std::uint32_t to, unsigned depth) {
    if (plan_.loses(from.row, to))
        REM_TRY(release_gone(from, to));
    auto bytes = old_objects_.bytes(from);
    if (!bytes)
        return bytes.error();
    builder_.put_bytes(copy_, *bytes, old_objects_.row(from.row).size); // later reads use this copy (PC1)
    std::vector<std::pair<object_place, std::uint32_t>> outer = std::exchange(later_, {});
    REM_TRY(take_members({from, copy_, {to, from.at}}));
    // The copy is no longer needed, so it can be used for other objects.
    const std::vector<std::pair<object_place, std::uint32_t>> in_blocks = std::exchange(later_, std::move(outer));
    for (const auto& [place, row] : in_blocks)
        REM_TRY(change(place, row, depth + 1));
    return {};
}

/// Finds the blocks of members that are gone, here and in members (PC2).
result<void> place_conversion::release_gone(object_place from, std::uint32_t to) {
    const auto& origins = rows_.origins(from.row, to);
    for (const type_part& each : *members_of(old_objects_.row(from.row))) {
        const object_place member{each.type, from.at + *each.offset};
        const auto found = std::find(origins.begin(), origins.end(), &each);
        if (found == origins.end()) {
            REM_TRY(add_blocks_of(old_objects_, builder_.base(), member, garbage_));
            continue;
        }
        const auto index = static_cast<std::size_t>(found - origins.begin());
        const std::uint32_t becomes = (*members_of(builder_.row(to)))[index].type;
        if (plan_.loses(each.type, becomes))
            REM_TRY(release_gone_within(member, becomes));
    }
    return {};
}

/// Does the same as release_gone(), also for objects of other forms. Searches what lies in them, not in their blocks.
result<void> place_conversion::release_gone_within(object_place from, std::uint32_t to) {
    if (form_of_pair(rows_, from.row, to) == form::members)
        return release_gone(from, to);
    return for_each_part_pair(old_objects_, rows_, from, to, [&](const part_pair& each) -> result<void> {
        const bool may_lose = each.role != part_role::held || plan_.loses(each.from.row, each.to);
        return may_lose ? release_gone_within(each.from, each.to) : result<void>();
    });
}

result<void> place_conversion::take_members(const moved_object& all) {
    told_.placed(all.was, all.is);
    const row_matching::member_plan& plan = rows_.plan(all.was.row, all.is.row);
    const auto& origins = rows_.origins(all.was.row, all.is.row);
    const auto& members = *members_of(builder_.row(all.is.row));
    // New members are made first, since other members may lie in the padding of a new base.
    std::optional<object_place> model;
    for (const std::size_t i : plan.others) {
        if (origins[i] == nullptr)
            REM_TRY(make_new(all.is, members[i], model));
    }
    if (!plan.defaults.empty())
        REM_TRY(values_.put_defaults(plan, all.is));
    const bool is_overwritten = all.is_overwritten || model;
    REM_TRY(values_.make_rest({all.was.row, all.copy}, all.is, all.room, false));
    for (const auto& each : plan.copies) {
        if (!is_overwritten && all.was.at + each.from == all.is.at + each.to)
            continue;
        auto bytes = old_objects_.reader().bytes(all.copy + each.from, each.count);
        if (!bytes)
            return bytes.error();
        builder_.put_bytes(all.is.at + each.to, *bytes, each.count);
    }
    for (const std::size_t i : plan.others) {
        const type_part* const origin = origins[i];
        const object_place is{members[i].type, all.is.at + *members[i].offset};
        if (origin != nullptr)
            REM_TRY(take({{origin->type, all.was.at + *origin->offset},
                          all.copy + *origin->offset,
                          is,
                          is_overwritten,
                          values_.rooms_of(all.was.row, *origin, all.is.row, members[i])}));
    }
    return {};
}

result<void> place_conversion::make_new(object_place of, const type_part& member, std::optional<object_place>& model) {
    if (!model) {
        auto made = told_.default_of(builder_, of.row);
        if (!made)
            return made.error();
        model = *made;
    }
    const object_place to{member.type, of.at + *member.offset};
    std::memset(builder_.at(to.at), 0, builder_.size_of(member.type));
    return values_.make_default({member.type, model->at + *member.offset}, to);
}

result<void> place_conversion::take(const moved_object& part) {
    const type_row& was = old_objects_.row(part.was.row);
    const type_row& is = builder_.row(part.is.row);
    const bool moves = part.was.at != part.is.at || part.is_overwritten;
    const bool changes = plan_.changes(part.was.row, part.is.row);
    if (!moves && !changes && was.size == is.size) { // sizes differ if a number becomes wider
        told_.stays(part.was);
        return {};
    }
    const form what = form_of_pair(rows_, part.was.row, part.is.row);
    if (what == form::same) {
        const auto [old_row, new_row] = unwrapped(rows_, part.was.row, part.is.row);
        return take({{old_row, part.was.at}, part.copy, {new_row, part.is.at}, part.is_overwritten});
    }
    if (what == form::members)
        return take_members(part);
    told_.placed(part.was, part.is);
    if (what == form::pointer) {
        if (moves)
            REM_TRY(take_bytes(part));
        auto is_null = old_objects_.is_null({part.was.row, part.copy});
        if (!is_null)
            return is_null.error();
        return changes && !*is_null ? told_.point({part.was.row, part.copy}, part.is) : result<void>();
    }
    if (inspect::is_held(what))
        return take_held(part);
    if (what == form::array && !is_character_array(builder_.schema(), part.is.row)) {
        const std::uint64_t bytes = builder_.size_of(is.parts[0].type);
        for (std::uint64_t at = 0; at != extent_of(is) * bytes; at += bytes)
            REM_TRY(take({{was.parts[0].type, part.was.at + at},
                          part.copy + at,
                          {is.parts[0].type, part.is.at + at},
                          part.is_overwritten}));
        return {};
    }
    if (what == form::number || what == form::hidden)
        return values_.make({part.was.row, part.copy}, part.is);
    if (moves) {
        REM_TRY(take_bytes(part));
        REM_TRY(correct(part));
    }
    if (changes)
        later_.push_back({{part.was.row, part.is.at}, part.is.row});
    return {};
}

result<void> place_conversion::take_held(const moved_object& part) {
    const type_row& is = builder_.row(part.is.row);
    if (part.was.at != part.is.at || part.is_overwritten) {
        // Copies only the mark, because other members may lie in the padding.
        auto mark = old_objects_.reader().bytes(part.copy + is.numbers[0], 1);
        if (!mark)
            return mark.error();
        builder_.put_bytes(part.is.at + is.numbers[0], *mark, 1);
    }
    auto held = old_objects_.held({part.was.row, part.copy});
    if (!held)
        return held.error();
    if (!*held)
        return {};
    const std::uint64_t inside = (*held)->at - part.copy;
    return take({{(*held)->row, part.was.at + inside},
                 (*held)->at,
                 {is.parts[(*held)->alternative].type, part.is.at + inside},
                 part.is_overwritten});
}

// NOLINTEND(misc-no-recursion)

result<void> place_conversion::take_bytes(const moved_object& part) {
    const std::uint64_t count = old_objects_.reader().size_of(part.was.row);
    auto bytes = old_objects_.reader().bytes(part.copy, count);
    if (!bytes)
        return bytes.error();
    builder_.put_bytes(part.is.at, *bytes, count);
    return {};
}

/// Corrects an address within the object itself, or the distance to its block, since both change when the object moves.
result<void> place_conversion::correct(const moved_object& part) {
    const type_row& was = old_objects_.row(part.was.row);
    const std::uint64_t distance = part.is.at - part.was.at;
    const auto& n = was.numbers;
    if (was.shape == shape_kind::text) {
        const std::uint64_t to = builder_.word(part.is.at + n[0]) - builder_.base();
        if (to >= part.was.at && to < part.was.at + was.size) // the address of a short text, which lies in the object
            builder_.put_word(part.is.at + n[0], builder_.base() + to + distance);
        return {};
    }
    constexpr std::uint64_t k_long_mark = 63;
    const bool is_by_link = was.shape == shape_kind::text_by_link || was.shape == shape_kind::serialised;
    const bool is_long = is_by_link && builder_.word(part.is.at + n[0] + 2 * k_word) >> k_long_mark != 0;
    if (was.shape == shape_kind::linked_block || is_long) {
        const std::uint64_t link = builder_.word(part.is.at + n[0]);
        if (link != 0)
            builder_.put_word(part.is.at + n[0], link - distance);
    }
    return {};
}

} // namespace remanence::objects
