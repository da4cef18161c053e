// A hash set that holds no address and refers to no static object: open addressing, with the interface of
// std::unordered_set. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/deduction.hpp>
#include <remanence/containers/detail/hash_container.hpp>
#include <remanence/containers/detail/hash_layout.hpp>
#include <remanence/containers/seeded_hash.hpp>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <type_traits>

namespace remanence {

/// A hash set with the interface of std::unordered_set, without access to buckets. All that follows holds for hash_map,
/// too.
///
/// Interface. That of C++20, without access to buckets and without a choice of the load factor; and from C++23
/// insert_range(), construction from_range, and erase() and extract() by any key that a transparent hash and equality
/// accept. find_each() is an addition.
///
/// Complexity. Look-up, insertion and erasure are O(1) on average with a hash that spreads keys. The table grows at an
/// insertion when its elements are thirteen sixteenths of bucket_count(): all elements move to a table of twice the
/// size, or of the same size if earlier erasures took up much of the room. reserve() does it in advance.
/// max_load_factor() is thirteen sixteenths and cannot be changed. An iteration and erase_if() also read all groups of
/// slots: O(bucket_count() / 16). begin() searches the table from its front for an element. Emptying a table by
/// erase(begin()) therefore takes quadratic time; use clear(). In a table larger than the processor's caches, each
/// find() waits for memory twice: for the slot, and for memory that its element owns. find_each() looks up many keys,
/// and these waits overlap. Erasure does not shrink the table; rehash(0) does, and clear() frees it.
///
/// Order. The order of elements depends on a seed. Each container gets a random seed when it is constructed, and stores
/// it. The order stays the same until the next insertion that grows the table, also when the heap is reopened. A copy
/// has another seed and another order.
///
/// Invalidation. An insertion that grows the table, rehash() and reserve() invalidate all iterators, pointers and
/// references to elements. Other insertions, and those that fail, invalidate none. But an iterator that was incremented
/// before an insertion may skip the new element, so it must not begin a range that ends at that element. Erasure and
/// extract() invalidate iterators, pointers and references to the element. swap(), and a move between equal allocators,
/// keep all valid, even end(). Assignment and clear() invalidate all of the target.
///
/// Exceptions. The insertion of one element, rehash() and reserve() have no effect if the hash, the equality, a
/// constructor or the allocator throws. Erasure by iterator never throws. Erasure by key throws only what hash and
/// equality throw, and then has no effect. Copy assignment has no effect if an element or the allocator throws;
/// assignment leaves an empty container if the hash or the equality throws. If the insertion of a range throws, the
/// elements inserted before stay. When merge() throws, each element is in one of the two containers.
///
/// Hash and equality. The defaults are seeded_hash, which the container calls with its seed, and std::equal_to<>. For
/// strings they are transparent: a look-up by any kind of string constructs no other string. A hash of your own is
/// called with key and seed if it accepts both; otherwise its result is mixed with the seed. It must return the same
/// value in each program that opens the heap: it must not hash addresses, nor use a seed that differs between
/// processes. The fingerprint of a root contains the types of hash and equality, but not what they compute: when you
/// change a hash, change its name, too.
///
/// Elements, allocators, sections, threads. What btree_set documents holds here, too, except that an element lies in
/// its slot only if it has at most 128 bytes.
///
/// Layout. The table holds no address, unless elements, hash or equality hold one. The layout is part of the file
/// format. Its number, which also stands for the default hash, the form of elements, and the types of hash and equality
/// are in the fingerprint of the type, so a program in which one of these differs gets errc::type_mismatch.
template <class Key, class Hash = seeded_hash<Key>, class KeyEqual = std::equal_to<>, class Allocator = allocator<Key>>
class hash_set : public detail::hash_container<detail::hash_traits<Key, Key, Hash, KeyEqual, Allocator>> {
    using base = detail::hash_container<detail::hash_traits<Key, Key, Hash, KeyEqual, Allocator>>;

public:
    /// Constructors of std::unordered_set; the number counts elements, not buckets.
    using base::base;
    hash_set() = default;
    hash_set(std::initializer_list<Key> all) : base(all) {} // not inherited: g++ needs it here to deduce arguments
    hash_set& operator=(std::initializer_list<Key> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(hash_set& a, hash_set& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// Erases all elements for which `predicate` returns true; returns how many. O(bucket_count()).
template <class Key, class Hash, class KeyEqual, class Allocator, class Predicate>
std::size_t erase_if(hash_set<Key, Hash, KeyEqual, Allocator>& from, Predicate predicate) {
    return detail::erase_one_by_one(from, predicate);
}

template <std::input_iterator Iterator, detail::deduced_hash Hash = seeded_hash<std::iter_value_t<Iterator>>,
          detail::deduced_function KeyEqual = std::equal_to<>,
          detail::deduced_allocator Allocator = allocator<std::iter_value_t<Iterator>>>
hash_set(Iterator, Iterator, std::size_t = 0, Hash = Hash(), KeyEqual = KeyEqual(), Allocator = Allocator())
    -> hash_set<std::iter_value_t<Iterator>, Hash, KeyEqual, Allocator>;
template <std::input_iterator Iterator, detail::deduced_allocator Allocator>
hash_set(Iterator, Iterator, std::size_t, Allocator)
    -> hash_set<std::iter_value_t<Iterator>, seeded_hash<std::iter_value_t<Iterator>>, std::equal_to<>, Allocator>;
template <std::input_iterator Iterator, detail::deduced_allocator Allocator>
hash_set(Iterator, Iterator, Allocator)
    -> hash_set<std::iter_value_t<Iterator>, seeded_hash<std::iter_value_t<Iterator>>, std::equal_to<>, Allocator>;
template <std::input_iterator Iterator, detail::deduced_hash Hash, detail::deduced_allocator Allocator>
hash_set(Iterator, Iterator, std::size_t, Hash, Allocator)
    -> hash_set<std::iter_value_t<Iterator>, Hash, std::equal_to<>, Allocator>;
template <class Key, detail::deduced_hash Hash = seeded_hash<Key>, detail::deduced_function KeyEqual = std::equal_to<>,
          detail::deduced_allocator Allocator = allocator<Key>>
hash_set(std::initializer_list<Key>, std::size_t = 0, Hash = Hash(), KeyEqual = KeyEqual(), Allocator = Allocator())
    -> hash_set<Key, Hash, KeyEqual, Allocator>;
template <class Key, detail::deduced_allocator Allocator>
hash_set(std::initializer_list<Key>, std::size_t, Allocator)
    -> hash_set<Key, seeded_hash<Key>, std::equal_to<>, Allocator>;
template <class Key, detail::deduced_allocator Allocator>
hash_set(std::initializer_list<Key>, Allocator) -> hash_set<Key, seeded_hash<Key>, std::equal_to<>, Allocator>;
template <class Key, detail::deduced_hash Hash, detail::deduced_allocator Allocator>
hash_set(std::initializer_list<Key>, std::size_t, Hash, Allocator) -> hash_set<Key, Hash, std::equal_to<>, Allocator>;
template <std::ranges::input_range Range, detail::deduced_hash Hash = seeded_hash<std::ranges::range_value_t<Range>>,
          detail::deduced_function KeyEqual = std::equal_to<>,
          detail::deduced_allocator Allocator = allocator<std::ranges::range_value_t<Range>>>
hash_set(from_range_t, Range&&, std::size_t = 0, Hash = Hash(), KeyEqual = KeyEqual(), Allocator = Allocator())
    -> hash_set<std::ranges::range_value_t<Range>, Hash, KeyEqual, Allocator>;
template <std::ranges::input_range Range, detail::deduced_allocator Allocator>
hash_set(from_range_t, Range&&, std::size_t, Allocator)
    -> hash_set<std::ranges::range_value_t<Range>, seeded_hash<std::ranges::range_value_t<Range>>, std::equal_to<>,
                Allocator>;
template <std::ranges::input_range Range, detail::deduced_allocator Allocator>
hash_set(from_range_t, Range&&, Allocator)
    -> hash_set<std::ranges::range_value_t<Range>, seeded_hash<std::ranges::range_value_t<Range>>, std::equal_to<>,
                Allocator>;
template <std::ranges::input_range Range, detail::deduced_hash Hash, detail::deduced_allocator Allocator>
hash_set(from_range_t, Range&&, std::size_t, Hash, Allocator)
    -> hash_set<std::ranges::range_value_t<Range>, Hash, std::equal_to<>, Allocator>;
template <class Key, class Hash, class KeyEqual, class Allocator>
hash_set(const hash_set<Key, Hash, KeyEqual, Allocator>&, const std::type_identity_t<Allocator>&)
    -> hash_set<Key, Hash, KeyEqual, Allocator>; // for construction from a set and an allocator

template <class Key, class Hash, class KeyEqual, class Allocator>
struct class_traits<hash_set<Key, Hash, KeyEqual, Allocator>>
    : detail::hash_class_traits<hash_set<Key, Hash, KeyEqual, Allocator>, Allocator, Key, Key, Hash, KeyEqual> {
    struct shape : detail::hash_shape<Key, 0> {};
};

} // namespace remanence
