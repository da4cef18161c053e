// The names of an aggregate's members as the programmer wrote them, without macros. Depends on the standard library
// only.
//
// The compiler tells how it spells a template argument that is the address of a member, as in "... P = (&
// place<T>.holder<T>::value.T::street)]": the last identifier is the member's name. g++ 12 and clang 19 both do so, and
// give the same names. The technique is that of Boost.PFR (Antony Polukhin) and of reflect-cpp.
//
// No object is made, so T need not be constructible. Bit-fields have no address and therefore no name; in an aggregate
// with references no member has a name.
#pragma once

#include <remanence/types/detail/aggregate.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace remanence::detail {

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif

template <class T>
struct holder_of_members {
    T value;
};
/// Never defined and never read: only addresses in it are used, at compile time.
template <class T>
extern const holder_of_members<T> place_of_members; // NOLINT(misc-definitions-in-headers)

/// Does not return std::string_view, since g++ would add to the spelling what this alias stands for.
template <const volatile void* Address>
consteval const char* spelling_of() {
    return __PRETTY_FUNCTION__;
}

/// Returns the last identifier. Bytes from 128 on belong to letters in UTF-8.
consteval std::string_view last_identifier(std::string_view spelling) {
    const auto is_letter = [](char c) {
        return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               static_cast<unsigned char>(c) >= 128;
    };
    std::size_t end = spelling.size();
    while (end != 0 && !is_letter(spelling[end - 1]))
        --end;
    std::size_t begin = end;
    while (begin != 0 && is_letter(spelling[begin - 1]))
        --begin;
    return spelling.substr(begin, end - begin);
}

/// A specialisation recognises the null address. A comparison with null would not do: it is no constant when g++ checks
/// pointers (-fsanitize=undefined, -fno-delete-null-pointer-checks).
template <const volatile void* Address>
struct name_at {
    static consteval std::string_view get() { return last_identifier(spelling_of<Address>()); }
};
template <>
struct name_at<nullptr> {
    static consteval std::string_view get() { return {}; }
};

/// Names, one behind the other. Only these names become part of the program; the compiler's spellings do not.
template <std::size_t Count, std::size_t Bytes>
struct packed_names {
    char text[Bytes + 1] = {};
    std::uint32_t ends[Count] = {};
};

template <class T, class Indices = std::make_index_sequence<member_count_v<T>>>
struct names_of_members;
template <class T, std::size_t... I>
struct names_of_members<T, std::index_sequence<I...>> {
    static consteval auto pack() {
        // Local: without optimisation g++ would emit a variable of namespace scope, and the linker would need
        // place_of_members.
        constexpr auto addresses = member_addresses<T>(place_of_members<T>.value);
        constexpr std::string_view names[] = {name_at<addresses.at[I]>::get()...};
        packed_names<sizeof...(I), (names[I].size() + ...)> packed;
        std::size_t bytes = 0;
        std::size_t count = 0;
        for (const std::string_view name : names) {
            for (const char c : name)
                packed.text[bytes++] = c;
            packed.ends[count++] = static_cast<std::uint32_t>(bytes);
        }
        return packed;
    }
    static constexpr auto k_names = pack();
};

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

} // namespace remanence::detail
