// Hashes of numbers and bytes with a seed: nobody who does not know the seed can choose keys that collide. Derived from
// wyhash, final version 4 (Wang Yi, public domain). Part of the file format. Depends on the standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace remanence::detail {

inline constexpr std::uint64_t k_hash_secret[4] = {0x2d358dccaa6c78a5, 0x8bb84b93962eacc9, 0x4b33a62ed433d4a3,
                                                   0x4d5a2da51de1aa47};

struct hash_product {
    std::uint64_t low, high;
};
[[nodiscard]] inline hash_product hash_multiply(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(a) * b;
    return {static_cast<std::uint64_t>(product), static_cast<std::uint64_t>(product >> 64)};
}
[[nodiscard]] inline std::uint64_t hash_mix(std::uint64_t a, std::uint64_t b) noexcept {
    const hash_product product = hash_multiply(a, b);
    return product.low ^ product.high;
}

/// Hashes a number. The seed decides what is multiplied, so nobody who does not know it can choose numbers whose
/// products are alike. The second product, of the halves of the first, scatters sequences of numbers.
[[nodiscard]] inline std::uint64_t hash_number(std::uint64_t number, std::uint64_t seed) noexcept {
    const hash_product product = hash_multiply(number ^ seed, k_hash_secret[1]);
    return hash_mix(product.low, product.high ^ (k_hash_secret[0] >> 33));
}

template <class Number>
[[nodiscard]] inline std::uint64_t hash_read(const unsigned char* at) noexcept {
    Number number;
    std::memcpy(&number, at, sizeof number);
    return number;
}

[[nodiscard]] inline std::uint64_t hash_bytes(const char* first, std::size_t count, std::uint64_t seed) noexcept {
    const auto* at = reinterpret_cast<const unsigned char*>(first);
    const auto read4 = [](const unsigned char* from) { return hash_read<std::uint32_t>(from); };
    const auto read8 = [](const unsigned char* from) { return hash_read<std::uint64_t>(from); };
    seed ^= hash_mix(seed ^ k_hash_secret[0], k_hash_secret[1]);
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    if (count <= 16) {
        if (count >= 4) {
            const std::size_t middle = (count >> 3) << 2;
            a = (read4(at) << 32) | read4(at + middle);
            b = (read4(at + count - 4) << 32) | read4(at + count - 4 - middle);
        } else if (count > 0) {
            a = (std::uint64_t{at[0]} << 16) | (std::uint64_t{at[count >> 1]} << 8) | at[count - 1];
        }
    } else {
        std::size_t left = count;
        if (left >= 48) {
            std::uint64_t second = seed;
            std::uint64_t third = seed;
            do {
                seed = hash_mix(read8(at) ^ k_hash_secret[1], read8(at + 8) ^ seed);
                second = hash_mix(read8(at + 16) ^ k_hash_secret[2], read8(at + 24) ^ second);
                third = hash_mix(read8(at + 32) ^ k_hash_secret[3], read8(at + 40) ^ third);
                at += 48;
                left -= 48;
            } while (left >= 48);
            seed ^= second ^ third;
        }
        while (left > 16) {
            seed = hash_mix(read8(at) ^ k_hash_secret[1], read8(at + 8) ^ seed);
            left -= 16;
            at += 16;
        }
        a = read8(at + left - 16);
        b = read8(at + left - 8);
    }
    const hash_product product = hash_multiply(a ^ k_hash_secret[1], b ^ seed);
    return hash_mix(product.low ^ k_hash_secret[0] ^ count, product.high ^ k_hash_secret[1]);
}

} // namespace remanence::detail
