// Hash sets that hold no address and no static: open addressing, with the interface of std::unordered_set. Depends on
// the standard library only.
//
// What holds for them, and for the maps in hash_map.hpp:
//
// Interface. That of C++20 without buckets and a load factor to choose, and of C++23 insert_range(), construction from_range, and
// erase() and extract() by what a transparent hash and equality take.
//
// Complexity. Look-up, insertion and erasure are O(1) on average with a hash that spreads. An insertion that finds
// elements to be thirteen sixteenths of bucket_count() grows the table: it moves all elements to one of twice the size,
// or of the same where erasures have made it look full. reserve() does it ahead. max_load_factor() is thirteen
// sixteenths, and cannot be changed. An iteration, begin() and erase_if also look at all groups: O(bucket_count() / 16).
// So do not take elements out by erase(begin()) until none is left. A table beyond the processor's caches makes each
// find() wait for memory, once for the slot and once for what its element has elsewhere; find_each(), which is told
// many keys, lets those waits overlap. Erasure does not make the table smaller; rehash(0) does, and clear() frees it.
//
// Order. It depends on the seed that each container takes from a random source when it is made, and stores. It stays
// the same until the next insertion that grows the table, also over reopening. A copy has another seed and another
// order.
//
// Invalidation. An insertion that grows the table, rehash() and reserve() invalidate all iterators, pointers and
// references to elements; other insertions, and those that fail, none, but an iterator that was incremented before need
// not meet what they insert, so that no range that ends there may begin with it. Erasure and extract() invalidate those
// to that element. Swapping and moving with an equal allocator leave them all valid, even end(); assignment and clear()
// invalidate those of the target.
//
// Exceptions. Insertion of one element, rehash() and reserve() have no effect if anything throws: hash, equality,
// constructor, allocator. Erasure by iterator never throws, erasure by key only if hash or equality do, without effect.
// Copy assignment has no effect if elements or memory throw; assignment leaves an empty container if hash or equality
// do. Insertion of a range keeps what it has inserted; merge() keeps each element in one of both.
//
// Hash and equality. By default seeded_hash, which gets the seed, and std::equal_to<>; with strings they are
// transparent: look-up by any kind of string makes no other. A hash of your own is called with the key and the seed if
// it takes both; else what it returns is mixed with the seed. It must give the same in each program that opens the
// heap: not one of addresses, not one that a process seeds for itself. The types of hash and equality are in the fingerprint of a root,
// what they compute is not: give a hash that changes another name.
//
// Elements, allocators, declared sections, threads: as those of btree_set.hpp. An element lies in its slot if it may
// lie in a B-tree's node and is of at most 128 bytes.
//
// Layout. Holds no address, but for what elements, hash and equality hold. It is part of the file format: its number,
// that of the default hash with it, and how elements lie are in the type's fingerprint, beside the types of hash and
// equality, so a program with others is refused by errc::type_mismatch.
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

/// As std::unordered_set, without access to buckets.
template <class Key, class Hash = seeded_hash<Key>, class KeyEqual = std::equal_to<>, class Allocator = allocator<Key>>
class hash_set : public detail::hash_container<detail::hash_traits<Key, Key, Hash, KeyEqual, Allocator>> {
    using base = detail::hash_container<detail::hash_traits<Key, Key, Hash, KeyEqual, Allocator>>;

public:
    /// Those of std::unordered_set; the number is one of elements.
    using base::base;
    hash_set() = default;
    hash_set(std::initializer_list<Key> all) : base(all) {} // not inherited, for the deduction of arguments by g++
    hash_set& operator=(std::initializer_list<Key> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(hash_set& a, hash_set& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// Erases all that `predicate` is true of; returns how many. O(bucket_count()).
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
    -> hash_set<Key, Hash, KeyEqual, Allocator>; // of a copy or a move

template <class Key, class Hash, class KeyEqual, class Allocator>
struct class_traits<hash_set<Key, Hash, KeyEqual, Allocator>>
    : detail::hash_class_traits<hash_set<Key, Hash, KeyEqual, Allocator>, Allocator, Key, Key, Hash, KeyEqual> {
    struct shape : detail::hash_shape<Key, 0> {};
};

} // namespace remanence
