// Ordered sets for pages and caches: B-trees with the interface of std::set and std::multiset. Depends on the standard
// library only. Nothing of ours needs a set: they are the maps' code, for programs that come from std::set.
//
// What holds for them, and for the maps in btree_map.hpp:
//
// Interface. That of C++20, and of C++23 insert_range(), construction from_range, and erase() and extract() by what a transparent
// comparator takes. clang 19 refuses a struct that has a btree_map of itself and a defaulted operator<=>: write that operator.
//
// Complexity. As the standard's, that is O(log n) comparisons for a look-up, an insertion and an erasure; an insertion or
// an erasure also moves elements within a node (about 512 bytes) or two. With a hint that is right an insertion needs two
// comparisons. size() is O(1). A range that is sorted is inserted, and a container is made of one, in O(n) if it goes behind
// all elements, and then nodes are full. erase(first, last) and erase_if take constant time for each element, apart from the
// moves. clear() frees whole nodes.
//
// Invalidation. An insertion, extract(), merge() and an erasure invalidate all iterators, pointers and references to
// elements of the containers involved; use the iterators that they return. Swapping and moving with an equal allocator
// leave them all valid but end(); assignment invalidates those of the target. (Only elements that cannot move freely have
// stable references, and none is promised.)
//
// Exceptions. Insertion of one element (insert, emplace, try_emplace, operator[], a node handle) has no effect if
// anything throws: comparator, constructor, allocator; only lack of memory may still invalidate iterators. Erasure by
// iterator never throws, erasure by key only if the comparator does, without effect. Copy assignment has no effect if
// it throws. Insertion of a range keeps what it has inserted; merge() keeps each element in one of both. A move to
// another allocator that throws leaves the source empty.
//
// Elements. Of any type that std::set takes. One lies in a node if its move does not throw and is known to write
// nowhere else (numbers, strings, vectors, unique_ptr, these containers; pairs, tuples, optionals, variants, arrays and
// aggregates of such, without a destructor of their own) and it is of at most 256 bytes; else in a block of its own.
//
// Allocators. Of any kind with plain pointers. Between different ones swapping, merge() and node handles make elements anew:
// copied or, if that is not possible, moved. With remanence::allocator the containers lie in a heap and declare what they
// write, so that they work in declared sections (heap::write(declared, f)). What a program changes through references and
// iterators it must touch() there; operator[] and insert_or_assign() declare the value that they hand out or assign to, but
// not what that owns. A rem::string of 16 characters and more has them in a block, which an assignment writes to if they fit: after
// `m[key] = "short"` a crash before the next ordinary commit may leave the new length with the old characters. string_pi
// declares its own; or erase the element and insert another.
//
// Layout. Nodes are linked by distances, so a container works at any address as long as it is moved as a whole with its
// nodes and its allocator does. It is part of the file format: the number of the layout, the size of nodes and how elements
// lie are in the type's fingerprint, so a program with another layout is refused by errc::type_mismatch.
//
// Threads: as a container of the standard library.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/btree_container.hpp>
#include <remanence/containers/detail/btree_layout.hpp>
#include <remanence/containers/detail/deduction.hpp>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>

