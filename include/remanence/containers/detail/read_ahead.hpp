// Reading ahead during an iteration over our own containers, in a heap that the kernel reads page by page
// (memory_options::read_ahead). Depends on the standard library only.
#pragma once

#include <algorithm>
#include <cstddef>

namespace remanence::detail {

/// Begins to read [first, first+bytes) if these bytes lie in a heap that is read page by page; otherwise does nothing.
void begin_to_read(const std::byte* first, std::size_t bytes) noexcept;

/// Reads ahead of one iteration, which must call came_to() for each block that it reaches.
class reader_ahead {
public:
    void came_to(const std::byte* block) noexcept {
        if (block <= last_ || block - last_ > k_step_max) { // not in the order of memory: the next blocks are unknown
            window_ = 0;
            end_ = block;
        } else if (end_ - block <= window_ / 2) {
            window_ = std::clamp(2 * window_, k_window_min, k_window_max);
            const std::byte* const from = std::max(end_, block);
            end_ = block + window_;
            begin_to_read(from, static_cast<std::size_t>(end_ - from));
        }
        last_ = block;
    }

private:
    static constexpr std::ptrdiff_t k_step_max = 128 << 10; // other blocks may lie between two blocks of the iteration
    static constexpr std::ptrdiff_t k_window_min = 32 << 10;
    static constexpr std::ptrdiff_t k_window_max = 1 << 20;

    const std::byte* last_ = nullptr;
    const std::byte* end_ = nullptr; // the end of the bytes whose reading has begun
    std::ptrdiff_t window_ = 0;
};

} // namespace remanence::detail
