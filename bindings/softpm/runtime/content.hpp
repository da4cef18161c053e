// Views of the parts of a container's heap: the directory, the arena, and the tables beside it. They own nothing.
#pragma once

#include "arena.hpp"
#include "directory.hpp"
#include "shadow.hpp"

#include <cstddef>
#include <cstdint>

namespace remanence::softpm {

struct content {
    directory& listed;
    arena& blocks;
    std::uint64_t* marks; // for the words of the arena: see directory
    std::uint8_t* flags;

    static constexpr std::uint64_t k_mark_words = k_page_bytes / k_word_bytes / 64; // for one page

    [[nodiscard]] std::uint64_t offset_of(std::uintptr_t address) const { return address - blocks.begin_address(); }
    [[nodiscard]] std::uintptr_t address_at(std::uint64_t offset) const { return blocks.begin_address() + offset; }
    [[nodiscard]] bool is_inside(std::uint64_t value) const {
        return value - blocks.begin_address() <= blocks.used_bytes(); // the end of the last block counts as inside
    }
};

/// True for values that are never an address in a program. They are never changed.
inline bool is_no_address(std::uint64_t value) {
    constexpr std::uint64_t k_lowest = 65536;
    constexpr unsigned k_address_bits = 47;
    return value < k_lowest || value >> k_address_bits != 0;
}

/// A word that will be NULL after a restore, because its target does not outlive the process.
struct lost_pointer {
    std::uint64_t offset; // offset of the word in the arena
    std::uint64_t value;
    std::uint64_t block_offset = 0; // block that contains the word; set by a restore
    std::uint64_t block_bytes = 0;
};

/// Calls visit(address) for each word in this range that has a mark.
template <class Visit>
void for_each_marked(std::uintptr_t begin, std::uint64_t bytes, Visit&& visit) {
    const std::uint8_t* const marks = marks_at(begin);
    const std::uint64_t words = bytes / k_word_bytes;
    for (std::uint64_t i = 0; i < words; i += 8) {
        std::uint64_t eight = 0;
        __builtin_memcpy(&eight, marks + i, words - i < 8 ? words - i : 8);
        for (; eight != 0;) {
            const auto which = static_cast<unsigned>(__builtin_ctzll(eight)) / 8;
            eight &= ~(std::uint64_t{0xff} << (which * 8));
            visit(begin + (i + which) * k_word_bytes);
        }
    }
}

} // namespace remanence::softpm
