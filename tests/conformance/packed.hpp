// What is done to packed maps, and to maps of strings.
#pragma once

#include "harness.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace remanence::test {

/// What is done to both; values are of up to 5 KiB, so that leaves are divided, and some are of one element.
struct packed {
    static constexpr bool k_ordered = true;
    static constexpr unsigned k_choices = 18;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        const std::string key = o.key_text();
        const std::string value = long_text(o);
        switch (o.choice % k_choices) {
        case 0:
        case 1:
        case 2:
            return seen(c.emplace(key, value));
        case 3:
            return seen(c.insert(typename C::value_type(key, value)));
        case 4:
            return std::to_string(c.erase(key));
        case 5: {
            const auto found = first(c, key);
            if (found == c.end())
                break;
            const auto next = c.erase(found);
            return next == c.end() ? "end" : text_of(*next);
        }
        case 6:
            return assign(c, first(c, key), value);
        case 7:
        case 8:
            return insert_many(c, o);
        case 9: {
            const auto found = c.lower_bound(key);
            return found == c.end() ? "end" : text_of(*found);
        }
        case 10: {
            const auto found = c.upper_bound(key);
            return found == c.begin() ? "begin" : text_of(*std::prev(found));
        }
        case 11: {
            C copy(c, c.get_allocator());
            copy.emplace(key, value);
            if (o.position % 4 < 2)
                c = copy;
            else
                c = std::move(copy);
            break;
        }
        case 12: {
            C other(empty_outside<C>());
            other.emplace(key, value);
            if (o.position % 8 < 2) {
                c = std::move(other);
            } else {
                C near(empty_like(c));
                near.insert(other.begin(), other.end());
                near.insert(c.begin(), c.end());
                c.swap(near);
            }
            break;
        }
        case 13: {
            const auto from = c.lower_bound(std::min(key, o.text()));
            const auto to = c.upper_bound(std::max(key, o.text()));
            const auto next = c.erase(from, to);
            return next == c.end() ? "end" : text_of(*next);
        }
        case 14:
            return std::to_string(c.count(key)) + std::to_string(std::distance(c.lower_bound(key), c.upper_bound(key)));
        case 15: { // views into the container itself
            const auto from = c.begin();
            if (from == c.end())
                break;
            if constexpr (is_packed_v<C>)
                return seen(c.emplace(from->second, from->first));
            else
                return seen(c.emplace(std::string(from->second), std::string(from->first)));
        }
        case 16:
            return std::to_string(erase_if(c, [&](const auto& each) { return each.first.size() % 7 == o.key % 7; }));
        default:
            if (o.position % 8 < 2)
                c.clear();
            break;
        }
        return std::to_string(c.size());
    }

    static bool is_strong(const operation&) { return false; } // nothing throws here
    static bool is_declared(const operation&) { return true; }

private:
    static std::string long_text(const operation& o) {
        std::string all;
        for (unsigned i = 0; i != 1 + o.position / 2 % 24; ++i)
            all += o.text();
        return all;
    }
    template <class Iterator>
    static std::string seen(const std::pair<Iterator, bool>& result) {
        return (result.second ? "new" : "there already") + text_of(*result.first);
    }
    template <class Iterator>
    static std::string seen(const Iterator& result) {
        return text_of(*result);
    }
    template <class C>
    static auto first(C& c, const std::string& key) {
        if constexpr (is_packed_v<C>) {
            return c.find(key);
        } else {
            const auto found = c.lower_bound(key); // std::multimap::find() may give any of them
            return found != c.end() && found->first == key ? found : c.end();
        }
    }
    template <class C, class Iterator>
    static std::string assign(C& c, Iterator to, const std::string& value) {
        if (to == c.end())
            return "end";
        if constexpr (is_packed_v<C>)
            to = c.assign(to, value);
        else
            to->second = value;
        return text_of(*to);
    }
    /// Up to 200 at once, of few keys, in an order of their own.
    template <class C>
    static std::string insert_many(C& c, const operation& o) {
        std::vector<std::pair<std::string, std::string>> all;
        for (unsigned i = 0; i != o.text_bytes; ++i) {
            std::string key = o.choice % 2 == 0 ? o.key_text() : std::string();
            key += std::to_string(o.position % 4 < 2 ? 100 + i : i * 37 % 101);
            all.emplace_back(std::move(key), o.text().substr(0, i));
        }
        c.insert(all.begin(), all.end());
        return std::to_string(c.size());
    }
};

} // namespace remanence::test
