// Which of two texts is less, for B-trees with std::less<>: the same answer, mostly without a call of memcmp. (Whether two are equal
// memcmp finds out as fast as anything that was tried.) Depends on the standard library only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace remanence {

template <class Allocator>
class basic_string_pi; // <remanence/string_pi.hpp>

namespace detail {

/// Strings whose comparisons are those of std::string_view.
template <class T>
inline constexpr bool is_text_v = false;
template <>
inline constexpr bool is_text_v<std::string_view> = true;
template <class Allocator>
inline constexpr bool is_text_v<std::basic_string<char, std::char_traits<char>, Allocator>> = true;
template <class Allocator>
inline constexpr bool is_text_v<basic_string_pi<Allocator>> = true;

[[nodiscard]] inline std::uint64_t eight_bytes(const char* at) noexcept {
    std::uint64_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

/// Most texts differ in their first eight bytes.
[[nodiscard]] inline bool is_less(std::string_view a, std::string_view b) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        if (a.size() >= 8 && b.size() >= 8) [[likely]] {
            const std::uint64_t head_a = __builtin_bswap64(eight_bytes(a.data()));
            const std::uint64_t head_b = __builtin_bswap64(eight_bytes(b.data()));
            if (head_a != head_b) [[likely]]
                return head_a < head_b;
        }
    }
    return a < b;
}

/// What `compare` says of two keys.
template <class Compare, class A, class B>
[[nodiscard, gnu::always_inline]] inline bool less_keys(const Compare& compare, const A& a, const B& b) {
    if constexpr (std::is_same_v<Compare, std::less<>> && is_text_v<A> && is_text_v<B>)
        return is_less(a, b);
    else
        return compare(a, b);
}

} // namespace detail

} // namespace remanence
