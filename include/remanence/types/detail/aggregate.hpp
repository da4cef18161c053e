// The members of an aggregate, without their names (see member_names.hpp): how many there are, their types and places,
// and a way to visit them. Depends on the standard library only.
//
// Counting by initialisability and taking apart by structured bindings are techniques of Boost.PFR (Antony Polukhin);
// arrays, bases and unions are treated differently here.
//
// How members are counted. `T{x, x, ...}` accepts as many initialisers as there are *slots*. An array takes one slot
// per element, since its braces may be left out. Then each position is tried with braces, `T{x, ..., {}, x, ...}`: the
// number of initialisers that still fit behind the braces tells how many slots this member has.
#pragma once

#include <remanence/types/class_traits.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

namespace remanence::detail {

inline constexpr std::size_t k_members_max = 32;
inline constexpr std::size_t k_slots_max = 1024; // bounds the time it takes to compile

/// The number of elements of an array over all its dimensions; 1 for other types.
template <class T>
inline constexpr std::size_t flat_extent_v = 1;
template <class T, std::size_t N>
inline constexpr std::size_t flat_extent_v<T[N]> = N * flat_extent_v<T>;

// Initialisers for unevaluated use. Their conversions are const, so that a greedy converting constructor, such as
// std::any's, is the better match and there is no ambiguity. Nothing calls them. They are defined because clang warns
// of templates without a definition when a constructor of a member is instantiated.
template <class Owner>
struct any_part {
    template <class M>
        requires(!std::same_as<M, Owner>)
    // NOLINTNEXTLINE(google-explicit-constructor)
    operator M() const {
        std::terminate();
    }
};
template <class Owner>
struct any_base {
    template <class B>
        requires(std::is_base_of_v<B, Owner> && !std::same_as<B, Owner>)
    // NOLINTNEXTLINE(google-explicit-constructor)
    operator B() const {
        std::terminate();
    }
};
template <class Owner>
struct any_empty_base {
    template <class B>
        requires(std::is_base_of_v<B, Owner> && !std::same_as<B, Owner> && std::is_empty_v<B>)
    // NOLINTNEXTLINE(google-explicit-constructor)
    operator B() const {
        std::terminate();
    }
};
struct any_union {
    template <class U>
        requires std::is_union_v<U>
    operator U() const; // NOLINT(google-explicit-constructor)
};

/// Converts to nothing. A slot that accepts it accepts everything, so nothing is known about the type of that slot.
struct any_greedy {};

template <class Initialiser, std::size_t>
using repeated = Initialiser;

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wmissing-braces"
#endif

/// True if `T{first..., any...}` is well-formed, with so many of each.
template <class T, class First, class Firsts, class Rest>
inline constexpr bool accepts_v = false;
template <class T, class First, std::size_t... F, std::size_t... R>
    requires requires { T{std::declval<repeated<First, F>>()..., std::declval<repeated<any_part<T>, R>>()...}; }
inline constexpr bool accepts_v<T, First, std::index_sequence<F...>, std::index_sequence<R...>> = true;

/// True if `T{any..., {any...}, any...}` is well-formed.
template <class T, class Before, class Braced, class After>
inline constexpr bool accepts_braced_v = false;
template <class T, std::size_t... P, std::size_t... B, std::size_t... A>
    requires requires {
        T{std::declval<repeated<any_part<T>, P>>()...,
          {std::declval<repeated<any_part<T>, B>>()...},
          std::declval<repeated<any_part<T>, A>>()...};
    }
inline constexpr bool
    accepts_braced_v<T, std::index_sequence<P...>, std::index_sequence<B...>, std::index_sequence<A...>> = true;

/// True if the initialiser at the position behind `Before` may be of type `Probe`.
template <class T, class Probe, class Before, class After>
inline constexpr bool accepts_at_v = false;
template <class T, class Probe, std::size_t... P, std::size_t... A>
    requires requires {
        T{std::declval<repeated<any_part<T>, P>>()..., std::declval<Probe>(),
          std::declval<repeated<any_part<T>, A>>()...};
    }
inline constexpr bool accepts_at_v<T, Probe, std::index_sequence<P...>, std::index_sequence<A...>> = true;

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class T, std::size_t N>
inline constexpr bool accepts_n_v = accepts_v<T, any_part<T>, std::index_sequence<>, std::make_index_sequence<N>>;

// Counting slots. The accepted numbers of initialisers are contiguous. The smallest is above 0 if members cannot be
// initialised from nothing.

template <class T, std::size_t N = 0>
consteval std::size_t slots_min() {
    if constexpr (accepts_n_v<T, N>) {
        return N;
    } else if constexpr (N > 2 * k_members_max) {
        return k_slots_max + 1;
    } else {
        return slots_min<T, N + 1>();
    }
}

/// Returns the largest accepted number in [Low, High); Low is accepted, and High is not.
template <class T, std::size_t Low, std::size_t High>
consteval std::size_t slots_between() {
    if constexpr (High - Low == 1) {
        return Low;
    } else if constexpr (constexpr std::size_t middle = Low + (High - Low) / 2; accepts_n_v<T, middle>) {
        return slots_between<T, middle, High>();
    } else {
        return slots_between<T, Low, middle>();
    }
}

template <class T, std::size_t Low, std::size_t Step = 1>
consteval std::size_t slots_from() {
    if constexpr (Low > k_slots_max) {
        return k_slots_max + 1;
    } else if constexpr (accepts_n_v<T, Low + Step>) {
        return slots_from<T, Low + Step, 2 * Step>();
    } else {
        return slots_between<T, Low, Low + Step>();
    }
}

/// Returns the number of slots; k_slots_max + 1 if there are more, or if they cannot be counted.
template <class T>
consteval std::size_t count_slots() {
    constexpr std::size_t least = slots_min<T>();
    if constexpr (least > k_slots_max) {
        return least;
    } else {
        return slots_from<T, least>();
    }
}

// The width of one member: how many slots it takes.

template <class T, std::size_t Slots, std::size_t Position, std::size_t Width, std::size_t Braced>
inline constexpr bool fits_v = accepts_braced_v<T, std::make_index_sequence<Position>, std::make_index_sequence<Braced>,
                                                std::make_index_sequence<Slots - Position - Width>>;

/// Returns the smallest width that fits in (Low, High]; Low does not fit, and High does.
template <class T, std::size_t Slots, std::size_t Position, std::size_t Low, std::size_t High>
consteval std::size_t width_between() {
    if constexpr (High - Low == 1) {
        return High;
    } else if constexpr (constexpr std::size_t middle = Low + (High - Low) / 2; fits_v<T, Slots, Position, middle, 0>) {
        return width_between<T, Slots, Position, Low, middle>();
    } else {
        return width_between<T, Slots, Position, middle, High>();
    }
}

/// Tries every width in turn: width_between() would need an upper width that fits, and there is none if members behind
/// this one must be initialised. Returns 0 if no width fits.
template <class T, std::size_t Slots, std::size_t Position, std::size_t Width>
consteval std::size_t width_empty_braces() {
    if constexpr (Width > Slots - Position) {
        return 0;
    } else if constexpr (fits_v<T, Slots, Position, Width, 0>) {
        return Width;
    } else {
        return width_empty_braces<T, Slots, Position, Width + 1>();
    }
}

/// Finds the width of an array whose elements cannot be initialised by `{}`: in braces it accepts exactly as many
/// initialisers as it has slots. A class with a constructor of that many parameters also allows more initialisers
/// behind it, so it is not mistaken for an array.
template <class T, std::size_t Slots, std::size_t Position, std::size_t Width>
consteval std::size_t width_full_braces() {
    if constexpr (Width > Slots - Position) {
        return 1;
    } else if constexpr (fits_v<T, Slots, Position, Width, Width> && !fits_v<T, Slots, Position, Width - 1, Width>) {
        return Width;
    } else {
        return width_full_braces<T, Slots, Position, Width + 1>();
    }
}

template <class T, std::size_t Slots, std::size_t Position>
consteval std::size_t member_width() {
    constexpr std::size_t left = Slots - Position;
    if constexpr (left == 1 || fits_v<T, Slots, Position, 1, 0>) {
        return 1;
    } else if constexpr (fits_v<T, Slots, Position, left, 0>) {
        return width_between<T, Slots, Position, 1, left>();
    } else {
        constexpr std::size_t width = width_empty_braces<T, Slots, Position, 2>();
        if constexpr (width != 0) {
            return width;
        } else {
            return width_full_braces<T, Slots, Position, 2>();
        }
    }
}

/// True if the initialiser of a slot may be of type `Probe`, but not of every type.
template <class T, std::size_t Slots, std::size_t Position, class Probe>
inline constexpr bool is_of_kind_v = false;
template <class T, std::size_t Slots, std::size_t Position, class Probe>
    requires accepts_at_v<T, Probe, std::make_index_sequence<Position>, std::make_index_sequence<Slots - Position - 1>>
inline constexpr bool is_of_kind_v<T, Slots, Position, Probe> =
    !accepts_at_v<T, any_greedy, std::make_index_sequence<Position>, std::make_index_sequence<Slots - Position - 1>>;

/// Counts the bases, which come before the members.
template <class T, std::size_t Slots, std::size_t Bases = 0>
consteval std::size_t count_bases() {
    if constexpr (Bases < Slots) {
        if constexpr (is_of_kind_v<T, Slots, Bases, any_base<T>>)
            return count_bases<T, Slots, Bases + 1>();
    }
    return Bases;
}

struct member_count_result {
    std::size_t members = 0;
    bool has_union = false;
};

template <class T, std::size_t Slots, std::size_t Position, std::size_t Members = 0, bool Union = false>
consteval member_count_result count_members() {
    if constexpr (Position >= Slots || Members > k_members_max) {
        return {Members, Union};
    } else {
        return count_members<T, Slots, Position + member_width<T, Slots, Position>(), Members + 1,
                             Union || is_of_kind_v<T, Slots, Position, any_union>>();
    }
}

/// The reason why an aggregate cannot be taken apart.
enum class aggregate_obstacle {
    none,
    base,         ///< a base class with members, which structured bindings cannot reach
    union_member, ///< a union: its active member is unknown, and an anonymous one cannot be bound
    too_many,     ///< more than k_members_max members, or k_slots_max array elements
};

struct aggregate_shape {
    std::size_t bases = 0; ///< all empty, if there is no obstacle
    std::size_t members = 0;
    aggregate_obstacle obstacle = aggregate_obstacle::none;
};

template <class T>
consteval aggregate_shape shape_of_aggregate() {
    static_assert(std::is_aggregate_v<T> && std::is_class_v<T>);
    constexpr std::size_t slots = count_slots<T>();
    if constexpr (slots > k_slots_max) {
        return {.obstacle = aggregate_obstacle::too_many};
    } else {
        constexpr std::size_t bases = count_bases<T, slots>();
        constexpr bool empty_bases =
            accepts_v<T, any_empty_base<T>, std::make_index_sequence<bases>, std::make_index_sequence<slots - bases>>;
        if constexpr (!empty_bases) {
            return {.bases = bases, .obstacle = aggregate_obstacle::base};
        } else {
            constexpr member_count_result counted = count_members<T, slots, bases>();
            if constexpr (counted.members > k_members_max) {
                return {.bases = bases, .obstacle = aggregate_obstacle::too_many};
            } else if constexpr (counted.has_union) {
                return {.bases = bases, .members = counted.members, .obstacle = aggregate_obstacle::union_member};
            } else {
                return {.bases = bases, .members = counted.members};
            }
        }
    }
}

/// The shape of the aggregate class T, which is not cv-qualified and not a union.
template <class T>
inline constexpr aggregate_shape aggregate_shape_v = shape_of_aggregate<T>();

template <class T>
inline constexpr std::size_t member_count_v = aggregate_shape_v<T>.members;

// Taking apart. C++20 has no structured binding with a pack, so there is one case per number of members.

/// Scalars are moved by value, since they may be bit-fields: clang 19 wrongly binds the rvalue reference of a cast to
/// the storage around a bit-field.
template <class M>
    requires std::is_scalar_v<M>
constexpr M moved_member(const M& member) {
    return member;
}
template <class M>
    requires(!std::is_scalar_v<M>)
constexpr M&& moved_member(std::remove_reference_t<M>& member) {
    return static_cast<M&&>(member);
}

/// The addresses of an aggregate's members. They are void pointers, so that one type serves all: a tuple of typed
/// addresses takes several times as long to compile.
template <std::size_t N>
struct address_list {
    const volatile void* at[N];
};

/// Returns the address of a member; for a bit-field, that of a temporary.
template <class M>
constexpr const volatile void* address_of_member(const M& member) {
    return __builtin_addressof(member);
}

// NOLINTBEGIN(bugprone-macro-parentheses)
// clang-format off
#define REM_LIST_1(X) X(m0)
#define REM_LIST_2(X) REM_LIST_1(X), X(m1)
#define REM_LIST_3(X) REM_LIST_2(X), X(m2)
#define REM_LIST_4(X) REM_LIST_3(X), X(m3)
#define REM_LIST_5(X) REM_LIST_4(X), X(m4)
#define REM_LIST_6(X) REM_LIST_5(X), X(m5)
#define REM_LIST_7(X) REM_LIST_6(X), X(m6)
#define REM_LIST_8(X) REM_LIST_7(X), X(m7)
#define REM_LIST_9(X) REM_LIST_8(X), X(m8)
#define REM_LIST_10(X) REM_LIST_9(X), X(m9)
#define REM_LIST_11(X) REM_LIST_10(X), X(m10)
#define REM_LIST_12(X) REM_LIST_11(X), X(m11)
#define REM_LIST_13(X) REM_LIST_12(X), X(m12)
#define REM_LIST_14(X) REM_LIST_13(X), X(m13)
#define REM_LIST_15(X) REM_LIST_14(X), X(m14)
#define REM_LIST_16(X) REM_LIST_15(X), X(m15)
#define REM_LIST_17(X) REM_LIST_16(X), X(m16)
#define REM_LIST_18(X) REM_LIST_17(X), X(m17)
#define REM_LIST_19(X) REM_LIST_18(X), X(m18)
#define REM_LIST_20(X) REM_LIST_19(X), X(m19)
#define REM_LIST_21(X) REM_LIST_20(X), X(m20)
#define REM_LIST_22(X) REM_LIST_21(X), X(m21)
#define REM_LIST_23(X) REM_LIST_22(X), X(m22)
#define REM_LIST_24(X) REM_LIST_23(X), X(m23)
#define REM_LIST_25(X) REM_LIST_24(X), X(m24)
#define REM_LIST_26(X) REM_LIST_25(X), X(m25)
#define REM_LIST_27(X) REM_LIST_26(X), X(m26)
#define REM_LIST_28(X) REM_LIST_27(X), X(m27)
#define REM_LIST_29(X) REM_LIST_28(X), X(m28)
#define REM_LIST_30(X) REM_LIST_29(X), X(m29)
#define REM_LIST_31(X) REM_LIST_30(X), X(m30)
#define REM_LIST_32(X) REM_LIST_31(X), X(m31)
#define REM_NAME(m) m
#define REM_TYPE(m) decltype(m)
#define REM_MOVED(m) moved_member<decltype(m)>(m)
#define REM_CONST(m) static_cast<const decltype(m)&>(m)
#define REM_ADDRESS(m) requires { __builtin_addressof(m); } ? address_of_member(m) : nullptr
#define REM_EVERY_COUNT(X) \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) \
    X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)

