/// \file
/// Boost's containers in a heap: Boost.Container, the node-based ones of Boost.Unordered, and Boost.MultiIndex. No
/// other header includes this one. It needs Boost's headers, is tested with Boost 1.81, and is meant for programs that
/// use Boost's containers already. Elements must meet the same conditions as in every container (persistable.hpp).
///
/// Boost does not promise that the next version keeps its layouts. So the fingerprint of a root contains the version of
/// Boost, and a program that was built with another version gets errc::type_mismatch. Include this header wherever such
/// a container is named as a root or is part of one, and before that point.
///
/// Without this header, do not insert strings that were made outside of the heap into Boost.Container's maps: the maps
/// store elements as pairs of their own, whose parts only this header puts into the heap.
///
/// Limits of these containers:
/// - boost_deque ends the program if constructors or assignments of elements throw. When an empty range is erased, it
///   moves elements onto themselves, which empties strings.
/// - If constructors or assignments of elements throw, boost_stable_vector frees a block twice, so that the heap ends
///   the process, and the lists keep a part of what was inserted.
/// - None of them declares what it writes: in declared sections the program must call touch().
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
#include <boost/mpl/void_fwd.hpp>
#include <boost/multi_index/ordered_index_fwd.hpp>
#include <boost/multi_index/sequenced_index_fwd.hpp>
#include <boost/multi_index_container.hpp>
#include <boost/unordered_map.hpp>
#include <boost/unordered_set.hpp>
#include <boost/version.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace remanence {

/// boost::container::string in a heap.
using boost_string = boost::container::basic_string<char, std::char_traits<char>, allocator<char>>;

/// Hashes a boost_string as std::string_view.
template <>
struct hash<boost_string> {
    [[nodiscard]] std::size_t operator()(const boost_string& text) const noexcept {
        return std::hash<std::string_view>()(std::string_view(text.data(), text.size()));
    }
};

/// boost::container::vector in a heap.
template <class T>
using boost_vector = boost::container::vector<T, allocator<T>>;
/// boost::container::deque in a heap.
template <class T>
using boost_deque = boost::container::deque<T, allocator<T>>;
/// boost::container::stable_vector in a heap.
template <class T>
using boost_stable_vector = boost::container::stable_vector<T, allocator<T>>;
/// boost::container::list in a heap.
template <class T>
using boost_list = boost::container::list<T, allocator<T>>;
/// boost::container::slist in a heap.
template <class T>
using boost_slist = boost::container::slist<T, allocator<T>>;

/// boost::container::set in a heap.
template <class Key, class Compare = std::less<>>
using boost_set = boost::container::set<Key, Compare, allocator<Key>>;
/// boost::container::multiset in a heap.
template <class Key, class Compare = std::less<>>
using boost_multiset = boost::container::multiset<Key, Compare, allocator<Key>>;
/// boost::container::map in a heap.
template <class Key, class Value, class Compare = std::less<>>
using boost_map = boost::container::map<Key, Value, Compare, allocator<std::pair<const Key, Value>>>;
/// boost::container::multimap in a heap.
template <class Key, class Value, class Compare = std::less<>>
using boost_multimap = boost::container::multimap<Key, Value, Compare, allocator<std::pair<const Key, Value>>>;
/// boost::container::flat_set in a heap.
template <class Key, class Compare = std::less<>>
using boost_flat_set = boost::container::flat_set<Key, Compare, allocator<Key>>;
/// boost::container::flat_map in a heap.
template <class Key, class Value, class Compare = std::less<>>
using boost_flat_map = boost::container::flat_map<Key, Value, Compare, allocator<std::pair<Key, Value>>>;

/// boost::unordered_set in a heap.
template <class Key, class Hash = hash<Key>, class Equal = std::equal_to<>>
using boost_unordered_set = boost::unordered_set<Key, Hash, Equal, allocator<Key>>;
/// boost::unordered_map in a heap.
template <class Key, class Value, class Hash = hash<Key>, class Equal = std::equal_to<>>
using boost_unordered_map = boost::unordered_map<Key, Value, Hash, Equal, allocator<std::pair<const Key, Value>>>;

