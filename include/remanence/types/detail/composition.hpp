// How the parts of an object get an allocator, and what follows from that. construct.hpp constructs such objects.
// Depends on the standard library only.
#pragma once

#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/known_classes.hpp>

#include <memory>
#include <type_traits>

namespace remanence::detail {

/// Returns how the parts of an object get the allocator.
template <class T, class Alloc>
consteval composition composition_of();
template <class T, class Alloc>
consteval bool may_make_allocators();
template <class T, class Alloc>
consteval bool can_be_made_from_rvalue();

template <class T, class Alloc>
inline constexpr bool uses_deeply_v =
    composition_of<std::remove_cv_t<std::remove_all_extents_t<T>>, Alloc>() != composition::plain;

template <class Alloc, class... Members>
consteval bool any_uses_deeply(type_list<Members...>) {
    return (uses_deeply_v<Members, Alloc> || ...);
}

template <class T>
consteval bool can_be_taken_apart() {
    constexpr aggregate_obstacle obstacle = aggregate_shape_v<T>.obstacle;
    static_assert(obstacle != aggregate_obstacle::too_many,
                  "Remanence takes aggregates apart up to 32 members (and 1024 elements of C arrays): group some of "
                  "this one's members into structs, or give it a constructor and an allocator_type.");
    static_assert(obstacle != aggregate_obstacle::base,
                  "Remanence cannot take an aggregate apart that has a base class with members: make the base a "
                  "member, or give the class a constructor and an allocator_type.");
    static_assert(obstacle != aggregate_obstacle::union_member,
                  "Remanence cannot take an aggregate apart that has a union: use std::variant, or give the class a "
                  "constructor and an allocator_type.");
    return obstacle == aggregate_obstacle::none;
}

template <class T, class Alloc>
consteval composition composition_of() {
    if constexpr (holds_parts_v<T>) {
        return any_uses_deeply<Alloc>(typename class_traits<T>::parts()) ? known_composition_v<T> : composition::plain;
    } else if constexpr (std::is_class_v<T> && std::uses_allocator_v<T, Alloc>) {
        return composition::aware;
    } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> &&
                         !std::is_trivially_copyable_v<T>) { // no unions
        if constexpr (can_be_taken_apart<T>()) {
            return any_uses_deeply<Alloc>(member_types<T>{}) ? composition::aggregate : composition::plain;
        } else {
            return composition::plain;
        }
    } else {
        return composition::plain;
    }
}

template <class T, class Alloc>
inline constexpr composition composition_v = composition_of<std::remove_cv_t<T>, Alloc>();

template <class Alloc, class... Members>
consteval bool any_may_make_allocators(type_list<Members...>) {
    return (may_make_allocators<Members, Alloc>() || ...);
}

/// True if constructors of a T may default-construct allocators. That is so if T is, or contains, a class that is not
/// taken apart, or one that accepts an allocator but may not pass it on to all of its parts, as containers do.
template <class T, class Alloc>
consteval bool may_make_allocators() {
    using object = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr (std::is_reference_v<T> || !std::is_class_v<object>) {
        return std::is_union_v<object>;
    } else if constexpr (std::is_trivially_copyable_v<object>) {
        return false; // it cannot own memory
    } else if constexpr (holds_parts_v<object>) {
        return any_may_make_allocators<Alloc>(typename class_traits<object>::parts());
    } else if constexpr (std::uses_allocator_v<object, Alloc>) {
        return !requires { typename object::value_type; };
    } else if constexpr (std::is_aggregate_v<object>) {
        if constexpr (aggregate_shape_v<object>.obstacle == aggregate_obstacle::none)
            return any_may_make_allocators<Alloc>(member_types<object>{});
        else
            return true;
    } else {
        return true;
    }
}

template <class Alloc, class... Members>
consteval bool all_can_be_made_from_rvalues(type_list<Members...>) {
    return (can_be_made_from_rvalue<Members, Alloc>() && ...);
}

/// True if make_using() compiles with an rvalue of a T. Node handles, for instance, have an allocator but no
/// constructor that takes one.
template <class T, class Alloc>
consteval bool can_be_made_from_rvalue() {
    using object = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr (std::is_reference_v<T> || !std::is_class_v<object>) {
        return true;
    } else if constexpr (!std::is_move_constructible_v<object>) {
        return false;
    } else if constexpr (holds_parts_v<object>) {
        return all_can_be_made_from_rvalues<Alloc>(typename class_traits<object>::parts());
    } else if constexpr (std::uses_allocator_v<object, Alloc>) {
        return std::is_constructible_v<object, object, const Alloc&> ||
               std::is_constructible_v<object, std::allocator_arg_t, const Alloc&, object>;
    } else if constexpr (std::is_aggregate_v<object> && !std::is_trivially_copyable_v<object>) {
        if constexpr (aggregate_shape_v<object>.obstacle == aggregate_obstacle::none)
            return all_can_be_made_from_rvalues<Alloc>(member_types<object>{});
        else
            return false;
    } else {
        return true;
    }
}

} // namespace remanence::detail
