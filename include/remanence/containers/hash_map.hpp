// A hash map that holds no address and refers to no static object: open addressing, with the interface of
// std::unordered_map. hash_set.hpp says what holds for both hash containers. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/deduction.hpp>
#include <remanence/containers/detail/hash_container.hpp>
#include <remanence/containers/detail/hash_layout.hpp>
#include <remanence/containers/detail/map_interface.hpp>
#include <remanence/containers/seeded_hash.hpp>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace remanence {

namespace detail {
template <class Key, class Value, class Hash, class Equal, class Alloc>
using hash_map_base =
    map_interface<Value, hash_container<hash_traits<Key, std::pair<const Key, Value>, Hash, Equal, Alloc>>>;
} // namespace detail

/// A hash map with the interface of std::unordered_map, without access to buckets.
///
/// All differences from std::unordered_map are listed at hash_set. The most important: an insertion that grows the
/// table invalidates all iterators, pointers and references to elements. The map declares its own writes. operator[]
/// and insert_or_assign() also declare the value that they return or assign to.
template <class Key, class Value, class Hash = seeded_hash<Key>, class KeyEqual = std::equal_to<>,
          class Allocator = allocator<std::pair<const Key, Value>>>
class hash_map : public detail::hash_map_base<Key, Value, Hash, KeyEqual, Allocator> {
    using base = detail::hash_map_base<Key, Value, Hash, KeyEqual, Allocator>;

public:
    using typename base::value_type;

