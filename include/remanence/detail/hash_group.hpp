// Sixteen control bytes of a hash table at once. Depends on the standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace remanence::detail {

/// What a control byte says of its slot; 0 to 127: it holds an element, whose hash ends in these 7 bits.
inline constexpr signed char k_slot_empty = -128;
inline constexpr signed char k_slot_erased = -2; // look-ups go on behind its group
inline constexpr signed char k_slot_end = -1;    // there is none

inline constexpr std::size_t k_hash_group = 16;

/// For each function: bit i of what it returns is about byte i.
struct plain_hash_group {
    [[nodiscard]] static std::uint32_t equal(const signed char* group, signed char value) noexcept {
        return where(group, [=](signed char each) { return each == value; });
    }
    /// Empty or erased.
    [[nodiscard]] static std::uint32_t free(const signed char* group) noexcept {
        return where(group, [](signed char each) { return each < k_slot_end; });
    }
    /// An element, or the end.
    [[nodiscard]] static std::uint32_t taken_or_end(const signed char* group) noexcept {
        return ~free(group) & 0xffffU;
    }

private:
    template <class Is>
    [[nodiscard]] static std::uint32_t where(const signed char* group, const Is& is) noexcept {
        std::uint32_t found = 0;
        for (std::size_t i = 0; i != k_hash_group; ++i)
            found |= static_cast<std::uint32_t>(is(group[i])) << i;
        return found;
    }
};

#if defined(__SSE2__)
/// The same by vector extensions of g++ and clang, which need no header.
struct sse2_hash_group {
    [[nodiscard]] static std::uint32_t equal(const signed char* group, signed char value) noexcept {
        return bits(load(group) == (vector{} + value));
    }
    [[nodiscard]] static std::uint32_t free(const signed char* group) noexcept {
        return bits(load(group) < (vector{} + k_slot_end));
    }
    [[nodiscard]] static std::uint32_t taken_or_end(const signed char* group) noexcept { return free(group) ^ 0xffffU; }

private:
    using vector [[gnu::vector_size(16)]] = signed char;
    using char_vector [[gnu::vector_size(16)]] = char;
    [[nodiscard]] static vector load(const signed char* group) noexcept {
        vector all;
        std::memcpy(&all, group, sizeof all);
        return all;
    }
    template <class Truth>
    [[nodiscard]] static std::uint32_t bits(Truth truth) noexcept {
        return static_cast<std::uint32_t>(__builtin_ia32_pmovmskb128(reinterpret_cast<char_vector>(truth)));
    }
};
using hash_group = sse2_hash_group;
#else
using hash_group = plain_hash_group;
#endif

} // namespace remanence::detail
