// Ordered maps of byte strings to byte strings, packed as in a database's pages: keys and values lie side by side without headers or
// blocks of their own. Depends on the standard library only.
//
// What holds for both:
//
// Interface. That of std::map of two std::string_view, and of C++23 insert_range() and construction from_range. Left out: operator[],
// try_emplace(), extract(), merge(), key_comp(), value_comp(). Besides: assign(iterator, value), find(key, value), read_index().
//
// Elements. A key and a value are any bytes, of up to 4 GiB - 64 KiB together; keys are ordered as std::string_view's. An
// element is read as a pair of views into the container. It is changed by assign() and insert_or_assign(), never through an
// iterator.
//
// Memory. An element takes its bytes, 6 more (8 from 128 bytes on), and about an eighth of that: leaves of up to 4 KiB grow by
// an eighth, are divided when they are full, and are united with the next when both have become small. One of more than a KiB
// has a leaf of its own.
//
// In a heap with memory_options::read_ahead = false, a leaf that is nearly full has a page of its own, so that a look-up reads one page; an
// iteration asks for the next leaves by itself.
//
// Ranges. insert(first, last) sorts first, so that each leaf is visited once; it is the way to load many.
//
// Complexity. Look-up, insertion and erasure: O(log n) comparisons, and moving up to 4 KiB. An iteration reads memory in
// order.
//
// Invalidation. A change invalidates all iterators and views; use the iterators that it returns. What is given to a change
// may be views into the container itself.
//
// Exceptions. An insertion and assign() have no effect if there is no memory (std::bad_alloc), or if a key with its value is
// too long (std::length_error). Erasures never throw.
//
// Sections. They declare what they write. They hold no address. Threads: as a container of the standard library.
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

/// One value for each key.
template <class Allocator>
class basic_packed_map : public detail::packed_container<Allocator, true> {
    using base = detail::packed_container<Allocator, true>;

public:
    using base::base;
    using typename base::iterator;
    using typename base::value_type;
    basic_packed_map() = default;
    basic_packed_map& operator=(std::initializer_list<value_type> all) {
        base::operator=(all);
        return *this;
    }

    /// Throws std::out_of_range.
    [[nodiscard]] std::string_view at(std::string_view key) const {
        const iterator found = this->find(key);
        if (found == this->end())
            throw std::out_of_range("packed_map::at");
        return found->second;
    }
    std::pair<iterator, bool> insert_or_assign(std::string_view key, std::string_view value) {
        const auto [at, is_new] = this->emplace(key, value);
        return {is_new ? at : this->assign(at, value), is_new};
    }
    friend void swap(basic_packed_map& a, basic_packed_map& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

/// Any number of values for each key, in the order of their insertion.
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

using packed_map = basic_packed_map<allocator<char>>;
using packed_multimap = basic_packed_multimap<allocator<char>>;

/// Erases all that `predicate` is true of; returns how many. O(n).
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
    /// The layout of its leaves, before that of the tree above them.
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
