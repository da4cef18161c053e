// Makes the result of a write section again, so that its strings and containers belong to the same heap (or to none) as
// those that the caller constructs. Inside the section, default-constructed allocators allocate in the section's heap,
// and any member of the result may own such memory.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/construct.hpp>
#include <remanence/types/detail/known_classes.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace remanence::detail {

template <class T>
concept container_like = requires {
    typename T::value_type;
    typename T::allocator_type;
} && !std::same_as<typename T::value_type, T>;

template <class T>
consteval bool is_taken_apart() {
    if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>)
        return aggregate_shape_v<T>.obstacle == aggregate_obstacle::none;
    else
        return false;
}

// `Seen`: the types that are being examined, which are not entered again, since a struct may contain a vector of
// itself.

template <bool IsMadeAnew, class T, class... Seen>
consteval bool hides_memory();
template <class T, class... Seen>
consteval bool can_be_copied();

template <bool IsMadeAnew, class... Seen, class... Parts>
consteval bool any_hides_memory(type_list<Parts...>) {
    return (hides_memory<IsMadeAnew, Parts, Seen...>() || ...);
}
template <class... Seen, class... Parts>
consteval bool all_can_be_copied(type_list<Parts...>) {
    return (can_be_copied<Parts, Seen...>() && ...);
}

/// True if a T may own memory that a default-constructed allocator has allocated and that make_using(), given an
/// rvalue, would not move: memory of a class that hides its members, or of a container with an allocator of another
/// kind. `IsMadeAnew`: make_using() makes this T anew.
template <bool IsMadeAnew, class T, class... Seen>
consteval bool hides_memory() {
    using object = std::remove_cv_t<std::remove_all_extents_t<T>>;
    constexpr bool is_aware = std::uses_allocator_v<object, allocator<std::byte>>;
    if constexpr ((std::is_same_v<object, Seen> || ...) || !std::is_class_v<object>) {
        return false;
    } else if constexpr (std::is_trivially_copyable_v<object>) {
        return false;
    } else if constexpr (holds_parts_v<object>) {
        return any_hides_memory<IsMadeAnew, object, Seen...>(typename class_traits<object>::parts());
    } else if constexpr (is_aware && !IsMadeAnew) {
        return true;
    } else if constexpr (container_like<object> && is_aware == IsMadeAnew) {
        return hides_memory<IsMadeAnew, typename object::value_type, object, Seen...>();
    } else if constexpr (container_like<object>) {
        return hides_memory<false, typename object::value_type, object>();
    } else if constexpr (is_aware) {
        return false; // it passes its allocator on
    } else if constexpr (is_taken_apart<object>()) {
        return any_hides_memory<IsMadeAnew, object, Seen...>(member_types<object>());
    } else {
        return true;
    }
}

/// True if copying a T compiles. std::is_copy_constructible is no test of this: for a container it is true even if the
/// elements cannot be copied.
template <class T, class... Seen>
consteval bool can_be_copied() {
    using object = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr ((std::is_same_v<object, Seen> || ...)) {
        return true;
    } else if constexpr (!std::is_copy_constructible_v<object> || std::is_reference_v<T>) {
        return false;
    } else if constexpr (!std::is_class_v<object>) {
        return true;
    } else if constexpr (holds_parts_v<object>) {
        return all_can_be_copied<object, Seen...>(typename class_traits<object>::parts());
    } else if constexpr (container_like<object>) {
        return can_be_copied<typename object::value_type, object, Seen...>();
    } else if constexpr (std::uses_allocator_v<object, allocator<std::byte>>) {
        return std::is_constructible_v<object, const object&, const allocator<std::byte>&> ||
               std::is_constructible_v<object, std::allocator_arg_t, const allocator<std::byte>&, const object&>;
    } else if constexpr (is_taken_apart<object>()) {
        return all_can_be_copied<object, Seen...>(member_types<object>());
    } else {
        return true;
    }
}

/// Returns the result of f(), made again so that its strings and containers belong to the heap `where`; the originals
/// are destroyed. The result is copied if some of its memory cannot be found through its members, otherwise moved. A
/// result that can be neither copied nor taken apart is returned as it is.
template <class T, class F>
[[nodiscard]] T result_for(heap_header* where, F&& f) {
    using result = std::remove_cv_t<T>;
    if constexpr (hides_memory<true, result>() && can_be_copied<result>()) {
        const result made = std::forward<F>(f)();
        const default_heap_scope parts_belong_there(where);
        return make_using<result>(allocator<std::byte>(where), made);
    } else if constexpr (can_be_made_from_rvalue<T, allocator<std::byte>>()) {
        if constexpr (uses_deeply_v<T, allocator<std::byte>>) {
            result made = std::forward<F>(f)();
            return make_using<result>(allocator<std::byte>(where), std::move(made));
        } else {
            return std::forward<F>(f)();
        }
    } else {
        return std::forward<F>(f)();
    }
}

} // namespace remanence::detail
