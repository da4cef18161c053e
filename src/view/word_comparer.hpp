// Compares declared words of memory with what is committed, and nothing else in their pages.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "view/committed_content.hpp"

#include <cstddef>
#include <span>

namespace remanence::view {

/// Makes before-images of the pages in which it finds changes. Under the same lock as the committed content.
class word_comparer {
public:
    word_comparer(committed_content& committed, const std::byte* base) : committed_(committed), base_(base) {}

    /// Adds the pages in which these words changed; their checksums are still to be made (changed_page). `words`:
    /// sorted, of stored chunks.
    result<void> compare(std::span<const heap_range> words, change::change_set& changes);

private:
    /// Compares words of one page.
    result<void> compare_page(std::uint64_t page, std::span<const heap_range> words, change::change_set& changes);
    void add_changed(heap_range words, const std::byte* committed, change::change_set& changes) const;

    committed_content& committed_;
    const std::byte* base_;
};

/// Removes what lies in `words`, which are sorted, from the changed pages.
void leave_out(std::span<const heap_range> words, change::change_set& changes);

} // namespace remanence::view
