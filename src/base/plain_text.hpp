// What texts are mostly made of: bytes that stand for themselves wherever JSON has them. Eight are looked at at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace remanence {

/// How many bytes at the beginning are printable ASCII, and neither a quotation mark nor a backslash.
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
        // The high bit of a byte is set where the byte is below the subtrahend; or of a byte above such a one.
        const std::uint64_t special =
            (word - k_ones * 0x20) | (quote - k_ones) | (backslash - k_ones) | (deleted - k_ones) | word;
        if ((special & k_high) != 0)
            break;
    }
    for (; at != text.size(); ++at) {
        const char c = text[at];
        if (c < ' ' || c > '~' || c == '"' || c == '\\') // what is no ASCII is less than 0
            break;
    }
    return at;
}

/// How many bytes at the beginning are ASCII; up to seven fewer.
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
