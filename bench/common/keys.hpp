// Keys for benchmarks of containers: the same in each process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

/// Random numbers of 64 bits, or texts of 16 to 47 letters.
template <class Key>
std::vector<Key> make_keys(std::size_t count) {
    std::mt19937_64 random(1);
    std::vector<Key> all;
    all.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<Key, std::uint64_t>) {
            all.push_back(random());
        } else {
            std::string text(16 + random() % 32, ' ');
            std::ranges::generate(text, [&] { return static_cast<char>('a' + random() % 26); });
            all.push_back(std::move(text));
        }
    }
    return all;
}

/// The nth of keys in no order: each n another one (the finalizer of splitmix64, by Steele, Lea and Flood).
inline std::uint64_t scattered_key(std::uint64_t n) {
    n += 0x9e3779b97f4a7c15U;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9U;
    n = (n ^ n >> 27) * 0x94d049bb133111ebU;
    return n ^ n >> 31;
}

} // namespace bench
