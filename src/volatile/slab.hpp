// A slab: blocks of one size. Its header lies in a separate table, not beside the blocks. Depends on size_classes.hpp.
//
// One bit for each block says that it is free. So allocating and freeing touch no block. Freeing a block twice, or an
// address that is no block, is detected at once and for certain. Free neighbours are allocated in the order of
// addresses, so that they share pages.
//
//  SL1  A slab has one owner, a thread cache. Only the owner changes `free` and all fields that are not atomic. Any
//       other thread that frees a block sets its bit in `returned`, and tells the owner unless a thread has told it
//       already (`told`). The owner collects these bits when it needs blocks.
//  SL2  A block is free if its bit is set in `free` or in `returned`; it is never set in both. Bits beyond the slab's
//       blocks are clear.
//  SL3  `filled` has a bit for each word of `free` that is not zero; the bit of the current word (thread_cache.hpp) may
//       also be set. `idle` has a bit for each word whose blocks are all in `free`, except the current word.
//  SL4  A slab with free blocks in `free` is the owner's current slab of its class, or in the owner's list of the
//       class. No other slab is in a list.
//  SL5  `told` and `next_told` belong to the stack that contains the slab, whatever happens to the slab meanwhile: only
//       the thread that takes the slab out of the stack clears `told`. So a slab in a stack may have nothing to
//       collect, or another owner by now.
#pragma once

#include "volatile/size_classes.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace remanence::transient {

struct thread_cache;

struct slab {
    static constexpr std::uint32_t k_word_bits = 64;
    static constexpr std::uint32_t k_word_count = k_unit_bytes / k_step_bytes / k_word_bits;

    struct word {
        std::atomic<std::uint64_t> free;
        std::atomic<std::uint64_t> returned;
    };

    // Set by format(). Each thread that frees a block reads them.
    std::byte* start;
    std::uint32_t block_bytes;
    std::uint32_t reciprocal; // 2^32 / block_bytes, rounded up
    std::uint32_t block_count;
    std::uint8_t size_class;
    std::uint8_t unit_count;
    std::atomic<thread_cache*> owner; // null if no thread cache owns the slab

    // Used by the owner only:
    alignas(64) std::uint64_t filled;
    std::uint64_t idle;
    slab* next; // the next slab in the owner's list of the class
    slab* before;
    bool is_current;
    bool is_listed;

    // Used by threads that are not the owner:
    alignas(64) std::atomic<slab*> next_told;
    std::atomic<bool> told;

    alignas(64) word words[k_word_count]; // NOLINT(modernize-avoid-c-arrays): zero bytes are valid words

    [[nodiscard]] std::uint32_t word_count() const { return (block_count + k_word_bits - 1) / k_word_bits; }
    /// Returns the bits of all blocks of a word.
    [[nodiscard]] std::uint64_t whole_word(std::uint32_t index) const {
        const std::uint32_t behind = block_count - index * k_word_bits;
        return behind >= k_word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << behind) - 1;
    }
    /// Returns the value of `filled` and `idle` when they have the bits of all words.
    [[nodiscard]] std::uint64_t all_words() const { return ~std::uint64_t{0} >> (k_word_count - word_count()); }
    [[nodiscard]] bool is_idle() const { return idle == all_words(); }

    /// Returns the index of the block that begins at an address of the slab; block_count or more if none does. Exact
    /// for multiples of block_bytes, since a slab has less than 2^20 bytes.
    [[nodiscard]] std::uint32_t block_at(const void* address) const {
        const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - start);
        const auto index = static_cast<std::uint32_t>(offset * reciprocal >> 32U);
        return std::uint64_t{index} * block_bytes == offset ? index : block_count;
    }
    /// Returns the index of the block that contains an address of the slab. Returns block_count or more if the address
    /// lies behind the last block, or if the slab was just given back.
    [[nodiscard]] std::uint32_t block_around(const void* address) const {
        const std::uint32_t bytes = block_bytes; // 0 if the header was given back, too
        return bytes == 0 ? block_count
                          : static_cast<std::uint32_t>(static_cast<const std::byte*>(address) - start) / bytes;
    }
    [[nodiscard]] std::byte* block(std::uint32_t index) const { return start + std::uint64_t{index} * block_bytes; }

    /// Returns the bits of a word that are set in `free` or in `returned`.
    [[nodiscard]] std::uint64_t free_bits(std::uint32_t index) const {
        return words[index].free.load(std::memory_order_relaxed) |
               words[index].returned.load(std::memory_order_relaxed);
    }

    /// Makes all blocks free, and the slab without an owner. Does not touch the fields of stacks (SL5).
    void format(std::byte* begin, std::uint32_t index) {
        start = begin;
        block_bytes = static_cast<std::uint32_t>(class_bytes(index));
        reciprocal = static_cast<std::uint32_t>((std::uint64_t{1} << 32U) / block_bytes + 1);
        size_class = static_cast<std::uint8_t>(index);
        unit_count = static_cast<std::uint8_t>(units_of_class(index));
        block_count = static_cast<std::uint32_t>(unit_count * k_unit_bytes / block_bytes);
        filled = idle = all_words();
        next = before = nullptr;
        is_current = is_listed = false;
        for (std::uint32_t i = 0; i != word_count(); ++i)
            words[i].free.store(whole_word(i), std::memory_order_relaxed);
    }

    /// SL1: the owner takes over the blocks that other threads have freed.
    void collect() {
        for (std::uint32_t i = 0; i != word_count(); ++i) {
            if (words[i].returned.load(std::memory_order_relaxed) == 0)
                continue;
            // Acquire: this thread sees what the threads that freed the blocks wrote to them.
            const std::uint64_t more = words[i].returned.exchange(0, std::memory_order_seq_cst);
            const std::uint64_t now = words[i].free.load(std::memory_order_relaxed) | more;
            words[i].free.store(now, std::memory_order_relaxed);
            filled |= std::uint64_t{1} << i;
            if (now == whole_word(i))
                idle |= std::uint64_t{1} << i;
        }
    }
};
static_assert(sizeof(slab) == 3 * 64 + 16 * slab::k_word_count);

} // namespace remanence::transient
