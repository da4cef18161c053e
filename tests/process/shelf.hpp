// Containers of every kind in a heap, each once never filled, once filled and cleared, once filled; what they hold at
// each stage follows from the stage alone. Shared by two programs that take turns on one heap.
#pragma once

#include <remanence/remanence.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shelves {

namespace rem = remanence;

template <class Container>
struct shelf {
    Container empty;
    Container cleared;
    Container filled;
};

// One set of operations for all kinds of containers: element i, in the order of i.

inline std::string text(int i) {
    return i % 3 == 0 ? std::to_string(i) : "element number " + std::to_string(i) + " with a text that is long";
}

template <class C>
concept has_key = requires { typename C::key_type; };
template <class C>
concept has_mapped = requires { typename C::mapped_type; };

template <class C>
void add(C& c, int i) {
    const std::string word = text(i);
    if constexpr (has_mapped<C>) {
        if constexpr (requires { c.begin()->second.emplace_back(word); }) {
            auto& values = c[rem::string(word)];
            for (int n = 0; n < i % 4; ++n)
                values.emplace_back(word);
        } else {
            c.emplace(word, word);
        }
    } else if constexpr (has_key<C>) {
        c.emplace(word);
    } else if constexpr (requires { c.push_back(rem::string(word)); }) {
        c.push_back(rem::string(word));
    } else if constexpr (requires { c += std::string_view(word); }) {
        c += word;
    } else {
        c.emplace_front(word); // forward_list
    }
}

/// Removes what comes first in iteration, or for keys, element i.
template <class C>
void take(C& c, int i) {
    if constexpr (has_key<C>) {
        c.erase(c.find(std::string_view(text(i))));
    } else if constexpr (requires { c.pop_front(); }) {
        c.pop_front();
    } else {
        c.erase(c.begin());
    }
}

inline std::string words_of(char c) { return {c}; }
inline std::string words_of(std::string_view word) { return std::string(word); }
template <class T>
std::string words_of(const rem::vector<T>& values) {
    std::string all = "[";
    for (const T& value : values)
        all += words_of(value) + ',';
    return all + ']';
}
template <class K, class V>
std::string words_of(const std::pair<K, V>& pair) {
    return words_of(pair.first) + '=' + words_of(pair.second);
}

template <class C>
std::vector<std::string> listing(const C& c) {
    std::vector<std::string> all;
    for (const auto& element : c)
        all.push_back(words_of(element));
    if constexpr (requires { c.bucket_count(); })
        std::sort(all.begin(), all.end());
    return all;
}

/// What is done to a shelf from one stage to the next.
template <class C>
void advance(shelf<C>& s, int to_stage) {
    switch (to_stage) {
    case 1:
        for (int i = 0; i < 50; ++i)
            add(s.cleared, i);
        s.cleared.clear();
        for (int i = 0; i < 300; ++i)
            add(s.filled, i);
        break;
    case 2:
        for (int i = 0; i < 20; ++i)
            add(s.empty, i);
        for (int i = 100; i < 200; ++i)
            add(s.cleared, i);
        for (int i = 0; i < 300; i += 2)
            take(s.filled, i);
        for (int i = 300; i < 500; ++i)
            add(s.filled, i);
        break;
    case 3:
        s.empty.clear();
        for (int i = 200; i < 210; ++i)
            add(s.cleared, i);
        s.filled.clear();
        for (int i = 7; i < 9; ++i)
            add(s.filled, i);
        break;
    default:
        break;
    }
}

template <class C>
bool equals(const C& found, const C& expected, const char* kind, const char* which) {
    bool same = listing(found) == listing(expected);
    if constexpr (requires { found.size(); })
        same = same && found.size() == expected.size();
    if constexpr (has_key<C>) {
        for (int i = 0; i < 510; ++i) {
            const std::string word = text(i);
            same = same && found.count(std::string_view(word)) == expected.count(std::string_view(word));
        }
    }
    if (!same)
        std::cerr << "the " << which << ' ' << kind << " is not what it was\n";
    return same;
}

/// Checks that the shelf is as of a stage, and brings it to the next one.
template <class C>
bool check_and_advance(rem::heap& heap, const char* kind, int stage) {
    auto& s = heap.root<shelf<C>>(kind);
    const typename C::allocator_type outside(nullptr); // by default it would be the one heap's
    shelf<C> expected{C(outside), C(outside), C(outside)};
    for (int i = 1; i <= stage; ++i)
        advance(expected, i);
    bool good = equals(s.empty, expected.empty, kind, "empty");
    good = equals(s.cleared, expected.cleared, kind, "cleared") && good;
    good = equals(s.filled, expected.filled, kind, "filled") && good;
    if (good)
        heap.write([&] { advance(s, stage + 1); });
    return good;
}

inline bool check_and_advance_all(rem::heap& heap, int stage) {
    using word = rem::string;
    bool good = check_and_advance<rem::vector<word>>(heap, "vector", stage);
    good = check_and_advance<rem::deque<word>>(heap, "deque", stage) && good;
    good = check_and_advance<rem::list<word>>(heap, "list", stage) && good;
    good = check_and_advance<rem::forward_list<word>>(heap, "forward_list", stage) && good;
    good = check_and_advance<rem::set<word>>(heap, "set", stage) && good;
    good = check_and_advance<rem::multiset<word>>(heap, "multiset", stage) && good;
    good = check_and_advance<rem::map<word, word>>(heap, "map", stage) && good;
    good = check_and_advance<rem::map<word, rem::vector<word>>>(heap, "map of vectors", stage) && good;
    good = check_and_advance<rem::multimap<word, word>>(heap, "multimap", stage) && good;
    good = check_and_advance<rem::unordered_set<word>>(heap, "unordered_set", stage) && good;
    good = check_and_advance<rem::unordered_map<word, word>>(heap, "unordered_map", stage) && good;
    good =
        check_and_advance<rem::unordered_map<word, rem::vector<word>>>(heap, "unordered_map of vectors", stage) && good;
    good = check_and_advance<rem::unordered_multimap<word, word>>(heap, "unordered_multimap", stage) && good;
    good = check_and_advance<rem::string>(heap, "string", stage) && good;
    return good;
}

} // namespace shelves
