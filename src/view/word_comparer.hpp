// Compares declared words of memory with their committed content, and nothing else in their pages.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "view/committed_content.hpp"

#include <cstddef>
#include <span>

namespace remanence::view {

/// Makes before-images of the pages in which words have changed. Protected by the lock of the committed content.
class word_comparer {
public:
    word_comparer(committed_content& committed, const std::byte* base) : committed_(committed), base_(base) {}

    /// Adds the pages in which these words have changed, without checksums (changed_page::k_to_be_made). Precondition:
    /// `words` are sorted and lie in stored chunks.
    result<void> compare(std::span<const heap_range> words, change::change_set& changes);

private:
    /// Compares words of one page.
    result<void> compare_page(std::uint64_t page, std::span<const heap_range> words, change::change_set& changes);
    void add_changed(heap_range words, const std::byte* committed, change::change_set& changes) const;

    committed_content& committed_;
    const std::byte* base_;
};

/// Removes the parts of the changed pages that lie in `words` (sorted).
void leave_out(std::span<const heap_range> words, change::change_set& changes);

} // namespace remanence::view
