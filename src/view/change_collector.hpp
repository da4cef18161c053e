// Finds what a commit must write: compares the pages that were written with what is committed, and finds the chunks to
// write whole.
//
// A page that the tracker reports although it did not change costs only a comparison. Changes that were found but not
// accepted are found again by the next collect(). Nobody may change memory while it is read. The caller must have the
// right to use store and view, except for make_checksums().
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "change/declared_pages.hpp"
#include "store/image.hpp"
#include "view/chunk_mover.hpp"
#include "view/chunk_spiller.hpp"
#include "view/committed_content.hpp"
#include "view/mapped_memory.hpp"
#include "view/page_comparer.hpp"
#include "view/page_copies.hpp"
#include "view/page_predicate.hpp"
#include "view/spilled_chunks.hpp"
#include "view/word_comparer.hpp"
#include "view/written_pages.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace remanence::view {

/// Limits for copying changes that are written later.
struct copying_limits {
    std::uint64_t bytes_min; // of written pages
    std::uint64_t bytes_max;
    std::uint64_t held_back_max; // as in change_collector::collect()
};

class change_collector {
public:
    change_collector(store::image& image, mapped_memory& memory, written_pages& written, committed_content& committed,
                     spilled_chunks& spilled, chunk_spiller& spiller, chunk_mover& mover,
                     change::declared_pages& declared)
        : image_(image),
          memory_(memory),
          written_(written),
          committed_(committed),
          spilled_(spilled),
          spiller_(spiller),
          mover_(mover),
          declared_(declared),
          comparer_(committed, written),
          words_(committed, memory.base()) {}

    /// Returns everything that differs from the committed content. A chunk all of whose pages are unused, as
    /// `is_unused` says, is no change: its memory goes back to the kernel and reads as last committed. If more than
    /// `held_back_max` bytes are held back, returns only how many: the caller makes a checkpoint and calls again.
    result<change::change_set> collect(const page_predicate& is_unused, std::uint64_t held_back_max = ~std::uint64_t{0},
                                       change::fresh_contents fresh = change::fresh_contents::in_copy);
    /// As collect(), but only for what is declared. O(declared bytes). Leaves the checksums of pages with declared
    /// words to be made (changed_page).
    result<change::change_set> collect_declared(const page_predicate& is_unused,
                                                change::fresh_contents fresh = change::fresh_contents::in_copy);
    /// As collect(), but for everything else: changes that should have been declared and were not.
    result<change::change_set> collect_undeclared(const page_predicate& is_unused);
    /// Copies what collect() would compare, for changes_in_copies(), if its size is within the limits and no chunk is
    /// to be written whole, except a little new memory. Returns nothing if the caller must call collect() instead,
    /// and empty copies if nothing differs.
    result<std::optional<page_copies>> copy_written(const page_predicate& is_unused, const copying_limits& limits);
    /// Returns the new memory among the copies. changes_in_copies() finds the rest.
    [[nodiscard]] change::change_set fresh_in_copies(const page_copies& copies) const;
    /// As collect(), for pages that copy_written() copied. Does not read the program's memory. After errc::corrupt or
    /// errc::io it may be called again.
    result<change::change_set> changes_in_copies(const page_copies& copies);
    /// Returns the pages that may differ from the committed content: those that were written. If the tracker cannot
    /// tell these from committed ones, returns those that do differ, as collect() finds them. Does not include spilled
    /// chunks; the caller adds them.
    result<std::vector<heap_range>> written();
    /// Returns what collect() would find, but relocates nothing. For callers that only report changes.
    result<change::change_set> uncommitted(const page_predicate& is_unused);
    /// True if memory differs from what is committed. Stops at the first chunk that differs. A spilled chunk counts
    /// only if its content differs, although collect() reports each one. Complexity: as collect(), plus all bytes of
    /// spilled chunks.
    result<bool> holds_changes(const page_predicate& is_unused);
    /// Returns the spilled chunks whose content is what is committed. O(bytes of spilled chunks).
    result<std::vector<std::uint64_t>> unchanged_spilled();
    /// Makes the checksums of whole chunks. collect() leaves most of them to be made, so that writing can begin without
    /// them. Memory must not have changed since. Thread-safe; allocates nothing.
    void make_checksums(change::change_set& changes) const noexcept;

private:
    /// Whether stored chunks may be relocated.
    struct moving {
        bool is_allowed;
        std::uint64_t held_back_max; // as in collect()
    };
    result<change::change_set> changes_in(const std::vector<heap_range>& ranges, const page_predicate& is_unused,
                                          kept_bytes kept, moving move = {false, 0},
                                          change::fresh_contents fresh = change::fresh_contents::in_copy);
    struct declarations {
        std::vector<heap_range> pages; // compared whole
        std::vector<heap_range> words; // words of stored chunks, outside of these pages
    };
    /// Returns the declared parts of accessible memory.
    [[nodiscard]] declarations declared() const;
    /// Appends the pages that are not zeros of a chunk that was never committed.
    void append_contents(heap_range fresh, std::vector<heap_range>& pages) const;
    result<std::vector<heap_range>> set_unused_aside(const std::vector<heap_range>& ranges,
                                                     const page_predicate& is_unused);
    result<bool> give_back(std::uint64_t chunk, const page_predicate& is_unused);
    result<bool> spilled_differs(std::uint64_t chunk);
    result<std::optional<page_copies>> copy_from_first_change(const std::vector<heap_range>& pages);
    void add_spilled_before(heap_range pages, change::change_set& changes) const;
    result<void> add_fresh(const std::vector<heap_range>& pages, change::fresh_contents where,
                           change::change_set& changes);

    store::image& image_;
    mapped_memory& memory_;
    written_pages& written_;
    committed_content& committed_;
    spilled_chunks& spilled_;
    chunk_spiller& spiller_;
    chunk_mover& mover_;
    change::declared_pages& declared_;
    page_comparer comparer_;
    word_comparer words_;
};

} // namespace remanence::view
