// Constructs objects whose parts all use one given allocator, however deep they lie and wherever their values were
// built. Depends on the standard library only.
//
// std::uninitialized_construct_using_allocator stops at types that do not use an allocator themselves. The functions
// here go on through aggregates, pairs, tuples, optionals, variants and arrays. Every part is built once, in its final
// place, where the language allows it (from prvalues; elements of tuples are moved once).
//
// Classes with constructors of their own and without an `allocator_type` are not taken apart, but simply constructed.
// Meanwhile the default allocator, which their members use, belongs to the same heap (allocator::construct). Members
// that are moved in keep their allocators.
#pragma once

#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/composition.hpp>
#include <remanence/types/detail/known_classes.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace remanence::detail {

/// True for the tags with which a pair's constructor takes one argument for `first` and any number for `second`.
template <class T>
inline constexpr bool is_try_emplace_tag_v = false;

template <class T, class Alloc, class... Args>
[[nodiscard]] T make_using(const Alloc& alloc, Args&&... args);

/// An object that converts to T once: the conversion constructs the T where it is needed.
template <class T, class Alloc, class... Args>
class deferred {
public:
    explicit deferred(const Alloc& alloc, Args&&... args) : alloc_(alloc), args_(std::forward<Args>(args)...) {}

    operator T() const { // NOLINT(google-explicit-constructor)
        return [this]<std::size_t... I>(std::index_sequence<I...>) -> T {
            return make_using<T>(alloc_, static_cast<Args&&>(std::get<I>(args_))...);
        }(std::index_sequence_for<Args...>{});
    }

private:
    const Alloc& alloc_;
    std::tuple<Args&&...> args_;
};

template <class T, template <class...> class Template>
inline constexpr bool is_instance_v = false;
template <class... Args, template <class...> class Template>
inline constexpr bool is_instance_v<Template<Args...>, Template> = true;

template <class T, class Alloc, class... Args>
auto construction_args(const Alloc& alloc, Args&&... args);

template <class Pair, class Alloc>
auto pair_construction_args(const Alloc& alloc) {
    return std::make_tuple(std::piecewise_construct, construction_args<typename Pair::first_type>(alloc),
                           construction_args<typename Pair::second_type>(alloc));
}
template <class Pair, class Alloc, class First, class Second>
auto pair_construction_args(const Alloc& alloc, std::piecewise_construct_t, First&& first, Second&& second) {
    const auto of_first = [&alloc](auto&&... args) {
        return construction_args<typename Pair::first_type>(alloc, std::forward<decltype(args)>(args)...);
    };
    const auto of_second = [&alloc](auto&&... args) {
        return construction_args<typename Pair::second_type>(alloc, std::forward<decltype(args)>(args)...);
    };
    return std::make_tuple(std::piecewise_construct, std::apply(of_first, std::forward<First>(first)),
                           std::apply(of_second, std::forward<Second>(second)));
}
template <class Pair, class Alloc, class Tag, class First, class... Second>
    requires is_try_emplace_tag_v<std::remove_cvref_t<Tag>>
auto pair_construction_args(const Alloc& alloc, Tag&&, First&& first, Second&&... second) {
    return std::make_tuple(std::piecewise_construct,
                           construction_args<typename Pair::first_type>(alloc, std::forward<First>(first)),
                           construction_args<typename Pair::second_type>(alloc, std::forward<Second>(second)...));
}
template <class Pair, class Alloc, class First, class Second>
    requires(!is_try_emplace_tag_v<std::remove_cvref_t<First>>)
auto pair_construction_args(const Alloc& alloc, First&& first, Second&& second) {
    return std::make_tuple(std::piecewise_construct,
                           construction_args<typename Pair::first_type>(alloc, std::forward<First>(first)),
                           construction_args<typename Pair::second_type>(alloc, std::forward<Second>(second)));
}
template <class Pair, class Alloc, class Source>
auto pair_construction_args(const Alloc& alloc, Source&& source) {
    // NOLINTBEGIN(bugprone-use-after-move): each part is forwarded once
    if constexpr (is_pair_v<Source>) {
        return pair_construction_args<Pair>(alloc, std::forward<Source>(source).first,
                                            std::forward<Source>(source).second);
    } else { // something that converts to the pair
        return std::make_tuple(deferred<Pair, Alloc, Source>(alloc, std::forward<Source>(source)));
    }
    // NOLINTEND(bugprone-use-after-move)
}

