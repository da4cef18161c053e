// Runs of pages: what slabs and large blocks are made of. Depends on run_tree, magazines and heap_pages.
//
// A request gets the best fit among the free runs, or else pages of the wilderness (the unused end of a section) at the
// lowest address with room. A run that is freed is joined with its free neighbours at once; boundary tags find them (D.
// Knuth, The Art of Computer Programming 1, 2.5). If the wilderness follows, the run becomes part of it.
//
//  PR1  No two free runs touch, and none touches its section's wilderness.
//  PR2  The first and the last descriptor of a free run carry its length; all others within it, and all in the
//      wilderness, are zero.
//  PR3  The descriptors of a run are zero when it is allocated, and must be zero again when it is freed.
#pragma once

#include "alloc/heap_pages.hpp"
#include "alloc/magazines.hpp"
#include "alloc/run_tree.hpp"

#include <cstdint>
#include <optional>

namespace remanence::alloc {

class page_runs {
public:
    page_runs(heap_pages& pages, const magazines& kept) : pages_(pages), kept_(kept), tree_(pages) {}

    /// Returns the first page of a run of `page_count` pages at a multiple of `alignment` pages (a power of two).
    /// Returns 0, and has changed nothing, if there is none; heap_pages::failure() tells why. Also returns 0 if only
    /// the wilderness has such a run while magazines have blocks: then the caller must free these blocks and call again
    /// (M3). O(log free runs).
    [[nodiscard]] std::uint32_t allocate(std::uint64_t page_count, std::uint64_t alignment);
    /// Allocates exactly these pages (placed_blocks.cpp). Returns false, and has changed nothing, if they are not all
    /// free. O(free runs).
    [[nodiscard]] bool allocate_at(std::uint32_t page, std::uint32_t page_count);
    /// Adds `more` pages to the end of a run that was allocated. Returns false, and has changed nothing, if they are
    /// not all free. O(log free runs).
    [[nodiscard]] bool extend(std::uint32_t page, std::uint32_t page_count, std::uint32_t more);
    /// Frees a run. The caller must have cleared its descriptors (PR3). O(log free runs).
    void release(std::uint32_t page, std::uint32_t page_count);

    [[nodiscard]] const run_tree& tree() const { return tree_; }
    [[nodiscard]] run_tree& tree() { return tree_; }

private:
    struct run {
        std::uint32_t page;
        std::uint32_t page_count;
    };

    [[nodiscard]] std::uint32_t find_free(std::uint64_t page_count, std::uint64_t alignment);
    [[nodiscard]] std::uint32_t carve(std::uint32_t from, std::uint32_t page_count, std::uint64_t alignment);
    [[nodiscard]] std::uint32_t extend_into_wilderness(std::uint32_t page_count, std::uint64_t alignment);
    [[nodiscard]] std::uint32_t take_wilderness(const section& of, std::uint64_t page, std::uint32_t page_count);
    [[nodiscard]] bool take_out(run which);
    void put_in(run which);
    [[nodiscard]] std::optional<run> free_run_before(std::uint32_t page);
    [[nodiscard]] std::optional<run> free_run_at(std::uint64_t page);

    heap_pages& pages_;
    const magazines& kept_;
    run_tree tree_;
};

} // namespace remanence::alloc
