#include "txn/memory_budget.hpp"

#include "os/memory_limit.hpp"

#include <algorithm>

namespace remanence::txn {

namespace {

// The dirty limit is memory divided by 4. Options may set another limit, of half of memory at most: with more, the
// kernel might kill the process.
constexpr std::uint64_t k_part_for_dirty = 4;
constexpr std::uint64_t k_part_for_dirty_max = 2;
// The limits of before-images and of retired copies are memory divided by these. Each byte of a before-image or retired
// copy goes with another byte, of a changed page in memory. While a commit waits for a checkpoint, there may be twice
// as much of both as the limits allow. So at worst before-images, with their changed pages, need half of memory, and
// retired copies a quarter, unless one commit alone makes more.
constexpr std::uint64_t k_part_for_before_images = 8;
constexpr std::uint64_t k_part_for_retired = 16;
constexpr std::uint64_t k_log_bytes_min = 64 * MiB;
constexpr std::uint64_t k_log_bytes_max = 256 * MiB; // at worst a recovery reads four times as many bytes
constexpr std::uint64_t k_retired_bytes_max = 256 * MiB;
constexpr std::uint64_t k_dirty_chunks_min = 8;
constexpr std::uint64_t k_copies_bytes_min = 64 * MiB; // of points in flight
constexpr std::uint64_t k_worth_watching = 64 * MiB;
constexpr std::uint64_t k_small_bytes = 4 * MiB; // smaller amounts need no limit, so memory_limit() is not called

} // namespace

std::uint64_t memory_budget::memory_limit() const {
    if (!memory_limit_)
        memory_limit_ = options_.memory_bytes != 0 ? options_.memory_bytes : os::memory_limit(files_);
    return *memory_limit_ != 0 ? *memory_limit_ : ~std::uint64_t{0};
}

std::uint64_t memory_budget::dirty_limit_bytes() const {
    std::uint64_t wanted = options_.dirty_limit_bytes;
    if (wanted == 0)
        wanted = memory_limit() / k_part_for_dirty;
    else if (wanted > k_small_bytes)
        wanted = std::min(wanted, memory_limit() / k_part_for_dirty_max);
    return std::max(wanted, k_dirty_chunks_min * copies_.where().chunk_bytes());
}

// A checkpoint that began at a shorter log would write more bytes than were logged.
std::uint64_t memory_budget::log_limit_bytes() const {
    if (options_.log_limit_bytes != 0)
        return options_.log_limit_bytes;
    const std::uint64_t most =
        options_.log_bytes_max != 0 ? std::min(k_log_bytes_max, options_.log_bytes_max / 2) : k_log_bytes_max;
    return std::clamp(view_.committed().before_image_bytes(), std::min(k_log_bytes_min, most), most);
}

std::uint64_t memory_budget::before_image_limit_bytes() const {
    const std::uint64_t asked_for =
        options_.before_image_limit_bytes != 0 ? options_.before_image_limit_bytes : ~std::uint64_t{0};
    if (view_.committed().before_image_bytes() < k_small_bytes)
        return asked_for;
    return std::min(asked_for, std::max(memory_limit() / k_part_for_before_images, k_small_bytes));
}

std::uint64_t memory_budget::copies_limit_bytes() const {
    if (view_.memory().accessible_bytes() < k_part_for_before_images * k_small_bytes)
        return ~std::uint64_t{0};
    return memory_limit() / k_part_for_before_images; // there may be a before-image for each copy
}

std::uint64_t memory_budget::all_copies_limit_bytes() const {
    return std::min(memory_limit() / k_part_for_before_images,
                    std::max(k_copies_bytes_min, 2 * view_.memory().accessible_bytes()));
}

std::uint64_t memory_budget::retired_limit_bytes() const {
    if (copies_.retired_bytes() < k_small_bytes)
        return k_retired_bytes_max;
    return std::min(k_retired_bytes_max, std::max(memory_limit() / k_part_for_retired, k_small_bytes));
}

bool memory_budget::is_memory_short() const { return retired_limit_bytes() < k_retired_bytes_max; }

bool memory_budget::holds_too_many_unsettled() const {
    return view_.committed().unsettled_bytes() >= k_small_bytes &&
           memory_limit() / k_part_for_retired < k_retired_bytes_max;
}

// Chunks stay in anonymous memory after their first commit, until they are mapped from the file.
bool memory_budget::holds_too_many_unmapped() const {
    const std::uint64_t bytes = view_.memory().unmapped_bytes();
    return bytes >= k_dirty_chunks_min / 2 * copies_.where().chunk_bytes() &&
           (options_.dirty_limit_bytes != 0 || bytes >= k_small_bytes) && bytes >= dirty_limit_bytes() / 2;
}

std::uint64_t memory_budget::limit_to_watch() const {
    const std::uint64_t accessible = view_.memory().accessible_bytes();
    if (options_.read_only || options_.is_shared || (options_.dirty_limit_bytes == 0 && accessible < k_worth_watching))
        return 0;
    const std::uint64_t limit = dirty_limit_bytes();
    return accessible > limit ? limit : 0;
}

} // namespace remanence::txn