namespace remanence {

/// As std::set. `NodeBytes`: size of a leaf, which holds at least four elements; 0: 512, or more for large elements.
template <class Key, class Compare = std::less<>, class Allocator = allocator<Key>, std::size_t NodeBytes = 0>
class btree_set : public detail::btree_container<detail::btree_traits<Key, Key, Compare, Allocator, NodeBytes, true>> {
    using base = detail::btree_container<detail::btree_traits<Key, Key, Compare, Allocator, NodeBytes, true>>;

public:
    /// Those of std::set, and with `sorted_unique` before a range: throws errc::invalid_argument when that is not so.
    using base::base;
    btree_set() = default;
    btree_set(std::initializer_list<Key> all) : base(all) {} // not inherited, for the deduction of arguments by g++
    btree_set& operator=(std::initializer_list<Key> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(btree_set& a, btree_set& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// As std::multiset. Equivalent keys stay in the order of their insertion, but for hints.
template <class Key, class Compare = std::less<>, class Allocator = allocator<Key>, std::size_t NodeBytes = 0>
class btree_multiset
    : public detail::btree_container<detail::btree_traits<Key, Key, Compare, Allocator, NodeBytes, false>> {
    using base = detail::btree_container<detail::btree_traits<Key, Key, Compare, Allocator, NodeBytes, false>>;

public:
    /// Those of std::multiset, and with `sorted_equivalent` before a range: throws errc::invalid_argument when that is
    /// not so.
    using base::base;
    btree_multiset() = default;
    btree_multiset(std::initializer_list<Key> all)
        : base(all) {} // not inherited, for the deduction of arguments by g++
    btree_multiset& operator=(std::initializer_list<Key> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(btree_multiset& a, btree_multiset& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// Erases all that `predicate` is true of; returns how many. O(n).
template <class Key, class Compare, class Allocator, std::size_t NodeBytes, class Predicate>
std::size_t erase_if(btree_set<Key, Compare, Allocator, NodeBytes>& from, Predicate predicate) {
    return detail::erase_one_by_one(from, predicate);
}
template <class Key, class Compare, class Allocator, std::size_t NodeBytes, class Predicate>
std::size_t erase_if(btree_multiset<Key, Compare, Allocator, NodeBytes>& from, Predicate predicate) {
    return detail::erase_one_by_one(from, predicate);
}

template <detail::input_iterator_of_std Iterator, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = allocator<std::iter_value_t<Iterator>>>
btree_set(Iterator, Iterator, Compare = Compare(), Allocator = Allocator())
    -> btree_set<std::iter_value_t<Iterator>, Compare, Allocator>;
template <detail::input_iterator_of_std Iterator, detail::deduced_allocator Allocator>
btree_set(Iterator, Iterator, Allocator) -> btree_set<std::iter_value_t<Iterator>, std::less<>, Allocator>;
template <class Key, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = allocator<Key>>
btree_set(std::initializer_list<Key>, Compare = Compare(), Allocator = Allocator())
    -> btree_set<Key, Compare, Allocator>;
template <class Key, detail::deduced_allocator Allocator>
btree_set(std::initializer_list<Key>, Allocator) -> btree_set<Key, std::less<>, Allocator>;
template <std::ranges::input_range Range, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = allocator<std::ranges::range_value_t<Range>>>
btree_set(from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> btree_set<std::ranges::range_value_t<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::deduced_allocator Allocator>
btree_set(from_range_t, Range&&, Allocator) -> btree_set<std::ranges::range_value_t<Range>, std::less<>, Allocator>;
template <class Key, class Compare, class Allocator, std::size_t NodeBytes>
btree_set(const btree_set<Key, Compare, Allocator, NodeBytes>&, const std::type_identity_t<Allocator>&)
    -> btree_set<Key, Compare, Allocator, NodeBytes>; // of a copy or a move

template <detail::input_iterator_of_std Iterator, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = allocator<std::iter_value_t<Iterator>>>
btree_multiset(Iterator, Iterator, Compare = Compare(), Allocator = Allocator())
    -> btree_multiset<std::iter_value_t<Iterator>, Compare, Allocator>;
template <detail::input_iterator_of_std Iterator, detail::deduced_allocator Allocator>
btree_multiset(Iterator, Iterator, Allocator) -> btree_multiset<std::iter_value_t<Iterator>, std::less<>, Allocator>;
template <class Key, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = allocator<Key>>
btree_multiset(std::initializer_list<Key>, Compare = Compare(), Allocator = Allocator())
    -> btree_multiset<Key, Compare, Allocator>;
template <class Key, detail::deduced_allocator Allocator>
btree_multiset(std::initializer_list<Key>, Allocator) -> btree_multiset<Key, std::less<>, Allocator>;
template <std::ranges::input_range Range, detail::deduced_function Compare = std::less<>,
          detail::deduced_allocator Allocator = allocator<std::ranges::range_value_t<Range>>>
btree_multiset(from_range_t, Range&&, Compare = Compare(), Allocator = Allocator())
    -> btree_multiset<std::ranges::range_value_t<Range>, Compare, Allocator>;
template <std::ranges::input_range Range, detail::deduced_allocator Allocator>
btree_multiset(from_range_t, Range&&, Allocator)
    -> btree_multiset<std::ranges::range_value_t<Range>, std::less<>, Allocator>;
template <class Key, class Compare, class Allocator, std::size_t NodeBytes>
btree_multiset(const btree_multiset<Key, Compare, Allocator, NodeBytes>&, const std::type_identity_t<Allocator>&)
    -> btree_multiset<Key, Compare, Allocator, NodeBytes>; // of a copy or a move

template <class Key, class Compare, class Allocator, std::size_t NodeBytes>
struct class_traits<btree_set<Key, Compare, Allocator, NodeBytes>>
    : detail::btree_set_class_traits<btree_set<Key, Compare, Allocator, NodeBytes>, Key, Compare, Allocator,
                                     NodeBytes> {};
template <class Key, class Compare, class Allocator, std::size_t NodeBytes>
struct class_traits<btree_multiset<Key, Compare, Allocator, NodeBytes>>
    : detail::btree_set_class_traits<btree_multiset<Key, Compare, Allocator, NodeBytes>, Key, Compare, Allocator,
                                     NodeBytes> {};

} // namespace remanence
