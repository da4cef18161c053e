// Ordered sets that touch few pages and cache lines: B-trees with the interface of std::set and std::multiset. Depends
// on the standard library only. The library itself uses no set; the sets are for programs that used std::set, and share
// the code of the maps.
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

/// An ordered set with the interface of std::set, in a B-tree. `NodeBytes` is the size of a leaf, which holds at least
/// four elements; 0 chooses 512 bytes, or more for large elements.
///
/// All that follows holds for btree_multiset, btree_map and btree_multimap, too.
///
/// Interface. That of C++20, and from C++23 insert_range(), construction from_range, and erase() and extract() by any
/// key that a transparent comparator accepts. clang 19 refuses a struct that contains a btree_map of itself and has a
/// defaulted operator<=>: write that operator yourself.
///
/// Complexity. As the standard requires: O(log n) comparisons for a look-up, an insertion and an erasure. An insertion
/// or an erasure also moves elements within one or two nodes (about 512 bytes each). An insertion with a correct hint
/// takes two comparisons. size() is O(1). A sorted range that belongs behind all elements is inserted in O(n), and its
/// nodes are full then; construction from a sorted range is such an insertion. erase(first, last) and erase_if() take
/// constant time for each element, apart from the moves. clear() frees whole nodes.
///
/// Invalidation. Insertion, extract(), merge() and erasure invalidate all iterators, pointers and references to
/// elements of the containers involved: use the iterators that these functions return. swap(), and a move between equal
/// allocators, keep all valid, except end(). Assignment invalidates all of the target. (Elements in blocks of their own
/// do not move, but no stable reference is promised.)
///
/// Exceptions. The insertion of one element (insert, emplace, try_emplace, operator[], a node handle) has no effect if
/// the comparator, a constructor or the allocator throws; lack of memory may still invalidate iterators. Erasure by
/// iterator never throws. Erasure by key throws only what the comparator throws, and then has no effect. Copy
/// assignment has no effect if it throws. If the insertion of a range throws, the elements inserted before stay. When
/// merge() throws, each element is in one of the two containers. A move to another allocator that throws leaves the
/// source empty.
///
/// Elements. Any type that std::set accepts. An element lies in the node itself if it has at most 256 bytes, and if its
/// move constructor does not throw and is known to write only to the old and the new element. Such types are numbers,
/// strings, vectors, unique_ptr and these containers; and pairs, tuples, optionals, variants, arrays and aggregates of
/// such, without a destructor of their own. Any other element lies in a block of its own.
///
/// Allocators. Any allocator with plain pointers. Between different allocators swap(), merge() and node handles
/// construct new elements: they copy or, if that is not possible, move the old ones.
///
/// Sections. With remanence::allocator the containers lie in a heap and declare what they write, so that they may be
/// changed in declared sections (heap::write(declared, f)). There a program must touch() what it changes through
/// references and iterators. operator[] and insert_or_assign() declare the value that they return or assign to, but not
/// the memory that this value owns. A rem::string of 16 or more characters stores them in a block; if a new text fits
/// into this block, an assignment writes there. So after `m[key] = "short"` a crash before the next ordinary commit may
/// leave the new length with the old characters. Use string_pi, which declares its writes; or erase the element and
/// insert another.
///
/// Layout. Nodes are linked by distances, so a container works at any address if it moves as a whole with its nodes,
/// and if its allocator works there. The layout is part of the file format. Its number, the size of nodes and the form
/// of elements are in the fingerprint of the type, so a program with another layout gets errc::type_mismatch.
///
/// Threads. The same rules as for containers of the standard library.
template <class Key, class Compare = std::less<>, class Allocator = allocator<Key>, std::size_t NodeBytes = 0>
class btree_set : public detail::btree_container<detail::btree_traits<Key, Key, Compare, Allocator, NodeBytes, true>> {
    using base = detail::btree_container<detail::btree_traits<Key, Key, Compare, Allocator, NodeBytes, true>>;

public:
    /// Constructors of std::set. With `sorted_unique` before a range they throw errc::invalid_argument if the range is
    /// not sorted or a key occurs twice.
    using base::base;
    btree_set() = default;
    btree_set(std::initializer_list<Key> all) : base(all) {} // not inherited: g++ needs it here to deduce arguments
    btree_set& operator=(std::initializer_list<Key> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(btree_set& a, btree_set& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// An ordered set with equivalent keys and the interface of std::multiset, in a B-tree. All differences from
/// std::multiset are listed at btree_set. Equivalent keys stay in the order of their insertion, unless a hint says
/// otherwise.
template <class Key, class Compare = std::less<>, class Allocator = allocator<Key>, std::size_t NodeBytes = 0>
class btree_multiset
    : public detail::btree_container<detail::btree_traits<Key, Key, Compare, Allocator, NodeBytes, false>> {
    using base = detail::btree_container<detail::btree_traits<Key, Key, Compare, Allocator, NodeBytes, false>>;

public:
    /// Constructors of std::multiset. With `sorted_equivalent` before a range they throw errc::invalid_argument if the
    /// range is not sorted.
    using base::base;
    btree_multiset() = default;
    btree_multiset(std::initializer_list<Key> all)
        : base(all) {} // not inherited: g++ needs it here to deduce the arguments
    btree_multiset& operator=(std::initializer_list<Key> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(btree_multiset& a, btree_multiset& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// Erases all elements for which `predicate` returns true; returns how many. O(n).
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
    -> btree_set<Key, Compare, Allocator, NodeBytes>; // for construction from a set and an allocator

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
    -> btree_multiset<Key, Compare, Allocator, NodeBytes>; // for construction from a set and an allocator

template <class Key, class Compare, class Allocator, std::size_t NodeBytes>
struct class_traits<btree_set<Key, Compare, Allocator, NodeBytes>>
    : detail::btree_set_class_traits<btree_set<Key, Compare, Allocator, NodeBytes>, Key, Compare, Allocator,
                                     NodeBytes> {};
template <class Key, class Compare, class Allocator, std::size_t NodeBytes>
struct class_traits<btree_multiset<Key, Compare, Allocator, NodeBytes>>
    : detail::btree_set_class_traits<btree_multiset<Key, Compare, Allocator, NodeBytes>, Key, Compare, Allocator,
                                     NodeBytes> {};

} // namespace remanence
