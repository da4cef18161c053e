// Which types mean the same at any address, so that a heap of them can be mapped anywhere. Depends on the standard
// library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/detail/aggregate.hpp>
#include <remanence/detail/parts.hpp>

#include <type_traits>

namespace remanence {

/// Specialise it as true for a class of yours that hides its members, or has plain pointers, and yet means the same at any
/// address. It is not looked into then.
template <class T>
inline constexpr bool enable_position_independent = false;

namespace detail {

template <class T>
consteval bool is_position_independent();

/// Classes that are known to be: by what they are, or by their arguments.
template <class T>
struct is_known_position_independent : std::false_type {};

/// Allocators that position-independent containers keep as a distance, or that have nothing to keep.
template <class Alloc>
inline constexpr bool is_kept_by_distance_v = std::is_empty_v<Alloc>;
template <class T>
inline constexpr bool is_kept_by_distance_v<allocator<T>> = true;

template <class... Members>
consteval bool are_position_independent(type_list<Members...>) {
    return (is_position_independent<Members>() && ...);
}

template <class T>
consteval bool is_position_independent() {
    using type = std::remove_cv_t<T>;
    using element = typename element_of_arrays<type>::type;
    if constexpr (enable_position_independent<type>) {
        return true;
    } else if constexpr (!std::is_same_v<element, type>) {
        return is_position_independent<element>();
    } else if constexpr (std::is_arithmetic_v<type> || std::is_enum_v<type> || std::is_empty_v<type>) {
        return true;
    } else if constexpr (std::is_class_v<type> && std::is_aggregate_v<type>) {
        if constexpr (aggregate_shape_v<type>.obstacle == aggregate_obstacle::none)
            return are_position_independent(member_types<type>{});
        else
            return false;
    } else if constexpr (has_known_parts_v<type>) {
        return are_position_independent(known_parts<type>{});
    } else {
        return is_known_position_independent<type>::value;
    }
}

/// Of one of our containers with links: the allocator, and what else it has.
template <class Alloc, class... Parts>
inline constexpr bool is_container_position_independent_v =
    is_kept_by_distance_v<Alloc> && (is_position_independent<Parts>() && ...);

} // namespace detail

/// Whether objects of this type hold no address: numbers, enumerations, string_pi, vector_pi, the ordered, hash and packed
/// containers of such; arrays, pairs, tuples, optionals, variants and aggregates of such; and what
/// enable_position_independent says. False for all others, pointers and std containers among them.
template <class T>
inline constexpr bool is_position_independent_v = detail::is_position_independent<T>();
template <class T>
concept position_independent = is_position_independent_v<T>;

} // namespace remanence
