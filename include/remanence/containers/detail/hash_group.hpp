// A group of a hash table, which is examined at once: the control bytes of fifteen slots, and a byte that records for
// which hashes the group was full. Depends on the standard library only.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace remanence::detail {

inline constexpr std::size_t k_hash_group = 16; // control bytes
inline constexpr std::size_t k_hash_group_slots = 15;
inline constexpr std::uint32_t k_hash_slots_mask = (1U << k_hash_group_slots) - 1;

/// Control bytes of slots without an element. Any greater value means that the slot holds an element (k_hash_controls).
/// None is 0, so that no eight bytes of a group look like an address.
inline constexpr unsigned char k_slot_empty = 1;
inline constexpr unsigned char k_slot_end = 2; // the slot does not exist: it only fills up a group

/// The control byte of an element, four times, indexed by the last 8 bits of its hash. It is these 8 bits or, if they
/// are at most k_slot_end, the same plus 8. So its last 3 bits are always those of the hash. From four copies, two
/// instructions fill a vector register.
inline constexpr std::array<std::uint32_t, 256> k_hash_controls = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t i = 0; i != all.size(); ++i)
        all[i] = 0x01010101U * (i > k_slot_end ? i : i + 8);
    return all;
}();
[[nodiscard]] inline unsigned char control_of(std::uint64_t hash) noexcept {
    return static_cast<unsigned char>(k_hash_controls[hash & 0xff]);
}

/// The last byte of a group. Bit i is set if the group was full when an element was inserted whose hash ends in the
/// 3-bit number i.
struct hash_overflow {
    [[nodiscard]] static unsigned char bit(std::uint64_t hash_or_control) noexcept {
        return static_cast<unsigned char>(1U << (hash_or_control & 7));
    }
    [[nodiscard]] static bool has(const unsigned char* group, std::uint64_t hash_or_control) noexcept {
        return (group[k_hash_group_slots] & bit(hash_or_control)) != 0;
    }
    template <class Declare>
    static void add(unsigned char* group, std::uint64_t hash, const Declare& declare) noexcept {
        declare(group + k_hash_group_slots, 1);
        group[k_hash_group_slots] = static_cast<unsigned char>(group[k_hash_group_slots] | bit(hash));
    }
};

/// Returns the index of the lowest bit that is set. `bits` must not be 0.
[[nodiscard]] inline std::size_t first_in(std::uint32_t bits) noexcept {
    return static_cast<std::size_t>(std::countr_zero(bits));
}

/// Each function returns a bit for each slot of the group: bit i is about slot i.
struct plain_hash_group {
    /// Returns the slots whose control byte is that of `hash`.
    [[nodiscard]] static std::uint32_t alike(const unsigned char* group, std::uint64_t hash) noexcept {
        return where(group, [=](unsigned char each) { return each == control_of(hash); });
    }
    [[nodiscard]] static std::uint32_t empty(const unsigned char* group) noexcept {
        return where(group, [](unsigned char each) { return each == k_slot_empty; });
    }
    [[nodiscard]] static std::uint32_t end(const unsigned char* group) noexcept {
        return where(group, [](unsigned char each) { return each == k_slot_end; });
    }

private:
    template <class Is>
    [[nodiscard]] static std::uint32_t where(const unsigned char* group, const Is& is) noexcept {
        std::uint32_t found = 0;
        for (std::size_t i = 0; i != k_hash_group_slots; ++i)
            found |= static_cast<std::uint32_t>(is(group[i])) << i;
        return found;
    }
};

#if defined(__SSE2__)
/// The functions of plain_hash_group by vector extensions of g++ and clang, which need no header.
struct sse2_hash_group {
    [[nodiscard]] static std::uint32_t alike(const unsigned char* group, std::uint64_t hash) noexcept {
        const int_vector wanted = int_vector{} + k_hash_controls[hash & 0xff];
        return bits(load(group) == reinterpret_cast<vector>(wanted));
    }
    [[nodiscard]] static std::uint32_t empty(const unsigned char* group) noexcept {
        return bits(load(group) == vector{} + k_slot_empty);
    }
    [[nodiscard]] static std::uint32_t end(const unsigned char* group) noexcept {
        return bits(load(group) == vector{} + k_slot_end);
    }

private:
    using vector [[gnu::vector_size(16)]] = unsigned char;
    using int_vector [[gnu::vector_size(16)]] = std::uint32_t;
    using char_vector [[gnu::vector_size(16)]] = char;
    [[nodiscard]] static vector load(const unsigned char* group) noexcept {
        vector all;
        std::memcpy(&all, group, sizeof all);
        return all;
    }
    template <class Truth>
    [[nodiscard]] static std::uint32_t bits(Truth truth) noexcept {
        return static_cast<std::uint32_t>(__builtin_ia32_pmovmskb128(reinterpret_cast<char_vector>(truth))) &
               k_hash_slots_mask;
    }
};
using hash_group = sse2_hash_group;
#else
using hash_group = plain_hash_group;
#endif

} // namespace remanence::detail
