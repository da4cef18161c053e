// reflect<T>: what a type consists of, as the compiler sees it. Aggregates and enumerations need no preparation. A
// class with private members, bases with members, or bit-fields uses REM_REFLECT. Depends on the standard library only.
//
// A heap stores this description for each type of a root (docs/guide/looking-inside.md), so that `rem` prints objects
// without the program.
#pragma once

#include <remanence/types/detail/fingerprint.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence {

// NOLINTBEGIN(bugprone-macro-parentheses,cppcoreguidelines-macro-usage)
// clang-format off
#define REM_REFLECT_PARENS_ ()
#define REM_REFLECT_EXPAND_(...) REM_REFLECT_EXPAND_3_(REM_REFLECT_EXPAND_3_(REM_REFLECT_EXPAND_3_(__VA_ARGS__)))
#define REM_REFLECT_EXPAND_3_(...) REM_REFLECT_EXPAND_2_(REM_REFLECT_EXPAND_2_(REM_REFLECT_EXPAND_2_(__VA_ARGS__)))
#define REM_REFLECT_EXPAND_2_(...) REM_REFLECT_EXPAND_1_(REM_REFLECT_EXPAND_1_(REM_REFLECT_EXPAND_1_(__VA_ARGS__)))
#define REM_REFLECT_EXPAND_1_(...) __VA_ARGS__
#define REM_REFLECT_EACH_(macro, ...) __VA_OPT__(REM_REFLECT_EXPAND_(REM_REFLECT_NEXT_(macro, __VA_ARGS__)))
#define REM_REFLECT_NEXT_(macro, first, ...) \
    macro(first) __VA_OPT__(REM_REFLECT_AGAIN_ REM_REFLECT_PARENS_ (macro, __VA_ARGS__))
#define REM_REFLECT_AGAIN_() REM_REFLECT_NEXT_
#define REM_REFLECT_TAKE_(member) visit.template take<decltype(member)>(#member);
#define REM_REFLECT_PLACE_(member) \
    if constexpr (requires { &self.member; }) *into++ = __builtin_addressof(self.member); else *into++ = nullptr;
#define REM_REFLECT_FILL_(member)                                                             \
    if constexpr (!requires { &self.member; }) {                                          \
        using rem_type_ = ::std::remove_reference_t<decltype((self.member))>;             \
        if (bit_field-- == 0) {                                                           \
            if constexpr (requires { --self.member; })                                    \
                --self.member;                                                            \
            else if constexpr (requires { self.member = rem_type_(); })                   \
                self.member = ::remanence::detail::reflect_access::all_ones<rem_type_>(); \
        }                                                                                 \
    }

/// Names the members of a class, in its definition: first its bases that have members, in parentheses, then its
/// members; 26 at most together, in any order. A member that is not named is not examined. Class templates may use it,
/// too. Examples: `REM_REFLECT((), number_, balance_)`, `REM_REFLECT((parent), number_)`. It adds functions and names,
/// but no byte to objects, and an aggregate stays an aggregate.
#define REM_REFLECT(bases, ...)                                                                          \
    friend struct ::remanence::detail::reflect_access;                                                   \
    auto rem_reflect_self_() -> decltype(*this);                                                         \
    using rem_reflect_bases_ = ::remanence::detail::bases_in<void bases>;                                \
    template <class RemVisit>                                                                            \
    static constexpr void rem_reflect_members_(RemVisit& visit) {                                        \
        REM_REFLECT_EACH_(REM_REFLECT_TAKE_, __VA_ARGS__)                                                \
        static_cast<void>(visit);                                                                        \
    }                                                                                                    \
    template <class RemSelf>                                                                             \
    static void rem_reflect_places_(RemSelf& self, const volatile void** into) {                         \
        REM_REFLECT_EACH_(REM_REFLECT_PLACE_, __VA_ARGS__)                                               \
        static_cast<void>(self);                                                                         \
        static_cast<void>(into);                                                                         \
    }                                                                                                    \
    template <class RemSelf>                                                                             \
    static void rem_reflect_fill_(RemSelf& self, std::size_t bit_field) {                                \
        REM_REFLECT_EACH_(REM_REFLECT_FILL_, __VA_ARGS__)                                                \
        static_cast<void>(self);                                                                         \
        static_cast<void>(bit_field);                                                                    \
    }                                                                                                    \
    static_assert(true)
// clang-format on
// NOLINTEND(bugprone-macro-parentheses,cppcoreguidelines-macro-usage)

/// The kind of a type.
enum class type_kind_of : std::uint8_t {
    hidden,      ///< a class that cannot be examined
    number,      ///< integers, characters, bool, floating point
    enumeration, ///< an enum
    members,     ///< an aggregate, a class with REM_REFLECT, a pair or a tuple
    array,       ///< a C array
    pointer,     ///< a plain pointer
    container,   ///< a class with elements in a known shape: containers, strings, std::optional, std::variant
};

class reflection;

namespace detail {
using reflection_function = const reflection& (*)();
template <class T>
constexpr reflection describe();
} // namespace detail

/// The description of one type. Everything is known at compile time, except names of types and offsets, which are
/// computed on request.
class reflection {
public:
    /// A member or base.
    struct member {
        std::string_view name;             ///< empty for a base, and for a bit-field of an aggregate
        std::optional<std::size_t> offset; ///< no value for a bit-field
    };
    /// A value with a name.
    struct enumerator {
        std::int64_t value;    ///< as stored, sign-extended
        std::string_view name; ///< as the program declares it
    };

