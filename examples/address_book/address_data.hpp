// The entries that the address book's importer, demo and benchmark share: real family names, made-up addresses.
// Depends on the standard library, and on zlib inside.
//
// Entry i depends on the seed and on i alone, and is the same with every compiler and standard library. So whatever
// was stored can be checked against the source, without a second file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace address_data {

/// Sebastiano Vigna's splitmix64: small, and its numbers are the same everywhere.
class random_numbers {
public:
    explicit constexpr random_numbers(std::uint64_t seed) noexcept : state_(seed) {}

    constexpr std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    /// In [0, bound); `bound` fits 32 bits. The bias is below bound / 2^32.
    constexpr std::uint64_t below(std::uint64_t bound) noexcept { return ((next() >> 32) * bound) >> 32; }

private:
    std::uint64_t state_;
};

/// Fisher and Yates, again the same everywhere.
template <class T>
void shuffle(std::vector<T>& items, random_numbers& random) {
    for (std::size_t left = items.size(); left > 1; --left)
        std::swap(items[left - 1], items[static_cast<std::size_t>(random.below(left))]);
}

struct entry {
    std::string_view name; ///< lives as long as its source
    std::string street;
    std::string city;
    std::string phone; ///< of no other entry (among the first ten million)
};

enum class selection {
    distinct,   ///< 59,840 names, each once
    duplicates, ///< those, and 88,557 more drawn in proportion to the names' shares: 148,397
};

inline constexpr std::uint64_t k_seed = 1815;

class source {
public:
    /// Reads the names. Throws std::runtime_error when their file cannot be read.
    explicit source(selection which, std::uint64_t seed = k_seed);

    [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
    [[nodiscard]] std::string_view name(std::size_t index) const { return names_[order_[index]]; }
    [[nodiscard]] entry operator[](std::size_t index) const;

private:
    std::uint64_t seed_;
    std::vector<std::string> names_;
    std::vector<std::uint32_t> order_; ///< of entry i, the number of its name
};

} // namespace address_data
