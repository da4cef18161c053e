// Ordered maps that touch few pages and cache lines: B-trees with the interface of std::map and std::multimap.
// btree_set.hpp documents what holds for all four B-tree containers. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/btree_container.hpp>
#include <remanence/containers/detail/btree_layout.hpp>
#include <remanence/containers/detail/deduction.hpp>
#include <remanence/containers/detail/map_interface.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace remanence {

namespace detail {
template <class Key, class Value, class Compare, class Alloc, std::size_t NodeBytes>
using btree_map_base =
    map_interface<Value,
                  btree_container<btree_traits<Key, std::pair<const Key, Value>, Compare, Alloc, NodeBytes, true>>>;
} // namespace detail

/// An ordered map with the interface of std::map, in a B-tree. `NodeBytes` is the size of a leaf, which holds at least
/// four elements; 0 chooses 512 bytes, or more for large elements.
///
/// All differences from std::map are listed at btree_set. The most important: an insertion or an erasure invalidates
/// all iterators, pointers and references to elements. The map declares its own writes. operator[] and
/// insert_or_assign() also declare the value that they return or assign to.
template <class Key, class Value, class Compare = std::less<>, class Allocator = allocator<std::pair<const Key, Value>>,
          std::size_t NodeBytes = 0>
class btree_map : public detail::btree_map_base<Key, Value, Compare, Allocator, NodeBytes> {
    using base = detail::btree_map_base<Key, Value, Compare, Allocator, NodeBytes>;

public:
    using typename base::value_type;

