// How the containers of libstdc++ keep their elements (types/detail/shape.hpp): an allocator that has a state comes first, then
// the container's own words. tests/unit/types/schema_test.cpp reads such containers by these numbers. With another
// standard library they have no shape. Depends on the standard library only.
#pragma once

#include <remanence/types/detail/shape.hpp>

#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace remanence::detail {

#if defined(__GLIBCXX__)

inline constexpr std::uint64_t k_word_bytes = 8;
inline constexpr std::uint64_t k_deque_block_bytes = 512;

template <class Alloc>
struct shape_of<std::basic_string<char, std::char_traits<char>, Alloc>>
    : shape_with<shape_kind::text, allocator_bytes_v<Alloc>, allocator_bytes_v<Alloc> + k_word_bytes> {};

template <class T, class Alloc>
    requires(!std::is_same_v<T, bool>) // which packs them
struct shape_of<std::vector<T, Alloc>>
    : shape_with<shape_kind::contiguous, allocator_bytes_v<Alloc>, allocator_bytes_v<Alloc> + k_word_bytes> {};

/// Behind the address and the length of its map: two iterators of four words, the first of which is the address of an element.
template <class T, class Alloc>
struct shape_of<std::deque<T, Alloc>>
    : shape_with<shape_kind::deque, allocator_bytes_v<Alloc> + 2 * k_word_bytes,
                 allocator_bytes_v<Alloc> + 6 * k_word_bytes,
                 (sizeof(T) < k_deque_block_bytes ? k_deque_block_bytes / sizeof(T) : 1)> {};

template <class T, class Alloc>
struct shape_of<std::list<T, Alloc>>
    : shape_with<shape_kind::ring, allocator_bytes_v<Alloc>, aligned_up(2 * k_word_bytes, alignof(T))> {};

template <class T, class Alloc>
struct shape_of<std::forward_list<T, Alloc>>
    : shape_with<shape_kind::chain, allocator_bytes_v<Alloc>, aligned_up(k_word_bytes, alignof(T))> {};

/// The comparator, which has a byte if it is empty, then the header: a node without an element, and the number of elements.
template <class Value, class Compare, class Alloc, std::uint64_t Mapped>
struct tree_shape
    : shape_with<shape_kind::tree,
                 aligned_up(aligned_up(allocator_bytes_v<Alloc>, alignof(Compare)) + sizeof(Compare), k_word_bytes),
                 aligned_up(4 * k_word_bytes, alignof(Value)), Mapped> {};

template <class K, class V, class Compare, class Alloc>
struct shape_of<std::map<K, V, Compare, Alloc>>
    : tree_shape<std::pair<const K, V>, Compare, Alloc, mapped_offset_v<K, V>> {};
template <class K, class V, class Compare, class Alloc>
struct shape_of<std::multimap<K, V, Compare, Alloc>>
    : tree_shape<std::pair<const K, V>, Compare, Alloc, mapped_offset_v<K, V>> {};
template <class K, class Compare, class Alloc>
struct shape_of<std::set<K, Compare, Alloc>> : tree_shape<K, Compare, Alloc, 0> {};
template <class K, class Compare, class Alloc>
struct shape_of<std::multiset<K, Compare, Alloc>> : tree_shape<K, Compare, Alloc, 0> {};

template <class Hash, class Equal>
concept empty_functions = std::is_empty_v<Hash> && std::is_empty_v<Equal>;

/// Buckets and their number, the first link of the chain that all elements are in, and their number.
template <class Value, class Alloc, std::uint64_t Mapped>
struct hash_chain_shape : shape_with<shape_kind::hash_chain, allocator_bytes_v<Alloc> + 2 * k_word_bytes,
                                     aligned_up(k_word_bytes, alignof(Value)), Mapped> {};

template <class K, class V, class Hash, class Equal, class Alloc>
    requires empty_functions<Hash, Equal>
struct shape_of<std::unordered_map<K, V, Hash, Equal, Alloc>>
    : hash_chain_shape<std::pair<const K, V>, Alloc, mapped_offset_v<K, V>> {};
template <class K, class V, class Hash, class Equal, class Alloc>
    requires empty_functions<Hash, Equal>
struct shape_of<std::unordered_multimap<K, V, Hash, Equal, Alloc>>
    : hash_chain_shape<std::pair<const K, V>, Alloc, mapped_offset_v<K, V>> {};
template <class K, class Hash, class Equal, class Alloc>
    requires empty_functions<Hash, Equal>
struct shape_of<std::unordered_set<K, Hash, Equal, Alloc>> : hash_chain_shape<K, Alloc, 0> {};
template <class K, class Hash, class Equal, class Alloc>
    requires empty_functions<Hash, Equal>
struct shape_of<std::unordered_multiset<K, Hash, Equal, Alloc>> : hash_chain_shape<K, Alloc, 0> {};

#endif

} // namespace remanence::detail