/// Calls `f` with every member of `object`, as const lvalues. Bit-fields are passed as temporaries that live until `f`
/// returns.
template <class T, class F>
constexpr decltype(auto) visit_members(const T& object, F&& f) {
    constexpr std::size_t count = member_count_v<T>;
#define REM_VISIT(n) if constexpr (count == n) { \
        const auto& [REM_LIST_##n(REM_NAME)] = object; return std::forward<F>(f)(REM_LIST_##n(REM_CONST)); } else
    REM_EVERY_COUNT(REM_VISIT) { static_cast<void>(object); return std::forward<F>(f)(); }
#undef REM_VISIT
}

/// Calls `f` with every member of `object`, as rvalues. Scalars are passed as temporaries.
template <class T, class F>
    requires(!std::is_reference_v<T> && !std::is_const_v<T>)
constexpr decltype(auto) visit_members(T&& object, F&& f) {
    constexpr std::size_t count = member_count_v<T>;
#define REM_VISIT(n) if constexpr (count == n) { \
        auto& [REM_LIST_##n(REM_NAME)] = object; return std::forward<F>(f)(REM_LIST_##n(REM_MOVED)); } else
    REM_EVERY_COUNT(REM_VISIT) { static_cast<void>(object); return std::forward<F>(f)(); }
#undef REM_VISIT
}

template <class T>
auto member_types_of(T& object) {
    constexpr std::size_t count = member_count_v<T>;
#define REM_VISIT(n) if constexpr (count == n) { \
        auto& [REM_LIST_##n(REM_NAME)] = object; return type_list<REM_LIST_##n(REM_TYPE)>{}; } else
    REM_EVERY_COUNT(REM_VISIT) { return type_list<>{}; }
#undef REM_VISIT
}

/// Returns the addresses of T's members; null for bit-fields. Does not read `object`. Precondition: there are members,
/// and none is a reference.
template <class T>
constexpr auto member_addresses(const T& object) {
    constexpr std::size_t count = member_count_v<T>;
#define REM_VISIT(n) if constexpr (count == n) { \
        const auto& [REM_LIST_##n(REM_NAME)] = object; return address_list<n>{{REM_LIST_##n(REM_ADDRESS)}}; } else
    REM_EVERY_COUNT(REM_VISIT) { static_assert(count != 0); }
#undef REM_VISIT
}
// clang-format on
// NOLINTEND(bugprone-macro-parentheses)

#undef REM_EVERY_COUNT
#undef REM_ADDRESS
#undef REM_CONST
#undef REM_MOVED
#undef REM_TYPE
#undef REM_NAME
#undef REM_LIST_1
#undef REM_LIST_2
#undef REM_LIST_3
#undef REM_LIST_4
#undef REM_LIST_5
#undef REM_LIST_6
#undef REM_LIST_7
#undef REM_LIST_8
#undef REM_LIST_9
#undef REM_LIST_10
#undef REM_LIST_11
#undef REM_LIST_12
#undef REM_LIST_13
#undef REM_LIST_14
#undef REM_LIST_15
#undef REM_LIST_16
#undef REM_LIST_17
#undef REM_LIST_18
#undef REM_LIST_19
#undef REM_LIST_20
#undef REM_LIST_21
#undef REM_LIST_22
#undef REM_LIST_23
#undef REM_LIST_24
#undef REM_LIST_25
#undef REM_LIST_26
#undef REM_LIST_27
#undef REM_LIST_28
#undef REM_LIST_29
#undef REM_LIST_30
#undef REM_LIST_31
#undef REM_LIST_32

/// The declared types of T's members, arrays and bit-fields included.
template <class T>
using member_types = decltype(member_types_of(std::declval<T&>()));

} // namespace remanence::detail
