// What a write section returns, made anew where the caller's objects belong: what the section made by default has memory of its
// heap, wherever that is hidden. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/construct.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace remanence::detail {

/// The types that a result consists of; for others than std's pairs and the like, none.
template <class T>
struct parts_of_result {
    using types = type_list<>;
};
template <class First, class Second>
struct parts_of_result<std::pair<First, Second>> {
    using types = type_list<First, Second>;
};
template <class... Elements>
struct parts_of_result<std::tuple<Elements...>> {
    using types = type_list<Elements...>;
};
template <class Value>
struct parts_of_result<std::optional<Value>> {
    using types = type_list<Value>;
};
template <class... Alternatives>
struct parts_of_result<std::variant<Alternatives...>> {
    using types = type_list<Alternatives...>;
};
template <class Element, std::size_t N>
struct parts_of_result<std::array<Element, N>> {
    using types = type_list<Element>;
};

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

// Each with the types whose answer is being looked for: a struct may have a vector of its own.

template <class T, class... Seen>
consteval bool may_own_memory();
template <class T, class... Seen>
consteval bool hides_memory();
template <class T, class... Seen>
consteval bool can_be_copied();

template <class... Seen, class... Parts>
consteval bool any_may_own_memory(type_list<Parts...>) {
    return (may_own_memory<Parts, Seen...>() || ...);
}
template <class... Seen, class... Parts>
consteval bool any_hides_memory(type_list<Parts...>) {
    return (hides_memory<Parts, Seen...>() || ...);
}
template <class... Seen, class... Parts>
consteval bool all_can_be_copied(type_list<Parts...>) {
    return (can_be_copied<Parts, Seen...>() && ...);
}

/// Whether a T may have memory that an allocator made by default took.
template <class T, class... Seen>
consteval bool may_own_memory() {
    using object = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr ((std::is_same_v<object, Seen> || ...) || !std::is_class_v<object>) {
        return false;
    } else if constexpr (std::is_trivially_copyable_v<object>) {
        return false;
    } else if constexpr (known_template<object>::k_kind != composition::plain) {
        return any_may_own_memory<object, Seen...>(typename parts_of_result<object>::types());
    } else if constexpr (std::uses_allocator_v<object, allocator<std::byte>>) {
        return true;
    } else if constexpr (container_like<object>) {
        return may_own_memory<typename object::value_type, object, Seen...>();
    } else if constexpr (is_taken_apart<object>()) {
        return any_may_own_memory<object, Seen...>(member_types<object>());
    } else {
        return true;
    }
}

/// Whether it may have such memory where make_using(), given an rvalue, would leave it: within a class that hides its members, or
/// a container with an allocator of another kind.
template <class T, class... Seen>
consteval bool hides_memory() {
    using object = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr ((std::is_same_v<object, Seen> || ...) || !std::is_class_v<object>) {
        return false;
    } else if constexpr (std::is_trivially_copyable_v<object>) {
        return false;
    } else if constexpr (known_template<object>::k_kind != composition::plain) {
        return any_hides_memory<object, Seen...>(typename parts_of_result<object>::types());
    } else if constexpr (container_like<object>) {
        if constexpr (std::uses_allocator_v<object, allocator<std::byte>>)
            return hides_memory<typename object::value_type, object, Seen...>();
        else
            return may_own_memory<typename object::value_type, object>();
    } else if constexpr (std::uses_allocator_v<object, allocator<std::byte>>) {
        return false; // it hands its allocator on
    } else if constexpr (is_taken_apart<object>()) {
        return any_hides_memory<object, Seen...>(member_types<object>());
    } else {
        return true;
    }
}

/// Whether a copy compiles. Containers say so whatever their elements are.
template <class T, class... Seen>
consteval bool can_be_copied() {
    using object = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr ((std::is_same_v<object, Seen> || ...)) {
        return true;
    } else if constexpr (!std::is_copy_constructible_v<object> || std::is_reference_v<T>) {
        return false;
    } else if constexpr (!std::is_class_v<object>) {
        return true;
    } else if constexpr (known_template<object>::k_kind != composition::plain) {
        return all_can_be_copied<object, Seen...>(typename parts_of_result<object>::types());
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

/// What f() returns, its strings and containers belonging to this heap; what f made them of is gone. It is copied if it hides some
/// of them. What can be neither copied nor taken apart comes as it is.
template <class T, class F>
[[nodiscard]] T result_for(heap_header* where, F&& f) {
    using result = std::remove_cv_t<T>;
    if constexpr (hides_memory<result>() && can_be_copied<result>()) {
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
