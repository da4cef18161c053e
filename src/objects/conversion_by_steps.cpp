// Makes objects with functions of the program. Members that can be converted automatically are made before a function
// is called, so the function finds them.
#include "objects/conversion.hpp"

#include "base/assert.hpp"

#include <utility>
#include <vector>

namespace remanence::objects {

using types::type_part;

namespace {

/// Listens while intermediate objects are made. These contain no pointers, and no pointer leads to them.
struct between_functions final : conversion::listener {
    between_functions(conversion::listener& of, std::byte* of_heap) : told(of), base(of_heap) {}
    result<void> point(object_place /*from*/, object_place /*to*/) override {
        REM_CHECK(false); // does not happen, since members with pointers are skipped
        return {};
    }
    result<object_place> default_of(object_builder& by, std::uint32_t row) override { return told.default_of(by, row); }
    result<void> construct(object_builder& by, object_place to) override { return told.construct(by, to); }
    result<void> vptr(object_builder& by, object_place to, bool is_base) override { return told.vptr(by, to, is_base); }
    void fill(const prepared_step& by, std::uint64_t was, std::uint64_t is) override {
        by.given->fill(base + was, base + is);
    }
    void made_between(const prepared_step& by, std::uint64_t at) override { told.made_between(by, at); }

    conversion::listener& told;
    std::byte* base;
};

/// Listens while members of the final object are made. Functions of the program are called only after all pointers
/// lead to new objects.
struct last_of_chain final : conversion::listener {
    explicit last_of_chain(conversion::listener& of) : told(of) {}
    result<void> point(object_place /*from*/, object_place /*to*/) override {
        REM_CHECK(false);
        return {};
    }
    result<object_place> default_of(object_builder& by, std::uint32_t row) override { return told.default_of(by, row); }
    result<void> construct(object_builder& by, object_place to) override { return told.construct(by, to); }
    result<void> vptr(object_builder& by, object_place to, bool is_base) override { return told.vptr(by, to, is_base); }
    void fill(const prepared_step& by, std::uint64_t was, std::uint64_t is) override { told.fill(by, was, is); }
    void made_between(const prepared_step& by, std::uint64_t at) override { told.made_between(by, at); }

    conversion::listener& told;
};

/// Reads objects of a step's older type, and makes those of its newer type.
struct workshop {
    workshop(txn::heap_memory& memory, const prepared_step& step)
        : bytes(memory),
          source(bytes, memory.path(), reinterpret_cast<std::uintptr_t>(memory.base()), memory.reserved_bytes(),
                 step.was),
          builder(memory, step.is, {.trusts_order = true}) {}

    types::memory_bytes bytes;
    heap_source source;
    object_builder builder;
};

} // namespace

// NOLINTBEGIN(misc-no-recursion): bounded

result<void> conversion::make_by_steps(const step_chain& chain, object_place from, object_place to, unsigned depth) {
    txn::heap_memory& memory = builder_.memory();
    const prepared_step& last = *chain.back();
    std::uint64_t between = from.at;
    for (const prepared_step* const step : chain) {
        if (step == &last)
            break;
        workshop shop(memory, *step);
        between_functions told(told_, memory.base());
        auto place = shop.builder.allocate_object(step->is.root);
        if (!place)
            return place.error();
        const object_place was{step->was.root, between};
        const object_place is{step->is.root, *place};
        conversion by(shop.source, shop.builder, *step->rows, told);
        REM_TRY(by.make_filled(was, is, depth + 1));
        told.fill(*step, was.at, is.at);
        told_.made_between(*step, is.at);
        between = is.at;
    }
    if (chain.size() == 1)
        REM_TRY(make_filled(from, to, depth));
    else
        REM_TRY(make_last(last, from, {last.was.root, between}, to, depth));
    told_.fill(last, between, to.at);
    return {};
}

/// Makes the members that can be converted automatically, before the function is called.
result<void> conversion::make_filled(object_place from, object_place to, unsigned depth) {
    if (members_of(source_.row(from.row)) != nullptr && members_of(builder_.row(to.row)) != nullptr)
        return make_members(from, to, {}, true, depth);
    return told_.construct(builder_, to);
}

/// Makes the last object of a chain. Members with pointers come from the stored object, the others from the
/// intermediate object that the previous function made.
result<void> conversion::make_last(const prepared_step& step, object_place stored, object_place between,
                                   object_place to, unsigned depth) {
    const std::vector<type_part>* const members = members_of(builder_.row(to.row));
    const std::vector<type_part>* const same = members_of(step.is.rows[step.is.root]);
    if (members == nullptr || members_of(step.was.rows[step.was.root]) == nullptr)
        return told_.construct(builder_, to);
    workshop shop(builder_.memory(), step);
    last_of_chain told(told_);
    conversion by(shop.source, shop.builder, *step.rows, told);
    const auto& from_between = step.rows->origins(step.was.root, step.is.root);
    const std::vector<const type_part*> none(members->size(), nullptr);
    const bool has_members = members_of(source_.row(stored.row)) != nullptr;
    const auto& from_stored = has_members ? rows_.origins(stored.row, to.row) : none;
    std::optional<object_place> model;
    for (std::size_t i = 0; i != members->size(); ++i) {
        const type_part& each = (*members)[i];
        if (!each.offset)
            continue;
        const std::uint64_t at = to.at + *each.offset;
        if (from_stored[i] != nullptr) {
            REM_TRY(make({from_stored[i]->type, stored.at + *from_stored[i]->offset}, {each.type, at}, depth + 1));
        } else if (from_between[i] != nullptr) {
            REM_TRY(by.make({from_between[i]->type, between.at + *from_between[i]->offset}, {(*same)[i].type, at},
                            depth + 1));
        } else {
            if (!model) {
                auto made = told_.default_of(builder_, to.row);
                if (!made)
                    return made.error();
                model = *made;
            }
            REM_TRY(make_default({each.type, model->at + *each.offset}, {each.type, at}, depth + 1));
        }
    }
    return {};
}

// NOLINTEND(misc-no-recursion)

} // namespace remanence::objects
