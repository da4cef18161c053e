// Memory for before-images. What one checkpoint no longer needs, the before-images behind the next one use again: the kernel would
// have to find and clear it page by page, at the expense of commits.
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

    static constexpr std::uint64_t k_pages_max = 512; // of a block; 2 MiB: a huge page

    /// A block of at least `pages`, up to k_pages_max; so many `more` are likely to be needed next, of this block or
    /// others. A small one if it suffices and `is_small`, unless there is one to be used again.
    block take(std::uint64_t pages, std::uint64_t more, bool is_small);
    void give_back(block unused) noexcept;
    /// What is to be used again goes to the process.
    void trim() noexcept;

private:
    static constexpr std::uint64_t k_small_pages = 64;

    std::byte* unused_ = nullptr; // blocks of k_pages_max, each of which begins with where the next one is
};

} // namespace remanence::view
