// A slab: blocks of one size, and beside the blocks, in a table of its own, what is known of them. Depends on size_classes.hpp.
//
// A bit for each block says that it is free. So allocating and freeing touch no block, a block that is freed twice, or never was one,
// is known at once and for certain, and freed neighbours are handed out in the order of addresses, so that they share pages.
//
//  SL1  A slab has one owner, a thread cache, which alone changes `free` and all that is not atomic. Any other thread that frees a block sets
//      its bit in `returned`, and tells the owner if nobody has yet (`told`); the owner collects these bits when it needs blocks.
//  SL2  A block is free if its bit is set in `free` or in `returned`; never in both. Bits of blocks that the slab has not are clear.
//  SL3  `filled` has a bit for each word of `free` that is not zero, and may have that of the current word. `idle` has one for each
//      word all of whose blocks are in `free`, but for the current word.
//  SL4  A slab with free blocks in `free` is its owner's current one of its class, or in the owner's list of the class; no other is in
//      one.
//  SL5  `told` and `next_told` belong to the stack that the slab lies in, whatever becomes of the slab meanwhile: only who takes it out
//      of there clears `told`. So a slab may be told of that has nothing to collect, or another owner by now.
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

    // Set when the slab is taken; read by each thread that frees.
    std::byte* start;
    std::uint32_t block_bytes;
    std::uint32_t reciprocal; // of block_bytes, as 32 bits behind the point, rounded up
    std::uint32_t block_count;
    std::uint8_t size_class;
    std::uint8_t unit_count;
    std::atomic<thread_cache*> owner; // null: nobody has taken the slab

    // The owner's.
    alignas(64) std::uint64_t filled;
    std::uint64_t idle;
    slab* next; // in the list
    slab* before;
    bool is_current;
    bool is_listed;

    // Of those that are not the owner.
    alignas(64) std::atomic<slab*> next_told;
    std::atomic<bool> told;

    alignas(64) word words[k_word_count]; // NOLINT(modernize-avoid-c-arrays): zeros are one, without a constructor

    [[nodiscard]] std::uint32_t word_count() const { return (block_count + k_word_bits - 1) / k_word_bits; }
    /// All blocks of a word.
    [[nodiscard]] std::uint64_t whole_word(std::uint32_t index) const {
        const std::uint32_t behind = block_count - index * k_word_bits;
        return behind >= k_word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << behind) - 1;
    }
    /// The bits of `filled` and `idle` when all words are.
    [[nodiscard]] std::uint64_t all_words() const { return ~std::uint64_t{0} >> (k_word_count - word_count()); }
    [[nodiscard]] bool is_idle() const { return idle == all_words(); }

    /// The number of the block that begins at an address of the slab; block_count or more when none does. Exact for multiples of
    /// block_bytes, since slabs have less than 2^20 bytes to a block's end, and so few blocks.
    [[nodiscard]] std::uint32_t block_at(const void* address) const {
        const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - start);
        const auto index = static_cast<std::uint32_t>(offset * reciprocal >> 32U);
        return std::uint64_t{index} * block_bytes == offset ? index : block_count;
    }
    /// The block that an address of the slab lies in; block_count or more behind the last, and when the slab has just been given back.
    [[nodiscard]] std::uint32_t block_around(const void* address) const {
        const std::uint32_t bytes = block_bytes; // 0 once the header was given back, too
        return bytes == 0 ? block_count
                          : static_cast<std::uint32_t>(static_cast<const std::byte*>(address) - start) / bytes;
    }
    [[nodiscard]] std::byte* block(std::uint32_t index) const { return start + std::uint64_t{index} * block_bytes; }

    /// Free bits of a word, of both kinds.
    [[nodiscard]] std::uint64_t free_bits(std::uint32_t index) const {
        return words[index].free.load(std::memory_order_relaxed) |
               words[index].returned.load(std::memory_order_relaxed);
    }

    /// All blocks free, owned by nobody. Leaves alone what belongs to stacks (SL5).
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

    /// SL1, the owner: takes in what others freed.
    void collect() {
        for (std::uint32_t i = 0; i != word_count(); ++i) {
            if (words[i].returned.load(std::memory_order_relaxed) == 0)
                continue;
            // Acquires what the threads that freed the blocks did to them.
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