/// boost::multi_index_container in a heap. `Indices` is a boost::multi_index::indexed_by of ordered and sequenced
/// indices; hashed and random-access ones are refused.
template <class T, class Indices>
using boost_multi_index = boost::multi_index_container<T, Indices, allocator<T>>;

namespace detail {

template <>
inline constexpr bool is_try_emplace_tag_v<boost::container::try_emplace_t> = true;

/// The text for the layout in a type's fingerprint: the version of Boost without its patch level. The fingerprint also
/// contains the template arguments.
struct boost_class_traits {
    static std::string layout() { return " boost " + std::to_string(BOOST_VERSION / 100); }
};

} // namespace detail

namespace detail {

// How each container stores its elements, known for one release of Boost only. With other releases the elements are
// hidden.

template <class Of, std::size_t Bytes, foreign_way Way, std::uint64_t... Numbers>
struct boost_shape
    : std::conditional_t<BOOST_VERSION / 100 == 1081 && sizeof(Of) == Bytes,
                         standard_shape<shape_kind::foreign, static_cast<std::uint64_t>(Way), Numbers...>, no_shape> {};

/// Offset of the element in a node. `Before`: bytes of links in the node.
template <class T, std::uint64_t Before>
inline constexpr std::uint64_t boost_element_v = aligned_up(Before, alignof(T));

/// A vector, or a sorted vector.
template <class Of, std::uint64_t Mapped>
struct boost_run : boost_shape<Of, 32, foreign_way::run, 8, 16, Mapped> {};
template <class Of, class Element, std::uint64_t Mapped>
struct boost_tree : boost_shape<Of, 40, foreign_way::tree, 0, 16, 8, 16, boost_element_v<Element, 24>, Mapped> {};
template <class Of, class Element, std::uint64_t Mapped>
struct boost_buckets : boost_shape<Of, 72, foreign_way::buckets, 56, 48, boost_element_v<Element, 8>, Mapped> {};

/// Bytes of an index's links in a node of a multi_index_container; 0: unknown.
template <class Index>
inline constexpr std::uint64_t index_bytes_v = 0;
template <class... Args>
inline constexpr std::uint64_t index_bytes_v<boost::multi_index::ordered_unique<Args...>> = 24;
template <class... Args>
inline constexpr std::uint64_t index_bytes_v<boost::multi_index::ordered_non_unique<Args...>> = 24;
template <class... Args>
inline constexpr std::uint64_t index_bytes_v<boost::multi_index::sequenced<Args...>> = 16;
template <class Index>
inline constexpr bool is_no_index_v = std::is_same_v<Index, boost::mpl::na>;

/// A node holds the element, then the links of each index, from the last index to the first. Iteration follows the
/// links of the first index, at the node's end.
template <class Of, class T, class Indices>
struct multi_index_shape : no_shape {};
template <class Of, class T, class First, class... Others>
    requires(alignof(T) <= k_word_bytes && index_bytes_v<First> != 0 &&
             ((index_bytes_v<Others> != 0 || is_no_index_v<Others>) && ...))
struct multi_index_shape<Of, T, boost::multi_index::indexed_by<First, Others...>> {
    static constexpr std::uint64_t k_links = (aligned_up(sizeof(T), k_word_bytes) + ... + index_bytes_v<Others>);
    using in_order = boost_shape<Of, 32, foreign_way::tree, 9, k_links, 8, 16, 0 - k_links, 0>;
    using as_inserted = boost_shape<Of, 32, foreign_way::ring, 9, k_links, 8, 0 - k_links, 0>;
    static constexpr type_shape k_shape =
        std::conditional_t<(index_bytes_v<First> == 24), in_order, as_inserted>::k_shape;
};

} // namespace detail

