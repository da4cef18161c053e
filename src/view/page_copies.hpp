// Copies of pages as a commit found them, so that they can be written while the program continues.
//
// Knows where the copies are, but not what is committed. Not thread-safe: the caller must hold the locks of store and
// view.
#pragma once

#include "base/range.hpp"
#include "view/before_image_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::view {

class page_copies {
public:
    /// Uses free blocks of `memory`, whose pages are allocated already. `memory` must outlive the copies.
    explicit page_copies(before_image_memory& memory) : memory_(&memory) {}

    /// Says that about this many pages will be copied, so that fresh memory for them is made of huge pages.
    void expect(std::uint64_t pages) { expected_ = pages; }
    /// Copies pages from the memory at `base`. Precondition: they lie behind all pages copied before.
    void add(heap_range pages, const std::byte* base);
    /// Returns the blocks to `memory` for reuse. The destructor frees them.
    void clear() noexcept;

    struct piece {
        heap_range pages;
        std::byte* bytes;
    };
    /// Returns all copies in the order of the pages. Consecutive pages may be in several pieces.
    [[nodiscard]] std::span<const piece> pieces() const { return pieces_; }
    [[nodiscard]] bool is_empty() const { return pieces_.empty(); }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Returns the copy of a page; null if the page was not copied.
    [[nodiscard]] const std::byte* find(std::uint64_t page) const;
    /// Returns the copy of a page. Precondition: the page was copied.
    [[nodiscard]] const std::byte* of(std::uint64_t page) const;
    [[nodiscard]] bool has_any_in(heap_range range) const;

private:
    before_image_memory* memory_;
    std::vector<before_image_memory::block> blocks_;
    std::uint64_t pages_left_ = 0; // unused pages at the end of the last block
    std::vector<piece> pieces_;
    std::uint64_t bytes_ = 0;
    std::uint64_t expected_ = 0; // pages
};

/// The source of the bytes that a commit writes: the heap's memory, or copies.
class page_source {
public:
    explicit page_source(const std::byte* base) : base_(base) {}
    explicit page_source(const page_copies& copies) : copies_(&copies) {}

    [[nodiscard]] const std::byte* of(std::uint64_t page) const {
        return copies_ != nullptr ? copies_->of(page) : base_ + page * k_page_bytes;
    }

private:
    const std::byte* base_ = nullptr;
    const page_copies* copies_ = nullptr;
};

} // namespace remanence::view