    type_kind_of kind = type_kind_of::hidden; ///< the kind of the type
    std::size_t size = 0;                     ///< in bytes
    std::size_t alignment = 0;                ///< in bytes
    std::uint32_t layout_number = 0;          ///< remanence::layout_number<T>
    bool is_position_independent = false;     ///< objects hold no address
    bool is_trivially_copyable = false;       ///< as std::is_trivially_copyable says
    bool is_empty = false;                    ///< as std::is_empty says
    std::size_t base_count = 0;               ///< how many bases there are; they are the first members
    std::size_t member_count = 0;             ///< bases included
    std::size_t extent = 0;                   ///< the number of elements of an array

    /// Returns the name of the type, as a programmer writes it.
    [[nodiscard]] std::string name() const { return detail::readable_name(type_->name()); }
    /// Returns bases and members, in their order. O(their number).
    [[nodiscard]] std::vector<member> members() const {
        std::vector<member> all(member_count);
        if (members_ == nullptr || members_->names == nullptr)
            return all;
        constexpr std::uintptr_t k_place = std::uintptr_t{1} << 32; // nothing is read there
        std::vector<const volatile void*> addresses(member_count);
        members_->locate(k_place, addresses.data());
        std::uint32_t begin = 0;
        for (std::size_t i = 0; i != member_count; ++i) {
            all[i].name = {members_->names + begin, members_->ends[i] - begin};
            begin = members_->ends[i];
            if (addresses[i] != nullptr)
                all[i].offset = reinterpret_cast<std::uintptr_t>(addresses[i]) - k_place;
        }
        return all;
    }
    /// Returns the enumerators with values from -16 (0 if unsigned) to 127.
    [[nodiscard]] std::vector<enumerator> enumerators() const {
        std::vector<enumerator> all;
        if (kind != type_kind_of::enumeration)
            return all;
        std::uint32_t begin = 0;
        for (std::size_t i = 0; i != shape_->count; ++i) {
            all.push_back({static_cast<std::int64_t>(shape_->numbers[i]),
                           {shape_->labels + begin, shape_->label_ends[i] - begin}});
            begin = shape_->label_ends[i];
        }
        return all;
    }
    /// Returns the type that a pointer points at, or an array's element type; null for other types.
    [[nodiscard]] const reflection* element() const { return element_ == nullptr ? nullptr : &element_(); }
    /// Returns how objects store their contents; `shape_kind::none` if they have no known shape.
    [[nodiscard]] detail::type_shape shape() const { return shape_ == nullptr ? detail::type_shape{} : *shape_; }

private:
    template <class T>
    friend constexpr reflection detail::describe();

    const std::type_info* type_ = nullptr;
    const detail::member_table* members_ = nullptr;
    const detail::type_shape* shape_ = nullptr;
    detail::reflection_function element_ = nullptr;
};

namespace detail {

template <class T>
const reflection& reflection_of();

template <class T>
consteval bool has_member_table() {
    if constexpr (has_shape_v<T>)
        return shape_of<T>().kind == shape_kind::members;
    else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>)
        return aggregate_shape_v<T>.obstacle == aggregate_obstacle::none && aggregate_shape_v<T>.members != 0;
    else
        return false;
}
/// T must have a member table.
template <class T>
consteval const member_table& table_of_members() {
    if constexpr (has_shape_v<T>)
        return *shape_of<T>().members;
    else
        return members_of<T, structure_of_member>::k_table;
}

template <class T>
consteval std::size_t count_of_bases() {
    if constexpr (reflect_access::is_reflected<T>())
        return reflect_access::members<T>::bases::k_count;
    else
        return 0;
}

template <class T>
constexpr reflection describe() {
    reflection made;
    made.type_ = &typeid(T);
    if constexpr (complete<T>) {
        made.size = sizeof(T);
        made.alignment = alignof(T);
        made.is_trivially_copyable = std::is_trivially_copyable_v<T>;
        made.is_position_independent = is_position_independent_v<T>;
        made.is_empty = std::is_empty_v<T>;
        made.layout_number = layout_number<T>;
        made.base_count = count_of_bases<T>();
        if constexpr (has_member_table<T>()) {
            made.members_ = &table_of_members<T>();
            made.member_count = made.members_->count;
        }
        if (has_member_table<T>() || made.is_empty)
            made.kind = type_kind_of::members;
    }
    if constexpr (has_shape_v<T>)
        made.shape_ = &shape_of<T>();
    if constexpr (std::is_array_v<T>) {
        made.kind = type_kind_of::array;
        made.extent = std::extent_v<T>;
        made.element_ = &reflection_of<std::remove_extent_t<T>>;
    } else if constexpr (std::is_pointer_v<T>) {
        made.kind = type_kind_of::pointer;
        made.element_ = &reflection_of<std::remove_cv_t<std::remove_pointer_t<T>>>;
    } else if constexpr (std::is_enum_v<T>) {
        made.kind = type_kind_of::enumeration;
    } else if constexpr (std::is_arithmetic_v<T>) {
        made.kind = type_kind_of::number;
    } else if (has_shape_v<T> && made.kind == type_kind_of::hidden) {
        made.kind = type_kind_of::container;
    }
    return made;
}

} // namespace detail

/// The description of T.
template <class T>
inline constexpr reflection reflect = detail::describe<std::remove_cv_t<T>>();

template <class T>
const reflection& detail::reflection_of() {
    return reflect<T>;
}

} // namespace remanence
