// Memory for before-images. Reuses the blocks that a checkpoint has freed: otherwise the kernel would have to allocate
// and clear pages one by one while a commit waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace remanence::view {

class before_image_memory {
    struct free_deleter {
        void operator()(std::byte* bytes) const;
    };

public:
    struct block {
        std::unique_ptr<std::byte, free_deleter> bytes{};
        std::uint64_t pages = 0;
        std::uint64_t populated = 0; // pages at the beginning that need no populate()
    };
    before_image_memory() = default;
    before_image_memory(const before_image_memory&) = delete;
    before_image_memory& operator=(const before_image_memory&) = delete;
    ~before_image_memory() { trim(); }

    static constexpr std::uint64_t k_pages_max = 512; // in a block: 2 MiB, a huge page

    /// Returns a block of at least `pages`, which are at most k_pages_max. The caller expects to need `more` pages
    /// next, of this block or of others. With `is_small`, returns a small block if that is enough and no free block
    /// exists.
    block take(std::uint64_t pages, std::uint64_t more, bool is_small);
    /// Called before the first `pages` pages of the block are used. Populates some pages at a time, since a page fault
    /// for each of them would take longer while a commit waits.
    static void populate(block& used, std::uint64_t pages) noexcept;
    void give_back(block unused) noexcept;
    /// Returns a new block of k_pages_max that is populated, for give_back(); an empty one if memory is lacking. Thread-safe,
    /// and takes a millisecond or more.
    static block make_spare() noexcept;
    /// Returns the pages of free blocks.
    [[nodiscard]] std::uint64_t free_pages() const { return free_pages_; }
    /// Returns the free blocks to the kernel.
    void trim() noexcept;

private:
    static constexpr std::uint64_t k_small_pages = 64;
    static constexpr std::uint64_t k_populated_at_once = 32;

    std::uint64_t free_pages_ = 0;
    std::byte* unused_ = nullptr; // list of free blocks of k_pages_max; each begins with the address of the next one
};

} // namespace remanence::view
