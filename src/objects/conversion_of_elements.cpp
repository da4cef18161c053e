// Makes containers: passes the elements of the source, in the order that the new container needs, to its filler.
#include "objects/conversion.hpp"

#include "base/assert.hpp"
#include "objects/element_line.hpp"
#include "objects/object_blocks.hpp"

#include <remanence/containers/detail/hash_bytes.hpp>

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace remanence::objects {

using detail::shape_kind;
using types::type_part;
using types::type_row;

// NOLINTBEGIN(misc-no-recursion): bounded

conversion::element_plans conversion::plans_of_elements(object_place from, object_place to) const {
    const inspect::element_rows were = inspect::rows_of_elements(source_.row(from.row));
    const inspect::element_rows are = inspect::rows_of_elements(builder_.row(to.row));
    return {rows_.whole_plan(were.key, are.key), rows_.whole_plan(were.value, are.value)};
}

result<void> conversion::make_container(object_place from, object_place to, unsigned depth) {
    const type_row& was = source_.row(from.row);
    auto count = source_.count(from);
    if (!count)
        return count.error();
    auto filler = builder_.begin(to, *count);
    if (!filler)
        return filler.error();
    auto in_memory = source_.bytes(from);
    if (!in_memory)
        return in_memory.error();
    const element_plans plans = *in_memory != nullptr ? plans_of_elements(from, to) : element_plans();
    const key_function function = builder_.function_of(to.row);
    const bool becomes_ordered = is_ordered(builder_.row(to.row));
    const bool has_same_order = is_ordered(was) && names_of_key_functions(source_.schema(), from.row) ==
                                                       names_of_key_functions(builder_.schema(), to.row);
    if (has_same_order && plans.key != nullptr && plans.key->defaults.empty() &&
        has_several_of_a_key(was) <= has_several_of_a_key(builder_.row(to.row)))
        (*filler)->trust_order();
    std::vector<std::uint64_t>* const blocks = told_.blocks_of_elements(from);
    const std::optional<std::uint64_t> in_block = blocks != nullptr ? place_in_block(was) : std::nullopt;
    std::uint64_t index = 0;
    const auto take = [&](const element_place& each, std::uint64_t number) -> result<bool> {
        if (index++ == *count) // no place was prepared for it
            return source_.damaged(from, "that has more elements than the " + std::to_string(*count) + " it counts");
        if (in_block)
            blocks->push_back((each.has_key ? each.key : each.value).at - *in_block);
        path_.push_back({{}, number});
        REM_TRY(make_element(**filler, to, each, number, plans, depth + 1));
        path_.pop_back();
        return true;
    };
    if (becomes_ordered && !has_same_order && function != key_function::own) // the old elements may have any order
        REM_TRY(take_sorted(from, function == key_function::greater, take));
    else
        REM_TRY(source_.for_each_element(from, [&](const element_place& each) { return take(each, index); }));
    if (index != *count)
        return source_.damaged(from, "that has " + std::to_string(index) + " elements, not " + std::to_string(*count));
    return (*filler)->finish();
}

/// Passes the elements to `take`, sorted by their keys.
result<void> conversion::take_sorted(object_place from, bool is_descending, const take_element& take) {
    struct numbered {
        element_place element;
        std::uint64_t number; // keeps equal elements in their order
    };
    const auto key_of = [](const element_place& element) { return element.has_key ? element.key : element.value; };
    std::vector<numbered> all;
    REM_TRY(source_.for_each_element(from, [&](const element_place& each) -> result<bool> {
        // Only a key that contains a NaN cannot be compared, and it fails here, compared with itself. So the sort
        // below can compare any two keys.
        auto itself = compare(source_, key_of(each), key_of(each));
        if (!itself)
            return itself.error();
        if (!*itself)
            return source_.damaged(key_of(each), "a key is not equal to itself");
        all.push_back({each, all.size()});
        return true;
    }));
    std::sort(all.begin(), all.end(), [&](const numbered& a, const numbered& b) {
        const auto compared = compare(source_, key_of(a.element), key_of(b.element));
        const int order = compared && *compared ? **compared : 0;
        if (order == 0)
            return a.number < b.number;
        return is_descending ? order > 0 : order < 0;
    });
    for (const numbered& each : all) {
        auto taken = take(each.element, each.number);
        if (!taken)
            return taken.error();
    }
    return {};
}

/// Adds an element, which `make` makes at its place.
template <class Make>
result<void> conversion::add_element(container_filler& filler, object_place container, std::uint64_t number,
                                     std::uint64_t hash, const Make& make) {
    auto place = filler.add(hash);
    if (!place)
        return place.error();
    told_.element(container, number, *place);
    REM_TRY(make(*place));
    auto made = filler.made();
    if (!made && made.why().code == errc::invalid_argument)
        return fail(errc::invalid_argument, source_.line() + made.why().message);
    return made;
}

result<void> conversion::make_element(container_filler& filler, object_place container, const element_place& from,
                                      std::uint64_t number) {
    return make_element(filler, container, from, number, {}, 0);
}

result<void> conversion::make_element(container_filler& filler, object_place container, const element_place& from,
                                      std::uint64_t number, const element_plans& plans, unsigned depth) {
    std::uint64_t hashed = 0;
    if (filler.wants_hash()) {
        const object_place key = from.has_key ? from.key : from.value;
        const std::uint32_t to = builder_.row(container.row).parts[0].type;
        const auto* const by = builder_.functions_of(container.row);
        auto found = by != nullptr ? hash_by(*by, key, container.row, filler.seed(), depth)
                                   : hash(key, to, builder_.function_of(container.row), filler.seed());
        if (!found)
            return found.error();
        hashed = *found;
    }
    return add_element(filler, container, number, hashed, [&](const element_place& to) -> result<void> {
        const auto make_part = [&](const row_matching::member_plan* plan, object_place part, object_place as) {
            return plan != nullptr ? copy(*plan, part, as) : make(part, as, depth);
        };
        if (to.has_key)
            REM_TRY(make_part(plans.key, from.key, to.key));
        return make_part(plans.value, from.value, to.value);
    });
}

result<void> conversion::put_element(container_filler& filler, object_place container, const element_line& line,
                                     std::uint64_t number) {
    return add_element(filler, container, number, filler.wants_hash() ? line.hash(filler.seed()) : 0,
                       [&](const element_place& to) { return line.put(to); });
}

result<std::uint64_t> conversion::hash(object_place from, std::uint32_t to, key_function function, std::uint64_t seed) {
    const type_row& is = builder_.row(to);
    if (members_of(is) != nullptr) { // the key is a pair or a tuple
        const auto& origins = rows_.origins(from.row, to);
        std::size_t index = 0;
        for (const type_part& each : *members_of(is)) {
            const type_part* const origin = origins[index++];
            REM_CHECK(origin != nullptr);
            auto member = source_.member(from, *origin);
            if (!member)
                return member.error();
            auto hashed = hash(**member, each.type, function, seed);
            if (!hashed)
                return hashed;
            seed = *hashed;
        }
        return seed;
    }
    if (is.shape == shape_kind::text || is.shape == shape_kind::text_by_link) {
        auto text = source_.text(from);
        if (!text)
            return text.error();
        return hash_of_text(function, *text, seed);
    }
    auto value = number(from, to);
    if (!value)
        return value.error();
    if (is.shape == shape_kind::floating) {
        const long double whole = value->is_negative ? static_cast<long double>(static_cast<std::int64_t>(value->bits))
                                                     : static_cast<long double>(value->bits);
        const long double real = value->what == scalar::form::real ? value->real : whole;
        if (function != key_function::seeded)
            return is.size == sizeof(float) ? std::hash<float>()(static_cast<float>(real))
                                            : std::hash<double>()(static_cast<double>(real));
        const double as_hashed = real == 0                  ? 0.0
                                 : is.size == sizeof(float) ? static_cast<double>(static_cast<float>(real))
                                                            : static_cast<double>(real);
        return detail::hash_number(std::bit_cast<std::uint64_t>(as_hashed), seed);
    }
    const auto bits = builder_.bits_for(to, *value);
    if (!bits)
        return make_number(from, {to, 0}).error(); // fails, and its message says why
    return hash_of_number(function, *bits, seed);
}

/// Hashes a key with the program's function. Makes a temporary key for the call.
result<std::uint64_t> conversion::hash_by(const detail::key_functions& by, object_place from, std::uint32_t container,
                                          std::uint64_t seed, unsigned depth) {
    const std::uint32_t to = builder_.row(container).parts[0].type;
    auto place = builder_.allocate_object(to);
    if (!place)
        return place;
    REM_TRY(make(from, {to, *place}, depth));
    std::byte* const key = builder_.at(*place);
    const std::uint64_t hashed = by.hash(key, seed);
    by.destroy(key);
    REM_TRY(builder_.memory().deallocate(key));
    const bool mixes = builder_.row(container).shape == shape_kind::hash_table && !by.takes_seed;
    return mixes ? detail::hash_number(hashed, seed) : hashed;
}

// NOLINTEND(misc-no-recursion)

} // namespace remanence::objects
