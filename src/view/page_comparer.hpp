// Compares pages of memory with their committed content, and adds those that differ to a change_set.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "view/committed_content.hpp"
#include "view/written_pages.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::view {

/// Whether bytes that a tracker kept may replace bytes of the image. They may do so only after the tracker's collect().
enum class kept_bytes { usable, not_usable };

/// Adds the page to `changes` if `now` differs from `committed`.
void add_if_changed(std::uint64_t page, const std::byte* committed, const std::byte* now, change::change_set& changes);

/// Makes before-images of the pages that have changed. Protected by the lock of the committed content.
class page_comparer {
public:
    page_comparer(committed_content& committed, written_pages& written) : committed_(committed), written_(written) {}

    /// Compares pages, whose bytes are at `now`, with their committed content: a before-image, the image, or zeros
    /// where nothing is stored.
    result<void> compare(heap_range pages, const std::byte* now, kept_bytes kept, change::change_set& changes);
    /// True if the page differs from its committed content. Makes no before-image.
    result<bool> differs(std::uint64_t page, const std::byte* now);

private:
    void compare_with_copy(std::uint64_t page, const std::byte* now, change::change_set& changes);
    result<void> compare_with_image(heap_range pages, const std::byte* now, const std::byte* kept,
                                    change::change_set& changes);

    committed_content& committed_;
    written_pages& written_;
    std::vector<std::byte*> unchanged_; // scratch
};

} // namespace remanence::view
