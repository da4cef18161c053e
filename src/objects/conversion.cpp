#include "objects/conversion.hpp"

#include "base/assert.hpp"
#include "inspect/object_text.hpp"
#include "objects/pair_walk.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace remanence::objects {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

std::string text_of(const std::vector<path_step>& way) {
    std::string text;
    for (const path_step& each : way) {
        if (each.member.empty()) {
            text.append(1, '[').append(std::to_string(each.index)).append(1, ']');
        } else {
            if (!text.empty())
                text += '.';
            text += each.member;
        }
    }
    return text;
}

namespace {

class reasons {
public:
    explicit reasons(const object_builder& builder) : builder_(builder), seen_(builder.schema().rows.size(), false) {}

    std::optional<std::string> find(std::uint32_t index) { // NOLINT(misc-no-recursion): visits each row once
        if (seen_[index])
            return {};
        seen_[index] = true;
        const type_row& row = builder_.row(index);
        if (auto why = builder_.why_not(index))
            return why;
        if (inspect::is_foreign(row))
            return "a " + builder_.schema().name_of(index) + " is made by its own library alone";
        if (form_of(row) == form::hidden && !inspect::is_told_by_bytes(row))
            return "a " + builder_.schema().name_of(index) +
                   " is of a class that does not say its members (REM_REFLECT), or of a kind that the schema does "
                   "not describe";
        for (const inspect::row_part& each : inspect::parts_of(row)) {
            const bool leads_nowhere =
                each.role == inspect::part_role::pointee && builder_.row(each.row).kind == type_kind::plain;
            auto why = leads_nowhere ? std::nullopt : find(each.row);
            if (why)
                return why;
        }
        return {};
    }

private:
    const object_builder& builder_;
    std::vector<bool> seen_;
};

} // namespace

result<void> conversion::listener::vptr(object_builder& by, object_place to, bool /*is_base*/) {
    return fail(errc::not_supported, "a " + by.schema().name_of(to.row) + " has virtual functions");
}

std::optional<std::string> conversion::why_not(const object_builder& builder, std::uint32_t row) {
    return reasons(builder).find(row);
}

// NOLINTBEGIN(misc-no-recursion): bounded

result<void> conversion::make(object_place from, object_place to, unsigned depth) {
    const rooms room = std::exchange(next_rooms_, {});
    const bool is_base = std::exchange(next_is_base_, false);
    const base_of whole = std::exchange(next_whole_, {});
    if (depth == inspect::k_depth_max)
        return source_.too_deep(from);
    const type_row& was = source_.row(from.row);
    const type_row& is = builder_.row(to.row);
    told_.placed(from, to);
    if (const step_chain* const chain = rows_.chain(from.row, to.row))
        return make_by_steps(*chain, from, to, depth);
    const form what = form_of_pair(rows_, from.row, to.row);
    if (what == form::same) {
        const auto [old_row, new_row] = unwrapped(rows_, from.row, to.row);
        return make({old_row, from.at}, {new_row, to.at}, depth + 1);
    }
    if (what == form::optional && form_of(was) != form::optional) {
        REM_TRY(make(from, {is.parts[0].type, to.at}, depth + 1));
        builder_.put_mark(to, 1);
        return {};
    }
    switch (what) {
    case form::pointer:
        return make_pointer(from, to);
    case form::members:
        REM_TRY(make_members(from, to, room, false, depth, whole));
        return inspect::has_vptr(is) ? told_.vptr(builder_, to, is_base) : result<void>();
    case form::array:
        return is_character_array(builder_.schema(), to.row) ? make_characters(from, to) : make_array(from, to, depth);
    case form::text:
    case form::serialised:
        return make_text(from, to);
    case form::optional:
    case form::variant:
        return make_held(from, to, depth);
    case form::sequence:
    case form::set:
    case form::map:
    case form::packed:
        return make_container(from, to, depth);
    case form::hidden:
        return make_hidden(from, to);
    case form::number:
    case form::same:
        break;
    }
    return make_number(from, to);
}

result<void> conversion::make_pointer(object_place from, object_place to) {
    auto is_null = source_.is_null(from);
    if (!is_null)
        return is_null.error();
    return *is_null ? result<void>() : told_.point(from, to);
}

result<void> conversion::make_text(object_place from, object_place to) {
    auto text = source_.text(from);
    if (!text)
        return text.error();
    // The text may lie in the heap. It stays valid while put_text() allocates, because the heap's memory does not move.
    return builder_.put_text(to, *text);
}

result<void> conversion::make_held(object_place from, object_place to, unsigned depth) {
    const type_row& is = builder_.row(to.row);
    const bool is_variant = form_of(is) == form::variant;
    auto held = source_.held(from);
    if (!held)
        return held.error();
    if (!*held) {
        if (is_variant)
            builder_.put_mark(to, 255);
        return {};
    }
    const auto becomes =
        is_variant ? rows_.alternatives(from.row, to.row)[(*held)->alternative] : std::optional<std::size_t>(0);
    REM_CHECK(becomes); // since the rows match, the newer variant has an alternative for it
    REM_TRY(make(**held, {is.parts[*becomes].type, to.at}, depth + 1));
    builder_.put_mark(to, is_variant ? static_cast<unsigned char>(*becomes) : 1);
    return {};
}

