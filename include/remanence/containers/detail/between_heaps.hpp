// How our own containers pass elements to a container in another heap. They construct new elements there, since a heap
// never owns memory of another one. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>

#include <concepts>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace remanence::detail {

/// True if swap() exchanges the allocators, too. False for a heap's allocator. (Its propagate_on_container_swap is true
/// only to make the standard's containers call its swap(), which refuses different allocators.)
template <class Allocator>
inline constexpr bool swaps_allocators_v = std::allocator_traits<Allocator>::propagate_on_container_swap::value;
template <class T>
inline constexpr bool swaps_allocators_v<allocator<T>> = false;

template <class Allocator>
[[nodiscard]] bool may_exchange_blocks(const Allocator& a, const Allocator& b) noexcept {
    return swaps_allocators_v<Allocator> || a == b;
}

/// True if an element can be copied or moved to another heap.
template <class Value>
inline constexpr bool can_be_made_anew_v = std::is_move_constructible_v<Value>;
template <class Key, class Mapped>
inline constexpr bool can_be_made_anew_v<std::pair<const Key, Mapped>> =
    std::conjunction_v<std::is_move_constructible<Key>, std::is_move_constructible<Mapped>>;

/// True if a copy compiles. is_copy_constructible is not enough: it is true of a container whatever its elements are.
template <class T>
inline constexpr bool can_be_copied_v = std::is_copy_constructible_v<T>;
template <class T>
    requires requires {
        typename T::allocator_type;
        typename T::value_type;
    } && (!std::same_as<typename T::value_type, T>)
inline constexpr bool can_be_copied_v<T> =
    std::conjunction_v<std::is_copy_constructible<T>, std::bool_constant<can_be_copied_v<typename T::value_type>>>;
template <class... Parts>
inline constexpr bool can_be_copied_v<std::tuple<Parts...>> = (can_be_copied_v<std::remove_cv_t<Parts>> && ...);
template <class First, class Second>
inline constexpr bool can_be_copied_v<std::pair<First, Second>> = can_be_copied_v<std::tuple<First, Second>>;

[[noreturn]] inline void refuse_to_make_anew() {
    throw std::invalid_argument("remanence: elements that cannot be moved cannot go to another heap");
}

/// Swaps two containers whose allocators and blocks must stay where they are. If it throws, the containers are
/// unchanged if elements can be copied; otherwise both may be empty.
template <class Container>
void swap_by_value(Container& a, Container& b) {
    using value = typename Container::value_type;
    if constexpr (can_be_made_anew_v<value>) {
        using given = std::conditional_t<can_be_copied_v<value>, const Container&, Container&&>;
        Container of_a(static_cast<given>(a), b.get_allocator());
        Container of_b(static_cast<given>(b), a.get_allocator());
        a = std::move(of_b);
        b = std::move(of_a);
    } else {
        refuse_to_make_anew();
    }
}

[[noreturn]] inline void refuse_to_merge_own() {
    throw std::invalid_argument("remanence: merge() from a container in one of its own elements, which move meanwhile: "
                                "move that to a container of its own before");
}

/// Returns the argument from which a part of a new element is constructed. The part is copied if possible, so that the
/// source is unchanged if the construction throws.
template <class Part>
[[nodiscard]] auto part_to_give(const Part& part) noexcept {
    if constexpr (can_be_copied_v<Part>)
        return std::forward_as_tuple(part);
    else
        return std::forward_as_tuple(
            std::move(const_cast<Part&>(part))); // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

/// Calls `make` with arguments that copy `one` or, if it cannot be copied, move it.
template <class Key, class Result, class Value, class Make>
Result give_by_value(const Value& one, Make&& make) {
    if constexpr (!can_be_made_anew_v<Value>) {
        refuse_to_make_anew();
    } else if constexpr (std::is_same_v<Key, Value>) {
        return std::apply(std::forward<Make>(make), part_to_give(one));
    } else {
        return std::forward<Make>(make)(std::piecewise_construct, part_to_give(one.first), part_to_give(one.second));
    }
}

} // namespace remanence::detail
