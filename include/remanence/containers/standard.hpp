// The containers of the standard library with Remanence's allocator, which lie in a heap. Depends on the standard
// library only.
//
// All of the standard's containers are here, so that a program moves into a heap by changing a namespace. Comparison
// and hash are transparent: look-up by std::string_view allocates nothing.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/between_heaps.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace remanence {

/// std::string in a heap.
using string = std::basic_string<char, std::char_traits<char>, allocator<char>>;

/// The hash of the unordered containers: std::hash, but one transparent hash for every kind of string.
template <class Key>
struct hash : std::hash<Key> {};

/// Hashes every kind of string as std::hash hashes a std::string_view.
struct string_hash {
    using is_transparent = void;
    // Deliberately not noexcept: libstdc++ then stores each hash in its node, so that neither a look-up nor growing
    // hashes whole strings again. (libstdc++ does the same for std::string.)
    [[nodiscard]] std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <class Alloc>
struct hash<std::basic_string<char, std::char_traits<char>, Alloc>> : string_hash {};
template <>
struct hash<std::string_view> : string_hash {};
template <class Allocator>
class basic_string_pi; // <remanence/containers/string_pi.hpp>
template <class Allocator>
struct hash<basic_string_pi<Allocator>> : string_hash {};

/// std::vector in a heap.
template <class T>
using vector = std::vector<T, allocator<T>>;
/// std::deque in a heap.
template <class T>
using deque = std::deque<T, allocator<T>>;
/// std::list in a heap.
template <class T>
using list = std::list<T, allocator<T>>;
/// std::forward_list in a heap.
template <class T>
using forward_list = std::forward_list<T, allocator<T>>;

/// std::set in a heap, with a transparent comparator.
template <class Key, class Compare = std::less<>>
using set = std::set<Key, Compare, allocator<Key>>;
/// std::multiset in a heap, with a transparent comparator.
template <class Key, class Compare = std::less<>>
using multiset = std::multiset<Key, Compare, allocator<Key>>;
/// std::map in a heap, with a transparent comparator.
template <class Key, class Value, class Compare = std::less<>>
using map = std::map<Key, Value, Compare, allocator<std::pair<const Key, Value>>>;
/// std::multimap in a heap, with a transparent comparator.
template <class Key, class Value, class Compare = std::less<>>
using multimap = std::multimap<Key, Value, Compare, allocator<std::pair<const Key, Value>>>;

/// std::unordered_set in a heap, with a transparent hash for strings.
template <class Key, class Hash = hash<Key>, class Equal = std::equal_to<>>
using unordered_set = std::unordered_set<Key, Hash, Equal, allocator<Key>>;
/// std::unordered_multiset in a heap, with a transparent hash for strings.
template <class Key, class Hash = hash<Key>, class Equal = std::equal_to<>>
using unordered_multiset = std::unordered_multiset<Key, Hash, Equal, allocator<Key>>;
/// std::unordered_map in a heap, with a transparent hash for strings.
template <class Key, class Value, class Hash = hash<Key>, class Equal = std::equal_to<>>
using unordered_map = std::unordered_map<Key, Value, Hash, Equal, allocator<std::pair<const Key, Value>>>;
/// std::unordered_multimap in a heap, with a transparent hash for strings.
template <class Key, class Value, class Hash = hash<Key>, class Equal = std::equal_to<>>
using unordered_multimap = std::unordered_multimap<Key, Value, Hash, Equal, allocator<std::pair<const Key, Value>>>;

// std::swap of two containers in different heaps has no defined behaviour. Argument-dependent look-up finds these
// functions first.

namespace detail {

template <class Container>
void swap_within_or_between_heaps(Container& a, Container& b) {
    if (a.get_allocator() == b.get_allocator())
        a.swap(b);
    else
        swap_by_value(a, b);
}

} // namespace detail

// NOLINTBEGIN(performance-noexcept-swap): between heaps they allocate
/// Swaps two containers, also between heaps. Within a heap it calls the swap of the standard library. Between heaps it
/// copies elements in O(n), or moves them if they cannot be copied; if elements can be copied and something throws, it
/// has no effect.
inline void swap(string& a, string& b) { detail::swap_within_or_between_heaps(a, b); }
template <class T>
void swap(vector<T>& a, vector<T>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class T>
void swap(deque<T>& a, deque<T>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class T>
void swap(list<T>& a, list<T>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class T>
void swap(forward_list<T>& a, forward_list<T>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class Key, class Compare>
void swap(set<Key, Compare>& a, set<Key, Compare>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class Key, class Compare>
void swap(multiset<Key, Compare>& a, multiset<Key, Compare>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class Key, class Value, class Compare>
void swap(map<Key, Value, Compare>& a, map<Key, Value, Compare>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class Key, class Value, class Compare>
void swap(multimap<Key, Value, Compare>& a, multimap<Key, Value, Compare>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class Key, class Hash, class Equal>
void swap(unordered_set<Key, Hash, Equal>& a, unordered_set<Key, Hash, Equal>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class Key, class Hash, class Equal>
void swap(unordered_multiset<Key, Hash, Equal>& a, unordered_multiset<Key, Hash, Equal>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class Key, class Value, class Hash, class Equal>
void swap(unordered_map<Key, Value, Hash, Equal>& a, unordered_map<Key, Value, Hash, Equal>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
template <class Key, class Value, class Hash, class Equal>
void swap(unordered_multimap<Key, Value, Hash, Equal>& a, unordered_multimap<Key, Value, Hash, Equal>& b) {
    detail::swap_within_or_between_heaps(a, b);
}
// NOLINTEND(performance-noexcept-swap)

// The standard library cannot compare strings with different allocators. With these operators a std::string compares
// with a string in a heap, and serves as a key to look up. Argument-dependent look-up finds them through the allocator.

/// True if the characters are equal.
template <class Text>
    requires std::same_as<Text, std::string>
[[nodiscard]] bool operator==(const string& a, const Text& b) noexcept {
    return std::string_view(a) == std::string_view(b);
}
/// Compares the characters.
template <class Text>
    requires std::same_as<Text, std::string>
[[nodiscard]] std::strong_ordering operator<=>(const string& a, const Text& b) noexcept {
    return std::string_view(a) <=> std::string_view(b);
}

} // namespace remanence

/// Equals the hash of a std::string_view with the same characters.
template <>
struct std::hash<remanence::string> {
    [[nodiscard]] std::size_t operator()(const remanence::string& text) const noexcept {
        return std::hash<std::string_view>()(text);
    }
};
