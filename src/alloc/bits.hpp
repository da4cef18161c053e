// Runs of bits in arrays of 64-bit words. Positions count bits from the array's start. Depends on the standard library
// only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace remanence::alloc {

inline constexpr std::uint32_t k_word_bits = 64;

namespace detail {

/// The bits of [begin, end) that lie in the word of `begin`; the range is not empty.
constexpr std::uint64_t bits_in_word(std::uint32_t begin, std::uint32_t end) {
    const std::uint32_t first = begin % k_word_bits;
    const std::uint32_t count = std::min(end - begin, k_word_bits - first);
    return (~std::uint64_t{0} >> (k_word_bits - count)) << first;
}
constexpr std::uint32_t next_word(std::uint32_t position) { return (position / k_word_bits + 1) * k_word_bits; }

} // namespace detail

[[nodiscard]] inline bool is_set(const std::uint64_t* words, std::uint32_t at) {
    return (words[at / k_word_bits] >> (at % k_word_bits) & 1) != 0;
}

inline void set_bits(std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    for (; begin < end; begin = detail::next_word(begin))
        words[begin / k_word_bits] |= detail::bits_in_word(begin, end);
}

inline void clear_bits(std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    for (; begin < end; begin = detail::next_word(begin))
        words[begin / k_word_bits] &= ~detail::bits_in_word(begin, end);
}

/// The first set bit of [begin, end), else `end`.
[[nodiscard]] inline std::uint32_t find_set(const std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    for (; begin < end; begin = detail::next_word(begin)) {
        const std::uint64_t found = words[begin / k_word_bits] & detail::bits_in_word(begin, end);
        if (found != 0)
            return begin / k_word_bits * k_word_bits + static_cast<std::uint32_t>(std::countr_zero(found));
    }
    return end;
}

/// The first clear bit of [begin, end), else `end`.
[[nodiscard]] inline std::uint32_t find_clear(const std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    for (; begin < end; begin = detail::next_word(begin)) {
        const std::uint64_t found = ~words[begin / k_word_bits] & detail::bits_in_word(begin, end);
        if (found != 0)
            return begin / k_word_bits * k_word_bits + static_cast<std::uint32_t>(std::countr_zero(found));
    }
    return end;
}

/// Behind the last set bit of [0, end): where the run of clear bits begins that ends at `end`.
[[nodiscard]] inline std::uint32_t behind_last_set(const std::uint64_t* words, std::uint32_t end) {
    while (end != 0) {
        const std::uint32_t begin = (end - 1) / k_word_bits * k_word_bits;
        const std::uint64_t found = words[begin / k_word_bits] & detail::bits_in_word(begin, end);
        if (found != 0)
            return begin + k_word_bits - static_cast<std::uint32_t>(std::countl_zero(found));
        end = begin;
    }
    return 0;
}

} // namespace remanence::alloc
