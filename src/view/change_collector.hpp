// Finds what a commit must write: compares the written pages with their committed content, and chooses the chunks to be
// written whole.
//
// A page that the tracker reports although it did not change costs only a comparison. If found changes are not
// accepted, the next collect() finds them again. Nobody may change memory while these functions read it. The caller
// must hold the locks of store and view, except for make_checksums().
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

/// Limits for copying the pages of a commit that is written later.
struct copying_limits {
    std::uint64_t bytes_min; // of written pages; for fewer, the caller must use collect()
    std::uint64_t bytes_max;
    std::uint64_t held_back_max; // as in change_collector::collect()
};

/// How far the copies of a commit are compared, and what was found.
struct compared_copies {
    change::change_set changes{};
    std::size_t piece = 0;         // the next of page_copies::pieces()
    std::uint64_t piece_bytes = 0; // of it, already compared
    std::uint64_t bytes = 0;       // compared in all
    std::uint64_t drops = 0;       // committed_content::drops() when the comparison began
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

    /// Asks the tracker which pages were written. The program must not write between this and collect() or
    /// copy_written().
    result<void> gather() { return written_.gather(memory_.accessible_bytes()); }
    /// Returns how many bytes of pages were written, according to the last gather().
    [[nodiscard]] std::uint64_t gathered_bytes() const { return bytes_of(written_.ranges()); }
    /// Returns everything that differs from the committed content. A chunk whose pages are all unused, according to
    /// `is_unused`, is no change: its memory returns to the kernel and reads as last committed. Chunks that should be
    /// written whole but may move only after a checkpoint are *held back*. If these have more than `held_back_max`
    /// bytes, returns only their number of bytes; the caller then makes a checkpoint and calls again.
    result<change::change_set> collect(const page_predicate& is_unused, std::uint64_t held_back_max = ~std::uint64_t{0},
                                       change::fresh_contents fresh = change::fresh_contents::in_copy);
    /// As collect(), but only for declared memory. O(declared bytes). Does not compute the checksums of pages with
    /// declared words (changed_page::k_to_be_made).
    result<change::change_set> collect_declared(const page_predicate& is_unused,
                                                change::fresh_contents fresh = change::fresh_contents::in_copy);
    /// As collect(), but for everything that was not declared: changes that the program should have declared.
    result<change::change_set> collect_undeclared(const page_predicate& is_unused);
    /// Copies what collect() would compare, for compare_copies(). Returns nothing if the caller must call collect()
    /// instead: the size is outside the limits, or chunks must be written whole (a little new memory is allowed).
    /// Returns empty copies if nothing differs.
    result<std::optional<page_copies>> copy_written(const page_predicate& is_unused, const copying_limits& limits);
    /// Returns the new memory among copied pages, which must be sorted. compare_copies() finds everything else.
    [[nodiscard]] change::change_set fresh_in(std::span<const heap_range> pages) const;
    /// As collect(), but compares the oldest copies instead of the program's memory. Compares about `bytes_max` of the
    /// rest, and returns true if nothing is left. Begins again if before-images were dropped since the last call.
    result<bool> compare_copies(const page_copies& copies, compared_copies& so_far, std::uint64_t bytes_max);
    /// Returns where the file has what compare_copies() will need next, for about `bytes_max` of the copies.
    [[nodiscard]] std::vector<file_range> places_to_compare(const page_copies& copies, const compared_copies& so_far,
                                                            std::uint64_t bytes_max) const;
    /// Returns the pages that may differ from the committed content: all pages written in this round. If the tracker
    /// cannot tell rounds apart, compares and returns the pages that do differ. Spilled chunks are not included; the
    /// caller adds them.
    result<std::vector<heap_range>> written();
    /// Returns what collect() would find, but relocates no chunks, and leaves out spilled chunks whose content equals the
    /// committed content. For callers that only report changes.
    result<change::change_set> uncommitted(const page_predicate& is_unused);
    /// True if memory differs from the committed content. Stops at the first chunk that differs. A spilled chunk counts
    /// only if its content differs, although collect() reports every spilled chunk. Complexity: as collect(), plus all
    /// bytes of spilled chunks.
    result<bool> holds_changes(const page_predicate& is_unused);
    /// As holds_changes(), but looks only at `where` (sorted). Returns nothing if only holds_changes() can tell.
    result<std::optional<bool>> holds_changes_in(const std::vector<heap_range>& where, const page_predicate& is_unused);
    /// Returns the spilled chunks whose content equals the committed content. O(bytes of spilled chunks).
    result<std::vector<std::uint64_t>> unchanged_spilled();
    /// Computes the checksums of whole chunks. collect() omits most of them, so that writing can begin earlier.
    /// Precondition: memory has not changed since that collect(). Thread-safe; allocates nothing.
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
        std::vector<heap_range> pages; // to be compared as a whole
        std::vector<heap_range> words; // words of stored chunks; not in `pages`
    };
    /// Returns the declared parts of accessible memory.
    [[nodiscard]] declarations declared() const;
    /// Appends the nonzero pages of a chunk that was never committed.
    void append_contents(heap_range fresh, std::vector<heap_range>& pages) const;
    void append_copied(heap_range fresh, std::vector<heap_range>& pages) const;
    [[nodiscard]] std::vector<heap_range> pages_to_compare(const page_copies& copies, const compared_copies& so_far,
                                                           std::uint64_t bytes_max) const;
    result<bool> differs_in(const std::vector<heap_range>& ranges, const page_predicate& is_unused);
    result<bool> differs_from_newest(std::uint64_t page_offset);
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
