// Heaps of numbers, of a given size. Depends on the library and the standard library.
#pragma once

#include "harness.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>

namespace bench {

constexpr std::uint64_t k_mib = 1U << 20;
constexpr std::uint64_t k_gib = 1U << 30;
constexpr std::uint64_t k_number_block_bytes = 16 * k_mib;
constexpr const char* k_number_file = "numbers.rem";

using number_block = remanence::vector<std::uint64_t>;
using number_blocks = remanence::list<number_block>; // the root "blocks"

/// Numbers without a pattern, so that nothing can save space on them.
inline void fill(number_block& block, std::uint64_t seed) {
    for (std::uint64_t& number : block) {
        seed ^= seed << 13; // Marsaglia's xorshift
        seed ^= seed >> 7;
        seed ^= seed << 17;
        number = seed;
    }
}

/// Adds so many bytes to the heap in `directory`.
inline void add_numbers(const std::filesystem::path& directory, std::uint64_t bytes) {
    constexpr std::uint64_t k_commit_bytes = 256 * k_mib;
    remanence::heap heap = remanence::heap::open(directory / k_number_file);
    auto& blocks = heap.root<number_blocks>("blocks");
    while (bytes > 0) {
        heap.write([&] {
            for (std::uint64_t left = std::min(bytes, k_commit_bytes); left > 0; left -= k_number_block_bytes)
                fill(blocks.emplace_back(k_number_block_bytes / sizeof(std::uint64_t)), blocks.size());
        });
        bytes -= std::min(bytes, k_commit_bytes);
    }
    heap.close();
}

/// In the parent: makes it, by children that are run with "populate", the directory and the bytes that add_numbers() is
/// to add, so that memory is no limit.
inline void make_number_heap(const std::filesystem::path& directory, std::uint64_t bytes) {
    std::filesystem::create_directory(directory);
    for (std::uint64_t done = 0; done < bytes; done += k_gib)
        run_child({"populate", directory, std::to_string(std::min(bytes - done, k_gib))});
}

/// Says so when there is no room for such a heap.
inline bool has_room(const std::filesystem::path& directory, const std::string& name, std::uint64_t bytes) {
    const std::uint64_t needed = bytes + bytes / 8 + k_gib;
    const std::uint64_t available = std::filesystem::space(directory).available;
    if (available >= needed)
        return true;
    std::printf("%s is skipped: it needs %.1f GiB of disk, and %.1f are free\n", name.c_str(),
                static_cast<double>(needed) / static_cast<double>(k_gib),
                static_cast<double>(available) / static_cast<double>(k_gib));
    return false;
}

} // namespace bench
