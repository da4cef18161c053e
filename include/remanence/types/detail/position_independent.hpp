// Decides which types mean the same at any address, so that a heap of them can be mapped anywhere. Depends on the
// standard library only.
#pragma once

#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/known_classes.hpp>

#include <type_traits>

namespace remanence {

/// Specialise it as true for a class of yours that means the same at any address, although it hides its members or has
/// plain pointers. The library then does not examine the class.
template <class T>
inline constexpr bool enable_position_independent = false;

namespace detail {

/// True if class_traits<T> says that T is position-independent if its parts are.
template <class T>
inline constexpr bool is_what_its_parts_are_v = false;
template <class T>
    requires requires { class_traits<T>::k_is_position_independent; }
inline constexpr bool is_what_its_parts_are_v<T> = class_traits<T>::k_is_position_independent;

/// True for allocators that position-independent containers store as a distance, or that have no state.
template <class Alloc>
inline constexpr bool is_kept_by_distance_v = std::is_empty_v<Alloc>;
template <class T>
inline constexpr bool is_kept_by_distance_v<allocator<T>> = true;

template <class T, class... Open>
consteval bool is_position_independent();

template <class... Parts, class... Open>
consteval bool are_position_independent(type_list<Parts...>, type_list<Open...>) {
    return (is_position_independent<Parts, Open...>() && ...);
}

/// `Open`: the classes whose parts are being examined. A class that contains itself, by way of a container, is judged
/// by its other parts.
template <class T, class... Open>
consteval bool is_position_independent() {
    using type = std::remove_cv_t<T>;
    using element = typename element_of_arrays<type>::type;
    if constexpr ((std::is_same_v<type, Open> || ...) || enable_position_independent<type>) {
        return true;
    } else if constexpr (!std::is_same_v<element, type>) {
        return is_position_independent<element, Open...>();
    } else if constexpr (std::is_arithmetic_v<type> || std::is_enum_v<type> || std::is_empty_v<type>) {
        return true;
    } else if constexpr (is_what_its_parts_are_v<type>) {
        return are_position_independent(typename class_traits<type>::parts{}, type_list<type, Open...>{});
    } else if constexpr (std::is_class_v<type> && std::is_aggregate_v<type>) {
        if constexpr (aggregate_shape_v<type>.obstacle == aggregate_obstacle::none)
            return are_position_independent(member_types<type>{}, type_list<type, Open...>{});
        else
            return false;
    } else {
        return false;
    }
}

} // namespace detail

/// True if objects of this type hold no address. These are numbers, enumerations, and string_pi; vector_pi and the
/// ordered, hash and packed containers of such; arrays, pairs, tuples, optionals, variants and aggregates of such;
/// std::atomic, durations and time points of such; and types for which class_traits or enable_position_independent say
/// so. It is false for all others, among them pointers and std containers.
template <class T>
inline constexpr bool is_position_independent_v = detail::is_position_independent<T>();
/// Types whose objects hold no address: see is_position_independent_v.
template <class T>
concept position_independent = is_position_independent_v<T>;

} // namespace remanence
