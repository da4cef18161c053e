// Runs of bits in arrays of 64-bit words. Positions count bits from the array's start. Depends on the standard library
// only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace remanence::alloc {

inline constexpr std::uint32_t k_word_bits = 64;

[[nodiscard]] inline bool is_set(const std::uint64_t* words, std::uint32_t at) {
    return (words[at / k_word_bits] >> (at % k_word_bits) & 1) != 0;
}

namespace detail {

/// Calls change(word, bits) for each word that contains bits of [begin, end), with these bits.
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

/// Returns the first bit of [begin, end) that is set in the words after each is xor-ed with `flip`; else `end`.
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
    return std::min(at, end); // countr_zero(0) yields a position behind the word
}

} // namespace detail

/// Returns the first set bit of [begin, end), else `end`.
[[nodiscard]] inline std::uint32_t find_set(const std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    return detail::find(words, begin, end, 0);
}

/// Returns the first clear bit of [begin, end), else `end`.
[[nodiscard]] inline std::uint32_t find_clear(const std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
    return detail::find(words, begin, end, ~std::uint64_t{0});
}

/// Returns the position behind the last set bit of [begin, end), else `begin`: the run of clear bits that ends at `end`
/// begins there.
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

// --- windows: short runs of bits, read and written in the same way whether they lie in one word or in two

inline constexpr std::uint32_t k_window_bits = 57; // every window contains at least this many bits
static_assert(std::endian::native == std::endian::little, "bits are numbered through bytes as through words");

namespace detail {

[[nodiscard]] inline std::uint64_t load_bytes(const std::uint64_t* words, std::uint32_t first) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const std::byte*>(words) + first, sizeof bits);
    return bits;
}
inline void store_bytes(std::uint64_t* words, std::uint32_t first, std::uint64_t bits) {
    std::memcpy(reinterpret_cast<std::byte*>(words) + first, &bits, sizeof bits);
}

} // namespace detail

/// Returns the bits from `at` on, the first as the lowest bit; zeros follow behind the window. Reads eight bytes.
[[nodiscard]] inline std::uint64_t window_from(const std::uint64_t* words, std::uint32_t at) {
    return detail::load_bytes(words, at / 8) >> (at % 8);
}
/// Returns the bits before `at`, the last as the highest bit: at least k_window_bits - 1 of them, zeros before these.
/// Precondition: `at` is 56 or more.
[[nodiscard]] inline std::uint64_t window_before(const std::uint64_t* words, std::uint32_t at) {
    return detail::load_bytes(words, at / 8 - 7) << 1 << (7 - at % 8);
}
/// Sets those bits of the window from `at` on that are set in `bits`.
inline void set_in_window(std::uint64_t* words, std::uint32_t at, std::uint64_t bits) {
    detail::store_bytes(words, at / 8, detail::load_bytes(words, at / 8) | bits << (at % 8));
}
/// Clears those bits of the window from `at` on that are set in `bits`.
inline void clear_in_window(std::uint64_t* words, std::uint32_t at, std::uint64_t bits) {
    detail::store_bytes(words, at / 8, detail::load_bytes(words, at / 8) & ~(bits << (at % 8)));
}

} // namespace remanence::alloc