    /// Constructors of std::map. With `sorted_unique` before a range they throw errc::invalid_argument if the range is
    /// not sorted or a key occurs twice.
    using base::base;
    btree_map() = default;
    btree_map(std::initializer_list<value_type> all)
        : base(all) {} // not inherited: g++ needs it here to deduce the arguments
    btree_map& operator=(std::initializer_list<value_type> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(btree_map& a, btree_map& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// An ordered map with equivalent keys and the interface of std::multimap, in a B-tree. All differences from
/// std::multimap are listed at btree_set. Equivalent keys stay in the order of their insertion, unless a hint says
/// otherwise.
template <class Key, class Value, class Compare = std::less<>, class Allocator = allocator<std::pair<const Key, Value>>,
          std::size_t NodeBytes = 0>
class btree_multimap
    : public detail::btree_container<
          detail::btree_traits<Key, std::pair<const Key, Value>, Compare, Allocator, NodeBytes, false>> {
    using base = detail::btree_container<
        detail::btree_traits<Key, std::pair<const Key, Value>, Compare, Allocator, NodeBytes, false>>;

public:
    using mapped_type = Value;
    using typename base::const_iterator;
    using typename base::iterator;
    using typename base::value_type;

    /// Constructors of std::multimap. With `sorted_equivalent` before a range they throw errc::invalid_argument if the
    /// range is not sorted.
    using base::base;
    btree_multimap() = default;
    btree_multimap(std::initializer_list<value_type> all)
        : base(all) {} // not inherited: g++ needs it here to deduce the arguments
    btree_multimap& operator=(std::initializer_list<value_type> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(btree_multimap& a, btree_multimap& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }

    using base::insert;
    template <class Pair>
        requires(std::is_constructible_v<value_type, Pair &&> && !std::same_as<std::remove_cvref_t<Pair>, value_type>)
    iterator insert(Pair&& value) {
        return this->emplace(std::forward<Pair>(value));
    }
    template <class Pair>
        requires(std::is_constructible_v<value_type, Pair &&> && !std::same_as<std::remove_cvref_t<Pair>, value_type>)
    iterator insert(const_iterator hint, Pair&& value) {
        return this->emplace_hint(hint, std::forward<Pair>(value));
    }
};

/// Erases all elements for which `predicate` returns true; returns how many. O(n).
template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes, class Predicate>
std::size_t erase_if(btree_map<Key, Value, Compare, Allocator, NodeBytes>& from, Predicate predicate) {
    return detail::erase_one_by_one(from, predicate);
}
template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes, class Predicate>
std::size_t erase_if(btree_multimap<Key, Value, Compare, Allocator, NodeBytes>& from, Predicate predicate) {
    return detail::erase_one_by_one(from, predicate);
}

template <detail::input_iterator_of_std Iterator, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = detail::deduced_map_allocator<std::iter_value_t<Iterator>>>
btree_map(Iterator, Iterator, Compare = Compare(), Allocator = Allocator())
    -> btree_map<detail::deduced_key<std::iter_value_t<Iterator>>, detail::deduced_mapped<std::iter_value_t<Iterator>>,
                 Compare, Allocator>;
template <detail::input_iterator_of_std Iterator, detail::deduced_allocator Allocator>
btree_map(Iterator, Iterator, Allocator)
    -> btree_map<detail::deduced_key<std::iter_value_t<Iterator>>, detail::deduced_mapped<std::iter_value_t<Iterator>>,
                 std::less<>, Allocator>;
template <class Key, class Value, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = allocator<std::pair<const Key, Value>>>
btree_map(std::initializer_list<std::pair<Key, Value>>, Compare = Compare(), Allocator = Allocator())
    -> btree_map<std::remove_const_t<Key>, Value, Compare, Allocator>;
template <class Key, class Value, detail::deduced_allocator Allocator>
btree_map(std::initializer_list<std::pair<Key, Value>>, Allocator)
    -> btree_map<std::remove_const_t<Key>, Value, std::less<>, Allocator>;
template <std::ranges::input_range Range, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = detail::deduced_map_allocator<std::ranges::range_value_t<Range>>>
btree_map(from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> btree_map<detail::deduced_key<std::ranges::range_value_t<Range>>,
                 detail::deduced_mapped<std::ranges::range_value_t<Range>>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::deduced_allocator Allocator>
btree_map(from_range_t, Range&&, Allocator)
    -> btree_map<detail::deduced_key<std::ranges::range_value_t<Range>>,
                 detail::deduced_mapped<std::ranges::range_value_t<Range>>, std::less<>, Allocator>;
template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes>
btree_map(const btree_map<Key, Value, Compare, Allocator, NodeBytes>&, const std::type_identity_t<Allocator>&)
    -> btree_map<Key, Value, Compare, Allocator, NodeBytes>; // for construction from a map and an allocator

template <detail::input_iterator_of_std Iterator, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = detail::deduced_map_allocator<std::iter_value_t<Iterator>>>
btree_multimap(Iterator, Iterator, Compare = Compare(), Allocator = Allocator())
    -> btree_multimap<detail::deduced_key<std::iter_value_t<Iterator>>,
                      detail::deduced_mapped<std::iter_value_t<Iterator>>, Compare, Allocator>;
template <detail::input_iterator_of_std Iterator, detail::deduced_allocator Allocator>
btree_multimap(Iterator, Iterator, Allocator)
    -> btree_multimap<detail::deduced_key<std::iter_value_t<Iterator>>,
                      detail::deduced_mapped<std::iter_value_t<Iterator>>, std::less<>, Allocator>;
template <class Key, class Value, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = allocator<std::pair<const Key, Value>>>
btree_multimap(std::initializer_list<std::pair<Key, Value>>, Compare = Compare(), Allocator = Allocator())
    -> btree_multimap<std::remove_const_t<Key>, Value, Compare, Allocator>;
template <class Key, class Value, detail::deduced_allocator Allocator>
btree_multimap(std::initializer_list<std::pair<Key, Value>>, Allocator)
    -> btree_multimap<std::remove_const_t<Key>, Value, std::less<>, Allocator>;
template <std::ranges::input_range Range, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = detail::deduced_map_allocator<std::ranges::range_value_t<Range>>>
btree_multimap(from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> btree_multimap<detail::deduced_key<std::ranges::range_value_t<Range>>,
                      detail::deduced_mapped<std::ranges::range_value_t<Range>>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::deduced_allocator Allocator>
btree_multimap(from_range_t, Range&&, Allocator)
    -> btree_multimap<detail::deduced_key<std::ranges::range_value_t<Range>>,
                      detail::deduced_mapped<std::ranges::range_value_t<Range>>, std::less<>, Allocator>;
template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes>
btree_multimap(const btree_multimap<Key, Value, Compare, Allocator, NodeBytes>&, const std::type_identity_t<Allocator>&)
    -> btree_multimap<Key, Value, Compare, Allocator, NodeBytes>; // for construction from a map and an allocator

template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes>
struct class_traits<btree_map<Key, Value, Compare, Allocator, NodeBytes>>
    : detail::btree_map_class_traits<btree_map<Key, Value, Compare, Allocator, NodeBytes>, Key, Value, Compare,
                                     Allocator, NodeBytes> {};
template <class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes>
struct class_traits<btree_multimap<Key, Value, Compare, Allocator, NodeBytes>>
    : detail::btree_map_class_traits<btree_multimap<Key, Value, Compare, Allocator, NodeBytes>, Key, Value, Compare,
                                     Allocator, NodeBytes> {};

} // namespace remanence
