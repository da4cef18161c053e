// Runs of bits in arrays of 64-bit words. Positions count bits from the array's start. Depends on the standard library
// only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace remanence::alloc {

inline constexpr std::uint32_t k_word_bits = 64;

[[nodiscard]] inline bool is_set(const std::uint64_t* words, std::uint32_t at) {
    return (words[at / k_word_bits] >> (at % k_word_bits) & 1) != 0;
}

/// The bits from `begin` on, the first the lowest, as many as fit; zeros from `end` on, which ends a word.
[[nodiscard]] inline std::uint64_t bits_from(const std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    const std::uint32_t shift = begin % k_word_bits;
    const std::uint64_t low = words[begin / k_word_bits] >> shift;
    const std::uint32_t next = begin / k_word_bits + 1;
    return next == end / k_word_bits ? low : low | words[next] << 1 << (k_word_bits - 1 - shift);
}

namespace detail {

/// Calls change(word, bits) with each word that bits of [begin, end) lie in, and these.
template <class Change>
void change_words(std::uint64_t* words, std::uint32_t begin, std::uint32_t end, const Change& change) {
    if (begin == end)
        return;
    std::uint64_t bits = ~std::uint64_t{0} << (begin % k_word_bits);
    std::uint32_t word = begin / k_word_bits;
    const std::uint32_t last = (end - 1) / k_word_bits;
    for (; word != last; ++word, bits = ~std::uint64_t{0}) [[unlikely]]
        change(words[word], bits);
    change(words[word], bits & (~std::uint64_t{0} >> (k_word_bits - 1 - (end - 1) % k_word_bits)));
}

} // namespace detail

inline void set_bits(std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    detail::change_words(words, begin, end, [](std::uint64_t& word, std::uint64_t bits) { word |= bits; });
}

inline void clear_bits(std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    detail::change_words(words, begin, end, [](std::uint64_t& word, std::uint64_t bits) { word &= ~bits; });
}

inline void set_bit(std::uint64_t* words, std::uint32_t at) {
    words[at / k_word_bits] |= std::uint64_t{1} << (at % k_word_bits);
}

inline void clear_bit(std::uint64_t* words, std::uint32_t at) {
    words[at / k_word_bits] &= ~(std::uint64_t{1} << (at % k_word_bits));
}

namespace detail {

/// The first bit of [begin, end) that is set in the words, each xor-ed with `flip`; else `end`.
[[nodiscard]] inline std::uint32_t find(const std::uint64_t* words, std::uint32_t begin, std::uint32_t end,
                                        std::uint64_t flip) {
    if (begin >= end)
        return end;
    std::uint32_t word = begin / k_word_bits;
    std::uint64_t found = (words[word] ^ flip) >> (begin % k_word_bits) << (begin % k_word_bits);
    const std::uint32_t last = (end - 1) / k_word_bits;
    while (found == 0 && word < last)
        found = words[++word] ^ flip;
    const std::uint32_t at = word * k_word_bits + static_cast<std::uint32_t>(std::countr_zero(found));
    return std::min(at, end); // countr_zero(0) leads behind the word
}

} // namespace detail

/// The first set bit of [begin, end), else `end`.
[[nodiscard]] inline std::uint32_t find_set(const std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    return detail::find(words, begin, end, 0);
}

/// The first clear bit of [begin, end), else `end`.
[[nodiscard]] inline std::uint32_t find_clear(const std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    return detail::find(words, begin, end, ~std::uint64_t{0});
}

/// Behind the last set bit of [begin, end), else `begin`: where the run of clear bits begins that ends at `end`.
[[nodiscard]] inline std::uint32_t behind_last_set(const std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    if (begin >= end)
        return begin;
    std::uint32_t word = (end - 1) / k_word_bits;
    const std::uint32_t unused = k_word_bits - 1 - (end - 1) % k_word_bits;
    std::uint64_t found = words[word] << unused >> unused;
    while (found == 0 && word > begin / k_word_bits)
        found = words[--word];
    const std::uint32_t behind = (word + 1) * k_word_bits - static_cast<std::uint32_t>(std::countl_zero(found));
    return std::max(behind, begin);
}

} // namespace remanence::alloc
