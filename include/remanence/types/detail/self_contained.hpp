// Decides which types a container may move in memory if it promises to declare what it writes: types whose move cannot
// throw, and writes only to the object moved from and the new one. The move of a std::list, for instance, also writes
// to its first and last node. Depends on the standard library only.
#pragma once

#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/known_classes.hpp>

#include <type_traits>

namespace remanence::detail {

/// True if copying the bytes moves an object, and destroying the old one does nothing.
template <class T>
inline constexpr bool is_plain_bytes_v =
    std::is_trivially_move_constructible_v<T> && std::is_trivially_destructible_v<T>;

template <class T>
consteval bool is_self_contained();

/// True if class_traits<T>::k_is_self_contained is true. No other class with constructors of its own is self-contained.
template <class T>
inline constexpr bool is_known_self_contained_v = false;
template <class T>
    requires requires { class_traits<T>::k_is_self_contained; }
inline constexpr bool is_known_self_contained_v<T> = class_traits<T>::k_is_self_contained;

template <class... Members>
consteval bool are_self_contained(type_list<Members...>) {
    return (is_self_contained<Members>() && ...);
}
template <class... Members>
consteval bool are_destroyed_by_nothing(type_list<Members...>) {
    return (std::is_trivially_destructible_v<Members> && ...);
}
/// True if an aggregate has a destructor of its own. Such an aggregate has no move constructor, so a move is a copy,
/// and both objects destroy what they own. (An aggregate with a member that has a destructor is excluded already: a
/// copy of that member may throw, or is impossible.)
template <class Aggregate>
inline constexpr bool has_own_destructor_v =
    !std::is_trivially_destructible_v<Aggregate> && are_destroyed_by_nothing(member_types<Aggregate>{});

template <class T>
consteval bool is_self_contained() {
    using element = typename element_of_arrays<T>::type;
    if constexpr (!std::is_same_v<element, T>) {
        return is_self_contained<element>();
    } else if constexpr (is_plain_bytes_v<T>) {
        return true;
    } else if constexpr (!std::is_nothrow_move_constructible_v<T>) {
        return false;
    } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
        if constexpr (aggregate_shape_v<T>.obstacle == aggregate_obstacle::none)
            return are_self_contained(member_types<T>{}) && !has_own_destructor_v<T>;
        else
            return false;
    } else if constexpr (holds_parts_v<T>) {
        return are_self_contained(typename class_traits<T>::parts{});
    } else {
        return is_known_self_contained_v<T>;
    }
}

/// True if an object of type T has a Part in its own bytes, not only in memory that it owns.
template <class T, class Part>
consteval bool contains_in_itself();

template <class Part, class... Members>
consteval bool any_contains_in_itself(type_list<Members...>) {
    return (contains_in_itself<std::remove_cv_t<Members>, Part>() || ...);
}
/// T must be self-contained.
template <class T, class Part>
consteval bool contains_in_itself() {
    using element = typename element_of_arrays<T>::type;
    if constexpr (!std::is_same_v<element, T>) {
        return contains_in_itself<std::remove_cv_t<element>, Part>();
    } else if constexpr (is_plain_bytes_v<T>) {
        return false;
    } else if constexpr (is_known_self_contained_v<T>) {
        return std::is_base_of_v<Part, T>;
    } else if constexpr (holds_parts_v<T>) {
        return any_contains_in_itself<Part>(typename class_traits<T>::parts{});
    } else {
        return any_contains_in_itself<Part>(member_types<T>{});
    }
}

} // namespace remanence::detail
