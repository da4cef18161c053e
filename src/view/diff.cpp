#include "view/diff.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

namespace remanence::view {

void diff_pages(const std::byte* before, const std::byte* after, std::vector<format::change_range>& ranges) {
    // No lock, and no initializer that waits: a forked child might wait for a thread that exists only in its parent.
    static std::atomic<const diff_kernel*> best = nullptr;
    const diff_kernel* kernel = best.load(std::memory_order_relaxed);
    if (kernel == nullptr) {
        kernel = &*std::ranges::find_if(diff_kernels(), [](const diff_kernel& each) { return each.is_supported(); });
        best.store(kernel, std::memory_order_relaxed);
    }
    diff_pages(*kernel, before, after, ranges);
}

void diff_pages(const diff_kernel& kernel, const std::byte* before, const std::byte* after,
                std::vector<format::change_range>& ranges) {
    diff_masks masks;
    if (!kernel.compare(before, after, masks))
        return;
    const std::size_t first_range = ranges.size();
    for (std::size_t m = 0; m < k_diff_masks; ++m) {
        std::uint64_t mask = masks[m];
        std::size_t unit = m * k_diff_units_per_mask;
        while (mask != 0) {
            auto skip = static_cast<std::size_t>(std::countr_zero(mask));
            auto run = static_cast<std::size_t>(std::countr_one(mask >> skip));
            std::size_t offset = (unit + skip) * k_diff_unit_bytes;
            std::size_t bytes = run * k_diff_unit_bytes;
            if (ranges.size() > first_range && std::size_t{ranges.back().offset} + ranges.back().bytes == offset) {
                ranges.back().bytes = static_cast<std::uint16_t>(ranges.back().bytes + bytes);
            } else {
                ranges.push_back({static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(bytes)});
            }
            unit += skip + run;
            mask = skip + run == k_diff_units_per_mask ? 0 : mask >> (skip + run);
        }
    }
}

} // namespace remanence::view
