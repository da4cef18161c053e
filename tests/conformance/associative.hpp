// What is done to sets and maps of all kinds.
#pragma once

#include "harness.hpp"

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace remanence::test {

template <class C>
inline constexpr bool is_map_v = requires { typename C::mapped_type; };
template <class C>
inline constexpr bool is_hashed_v = requires { typename C::hasher; };
template <class C> // the model's elements too
using mapped_of = typename C::mapped_type;

/// What can be seen of an insertion: whether it happened, where keys are unique.
inline std::string seen(bool happened) { return happened ? "new" : "there already"; }
template <class Iterator>
std::string seen(const std::pair<Iterator, bool>& result) {
    return seen(result.second) + text_of(*result.first);
}
template <class Iterator>
std::string seen(const Iterator& result) {
    return text_of(*result);
}

template <class C>
typename C::value_type made(const std::string& key, [[maybe_unused]] const std::string& text, bool foreign) {
    if constexpr (is_map_v<C>) {
        return {make_element<typename C::key_type>(key, foreign), make_element<mapped_of<C>>(text, foreign)};
    } else {
        return make_element<typename C::key_type>(key, foreign);
    }
}

template <bool Ordered>
struct associative {
    static constexpr bool k_ordered = Ordered;
    static constexpr unsigned k_choices = 18;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        const std::string key = o.key_text();
        switch (o.choice % k_choices) {
        case 0:
        case 1:
        case 2:
            return seen(c.insert(made<C>(key, o.text(), o.is_foreign())));
        case 3: {
            const typename C::value_type copied = made<C>(key, o.text(), o.is_foreign());
            return seen(c.insert(copied));
        }
        case 4:
        case 5:
            return emplace(c, key, o);
        case 6:
            if constexpr (is_hashed_v<
                              C>) // which one is first differs after a kill, and equal ones go behind an equal hint
                return seen(
                    c.emplace_hint(c.find(sought<typename C::key_type>(key)), made<C>(key, o.text(), o.is_foreign())));
            else
                return seen(c.emplace_hint(c.begin(), made<C>(key, o.text(), o.is_foreign())));
        case 7:
            return std::to_string(c.erase(make_element<typename C::key_type>(key)));
        case 8: {
            const auto found = c.find(sought<typename C::key_type>(key));
            if (found != c.end())
                c.erase(found);
            break;
        }
        case 9:
            if constexpr (is_map_v<C>) {
                // In a multimap the first or any of the equal ones: change all.
                const auto [from, to] = c.equal_range(sought<typename C::key_type>(key));
                for (auto each = from; each != to; ++each)
                    each->second = make_element<mapped_of<C>>(o.text(), o.is_foreign());
            }
            break;
        case 10:
            return by_index(c, key, o);
        case 11: {
            C outside = empty_outside<C>();
            outside.insert(made<C>(key, o.text(), o.is_foreign()));
            outside.insert(made<C>(o.text(), key, o.is_foreign()));
            if (o.position % 8 == 0)
                c = std::move(outside);
            else
                c.insert(std::move_iterator(outside.begin()), std::move_iterator(outside.end()));
            break;
        }
        case 12: {
            C copy(c, c.get_allocator());
            copy.insert(made<C>(key, o.text(), o.is_foreign()));
            if (o.position % 2 == 0)
                c = copy;
            else
                c = std::move(copy);
            break;
        }
        case 13: {
            C other(empty_like(c));
            other.insert(made<C>(key, o.text(), o.is_foreign()));
            if (o.position % 4 == 0)
                c.swap(other);
            else
                c.merge(other);
            break;
        }
        case 14: {
            if constexpr (requires { c.extract(make_element<typename C::key_type>(key)); }) {
                auto node = c.extract(make_element<typename C::key_type>(key));
                if (!node.empty() && o.position % 2 == 0)
                    c.insert(std::move(node));
            }
            break;
        }
        case 15:
            if constexpr (is_hashed_v<C>) {
                c.rehash(o.position);
            } else {
                const auto found = c.lower_bound(sought<typename C::key_type>(key));
                return found == c.end() ? "end" : text_of(*found);
            }
            break;
        case 16:
            return std::to_string(c.count(sought<typename C::key_type>(key)));
        default:
            if (o.position % 4 == 0)
                c.clear();
            break;
        }
        return std::to_string(c.size());
    }

    // Insertions of one element, and erasures.
    static bool is_strong(const operation& o) {
        const unsigned choice = o.choice % k_choices;
        return choice <= 8 || (choice >= 15 && choice <= 17);
    }

    // All but assignments to values that may have memory of their own.
    static bool is_declared(const operation& o) {
        const unsigned choice = o.choice % k_choices;
        return choice != 9 && choice != 10;
    }

private:
    template <class C>
    static std::string emplace(C& c, const std::string& key, const operation& o) {
        if constexpr (!is_map_v<C>) {
            return seen(c.emplace(raw<typename C::key_type>(key)));
        } else {
            const auto first = raw<typename C::key_type>(key);
            const auto second = raw<mapped_of<C>>(o.text());
            if (o.position % 2 == 0)
                return seen(c.emplace(first, second));
            return seen(
                c.emplace(std::piecewise_construct, std::forward_as_tuple(first), std::forward_as_tuple(second)));
        }
    }

    template <class C>
    static std::string by_index([[maybe_unused]] C& c, const std::string& key, const operation& o) {
        if constexpr (requires { c[make_element<typename C::key_type>(key)]; }) {
            using mapped = mapped_of<C>;
            switch (o.position % 4) {
            case 0:
                return text_of(c[make_element<typename C::key_type>(key)]);
            case 1:
                return text_of(c[make_element<typename C::key_type>(key)] =
                                   make_element<mapped>(o.text(), o.is_foreign()));
            case 2:
                return seen(c.try_emplace(make_element<typename C::key_type>(key),
                                          make_element<mapped>(o.text(), o.is_foreign())));
            default:
                return seen(c.insert_or_assign(make_element<typename C::key_type>(key),
                                               make_element<mapped>(o.text(), o.is_foreign())));
            }
        }
        return {};
    }
};

} // namespace remanence::test
