// What a commit is to write: the pages that were written, compared with what is committed, and the chunks that it
// writes whole.
//
// A page that the tracker reports although it did not change costs a comparison, nothing else. What is found and not accepted is
// found again by the next collect(). Memory is read while nobody changes it; all but make_checksums() is called by who may use
// store and view.
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

/// Which changes are worth copying, for who writes them later.
struct copying_limits {
    std::uint64_t bytes_min; // of written pages
    std::uint64_t bytes_max;
    std::uint64_t held_back_max; // as of change_collector::collect()
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

    /// Returns everything that differs from the committed content. Chunks that hold nothing, as `is_unused` says of all their
    /// pages, are no changes: their memory goes back to the kernel and reads as it was committed last. If more than so many bytes
    /// are held back, that is all it tells: for who makes a checkpoint, and asks again.
    result<change::change_set> collect(const page_predicate& is_unused, std::uint64_t held_back_max = ~std::uint64_t{0},
                                       change::fresh_contents fresh = change::fresh_contents::in_copy);
    /// As collect(), of what is declared alone. O(its size). Checksums of pages of which words are declared are to be made
    /// (changed_page).
    result<change::change_set> collect_declared(const page_predicate& is_unused,
                                                change::fresh_contents fresh = change::fresh_contents::in_copy);
    /// As collect(), of everything else: what is in no declaration although it was to be.
    result<change::change_set> collect_undeclared(const page_predicate& is_unused);
    /// Copies what collect() would compare, for changes_in_copies(): when that is between the limits, and nothing is to be written
    /// whole but little new memory. Copies none when nothing differs; returns none when collect() is to be called.
    result<std::optional<page_copies>> copy_written(const page_predicate& is_unused, const copying_limits& limits);
    /// Returns what of that is new memory; the rest is for changes_in_copies() to find.
    [[nodiscard]] change::change_set fresh_in_copies(const page_copies& copies) const;
    /// As collect(), of pages that copy_written() copied. Reads no memory of the program's. errc::corrupt, errc::io: it may be
    /// repeated.
    result<change::change_set> changes_in_copies(const page_copies& copies);
    /// Returns the pages that may differ from the committed content: those that were written; where the tracker does not tell
    /// these from pages that are committed, those that do differ, as collect() finds them. Spilled chunks are for the caller
    /// to add.
    result<std::vector<heap_range>> written();
    /// Returns what collect() would find, with nothing moved, for who only tells of it.
    result<change::change_set> uncommitted(const page_predicate& is_unused);
    /// Whether memory differs from what is committed; it ends at the first chunk that does. What was spilled counts by what it holds,
    /// though collect() finds each such chunk. Complexity: as collect(), and all bytes of spilled chunks.
    result<bool> holds_changes(const page_predicate& is_unused);
    /// Returns the spilled chunks that hold what is committed. O(bytes of spilled chunks).
    result<std::vector<std::uint64_t>> unchanged_spilled();
    /// Makes those of whole chunks; collect() leaves most of them to be made, so that they are not waited for before the first
    /// byte is written. Memory must be as it was then. From any thread; it allocates nothing.
    void make_checksums(change::change_set& changes) const noexcept;

private:
    /// Whether chunks may be written whole although the file has them.
    struct moving {
        bool is_allowed;
        std::uint64_t held_back_max; // as of collect()
    };
    result<change::change_set> changes_in(const std::vector<heap_range>& ranges, const page_predicate& is_unused,
                                          kept_bytes kept, moving move = {false, 0},
                                          change::fresh_contents fresh = change::fresh_contents::in_copy);
    struct declarations {
        std::vector<heap_range> pages; // to be compared whole
        std::vector<heap_range> words; // of stored chunks, and not of these pages
    };
    /// Returns what is declared of accessible memory.
    [[nodiscard]] declarations declared() const;
    /// Of a chunk that was never committed, those that hold something.
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