/// Returns the arguments with which T's constructor passes the allocator to all of T's parts: a tuple of references and
/// of `deferred` objects. Use it within the full-expression in which `args` and `alloc` live.
template <class T, class Alloc, class... Args>
auto construction_args(const Alloc& alloc, Args&&... args) {
    using object = std::remove_cv_t<T>;
    constexpr composition kind = composition_v<T, Alloc>;
    if constexpr (kind == composition::plain) {
        return std::tuple<Args&&...>(std::forward<Args>(args)...);
    } else if constexpr (kind == composition::aware) {
        return std::uses_allocator_construction_args<object>(alloc, std::forward<Args>(args)...);
    } else if constexpr (kind == composition::pair) {
        return pair_construction_args<object>(alloc, std::forward<Args>(args)...);
    } else {
        return std::make_tuple(deferred<object, Alloc, Args...>(alloc, std::forward<Args>(args)...));
    }
}

// Arrays. Their elements are initialised one by one, without braces.

/// Returns element `I`, counted over all dimensions, with the array's constness and value category.
template <std::size_t I, class Array>
constexpr decltype(auto) flat_element(Array&& array) {
    using element = std::remove_reference_t<decltype(array[0])>;
    constexpr std::size_t inner = flat_extent_v<std::remove_cv_t<element>>;
    using forwarded = std::conditional_t<std::is_lvalue_reference_v<Array>, element&, element&&>;
    if constexpr (std::is_array_v<element>) {
        return flat_element<I % inner>(static_cast<forwarded>(array[I / inner]));
    } else {
        return static_cast<forwarded>(array[I]);
    }
}

// Aggregates.

struct slot_place {
    std::size_t member;
    std::size_t element;
};

template <class... Members>
consteval std::size_t slots_before(std::size_t member, type_list<Members...>) {
    constexpr std::array<std::size_t, sizeof...(Members) + 1> extents{flat_extent_v<std::remove_cv_t<Members>>..., 0};
    std::size_t slots = 0;
    for (std::size_t i = 0; i < member; ++i)
        slots += extents[i];
    return slots;
}

template <class... Members>
consteval slot_place place_of_slot(std::size_t slot, type_list<Members...>) {
    constexpr std::array<std::size_t, sizeof...(Members) + 1> extents{flat_extent_v<std::remove_cv_t<Members>>..., 0};
    std::size_t member = 0;
    while (slot >= extents[member])
        slot -= extents[member++];
    return {member, slot};
}

template <std::size_t I, class... Ts>
auto type_at(type_list<Ts...>) -> std::type_identity<std::tuple_element_t<I, std::tuple<std::type_identity<Ts>...>>>;

template <class T, std::size_t I>
using member_type = typename decltype(type_at<I>(member_types<T>{}))::type::type;

/// Returns the initialiser of a slot of aggregate T, made from the argument for the member to which the slot belongs.
template <class T, std::size_t Slot, class Alloc, class Given>
decltype(auto) make_slot(const Alloc& alloc, Given& given) {
    constexpr slot_place place = place_of_slot(Slot, member_types<T>{});
    using member = member_type<T, place.member>;
    using argument = std::tuple_element_t<place.member, Given>;
    if constexpr (std::is_reference_v<member>) {
        return static_cast<member>(std::get<place.member>(given));
    } else if constexpr (!std::is_array_v<member>) {
        return make_using<std::remove_cv_t<member>>(alloc, static_cast<argument>(std::get<place.member>(given)));
    } else {
        using element = std::remove_cv_t<std::remove_all_extents_t<member>>;
        using source = std::remove_cvref_t<argument>;
        static_assert(std::is_array_v<source>, "an array member is initialised from an array");
        if constexpr (place.element < flat_extent_v<source>) {
            return make_using<element>(
                alloc, flat_element<place.element>(static_cast<argument>(std::get<place.member>(given))));
        } else {
            return make_using<element>(alloc);
        }
    }
}

/// Initialises an empty base.
struct default_base {
    template <class B>
    operator B() const { // NOLINT(google-explicit-constructor)
        return B();
    }
};

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-braces"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wconversion" // bit-fields, from a value that came out of the same one
#endif

/// Constructs a T. Its first members are initialised from `given`, the others by default.
template <class T, class Alloc, class... Given>
T make_from_members(const Alloc& alloc, Given&&... given) {
    static_assert(sizeof...(Given) <= member_count_v<T>, "more initialisers than the aggregate has members");
    [[maybe_unused]] std::tuple<Given&&...> references(std::forward<Given>(given)...);
    return [&]<std::size_t... B, std::size_t... S>(std::index_sequence<B...>, std::index_sequence<S...>)
               -> T {
        return T{repeated<default_base, B>{}..., make_slot<T, S>(alloc, references)...};
    }(std::make_index_sequence<aggregate_shape_v<T>.bases>{},
               std::make_index_sequence<slots_before(sizeof...(Given), member_types<T>{})>{});
}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

