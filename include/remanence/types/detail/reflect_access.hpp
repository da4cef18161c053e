// How the library reads what a class declares with REM_REFLECT (reflect.hpp). Depends on the standard library only.
#pragma once

#include <remanence/types/detail/shape.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

namespace remanence::detail {

template <class Signature>
struct bases_in;
template <class... Bases>
struct bases_in<void(Bases...)> {
    static constexpr std::size_t k_count = sizeof...(Bases);
    static constexpr write_type k_types[sizeof...(Bases) + 1] = {&write_structure<Bases>..., nullptr};
    template <class T>
    static void locate(std::uintptr_t place, const volatile void** into) {
        const T* const object = reinterpret_cast<const T*>(place);
        static_cast<void>(object); // unused if there is no base
        static_cast<void>(into);
        ((*into++ = static_cast<const Bases*>(object)), ...);
    }
    template <class Visit>
    static constexpr void visit(Visit& visitor) {
        (visitor.template take<Bases>(std::string_view()), ...);
        static_cast<void>(visitor); // unused if there is no base
    }
};

/// Links the part of the library that reports changes of such classes, and of enumerators, into the program. Any
/// thread.
void tell_changes_of_classes() noexcept;

/// REM_REFLECT makes this struct a friend of the class.
struct reflect_access {
    /// True if the class itself has REM_REFLECT; that of a base does not count.
    template <class T>
    static consteval bool is_reflected() {
        if constexpr (!std::is_class_v<T>)
            return false;
        else if constexpr (requires(T& object) { object.rem_reflect_self_(); })
            return std::is_same_v<decltype(std::declval<T&>().rem_reflect_self_()), T&>;
        else
            return false;
    }
    /// Returns a value with all bits set. The compiler does not know the value; otherwise it would warn that the value
    /// does not fit into a bit-field.
    template <class M>
    [[nodiscard]] static M all_ones() {
        if constexpr (std::is_same_v<M, bool>) {
            return true;
        } else {
            M value;
            std::memset(static_cast<void*>(&value), 0xff, sizeof value);
            return value;
        }
    }
    /// Calls `visitor.take<M>(name)` for each base and member of T.
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
            for (; made.count != bases::k_count; ++made.count) // a base is named after its type
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
        /// Sets the bits of a bit-field, given by its number among the bit-fields, in sizeof(T) zero bytes. It does so
        /// at run time, since both compilers must write the same schema: in a constant expression g++ 12 can do it by
        /// std::bit_cast, and clang 19 cannot.
        static void fill_bits(std::byte* image, std::size_t bit_field) {
            alignas(T) std::byte object[sizeof(T)] = {};
            T::rem_reflect_fill_(reinterpret_cast<T&>(object), bit_field);
            std::memcpy(image, object, sizeof(T));
        }
    };
};

} // namespace remanence::detail
