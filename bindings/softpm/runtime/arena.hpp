// Allocates blocks in a range of addresses. The range is the heap of a container, or the volatile memory of the
// program. Depends on shadow.
//
//   A1  Free blocks contain no data of the allocator. Freeing or finding a block writes no page of the range.
//   A2  Of the allocator's state, only the page table must be stored, which says where slabs and large blocks lie. Only
//       the process knows which blocks of a slab are in use; a restore finds them by reachability.
//   A3  Words of free blocks are never marked.
#pragma once

#include "os/quick_mutex.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace remanence::softpm {

inline constexpr std::uint64_t k_page_bytes = 4096;

struct block {
    std::byte* begin = nullptr; // null if there is no block
    std::size_t bytes = 0;      // usable size
};

class arena {
public:
    /// The memory that an arena needs. All of it must be zero at first.
    struct parts {
        std::byte* begin; // start of the range, on a page
        std::uint32_t pages_max;
        std::uint32_t* page_table; // an entry for each page (A2)
        std::uint64_t* pages_used; // how many pages from the first on ever had blocks
    };

    /// Throws std::system_error if memory for the arena's own tables is lacking.
    explicit arena(const parts& of);
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;
    ~arena();

    /// Allocates a block; returns null if there is no room. `alignment` must be a power of two. The block's words are
    /// not marked, and its bytes have any value.
    void* allocate(std::size_t bytes, std::size_t alignment = 16) noexcept;
    /// Frees a block. Returns false, and changes nothing, if no block in use begins there.
    bool free(void* pointer) noexcept;
    /// Makes points skip this block, until it is freed.
    void exclude(const block& which);
    [[nodiscard]] const std::map<std::byte*, std::size_t>& excluded() const noexcept { return excluded_; }
    /// Zeroes all bytes of this page that belong to no block in use.
    void clear_free(std::uint32_t page) noexcept;
    /// Returns the block in use that contains this byte; if there is none, block::begin is null.
    [[nodiscard]] block find(std::uintptr_t address) const noexcept;
    [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
        return address - begin_address() < room_bytes();
    }
    [[nodiscard]] std::uint64_t room_bytes() const noexcept { return parts_.pages_max * k_page_bytes; }
    [[nodiscard]] std::uintptr_t begin_address() const noexcept {
        return reinterpret_cast<std::uintptr_t>(parts_.begin);
    }
    /// Returns the end of the pages that ever had blocks.
    [[nodiscard]] std::uint64_t used_bytes() const noexcept { return *parts_.pages_used * k_page_bytes; }

    // To be called during a restore, when the page table exists and no block is in use:

    /// Marks the block that contains this byte as used. Sets `is_new` if it was not used before. Returns no block if
    /// the page table has none there.
    block revive(std::uintptr_t address, bool& is_new) noexcept;
    /// Ends a restore. All other blocks of the page table become free.
    void finish_restore();
    /// Replaces the two functions above: marks all blocks of slabs, and all large blocks, as used. O(pages).
    void revive_all();
    /// True if a block may lie on the page.
    [[nodiscard]] bool is_in_use(std::uint64_t page) const noexcept { return parts_.page_table[page] != 0; }
    /// True if a page table from a file can be used, because its slabs and blocks do not overlap. O(pages).
    [[nodiscard]] bool is_sound() const noexcept;

    /// Calls visit(block) for each block in use, in the order of addresses.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::uint32_t page = 0; page < *parts_.pages_used; page += pages_from(page)) {
            const std::uint32_t count = blocks_from(page);
            for (std::uint32_t i = 0; i < count; ++i)
                if (is_used(page, i))
                    visit(block{begin_of(page) + i * bytes_from(page), bytes_from(page)});
        }
    }

private:
    struct slab {
        std::uint32_t next;     // next slab of this class with free blocks, as page number + 1; 0 means none
        std::uint32_t previous; // previous one, likewise; 0 means that this is the first
        std::uint32_t free;
        std::uint32_t from; // index of the word of bits at which a search begins
    };

    [[nodiscard]] std::byte* begin_of(std::uint32_t page) const noexcept { return parts_.begin + page * k_page_bytes; }
    // Returns the size of the slab, large block or free run that begins at this page.
    [[nodiscard]] std::uint32_t pages_from(std::uint32_t page) const noexcept;
    [[nodiscard]] std::uint32_t blocks_from(std::uint32_t page) const noexcept;
    [[nodiscard]] std::size_t bytes_from(std::uint32_t page) const noexcept;
    [[nodiscard]] std::uint64_t* bits_of(std::uint32_t page) const noexcept { return used_bits_ + page * k_bit_words; }
    [[nodiscard]] bool is_used(std::uint32_t page, std::uint32_t index) const noexcept {
        return (bits_of(page)[index / 64] >> (index % 64) & 1U) != 0;
    }
    struct place {
        std::uint32_t page; // first page of the slab or large block
        std::uint32_t index;
    };
    /// Finds the block that contains this byte, whether it is used or not.
    [[nodiscard]] bool locate(std::uintptr_t address, place& found) const noexcept;

    void* allocate_small(unsigned size_class) noexcept;
    void* allocate_large(std::uint64_t pages, std::uint64_t alignment_pages) noexcept;
    /// Allocates so many pages, and returns the first; k_none if no such run is free.
    std::uint32_t take_pages(std::uint64_t pages, std::uint64_t alignment) noexcept;
    /// Frees pages. If there is no memory to record them, this process does not use them again.
    void give_pages(std::uint32_t first, std::uint32_t pages) noexcept;
    void enter(std::uint32_t first, std::uint32_t pages, std::uint32_t entry) noexcept;
    void link(std::uint32_t page, unsigned size_class) noexcept;
    void unlink(std::uint32_t page, unsigned size_class) noexcept;

    static constexpr std::size_t k_bit_words = k_page_bytes / 16 / 64; // a page has at most 256 blocks
    static constexpr unsigned k_classes_max = 128;

    /// Holds the lock. If this thread already holds the lock of an arena, ends the process with a message: the caller
    /// must be a signal handler, and would wait for ever.
    class hold;

    parts parts_;
    mutable os::quick_mutex lock_;
    std::uint64_t* used_bits_ = nullptr;
    slab* slabs_ = nullptr;
    std::uint32_t with_room_[k_classes_max] = {};
    std::map<std::uint32_t, std::uint32_t> free_pages_; // number of the first page, count
    std::map<std::byte*, std::size_t> excluded_;        // begin, bytes
};

} // namespace remanence::softpm
