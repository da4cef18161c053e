// What is done to sequences and strings of all kinds.
#pragma once

#include "harness.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

namespace remanence::test {

template <class C>
auto at(C& container, unsigned position) {
    return std::next(container.begin(), static_cast<std::ptrdiff_t>(position % (container.size() + 1)));
}

/// Two elements that were built where no heap is.
template <class C>
C built_outside(const operation& o) {
    using element = typename C::value_type;
    C outside = empty_outside<C>();
    outside.insert(outside.end(), make_element<element>(o.text(), o.is_foreign()));
    outside.insert(outside.end(), make_element<element>(o.key_text(), true));
    return outside;
}

struct sequence {
    static constexpr bool k_ordered = true;
    static constexpr unsigned k_choices = 19;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        using element = typename C::value_type;
        const auto made = [&] { return make_element<element>(o.text(), o.is_foreign()); };
        switch (o.choice % k_choices) {
        case 0:
        case 1:
            c.push_back(made());
            break;
        case 2: {
            const element copied = made();
            c.push_back(copied);
            break;
        }
        case 3:
            c.emplace_back(raw<element>(o.text()));
            break;
        case 4:
            return text_of(*c.insert(at(c, o.position), made()));
        case 5:
            c.emplace(at(c, o.position), raw<element>(o.text()));
            break;
        case 6: {
            const element copied = made();
            const unsigned copies = o.key % 4;
            // To insert none, libstdc++'s deque moves elements onto themselves, which empties the model's strings.
            if (copies != 0 || !requires { c.push_front(made()); })
                c.insert(at(c, o.position), copies, copied);
            break;
        }
        case 7:
            if (!c.empty())
                c.pop_back();
            break;
        case 8: {
            const auto from = at(c, o.position);
            if (from != c.end())
                c.erase(from);
            break;
        }
        case 9: {
            const auto from = at(c, o.position);
            const auto left = std::distance(from, c.end());
            c.erase(from, std::next(from, std::min<std::ptrdiff_t>(left, o.key % 4)));
            break;
        }
        case 10: {
            const auto to = at(c, o.position);
            if (to != c.end())
                *to = made();
            break;
        }
        case 11:
            if (!c.empty())
                *at(c, o.position % static_cast<unsigned>(c.size())) = c.front();
            break;
        case 12:
            c.resize(o.key);
            break;
        case 13: {
            const C outside = built_outside<C>(o);
            c.insert(c.end(), outside.begin(), outside.end());
            break;
        }
        case 14: {
            C outside = built_outside<C>(o);
            if (o.position % 8 == 0)
                c = std::move(outside);
            else
                c.insert(c.begin(), std::move_iterator(outside.begin()), std::move_iterator(outside.end()));
            break;
        }
        case 15: {
            C copy(c, c.get_allocator());
            copy.push_back(made());
            if (o.position % 2 == 0)
                c = copy;
            else
                c = std::move(copy);
            break;
        }
        case 16: {
            C other(empty_like(c));
            other.push_back(made());
            if (o.position % 8 == 0)
                c.swap(other);
            break;
        }
        case 17:
            if constexpr (requires { c.push_front(made()); }) {
                c.push_front(made());
                if (o.position % 2 == 0)
                    c.pop_front();
            }
            break;
        default:
            if (o.position % 8 == 0)
                c.clear();
            if constexpr (requires { c.shrink_to_fit(); })
                c.shrink_to_fit();
            break;
        }
        return std::to_string(c.size());
    }

    // push_back of an element that may throw when moved is not strong in a vector that grows; of a list it is.
    static bool is_strong(const operation&) { return false; }
};

struct list_sequence : sequence {
    static bool is_strong(const operation& o) {
        const unsigned choice = o.choice % k_choices;
        return choice <= 2 || (choice >= 4 && choice <= 9) || choice == 13 || choice == 17;
    }
};

/// Our own vector declares what it writes itself, and each insertion has no effect if it throws.
template <class Element>
struct pi_sequence : sequence {
    static bool is_strong(const operation& o) {
        const unsigned choice = o.choice % k_choices;
        return choice < 8 || choice > 11;
    }
    // Erasure assigns elements whose moves may throw, which then write to what they own.
    static bool is_declared(const operation& o) {
        const unsigned choice = o.choice % k_choices;
        const bool assigns = choice == 3 || choice == 10 || choice == 11;
        const bool erases = choice == 8 || choice == 9;
        return std::is_same_v<Element, string_pi> || (!assigns && !(erases && std::is_same_v<Element, fragile>));
    }
};

struct forward_sequence {
    static constexpr bool k_ordered = true;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        using element = typename C::value_type;
        const auto size = static_cast<unsigned>(std::distance(c.begin(), c.end()));
        const auto made = [&] { return make_element<element>(o.text(), o.is_foreign()); };
        const auto before = std::next(c.before_begin(), o.position % (size + 1));
        switch (o.choice % 11) {
        case 0:
        case 1:
            c.push_front(made());
            break;
        case 2:
        case 3:
            return text_of(*c.insert_after(before, made()));
        case 4: {
            const element copied = made();
            c.insert_after(before, o.key % 4, copied);
            break;
        }
        case 5:
            if (std::next(before) != c.end())
                c.erase_after(before);
            break;
        case 6:
            if (std::next(before) != c.end())
                *std::next(before) = made();
            break;
        case 7: {
            C outside = empty_outside<C>();
            outside.push_front(made());
            if (o.position % 8 == 0)
                c = std::move(outside);
            else
                c.insert_after(before, outside.begin(), outside.end());
            break;
        }
        case 8: {
            C copy(c, c.get_allocator());
            copy.push_front(made());
            c = std::move(copy);
            break;
        }
        case 9:
            c.reverse();
            break;
        default:
            c.resize(o.key);
            if (o.position % 8 == 0)
                c.clear();
            break;
        }
        return std::to_string(size);
    }

    static bool is_strong(const operation& o) { return o.choice % 11 <= 5; }
};

struct characters {
    static constexpr bool k_ordered = true;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        const std::string text = o.text();
        const std::size_t position = o.position % (c.size() + 1);
        switch (o.choice % 10) {
        case 0:
            c += text;
            break;
        case 1:
            c = text;
            break;
        case 2:
            c.insert(position, text);
            break;
        case 3:
            c.erase(position, o.key);
            break;
        case 4:
            c.replace(position, o.key, text);
            break;
        case 5:
            c.resize(o.text_bytes, 'r');
            break;
        case 6:
            c.push_back('p');
            break;
        case 7: {
            C outside = empty_outside<C>();
            outside = text;
            if (o.position % 2 == 0)
                c = outside;
            else
                c = std::move(outside);
            break;
        }
        case 8:
            return std::to_string(c.find(o.key_text().substr(0, 2)));
        default:
            c.shrink_to_fit();
            if (c.size() > 2000)
                c.clear();
            break;
        }
        return std::string(c);
    }

    static bool is_strong(const operation&) { return true; }
    static bool is_declared(const operation&) { return true; }
};

} // namespace remanence::test
