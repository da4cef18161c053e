// Memory for before-images. Blocks that one checkpoint no longer needs are used again for the next before-images:
// otherwise the kernel would have to find and clear them page by page, and commits would wait for that.
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
        std::unique_ptr<std::byte, free_deleter> bytes;
        std::uint64_t pages;
    };
    before_image_memory() = default;
    before_image_memory(const before_image_memory&) = delete;
    before_image_memory& operator=(const before_image_memory&) = delete;
    ~before_image_memory() { trim(); }

    static constexpr std::uint64_t k_pages_max = 512; // in a block; 2 MiB: a huge page

    /// Returns a block of at least `pages`, up to k_pages_max. The caller expects to need `more` pages next, of this
    /// block or of others. With `is_small`, returns a small block if that suffices and no block is kept for reuse.
    block take(std::uint64_t pages, std::uint64_t more, bool is_small);
    void give_back(block unused) noexcept;
    /// Frees the blocks kept for reuse.
    void trim() noexcept;

private:
    static constexpr std::uint64_t k_small_pages = 64;

    std::byte* unused_ = nullptr; // list of free blocks of k_pages_max; each begins with the address of the next
};

} // namespace remanence::view
