// Which types mean the same at any address, so that a heap of them can be mapped anywhere. Depends on the standard
// library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/detail/aggregate.hpp>
#include <remanence/detail/parts.hpp>

#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstddef>
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
template <class T>
struct is_known_position_independent<std::atomic<T>> : std::bool_constant<is_position_independent<T>()> {};
template <class T>
struct is_known_position_independent<std::complex<T>> : std::bool_constant<is_position_independent<T>()> {};
template <std::size_t N>
struct is_known_position_independent<std::bitset<N>> : std::true_type {};
template <class Rep, class Period>
struct is_known_position_independent<std::chrono::duration<Rep, Period>>
    : std::bool_constant<is_position_independent<Rep>()> {};
template <class Clock, class Duration>
struct is_known_position_independent<std::chrono::time_point<Clock, Duration>>
    : std::bool_constant<is_position_independent<Duration>()> {};

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

/// Whether T contains itself, by way of a container: then it cannot be asked what it is without knowing it. `Open`: the
/// classes that are being looked into.
template <class T, class... Open>
consteval bool contains_itself();

template <class... Parts, class... Open>
consteval bool any_contains_itself(type_list<Parts...>, type_list<Open...>) {
    return (contains_itself<Parts, Open...>() || ...);
}

template <class T, class... Open>
consteval bool contains_itself() {
    using type = std::remove_cv_t<T>;
    using element = typename element_of_arrays<type>::type;
    if constexpr ((std::is_same_v<type, Open> || ...)) {
        return true;
    } else if constexpr (enable_position_independent<type>) {
        return false;
    } else if constexpr (!std::is_same_v<element, type>) {
        return contains_itself<element, Open...>();
    } else if constexpr (requires {
                             typename type::allocator_type;
                             typename type::value_type;
                         }) {
        return contains_itself<typename type::value_type, type, Open...>();
    } else if constexpr (has_known_parts_v<type>) {
        return any_contains_itself(known_parts<type>{}, type_list<type, Open...>{});
    } else if constexpr (std::is_class_v<type> && std::is_aggregate_v<type> && !std::is_empty_v<type>) {
        if constexpr (aggregate_shape_v<type>.obstacle == aggregate_obstacle::none)
            return any_contains_itself(member_types<type>{}, type_list<type, Open...>{});
        else
            return false;
    } else {
        return false;
    }
}

template <class T>
consteval bool is_known_to_be_position_independent() {
    if constexpr (contains_itself<T>())
        return false;
    else
        return is_position_independent<T>();
}

} // namespace detail

/// Whether objects of this type hold no address: numbers, enumerations, string_pi, vector_pi, the ordered, hash and packed
/// containers of such; arrays, pairs, tuples, optionals, variants and aggregates of such; std::atomic, complex, bitset and the
/// durations and time points of such; and what enable_position_independent says. False for all others, pointers and std
/// containers among them, and for a type that contains itself.
template <class T>
inline constexpr bool is_position_independent_v = detail::is_known_to_be_position_independent<T>();
template <class T>
concept position_independent = is_position_independent_v<T>;

} // namespace remanence
