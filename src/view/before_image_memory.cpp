#include "view/before_image_memory.hpp"

#include "base/assert.hpp"
#include "base/units.hpp"
#include "os/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace remanence::view {

void before_image_memory::free_deleter::operator()(std::byte* bytes) const { std::free(bytes); }

before_image_memory::block before_image_memory::take(std::uint64_t pages, std::uint64_t more, bool is_small) {
    REM_CHECK(pages <= k_pages_max);
    if (unused_ != nullptr) {
        block again{std::unique_ptr<std::byte, free_deleter>(unused_), k_pages_max, k_pages_max};
        std::memcpy(&unused_, again.bytes.get(), sizeof unused_);
        free_pages_ -= k_pages_max;
        return again;
    }
    // The kernel clears a whole huge page at the first access. A commit of few pages should not wait for that.
    is_small = is_small && pages + more <= k_small_pages;
    const std::uint64_t size = is_small ? k_small_pages : k_pages_max;
    auto* const bytes =
        static_cast<std::byte*>(std::aligned_alloc((is_small ? 1 : size) * k_page_bytes, size * k_page_bytes));
    if (bytes == nullptr)
        throw std::bad_alloc();
    block fresh{std::unique_ptr<std::byte, free_deleter>(bytes), size, size};
    if (!is_small && pages + more >= k_small_pages)
        os::prefer_huge_pages(bytes, size * k_page_bytes);
    else if (!is_small)
        fresh.populated = 0;
    return fresh;
}

void before_image_memory::populate(block& used, std::uint64_t pages) noexcept {
    if (pages <= used.populated)
        return;
    const std::uint64_t end = std::min(align_up(pages, k_populated_at_once), used.pages);
    os::populate(used.bytes.get() + used.populated * k_page_bytes, (end - used.populated) * k_page_bytes);
    used.populated = end;
}

void before_image_memory::give_back(block unused) noexcept {
    if (unused.pages != k_pages_max)
        return;
    std::byte* const first = unused.bytes.release();
    std::memcpy(first, &unused_, sizeof unused_);
    unused_ = first;
    free_pages_ += k_pages_max;
}

before_image_memory::block before_image_memory::make_spare() noexcept {
    constexpr std::size_t k_bytes = k_pages_max * k_page_bytes;
    auto* const bytes = static_cast<std::byte*>(std::aligned_alloc(k_bytes, k_bytes));
    if (bytes == nullptr)
        return {};
    os::prefer_huge_pages(bytes, k_bytes);
    os::populate(bytes, k_bytes);
    return {std::unique_ptr<std::byte, free_deleter>(bytes), k_pages_max, k_pages_max};
}

void before_image_memory::trim() noexcept {
    while (unused_ != nullptr)
        (void)take(1, 0, false);
}

} // namespace remanence::view
