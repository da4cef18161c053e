// Containers of Boost, living in a heap: Boost.Container, the node-based ones of Boost.Unordered, and Boost.MultiIndex.
// Opt-in: needs Boost's headers, tested with 1.81. The elements are asked as those of every container, see persistable.hpp.
//
// No version of Boost promises its layouts to the next one. So the fingerprint of a root has the version of Boost: a
// program that was built with another one gets errc::type_mismatch, not garbage. Include this header wherever such a
// container is named as a root, or is part of one, and before that.
#pragma once

#include <remanence/containers/standard.hpp>
#include <remanence/types/detail/fingerprint.hpp>

#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/set.hpp>
#include <boost/container/slist.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <boost/multi_index_container.hpp>
#include <boost/unordered_map.hpp>
#include <boost/unordered_set.hpp>
#include <boost/version.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace remanence {

using boost_string = boost::container::basic_string<char, std::char_traits<char>, allocator<char>>;

template <>
struct hash<boost_string> {
    [[nodiscard]] std::size_t operator()(const boost_string& text) const noexcept {
        return std::hash<std::string_view>()(std::string_view(text.data(), text.size()));
    }
};

template <class T>
using boost_vector = boost::container::vector<T, allocator<T>>;
template <class T>
using boost_deque = boost::container::deque<T, allocator<T>>;
template <class T>
using boost_stable_vector = boost::container::stable_vector<T, allocator<T>>;
template <class T>
using boost_list = boost::container::list<T, allocator<T>>;
template <class T>
using boost_slist = boost::container::slist<T, allocator<T>>;

template <class Key, class Compare = std::less<>>
using boost_set = boost::container::set<Key, Compare, allocator<Key>>;
template <class Key, class Compare = std::less<>>
using boost_multiset = boost::container::multiset<Key, Compare, allocator<Key>>;
template <class Key, class Value, class Compare = std::less<>>
using boost_map = boost::container::map<Key, Value, Compare, allocator<std::pair<const Key, Value>>>;
template <class Key, class Value, class Compare = std::less<>>
using boost_multimap = boost::container::multimap<Key, Value, Compare, allocator<std::pair<const Key, Value>>>;
template <class Key, class Compare = std::less<>>
using boost_flat_set = boost::container::flat_set<Key, Compare, allocator<Key>>;
template <class Key, class Value, class Compare = std::less<>>
using boost_flat_map = boost::container::flat_map<Key, Value, Compare, allocator<std::pair<Key, Value>>>;

template <class Key, class Hash = hash<Key>, class Equal = std::equal_to<>>
using boost_unordered_set = boost::unordered_set<Key, Hash, Equal, allocator<Key>>;
template <class Key, class Value, class Hash = hash<Key>, class Equal = std::equal_to<>>
using boost_unordered_map = boost::unordered_map<Key, Value, Hash, Equal, allocator<std::pair<const Key, Value>>>;

/// `Indices` is a boost::multi_index::indexed_by of ordered and sequenced indices; hashed and random-access ones are refused.
template <class T, class Indices>
using boost_multi_index = boost::multi_index_container<T, Indices, allocator<T>>;

namespace detail {

template <>
inline constexpr bool is_try_emplace_tag_v<boost::container::try_emplace_t> = true;

/// A fingerprint names their arguments, and the version of Boost without its patch level.
struct boost_class_traits {
    static std::string layout() { return " boost " + std::to_string(BOOST_VERSION / 100); }
};

} // namespace detail

// Boost.Container's maps keep their elements as pairs of their own.
template <class First, class Second>
struct class_traits<boost::container::dtl::pair<First, Second>>
    : detail::composed_of<detail::composition::pair, First, Second> {};

template <class... Args>
struct class_traits<boost::container::basic_string<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::vector<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::deque<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::stable_vector<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::list<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::slist<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::set<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::multiset<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::map<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::multimap<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::flat_set<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::container::flat_map<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::unordered_set<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::unordered_map<Args...>> : detail::boost_class_traits {};
template <class... Args>
struct class_traits<boost::multi_index_container<Args...>> : detail::boost_class_traits {};

} // namespace remanence