result<void> conversion::make_hidden(object_place from, object_place to) {
    auto bytes = source_.hidden(from);
    if (!bytes)
        return bytes.error();
    builder_.put_bytes(to.at, reinterpret_cast<const std::byte*>(bytes->data()), bytes->size());
    return {};
}

result<void> conversion::make_characters(object_place from, object_place to) {
    auto text = source_.text(from);
    if (!text)
        return text.error();
    if (!builder_.put_characters(to, *text))
        return source_.damaged(from, "a text of " + std::to_string(text->size()) + " bytes does not fit into " +
                                         builder_.schema().name_of(to.row));
    return {};
}

result<void> conversion::make_members(object_place from, object_place to, rooms room, bool by_function, unsigned depth,
                                      const base_of& whole) {
    REM_TRY(source_.check_members(from));
    auto bytes = source_.bytes(from);
    if (!bytes)
        return bytes.error();
    REM_TRY(make_rest(from, to, room, by_function));
    if (*bytes == nullptr) {
        for (std::size_t i = 0; i != members_of(builder_.row(to.row))->size(); ++i)
            REM_TRY(make_member(from, to, i, depth, whole));
        return {};
    }
    const row_matching::member_plan& plan = rows_.plan(from.row, to.row);
    REM_TRY(copy(plan, from, to, whole));
    for (const std::size_t each : plan.others)
        REM_TRY(make_member(from, to, each, depth, whole));
    return {};
}

/// Makes what a plan copies. Precondition: the source is in memory.
result<void> conversion::copy(const row_matching::member_plan& plan, object_place from, object_place to,
                              const base_of& whole) {
    auto bytes = source_.bytes(from);
    if (!bytes)
        return bytes.error();
    for (const auto& each : plan.copies)
        builder_.put_bytes(to.at + each.to, *bytes + each.from, each.count);
    return plan.defaults.empty() ? result<void>() : put_defaults(plan, to, whole);
}

result<void> conversion::put_defaults(const row_matching::member_plan& plan, object_place to, const base_of& whole) {
    auto model = model_of(to.row, whole);
    if (!model)
        return model.error();
    for (const auto& each : plan.defaults)
        builder_.put_bytes(to.at + each.to, builder_.at(model->at + each.from), each.count);
    return {};
}

/// Returns a default-constructed object of this row, if possible as the base of a whole object.
result<object_place> conversion::model_of(std::uint32_t row, const base_of& whole) {
    if (whole) {
        if (auto made = told_.default_of(builder_, whole->row))
            return object_place{row, made->at + whole->offset};
    }
    if (!model_ || model_->row != row) {
        auto made = told_.default_of(builder_, row);
        if (!made)
            return made;
        model_ = *made;
    }
    return *model_;
}

/// Copies the bytes between members with a known place. They contain bit-fields and the bytes that a class leaves out.
result<void> conversion::make_rest(object_place from, object_place to, rooms room, bool may_lose) {
    const type_row& was = source_.row(from.row);
    const bool has_bits = inspect::has_bit_fields(was) && inspect::has_bit_fields(builder_.row(to.row));
    if (!has_bits && !inspect::may_leave_out(was))
        return {};
    const row_matching::rest_plan& plan = rows_.rest(from.row, to.row);
    if (plan.ranges.empty())
        return {};
    auto rest = source_.rest(from, room.from);
    if (!rest)
        return rest.error();
    if (rest->empty())
        return {};
    if (rest->size() != plan.bytes)
        return source_.damaged(from, "a " + source_.schema().name_of(from.row) + " has " + std::to_string(plan.bytes) +
                                         " bytes beside its members, not " + std::to_string(rest->size()));
    const auto is_something = [](std::string_view bytes) { return bytes.find_first_not_of('\0') != bytes.npos; };
    if (!has_bits && inspect::has_address(was, inspect::rest_of(source_.schema(), from.row), *rest) && !may_lose)
        return fail(errc::type_mismatch, source_.line() + "a " + source_.schema().name_of(from.row) + " has " +
                                             std::string(inspect::k_left_out));
    std::string_view next = *rest;
    for (const auto& each : plan.ranges) {
        const std::string_view bytes = next.substr(0, each.count);
        next.remove_prefix(each.count);
        if (!each.is_carried && is_something(bytes) && !may_lose &&
            !rows_.is_dropped(from.row, to.row, std::string(k_rest)))
            return fail(errc::type_mismatch,
                        source_.line() + "a " + source_.schema().name_of(from.row) + " has bytes from its byte " +
                            std::to_string(each.at) +
                            " on that its REM_REFLECT leaves out, and the class has changed, so their new place is not "
                            "known. If they may be lost, like padding, drop \"" +
                            was.name + '.' + std::string(k_rest) + "\" (.drop(), in C rem_migration.dropped)");
        const std::uint64_t own = each.at >= room.to ? 0 : std::min(each.count, room.to - each.at);
        if (each.is_carried)
            builder_.put_bytes(to.at + each.at, reinterpret_cast<const std::byte*>(bytes.data()), own);
    }
    return {};
}