template <class T, class Arg>
inline constexpr bool is_same_or_derived_v = std::is_base_of_v<T, std::remove_cvref_t<Arg>>;

template <class T, class Alloc>
    requires(!std::is_reference_v<T>)
T make_aggregate_from(const Alloc& alloc, T&& source) { // T is always given: an rvalue reference
    // NOLINTNEXTLINE(bugprone-move-forwarding-reference)
    return visit_members(std::move(source), [&alloc](auto&&... members) -> T {
        return make_from_members<T>(alloc, std::forward<decltype(members)>(members)...);
    });
}
template <class T, class Alloc>
T make_aggregate_from(const Alloc& alloc, const T& source) {
    return visit_members(source,
                         [&alloc](const auto&... members) -> T { return make_from_members<T>(alloc, members...); });
}

template <class T, class Alloc, class... Args>
T make_aggregate(const Alloc& alloc, Args&&... args) {
    if constexpr (sizeof...(Args) == 1 && (is_same_or_derived_v<T, Args> && ...)) {
        return make_aggregate_from<T>(alloc, std::forward<Args>(args)...);
    } else if constexpr (sizeof...(Args) == 1 && (std::is_convertible_v<Args, T> && ...)) {
        return make_aggregate_from<T>(alloc, static_cast<T>(std::forward<Args>(args))...);
    } else if constexpr (sizeof...(Args) == member_count_v<T> || !std::is_move_constructible_v<T>) {
        return make_from_members<T>(alloc, std::forward<Args>(args)...);
    } else {
        // Members without an argument use their default member initialisers, which are not visible here and use the
        // default allocator. So the object is made first and then taken apart.
        return make_aggregate_from<T>(alloc, make_from_members<T>(alloc, std::forward<Args>(args)...));
    }
}

// std::array, std::tuple, std::optional, std::variant.