    /// Constructors of std::unordered_map; the number counts elements, not buckets.
    using base::base;
    hash_map() = default;
    hash_map(std::initializer_list<value_type> all)
        : base(all) {} // not inherited: g++ needs it here to deduce the arguments
    hash_map& operator=(std::initializer_list<value_type> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(hash_map& a, hash_map& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// Erases all elements for which `predicate` returns true; returns how many. O(bucket_count()).
template <class Key, class Value, class Hash, class KeyEqual, class Allocator, class Predicate>
std::size_t erase_if(hash_map<Key, Value, Hash, KeyEqual, Allocator>& from, Predicate predicate) {
    return detail::erase_one_by_one(from, predicate);
}

template <std::input_iterator Iterator,
          detail::deduced_hash Hash = seeded_hash<detail::deduced_key<std::iter_value_t<Iterator>>>,
          detail::deduced_function KeyEqual = std::equal_to<>,
          detail::deduced_allocator Allocator = detail::deduced_map_allocator<std::iter_value_t<Iterator>>>
hash_map(Iterator, Iterator, std::size_t = 0, Hash = Hash(), KeyEqual = KeyEqual(), Allocator = Allocator())
    -> hash_map<detail::deduced_key<std::iter_value_t<Iterator>>, detail::deduced_mapped<std::iter_value_t<Iterator>>,
                Hash, KeyEqual, Allocator>;
template <std::input_iterator Iterator, detail::deduced_allocator Allocator>
hash_map(Iterator, Iterator, std::size_t, Allocator)
    -> hash_map<detail::deduced_key<std::iter_value_t<Iterator>>, detail::deduced_mapped<std::iter_value_t<Iterator>>,
                seeded_hash<detail::deduced_key<std::iter_value_t<Iterator>>>, std::equal_to<>, Allocator>;
template <std::input_iterator Iterator, detail::deduced_allocator Allocator>
hash_map(Iterator, Iterator, Allocator)
    -> hash_map<detail::deduced_key<std::iter_value_t<Iterator>>, detail::deduced_mapped<std::iter_value_t<Iterator>>,
                seeded_hash<detail::deduced_key<std::iter_value_t<Iterator>>>, std::equal_to<>, Allocator>;
template <std::input_iterator Iterator, detail::deduced_hash Hash, detail::deduced_allocator Allocator>
hash_map(Iterator, Iterator, std::size_t, Hash, Allocator)
    -> hash_map<detail::deduced_key<std::iter_value_t<Iterator>>, detail::deduced_mapped<std::iter_value_t<Iterator>>,
                Hash, std::equal_to<>, Allocator>;
template <class Key, class Value, detail::deduced_hash Hash = seeded_hash<std::remove_const_t<Key>>,
          detail::deduced_function KeyEqual = std::equal_to<>,
          detail::deduced_allocator Allocator = allocator<std::pair<const Key, Value>>>
hash_map(std::initializer_list<std::pair<Key, Value>>, std::size_t = 0, Hash = Hash(), KeyEqual = KeyEqual(),
         Allocator = Allocator()) -> hash_map<std::remove_const_t<Key>, Value, Hash, KeyEqual, Allocator>;
template <class Key, class Value, detail::deduced_allocator Allocator>
hash_map(std::initializer_list<std::pair<Key, Value>>, std::size_t, Allocator)
    -> hash_map<std::remove_const_t<Key>, Value, seeded_hash<std::remove_const_t<Key>>, std::equal_to<>, Allocator>;
template <class Key, class Value, detail::deduced_allocator Allocator>
hash_map(std::initializer_list<std::pair<Key, Value>>, Allocator)
    -> hash_map<std::remove_const_t<Key>, Value, seeded_hash<std::remove_const_t<Key>>, std::equal_to<>, Allocator>;
template <class Key, class Value, detail::deduced_hash Hash, detail::deduced_allocator Allocator>
hash_map(std::initializer_list<std::pair<Key, Value>>, std::size_t, Hash, Allocator)
    -> hash_map<std::remove_const_t<Key>, Value, Hash, std::equal_to<>, Allocator>;
template <std::ranges::input_range Range,
          detail::deduced_hash Hash = seeded_hash<detail::deduced_key<std::ranges::range_value_t<Range>>>,
          detail::deduced_function KeyEqual = std::equal_to<>,
          detail::deduced_allocator Allocator = detail::deduced_map_allocator<std::ranges::range_value_t<Range>>>
hash_map(from_range_t, Range&&, std::size_t = 0, Hash = Hash(), KeyEqual = KeyEqual(), Allocator = Allocator())
    -> hash_map<detail::deduced_key<std::ranges::range_value_t<Range>>,
                detail::deduced_mapped<std::ranges::range_value_t<Range>>, Hash, KeyEqual, Allocator>;
template <std::ranges::input_range Range, detail::deduced_allocator Allocator>
hash_map(from_range_t, Range&&, std::size_t, Allocator)
    -> hash_map<detail::deduced_key<std::ranges::range_value_t<Range>>,
                detail::deduced_mapped<std::ranges::range_value_t<Range>>,
                seeded_hash<detail::deduced_key<std::ranges::range_value_t<Range>>>, std::equal_to<>, Allocator>;
template <std::ranges::input_range Range, detail::deduced_allocator Allocator>
hash_map(from_range_t, Range&&, Allocator)
    -> hash_map<detail::deduced_key<std::ranges::range_value_t<Range>>,
                detail::deduced_mapped<std::ranges::range_value_t<Range>>,
                seeded_hash<detail::deduced_key<std::ranges::range_value_t<Range>>>, std::equal_to<>, Allocator>;
template <std::ranges::input_range Range, detail::deduced_hash Hash, detail::deduced_allocator Allocator>
hash_map(from_range_t, Range&&, std::size_t, Hash, Allocator)
    -> hash_map<detail::deduced_key<std::ranges::range_value_t<Range>>,
                detail::deduced_mapped<std::ranges::range_value_t<Range>>, Hash, std::equal_to<>, Allocator>;
template <class Key, class Value, class Hash, class KeyEqual, class Allocator>
hash_map(const hash_map<Key, Value, Hash, KeyEqual, Allocator>&, const std::type_identity_t<Allocator>&)
    -> hash_map<Key, Value, Hash, KeyEqual, Allocator>; // for construction from a map and an allocator

template <class Key, class Value, class Hash, class KeyEqual, class Allocator>
struct class_traits<hash_map<Key, Value, Hash, KeyEqual, Allocator>>
    : detail::hash_class_traits<hash_map<Key, Value, Hash, KeyEqual, Allocator>, Allocator, std::pair<const Key, Value>,
                                Key, Value, Hash, KeyEqual> {
    struct shape : detail::hash_shape<std::pair<const Key, Value>, detail::mapped_offset_v<Key, Value>> {};
};

} // namespace remanence
