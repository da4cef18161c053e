// Compares words of memory that somebody has declared with what is committed, and nothing else of their pages.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "view/committed_content.hpp"

#include <cstddef>
#include <span>

namespace remanence::view {

/// Makes before-images of the pages in which it finds changes. Used under the same lock as the committed content.
class word_comparer {
public:
    word_comparer(committed_content& committed, const std::byte* base) : committed_(committed), base_(base) {}

    /// Adds the pages that are changed there, with the checksum to be made (changed_page). `words`: sorted, of stored chunks.
    result<void> compare(std::span<const heap_range> words, change::change_set& changes);

private:
    /// Of one page.
    result<void> compare_page(std::uint64_t page, std::span<const heap_range> words, change::change_set& changes);
    void add_changed(heap_range words, const std::byte* committed, change::change_set& changes) const;

    committed_content& committed_;
    const std::byte* base_;
};

/// Takes out of the changed pages what lies in `words`, which are sorted.
void leave_out(std::span<const heap_range> words, change::change_set& changes);

} // namespace remanence::view