conversion::rooms conversion::rooms_of(std::uint32_t from, const type_part& origin, std::uint32_t to,
                                       const type_part& member) const {
    const type_row& was = source_.row(origin.type);
    if (!inspect::may_leave_out(was) && !inspect::has_bit_fields(was))
        return {};
    return {inspect::room_of(source_.schema(), from, origin), inspect::room_of(builder_.schema(), to, member)};
}

result<void> conversion::make_member(object_place from, object_place to, std::size_t index, unsigned depth,
                                     const base_of& whole) {
    const type_part& each = (*members_of(builder_.row(to.row)))[index];
    if (!each.offset) // a bit-field whose place is not known
        return {};
    const type_part* const origin = rows_.origins(from.row, to.row)[index];
    const object_place place{each.type, to.at + *each.offset};
    path_.push_back(
        {each.name.empty() ? std::string_view(builder_.row(each.type).name) : std::string_view(each.name), 0});
    if (origin != nullptr) {
        auto member = source_.member(from, *origin);
        if (!member)
            return member.error();
        REM_CHECK(*member); // exists, because `origin` has an offset
        next_rooms_ = rooms_of(from.row, *origin, to.row, each);
        next_is_base_ = each.name.empty();
        if (next_is_base_ && inspect::has_vptr(builder_.row(each.type)))
            next_whole_ =
                whole ? whole_object{whole->row, whole->offset + *each.offset} : whole_object{to.row, *each.offset};
        REM_TRY(make(**member, place, depth + 1));
    } else {
        auto model = model_of(to.row, whole);
        if (!model)
            return model.error();
        REM_TRY(make_default({each.type, model->at + *each.offset}, place, depth + 1));
    }
    path_.pop_back();
    return {};
}

result<void> conversion::make_default(object_place model, object_place to, unsigned depth) {
    struct copying final : listener {
        explicit copying(listener& of) : told(of) {}
        result<void> point(object_place /*from*/, object_place /*to*/) override {
            return fail(errc::not_supported, "a member that is new holds a pointer by default, which is not null");
        }
        result<object_place> default_of(object_builder& by, std::uint32_t row) override {
            return told.default_of(by, row);
        }
        result<void> vptr(object_builder& by, object_place to, bool is_base) override {
            return told.vptr(by, to, is_base);
        }
        listener& told;
    } copier(told_);
    const row_matching same(builder_.schema(), builder_.schema());
    return conversion(builder_.built(), builder_, same, copier).make(model, to, depth);
}

result<void> conversion::make_array(object_place from, object_place to, unsigned depth) {
    const type_row& is = builder_.row(to.row);
    const std::uint64_t extent = extent_of(is);
    auto count = source_.count(from);
    if (!count)
        return count.error();
    if (*count != extent)
        return source_.damaged(from, "a " + builder_.schema().name_of(to.row) + " has " + std::to_string(extent) +
                                         " elements, not " + std::to_string(*count));
    const std::uint32_t element = is.parts[0].type;
    const std::uint64_t bytes = builder_.built().reader().size_of(element);
    std::uint64_t index = 0;
    return source_.for_each_element(from, [&](const element_place& each) -> result<bool> {
        path_.push_back({{}, index});
        REM_TRY(make(each.value, {element, to.at + index++ * bytes}, depth + 1));
        path_.pop_back();
        return true;
    });
}

result<scalar> conversion::number(object_place from, std::uint32_t to) {
    const type_row& is = builder_.row(to);
    auto value = source_.number(from);
    if (!value)
        return value;
    if (is.shape == shape_kind::enumeration && !value->label.empty()) { // find the value by its name
        const std::string label(value->label);
        const auto becomes = rows_.enumerator(from.row, label, to);
        if (becomes || rows_.is_dropped_enumerator(from.row, label, to)) {
            value->bits = becomes ? is.numbers[*becomes] : 0;
            const shape_kind stored_as = builder_.row(is.parts[0].type).shape;
            value->is_negative = static_cast<std::int64_t>(value->bits) < 0 &&
                                 (stored_as == shape_kind::signed_number || stored_as == shape_kind::character);
        }
    }
    return value;
}

result<void> conversion::make_number(object_place from, object_place to) {
    auto value = number(from, to.row);
    if (!value)
        return value.error();
    if (builder_.put_number(to, *value))
        return {};
    const std::string shown = value->what == scalar::form::real    ? std::to_string(value->real)
                              : value->what == scalar::form::bytes ? std::to_string(value->bytes.size()) + " bytes"
                              : value->is_negative ? std::to_string(static_cast<std::int64_t>(value->bits))
                                                   : std::to_string(value->bits);
    return source_.damaged(from, shown + " is out of the range of " + builder_.schema().name_of(to.row));
}

// NOLINTEND(misc-no-recursion)

} // namespace remanence::objects