// Boost.Container's maps keep their elements in a pair class of their own.
template <class First, class Second>
struct class_traits<boost::container::dtl::pair<First, Second>>
    : detail::composed_of<detail::composition::pair, First, Second> {};

template <class... Args>
struct class_traits<boost::container::basic_string<Args...>> : detail::boost_class_traits {
    using self = boost::container::basic_string<Args...>;
    struct shape : std::conditional_t<std::is_same_v<typename self::value_type, char>,
                                      detail::boost_shape<self, 32, detail::foreign_way::text, 8>, detail::no_shape> {};
};
template <class T, class... Args>
struct class_traits<boost::container::vector<T, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_run<boost::container::vector<T, Args...>, 0> {};
};
template <class T, class Alloc, class Options>
struct class_traits<boost::container::deque<T, Alloc, Options>> : detail::boost_class_traits {
    using self = boost::container::deque<T, Alloc, Options>;
    struct shape : std::conditional_t<std::is_void_v<Options>, // otherwise its blocks may have another size
                                      detail::boost_shape<self, 96, detail::foreign_way::blocks, 32, 64,
                                                          (sizeof(T) < 512 ? 512 / sizeof(T) : 1), 0>,
                                      detail::no_shape> {};
};
template <class T, class... Args>
struct class_traits<boost::container::stable_vector<T, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_shape<boost::container::stable_vector<T, Args...>, 56, detail::foreign_way::pointers,
                                       32, 40, 3, detail::boost_element_v<T, 8>, 0> {};
};
template <class T, class... Args>
struct class_traits<boost::container::list<T, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_shape<boost::container::list<T, Args...>, 32, detail::foreign_way::ring, 0, 16, 0,
                                       detail::boost_element_v<T, 16>, 0> {};
};
template <class T, class... Args>
struct class_traits<boost::container::slist<T, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_shape<boost::container::slist<T, Args...>, 24, detail::foreign_way::ring, 0, 16, 0,
                                       detail::boost_element_v<T, 8>, 0> {};
};
template <class K, class... Args>
struct class_traits<boost::container::set<K, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_tree<boost::container::set<K, Args...>, K, 0> {};
};
template <class K, class... Args>
struct class_traits<boost::container::multiset<K, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_tree<boost::container::multiset<K, Args...>, K, 0> {};
};
template <class K, class V, class... Args>
struct class_traits<boost::container::map<K, V, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_tree<boost::container::map<K, V, Args...>, std::pair<const K, V>,
                                      detail::mapped_offset_v<K, V>> {};
};
template <class K, class V, class... Args>
struct class_traits<boost::container::multimap<K, V, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_tree<boost::container::multimap<K, V, Args...>, std::pair<const K, V>,
                                      detail::mapped_offset_v<K, V>> {};
};
template <class K, class... Args>
struct class_traits<boost::container::flat_set<K, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_run<boost::container::flat_set<K, Args...>, 0> {};
};
template <class K, class V, class... Args>
struct class_traits<boost::container::flat_map<K, V, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_run<boost::container::flat_map<K, V, Args...>, detail::mapped_offset_v<K, V>> {};
};
template <class K, class... Args>
struct class_traits<boost::unordered_set<K, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_buckets<boost::unordered_set<K, Args...>, K, 0> {};
};
template <class K, class V, class... Args>
struct class_traits<boost::unordered_map<K, V, Args...>> : detail::boost_class_traits {
    struct shape : detail::boost_buckets<boost::unordered_map<K, V, Args...>, std::pair<const K, V>,
                                         detail::mapped_offset_v<K, V>> {};
};
template <class T, class Indices, class... Args>
struct class_traits<boost::multi_index_container<T, Indices, Args...>> : detail::boost_class_traits {
    struct shape : detail::multi_index_shape<boost::multi_index_container<T, Indices, Args...>, T, Indices> {};
};

} // namespace remanence
