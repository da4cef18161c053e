// Ordered maps of byte strings to byte strings, packed like a database's pages: keys and values lie side by side,
// without headers or blocks of their own. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/packed_container.hpp>
#include <remanence/containers/detail/packed_structure.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/detail/position_independent.hpp>
#include <remanence/types/detail/self_contained.hpp>
#include <remanence/types/persistable.hpp>

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace remanence {

/// An ordered map of byte strings to byte strings, with one value for each key. All that follows holds for
/// basic_packed_multimap, too.
///
/// Interface. That of a std::map of two std::string_view, and from C++23 insert_range() and construction from_range. It
/// has no operator[], try_emplace(), extract(), merge(), key_comp() and value_comp(). Additions: assign(iterator,
/// value), find(key, value) in multimaps, read_index().
///
/// Elements. Keys and values are any bytes; a key and its value have at most 4 GiB - 64 KiB together. Keys are ordered
/// as std::string_view orders them. Dereferencing an iterator gives a pair of views into the container. Values are
/// changed by assign() and insert_or_assign(), never through an iterator.
///
/// Memory. An element needs its own bytes, plus 6 bytes (one more if the key, and one more if the value has 128 bytes
/// or more), plus about an eighth of this sum. Elements lie in leaves of up to 4 KiB, which grow by an eighth. A full
/// leaf is split; two neighbouring leaves that have become small are joined. An element of more than 1 KiB has a leaf
/// of its own. In a heap with memory_options::read_ahead = false, a leaf that is nearly full has a page of its own, so
/// that a look-up reads one page; iterators read the next leaves in advance.
///
/// Complexity. Look-up, insertion and erasure take O(log n) comparisons; a change also moves up to 4 KiB. An iteration
/// reads memory in order. To load many elements, use insert(first, last): it sorts first, so that it visits each leaf
/// once.
///
/// Invalidation. A change invalidates all iterators and views; use the iterator that it returns. The arguments of a
/// change may be views into the container itself.
///
/// Exceptions. An insertion and assign() have no effect when they throw: std::bad_alloc, or std::length_error if a key
/// with its value is too long. Erasure never throws.
///
/// Sections. The containers declare what they write, so they may be changed in declared sections. They hold no address.
/// Threads: the same rules as for containers of the standard library.
template <class Allocator>
class basic_packed_map : public detail::packed_container<Allocator, true> {
    using base = detail::packed_container<Allocator, true>;

public:
    using base::base;
    using typename base::iterator;
    using typename base::value_type;
    /// Constructs an empty map.
    basic_packed_map() = default;
    basic_packed_map& operator=(std::initializer_list<value_type> all) {
        base::operator=(all);
        return *this;
    }

    /// Returns a view of the value. Throws std::out_of_range if there is no such key.
    [[nodiscard]] std::string_view at(std::string_view key) const {
        const iterator found = this->find(key);
        if (found == this->end())
            throw std::out_of_range("packed_map::at");
        return found->second;
    }
    /// Inserts an element or, if the key is there, replaces its value. Returns the element's place, and whether it is
    /// new.
    std::pair<iterator, bool> insert_or_assign(std::string_view key, std::string_view value) {
        const auto [at, is_new] = this->emplace(key, value);
        return {is_new ? at : this->assign(at, value), is_new};
    }
    friend void swap(basic_packed_map& a, basic_packed_map& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// An ordered map of byte strings to byte strings, with any number of values for each key, in the order of their
/// insertion. basic_packed_map says how it differs from the standard's maps.
template <class Allocator>
class basic_packed_multimap : public detail::packed_container<Allocator, false> {
    using base = detail::packed_container<Allocator, false>;

public:
    using base::base;
    using typename base::value_type;
    basic_packed_multimap() = default;
    basic_packed_multimap& operator=(std::initializer_list<value_type> all) {
        base::operator=(all);
        return *this;
    }
    friend void swap(basic_packed_multimap& a, basic_packed_multimap& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// A basic_packed_map that lies in a heap.
using packed_map = basic_packed_map<allocator<char>>;
/// A basic_packed_multimap that lies in a heap.
using packed_multimap = basic_packed_multimap<allocator<char>>;

/// Erases all elements for which `predicate` returns true; returns how many. O(n).
template <class Allocator, class Predicate>
std::size_t erase_if(basic_packed_map<Allocator>& from, Predicate predicate) {
    return detail::erase_one_by_one(from, predicate);
}
template <class Allocator, class Predicate>
std::size_t erase_if(basic_packed_multimap<Allocator>& from, Predicate predicate) {
    return detail::erase_one_by_one(from, predicate);
}

namespace detail {
template <class Container, class Allocator>
struct packed_class_traits : packed_structure<Container> {
    using parts = type_list<typename packed_tree<Allocator>::type>;
    static constexpr bool k_is_position_independent = is_kept_by_distance_v<Allocator>;
    static constexpr bool k_is_self_contained = true;
    struct shape : shape_of_packed<typename packed_tree<Allocator>::type> {};
    /// Writes the layout of the leaves, then that of the tree above them.
    static void write(structure_writer& out) {
        out.text(" packed " + std::to_string(k_packed_layout));
        write_parts(out, parts());
    }
};
} // namespace detail
template <class Allocator>
struct class_traits<basic_packed_map<Allocator>> : detail::packed_class_traits<basic_packed_map<Allocator>, Allocator> {
};
template <class Allocator>
struct class_traits<basic_packed_multimap<Allocator>>
    : detail::packed_class_traits<basic_packed_multimap<Allocator>, Allocator> {};

} // namespace remanence
