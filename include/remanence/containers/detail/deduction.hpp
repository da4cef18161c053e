// Requirements of our containers' deduction guides, like those of the standard: an allocator is not deduced as a
// comparator, nor a number as a hash. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/ranges.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace remanence::detail {

template <class T>
concept deduced_allocator = requires(T& alloc) {
    typename T::value_type;
    alloc.allocate(std::size_t{1});
};
/// A comparator or an equality.
template <class T>
concept deduced_function = !deduced_allocator<T>;
template <class T>
concept deduced_hash = deduced_function<T> && !std::integral<T>;

/// The template arguments of a map that is constructed from a range of `Pair`.
template <class Pair>
using deduced_key = std::remove_const_t<typename Pair::first_type>;
template <class Pair>
using deduced_mapped = typename Pair::second_type;
template <class Pair>
using deduced_map_allocator = allocator<std::pair<const deduced_key<Pair>, deduced_mapped<Pair>>>;

} // namespace remanence::detail
