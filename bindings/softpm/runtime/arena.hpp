// Blocks of memory in a range of addresses: the heap of a container, or the volatile memory of the program. Depends on
// shadow.
//
//   A1  Free blocks contain no data of the allocator: to free a block, or to find one, writes no page of the range.
//   A2  Of the allocator's state, only the page table must be stored: it says where slabs and large blocks lie. The
//       process knows which blocks of a slab are in use; a restore finds that again by reachability.
//   A3  The words of a free block are not marked.
#pragma once

#include "os/quick_mutex.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace remanence::softpm {

inline constexpr std::uint64_t k_page_bytes = 4096;

struct block {
    std::byte* begin = nullptr; // null: there is none
    std::size_t bytes = 0;      // capacity
};

class arena {
public:
    /// The memory that an arena uses, all zero at first.
    struct parts {
        std::byte* begin; // of whole pages
        std::uint32_t pages_max;
        std::uint32_t* page_table; // a number for each page (A2)
        std::uint64_t* pages_used; // counted from the first page
    };

    /// Throws std::system_error if there is no memory for the arena's own tables.
    explicit arena(const parts& of);
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;
    ~arena();

    /// Allocates a block; null if there is no room. `alignment`: a power of two. The words are not marked; the bytes
    /// are arbitrary.
    void* allocate(std::size_t bytes, std::size_t alignment = 16) noexcept;
    /// Frees a block. Returns false, and changes nothing, if no block in use begins there.
    bool free(void* pointer) noexcept;
    /// From now on, the container does not keep this block, until it is freed.
    void exclude(const block& which);
    [[nodiscard]] const std::map<std::byte*, std::size_t>& excluded() const noexcept { return excluded_; }
    /// Zeroes all bytes of this page that belong to no block in use.
    void clear_free(std::uint32_t page) noexcept;
    /// Returns the block in use that contains this byte.
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

    // For a restore: the page table exists, and no block is in use.

    /// Marks the block with this byte as used. `is_new`: it was not used before. Returns no block if the page table has
    /// none there.
    block revive(std::uintptr_t address, bool& is_new) noexcept;
    /// Ends a restore: all other blocks of the page table become free.
    void finish_restore();
    /// Called instead of these: marks all blocks of slabs and all large blocks of the page table as used. O(pages).
    void revive_all();
    /// True if a block may lie on the page.
    [[nodiscard]] bool is_in_use(std::uint64_t page) const noexcept { return parts_.page_table[page] != 0; }
    /// True if a page table from a file can be used: its slabs and blocks follow one another. O(pages).
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
        std::uint32_t next;     // a slab with free blocks of the same class; 0: none. Pages are numbered from 1 here
        std::uint32_t previous; // 0: the first
        std::uint32_t free;
        std::uint32_t from; // the word of bits where the search begins
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
        std::uint32_t page; // the first page
        std::uint32_t index;
    };
    /// Finds the block that contains this byte, used or not.
    [[nodiscard]] bool locate(std::uintptr_t address, place& found) const noexcept;

    void* allocate_small(unsigned size_class) noexcept;
    void* allocate_large(std::uint64_t pages, std::uint64_t alignment_pages) noexcept;
    /// Returns the first of so many free pages; k_none if there are none.
    std::uint32_t take_pages(std::uint64_t pages, std::uint64_t alignment) noexcept;
    /// Frees pages. If there is no memory to note them, this process does not use them again.
    void give_pages(std::uint32_t first, std::uint32_t pages) noexcept;
    void enter(std::uint32_t first, std::uint32_t pages, std::uint32_t entry) noexcept;
    void link(std::uint32_t page, unsigned size_class) noexcept;
    void unlink(std::uint32_t page, unsigned size_class) noexcept;

    static constexpr std::size_t k_bit_words = k_page_bytes / 16 / 64; // a page has at most 256 blocks
    static constexpr unsigned k_classes_max = 128;

    /// Holds the lock. Ends the process with a message if this thread already holds the lock of an arena: then the
    /// caller is a signal handler, and would wait for ever.
    class hold;

    parts parts_;
    mutable os::quick_mutex lock_;
    std::uint64_t* used_bits_ = nullptr;
    slab* slabs_ = nullptr;
    std::uint32_t with_room_[k_classes_max] = {};
    std::map<std::uint32_t, std::uint32_t> free_pages_; // first, count
    std::map<std::byte*, std::size_t> excluded_;        // begin, bytes
};

} // namespace remanence::softpm
