// Compares texts for B-trees with std::less<>, mostly without a call of memcmp. (For equality we found nothing faster
// than memcmp.) Depends on the standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace remanence {

template <class Allocator>
class basic_string_pi; // <remanence/containers/string_pi.hpp>

namespace detail {

/// True for strings that compare as std::string_view does.
template <class T>
inline constexpr bool is_text_v = false;
template <>
inline constexpr bool is_text_v<std::string_view> = true;
template <class Allocator>
inline constexpr bool is_text_v<std::basic_string<char, std::char_traits<char>, Allocator>> = true;
template <class Allocator>
inline constexpr bool is_text_v<basic_string_pi<Allocator>> = true;

/// Returns the first eight bytes as a number that is ordered like the texts. Most comparisons need no more.
[[nodiscard]] inline std::uint64_t text_head(std::string_view text) noexcept {
    const auto number = [&]<class Number>(std::size_t at, Number read) -> std::uint64_t {
        std::memcpy(&read, text.data() + at, sizeof read);
        return sizeof read == 8 ? __builtin_bswap64(read) : __builtin_bswap32(static_cast<std::uint32_t>(read));
    };
    const std::size_t bytes = text.size();
    if (bytes >= 8)
        return number(0, std::uint64_t{});
    if (bytes >= 4) // bytes that both numbers contain end up in the same place
        return number(0, std::uint32_t{}) << 32 | number(bytes - 4, std::uint32_t{}) << 8 * (8 - bytes);
    std::uint64_t head = 0;
    for (std::size_t i = 0; i != bytes; ++i)
        head |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * (7 - i);
    return head;
}

/// Most texts differ in their first eight bytes.
[[nodiscard]] inline bool is_less(std::string_view a, std::string_view b) noexcept {
    const std::uint64_t head_a = text_head(a);
    const std::uint64_t head_b = text_head(b);
    return head_a != head_b ? head_a < head_b : a < b;
}

/// Compares two keys by `compare`; for texts and std::less<> it does so by their first eight bytes if these differ.
template <class Compare, class A, class B>
[[nodiscard, gnu::always_inline]] inline bool less_keys(const Compare& compare, const A& a, const B& b) {
    if constexpr (std::is_same_v<Compare, std::less<>> && is_text_v<A> && is_text_v<B>)
        return is_less(a, b);
    else
        return compare(a, b);
}

} // namespace detail

} // namespace remanence
