// Blocks of memory in a range of addresses: the heap of a container, or the volatile memory of the program. Depends on shadow.
//
//   A1  Nothing is kept in free blocks: to free one, or to find one, writes no page of the range.
//   A2  Of what is allocated only the page table is to be stored: where slabs and large blocks lie. Which blocks of a slab are in use is
//       known to the process, and found anew at a restore, by reachability.
//   A3  The words of a free block are not marked.
#pragma once

#include "os/quick_mutex.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace remanence::softpm {

inline constexpr std::uint64_t k_page_bytes = 4096;

struct block {
    std::byte* begin = nullptr; // null: none
    std::size_t bytes = 0;      // that it may hold
};

class arena {
public:
    /// What an arena needs, all zero at first.
    struct parts {
        std::byte* begin; // of whole pages
        std::uint32_t pages_max;
        std::uint32_t* page_table; // a number for each page (A2)
        std::uint64_t* pages_used; // from the first
    };

    /// Throws std::system_error when there is no memory for its own tables.
    explicit arena(const parts& of);
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;
    ~arena();

    /// `alignment`: a power of two. Null: there is no room. The words are not marked; the bytes are arbitrary.
    void* allocate(std::size_t bytes, std::size_t alignment = 16) noexcept;
    /// False, and nothing is changed: no block in use begins there.
    bool free(void* pointer) noexcept;
    /// A container does not keep this block, until it is freed.
    void exclude(const block& which);
    [[nodiscard]] const std::map<std::byte*, std::size_t>& excluded() const noexcept { return excluded_; }
    /// Zeroes what lies on this page and is no part of a block in use.
    void clear_free(std::uint32_t page) noexcept;
    /// The block in use that has this byte.
    [[nodiscard]] block find(std::uintptr_t address) const noexcept;
    [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
        return address - begin_address() < room_bytes();
    }
    [[nodiscard]] std::uint64_t room_bytes() const noexcept { return parts_.pages_max * k_page_bytes; }
    [[nodiscard]] std::uintptr_t begin_address() const noexcept {
        return reinterpret_cast<std::uintptr_t>(parts_.begin);
    }
    /// To where blocks have ever been.
    [[nodiscard]] std::uint64_t used_bytes() const noexcept { return *parts_.pages_used * k_page_bytes; }

    // A restore: the page table is there, and no block in use.

    /// Takes the block with this byte for used. `is_new`: nobody has before. No block: the page table has none there.
    block revive(std::uintptr_t address, bool& is_new) noexcept;
    /// Afterwards: what is left of the page table is free.
    void finish_restore();
    /// Instead: all blocks of slabs and large blocks that the page table has are in use. O(pages).
    void revive_all();
    /// True if a block may lie there.
    [[nodiscard]] bool is_in_use(std::uint64_t page) const noexcept { return parts_.page_table[page] != 0; }
    /// True if a page table from a file can be used: slabs and blocks follow on each other. O(pages).
    [[nodiscard]] bool is_sound() const noexcept;

    /// Calls visit(block) for each block in use, in order.
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
        std::uint32_t next;     // with free blocks, of the same class; 0: none. All pages are numbered from 1 here
        std::uint32_t previous; // 0: the first
        std::uint32_t free;
        std::uint32_t from; // the word of bits to look at first
    };

    [[nodiscard]] std::byte* begin_of(std::uint32_t page) const noexcept { return parts_.begin + page * k_page_bytes; }
    // Of the slab, large block or free page that begins at this page.
    [[nodiscard]] std::uint32_t pages_from(std::uint32_t page) const noexcept;
    [[nodiscard]] std::uint32_t blocks_from(std::uint32_t page) const noexcept;
    [[nodiscard]] std::size_t bytes_from(std::uint32_t page) const noexcept;
    [[nodiscard]] std::uint64_t* bits_of(std::uint32_t page) const noexcept { return used_bits_ + page * k_bit_words; }
    [[nodiscard]] bool is_used(std::uint32_t page, std::uint32_t index) const noexcept {
        return (bits_of(page)[index / 64] >> (index % 64) & 1U) != 0;
    }
    struct place {
        std::uint32_t page; // of the first one
        std::uint32_t index;
    };
    /// The block that has this byte, used or not.
    [[nodiscard]] bool locate(std::uintptr_t address, place& found) const noexcept;

    void* allocate_small(unsigned size_class) noexcept;
    void* allocate_large(std::uint64_t pages, std::uint64_t alignment_pages) noexcept;
    /// The first page of so many free ones; k_none.
    std::uint32_t take_pages(std::uint64_t pages, std::uint64_t alignment) noexcept;
    /// Pages that it cannot note, for lack of memory, are not used again by this process.
    void give_pages(std::uint32_t first, std::uint32_t pages) noexcept;
    void enter(std::uint32_t first, std::uint32_t pages, std::uint32_t entry) noexcept;
    void link(std::uint32_t page, unsigned size_class) noexcept;
    void unlink(std::uint32_t page, unsigned size_class) noexcept;

    static constexpr std::size_t k_bit_words = k_page_bytes / 16 / 64; // a page has at most 256 blocks
    static constexpr unsigned k_classes_max = 128;

    /// Holds the lock. Ends the process with a sentence when this thread holds the lock of an arena already: then the caller is a
    /// signal handler, and would wait for ever.
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
