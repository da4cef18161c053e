// What the templates of the standard library that hold their parts in themselves are made of. Depends on the standard
// library only.
#pragma once

#include <remanence/types/detail/aggregate.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace remanence::detail {

template <class T>
struct parts_of {};
template <class A, class B>
struct parts_of<std::pair<A, B>> : std::type_identity<type_list<A, B>> {};
template <class... Ts>
struct parts_of<std::tuple<Ts...>> : std::type_identity<type_list<Ts...>> {};
template <class T>
struct parts_of<std::optional<T>> : std::type_identity<type_list<T>> {};
template <class... Ts>
struct parts_of<std::variant<Ts...>> : std::type_identity<type_list<Ts...>> {};

template <class T>
using known_parts = typename parts_of<T>::type;
template <class T>
inline constexpr bool has_known_parts_v = requires { typename parts_of<T>::type; };

/// Of arrays, over all their dimensions; other types are their own element.
template <class T>
struct element_of_arrays : std::type_identity<T> {};
template <class T, std::size_t N>
struct element_of_arrays<T[N]> : element_of_arrays<T> {};
template <class T, std::size_t N>
struct element_of_arrays<std::array<T, N>> : element_of_arrays<T> {};

} // namespace remanence::detail
