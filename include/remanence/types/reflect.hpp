// What a type is made of, by the compiler: reflect<T>. Aggregates and enumerations need nothing for it; a class that has
// private members, bases with members, or bit-fields says REM_REFLECT. Depends on the standard library only.
//
// A heap stores the same for each type of a root (docs/guide/looking-inside.md), so that `rem` prints its objects without the
// program.
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

namespace detail {

template <class Signature>
struct bases_in;
template <class... Bases>
struct bases_in<void(Bases...)> {
    static constexpr std::size_t k_count = sizeof...(Bases);
    static constexpr write_type k_types[sizeof...(Bases) + 1] = {&write_structure<Bases>..., nullptr};
    template <class T>
    static void locate(std::uintptr_t place, const volatile void** into) {
        const T* const object = reinterpret_cast<const T*>(place);
        static_cast<void>(object); // there may be no base
        static_cast<void>(into);
        ((*into++ = static_cast<const Bases*>(object)), ...);
    }
    template <class Visit>
    static constexpr void visit(Visit& visitor) {
        (visitor.template take<Bases>(std::string_view()), ...);
        static_cast<void>(visitor); // there may be no base
    }
};

/// Does nothing; names the part of the library that tells how such classes changed, so that their programs have it.
void tell_changes_of_classes() noexcept;

/// What REM_REFLECT makes its friend.
struct reflect_access {
    /// Not by what a base says.
    template <class T>
    static consteval bool is_reflected() {
        if constexpr (requires(T& object) { object.rem_reflect_self_(); })
            return std::is_same_v<decltype(std::declval<T&>().rem_reflect_self_()), T&>;
        else
            return false;
    }
    /// Calls `visitor.take<M>(name)` for each of its bases and members.
    template <class T, class Visit>
    static constexpr void visit(Visit& visitor) {
        T::rem_reflect_bases_::visit(visitor);
        T::rem_reflect_members_(visitor);
    }
    template <class T>
    struct members {
        using bases = typename T::rem_reflect_bases_;
        struct counter {
            std::size_t count = 0;
            std::size_t bytes = 0;
            template <class M>
            constexpr void take(std::string_view name) {
                ++count;
                bytes += name.size();
            }
        };
        static consteval counter measure() {
            counter all;
            T::rem_reflect_members_(all);
            return all;
        }
        static constexpr std::size_t k_count = bases::k_count + measure().count;
        static constexpr bool k_is_own = true;
        struct table {
            packed_names<k_count + 1, measure().bytes> names;
            std::array<write_type, k_count + 1> types = {};
            std::size_t count = 0;
            std::size_t bytes = 0;
            template <class M>
            constexpr void take(std::string_view name) {
                for (const char c : name)
                    names.text[bytes++] = c;
                types[count] = &write_structure<M>;
                names.ends[count++] = static_cast<std::uint32_t>(bytes);
            }
        };
        static consteval table make() {
            table made;
            for (; made.count != bases::k_count; ++made.count) // their names are those of their types
                made.types[made.count] = bases::k_types[made.count];
            T::rem_reflect_members_(made);
            return made;
        }
        static constexpr table k_made = make();
        static constexpr const auto& k_names = k_made.names;
        static constexpr const auto& k_types = k_made.types;
        static void locate(std::uintptr_t place, const volatile void** into) {
            tell_changes_of_classes();
            bases::template locate<T>(place, into);
            T::rem_reflect_places_(*reinterpret_cast<const T*>(place), into + bases::k_count);
        }
    };
};

template <class T>
    requires(std::is_class_v<T> && reflect_access::is_reflected<T>())
struct shape_of<T> : shape_of_members<reflect_access::members<T>> {};

} // namespace detail

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

/// In a class: its bases that have members, in parentheses, and its members, up to 26 together. They are named in any order; one
/// that is left out is not looked into. A class template says it, too. `REM_REFLECT((), number_, balance_)`,
/// `REM_REFLECT((parent), number_)`. It adds functions and names, and no byte to objects; an aggregate stays one.
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
    static_assert(true)
// clang-format on
// NOLINTEND(bugprone-macro-parentheses,cppcoreguidelines-macro-usage)

/// What a type is.
enum class type_kind_of : std::uint8_t {
    hidden, ///< a class that cannot be looked into
    number, ///< integers, characters, bool, floating point
    enumeration,
    members, ///< an aggregate, or a class that has REM_REFLECT, a pair, a tuple
    array,
    pointer,
    container, ///< and what else keeps elements in a known shape: strings, std::optional, std::variant
};

class reflection;

namespace detail {
using reflection_function = const reflection& (*)();
template <class T>
constexpr reflection describe();
} // namespace detail

/// One type. All of it is known at compile time but for names of types and offsets, which are worked out when they are asked for.
class reflection {
public:
    struct member {
        std::string_view name;             ///< empty: a base, or a bit-field of an aggregate
        std::optional<std::size_t> offset; ///< nothing: a bit-field
    };
    struct enumerator {
        std::int64_t value;
        std::string_view name;
    };

    type_kind_of kind = type_kind_of::hidden;
    std::size_t size = 0;      ///< in bytes
    std::size_t alignment = 0; ///< in bytes
    std::uint32_t layout_number = 0;
    bool is_position_independent = false; ///< its objects hold no address
    bool is_trivially_copyable = false;
    bool is_empty = false;
    std::size_t base_count = 0;   ///< of the members, those that are bases: the first
    std::size_t member_count = 0; ///< bases included
    std::size_t extent = 0;       ///< of an array

    /// As a programmer would write it.
    [[nodiscard]] std::string name() const { return detail::readable_name(type_->name()); }
    /// All of them, in their order. O(their number).
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
    /// Of those values from -16 (unsigned: 0) to 127 that have a name.
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
    /// Of a pointer, what it points at; of an array, its elements; else null.
    [[nodiscard]] const reflection* element() const { return element_ == nullptr ? nullptr : &element_(); }
    /// How objects keep what they consist of; `shape_kind::none` where that is not by a known shape.
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
constexpr const member_table* members_table() {
    if constexpr (has_shape<T>) {
        return shape_of<T>::k_shape.members;
    } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
        if constexpr (aggregate_shape_v<T>.obstacle == aggregate_obstacle::none && aggregate_shape_v<T>.members != 0)
            return &members_of<T, structure_of_member>::k_table;
    }
    return nullptr;
}

template <class T>
consteval std::size_t count_of_bases() {
    if constexpr (std::is_class_v<T>) {
        if constexpr (reflect_access::is_reflected<T>())
            return reflect_access::members<T>::bases::k_count;
    }
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
        made.members_ = members_table<T>();
        made.base_count = count_of_bases<T>();
    }
    if (made.members_ != nullptr)
        made.member_count = made.members_->count;
    if constexpr (has_shape<T>)
        made.shape_ = &shape_of<T>::k_shape;
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
    } else if (made.members_ != nullptr || made.is_empty) {
        made.kind = type_kind_of::members;
    } else if (made.shape_ != nullptr) {
        made.kind = type_kind_of::container;
    }
    return made;
}

} // namespace detail

/// What T is made of.
template <class T>
inline constexpr reflection reflect = detail::describe<std::remove_cv_t<T>>();

template <class T>
const reflection& detail::reflection_of() {
    return reflect<T>;
}

} // namespace remanence