template <class T, class Alloc, class... Args>
T make_array(const Alloc& alloc, Args&&... args) {
    using element = std::remove_cv_t<typename T::value_type>;
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> T {
        if constexpr (sizeof...(Args) == 0) {
            return T{{make_using<repeated<element, I>>(alloc)...}};
        } else {
            static_assert(sizeof...(Args) == 1 && (is_same_or_derived_v<T, Args> && ...),
                          "std::array is constructed from nothing or from another one");
            // NOLINTNEXTLINE(bugprone-use-after-move): each element is forwarded once
            return T{{make_using<element>(alloc, std::get<I>(std::forward<Args>(args)...))...}};
        }
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
}

template <class T, std::size_t Size>
inline constexpr bool is_tuple_of_size_v = false;
template <class... Ts, std::size_t Size>
inline constexpr bool is_tuple_of_size_v<std::tuple<Ts...>, Size> = sizeof...(Ts) == Size;
template <class A, class B, std::size_t Size>
inline constexpr bool is_tuple_of_size_v<std::pair<A, B>, Size> = Size == 2;

template <class T, class Alloc, class... Args>
T make_tuple_using(const Alloc& alloc, Args&&... args) {
    constexpr std::size_t size = std::tuple_size_v<T>;
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> T {
        if constexpr (sizeof...(Args) == 0) {
            return T(make_using<std::remove_cv_t<std::tuple_element_t<I, T>>>(alloc)...);
        } else if constexpr (sizeof...(Args) == 1 && (is_tuple_of_size_v<std::remove_cvref_t<Args>, size> && ...)) {
            // NOLINTBEGIN(bugprone-use-after-move): each element is forwarded once
            return T(make_using<std::remove_cv_t<std::tuple_element_t<I, T>>>(
                alloc, std::get<I>(std::forward<Args>(args)...))...);
            // NOLINTEND(bugprone-use-after-move)
        } else {
            static_assert(sizeof...(Args) == size, "a tuple is constructed from nothing, another one, or its elements");
            return T(make_using<std::remove_cv_t<std::tuple_element_t<I, T>>>(alloc, std::forward<Args>(args))...);
        }
    }(std::make_index_sequence<size>{});
}

template <class T, class Alloc, class... Args>
T make_engaged(const Alloc& alloc, Args&&... args) {
    return std::apply([](auto&&... all) { return T(std::in_place, std::forward<decltype(all)>(all)...); },
                      construction_args<typename T::value_type>(alloc, std::forward<Args>(args)...));
}

template <class T, class Alloc>
T make_optional_using(const Alloc&) {
    return T();
}
template <class T, class Alloc, class First, class... Rest>
T make_optional_using(const Alloc& alloc, First&& first, Rest&&... rest) {
    using source = std::remove_cvref_t<First>;
    if constexpr (std::is_same_v<source, std::in_place_t>) {
        return make_engaged<T>(alloc, std::forward<Rest>(rest)...);
    } else if constexpr (std::is_same_v<source, std::nullopt_t>) {
        return T();
    } else if constexpr (is_instance_v<source, std::optional>) {
        return first ? make_engaged<T>(alloc, *std::forward<First>(first)) : T();
    } else {
        return make_engaged<T>(alloc, std::forward<First>(first), std::forward<Rest>(rest)...);
    }
}

template <std::size_t Index, class T, class Alloc, class... Args>
T make_alternative(const Alloc& alloc, Args&&... args) {
    return std::apply([](auto&&... all) { return T(std::in_place_index<Index>, std::forward<decltype(all)>(all)...); },
                      construction_args<std::variant_alternative_t<Index, T>>(alloc, std::forward<Args>(args)...));
}

template <std::size_t Index, class Alloc, class Source>
std::remove_cvref_t<Source> make_same_alternative(const Alloc& alloc, Source&& source) {
    using variant = std::remove_cvref_t<Source>;
    if constexpr (Index == std::variant_size_v<variant>) {
        return variant(std::forward<Source>(source)); // valueless
    } else {
        if (source.index() != Index)
            return make_same_alternative<Index + 1>(alloc, std::forward<Source>(source));
        return make_alternative<Index, variant>(alloc, std::get<Index>(std::forward<Source>(source)));
    }
}

template <class T, class Alloc>
T make_variant(const Alloc& alloc) {
    return make_alternative<0, T>(alloc);
}
template <class T, class Alloc, std::size_t Index, class... Args>
T make_variant(const Alloc& alloc, std::in_place_index_t<Index>, Args&&... args) {
    return make_alternative<Index, T>(alloc, std::forward<Args>(args)...);
}
template <class T, class Alloc, class... Args>
T make_variant(const Alloc& alloc, Args&&... args) {
    if constexpr (sizeof...(Args) == 1 && (std::is_same_v<T, std::remove_cvref_t<Args>> && ...)) {
        return make_same_alternative<0>(alloc, std::forward<Args>(args)...);
    } else { // the variant itself finds the alternative
        return make_same_alternative<0>(alloc, T(std::forward<Args>(args)...));
    }
}

/// Constructs a T from `args`, all of whose parts use `alloc`. Returns a prvalue, so T is built in the caller's place.
template <class T, class Alloc, class... Args>
T make_using(const Alloc& alloc, Args&&... args) {
    constexpr composition kind = composition_v<T, Alloc>;
    if constexpr (kind == composition::plain) {
        if constexpr (std::is_scalar_v<T> && sizeof...(Args) == 1) {
            static_assert((std::is_constructible_v<T, Args> && ...));
            return static_cast<T>((std::forward<Args>(args), ...)); // T(x) would be a C cast
        } else {
            return T(std::forward<Args>(args)...);
        }
    } else if constexpr (kind == composition::aggregate) {
        return make_aggregate<T>(alloc, std::forward<Args>(args)...);
    } else if constexpr (kind == composition::array) {
        return make_array<T>(alloc, std::forward<Args>(args)...);
    } else if constexpr (kind == composition::tuple) {
        return make_tuple_using<T>(alloc, std::forward<Args>(args)...);
    } else if constexpr (kind == composition::optional) {
        return make_optional_using<T>(alloc, std::forward<Args>(args)...);
    } else if constexpr (kind == composition::variant) {
        return make_variant<T>(alloc, std::forward<Args>(args)...);
    } else if constexpr (kind == composition::pair && sizeof...(Args) == 1 && !(is_pair_v<Args> && ...)) {
        return make_using<T>(alloc, T(std::forward<Args>(args)...));
    } else {
        return std::make_from_tuple<T>(construction_args<T>(alloc, std::forward<Args>(args)...));
    }
}

template <class T, class Alloc, class... Args>
inline constexpr bool is_nothrow_constructible_using_v =
    composition_v<T, Alloc> == composition::plain && std::is_nothrow_constructible_v<T, Args...>;

/// Constructs a T in the raw memory at `where`; all its parts use `alloc`. If it throws, the memory is raw again.
template <class T, class Alloc, class... Args>
void construct_using(T* where, const Alloc& alloc,
                     Args&&... args) noexcept(is_nothrow_constructible_using_v<T, Alloc, Args...>) {
    if constexpr (composition_v<T, Alloc> == composition::plain) {
        std::construct_at(where, std::forward<Args>(args)...);
    } else {
        ::new (static_cast<void*>(where)) T(make_using<T>(alloc, std::forward<Args>(args)...));
    }
}

} // namespace remanence::detail
