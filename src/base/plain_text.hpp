// Measures prefixes of plain text, that is, of bytes that JSON does not escape. Tests eight bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace remanence {

/// Returns how many bytes at the beginning of `text` are printable ASCII other than quotation marks and backslashes.
inline std::size_t plain_prefix(std::string_view text) noexcept {
    constexpr std::uint64_t k_ones = 0x0101010101010101U;
    constexpr std::uint64_t k_high = 0x80 * k_ones;
    std::size_t at = 0;
    for (; text.size() - at >= sizeof(std::uint64_t); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, sizeof word);
        const std::uint64_t quote = word ^ (k_ones * '"');
        const std::uint64_t backslash = word ^ (k_ones * '\\');
        const std::uint64_t deleted = word ^ (k_ones * 0x7f);
        // The high bit of a byte is set if that byte is smaller than the subtrahend. A borrow may set it, too, but
        // only if there is such a byte below; so the test of the whole word is exact.
        const std::uint64_t special =
            (word - k_ones * 0x20) | (quote - k_ones) | (backslash - k_ones) | (deleted - k_ones) | word;
        if ((special & k_high) != 0)
            break;
    }
    for (; at != text.size(); ++at) {
        const char c = text[at];
        if (c < ' ' || c > '~' || c == '"' || c == '\\') // non-ASCII bytes are negative
            break;
    }
    return at;
}

/// Returns how many bytes at the beginning of `text` are ASCII; the result may be too low by up to seven.
inline std::size_t ascii_prefix(std::string_view text) noexcept {
    constexpr std::uint64_t k_high = 0x8080808080808080U;
    std::size_t at = 0;
    for (; text.size() - at >= sizeof(std::uint64_t); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, sizeof word);
        if ((word & k_high) != 0)
            break;
    }
    return at;
}

} // namespace remanence
