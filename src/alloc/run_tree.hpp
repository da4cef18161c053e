// The free runs of pages, ordered by length and then by address: best fit, lowest address first. Its nodes are the
// descriptors of the runs' first pages. Depends on heap_pages.
//
// A treap (R. Seidel, C. R. Aragon, "Randomized Search Trees", Algorithmica 16, 1996) with split and merge from the top
// down, hence without recursion or parent links. A node's priority is a hash of its page index, and is not stored. So
// the tree's shape depends on its contents alone, and its expected depth is O(log n).
//
//  RT1  Priorities fall strictly on every path down. This is checked at each step, so a walk ends even if the tree is
//       damaged.
//  RT2  A link is followed only to an accessible free run that lies before its section's wilderness.
#pragma once

#include "alloc/heap_pages.hpp"

#include <cstdint>
#include <functional>

namespace remanence::alloc {

/// Bijective, so no two pages have the same priority (the finaliser "lowbias32" of C. Wellons' hash prospector).
constexpr std::uint32_t run_priority(std::uint32_t page) {
    page = (page ^ (page >> 16)) * 0x7feb352dU;
    page = (page ^ (page >> 15)) * 0x846ca68bU;
    return page ^ (page >> 16);
}

class run_tree {
public:
    explicit run_tree(heap_pages& pages) : pages_(pages) {}

    /// Returns the shortest run of at least `page_count` pages; of several, the one at the lowest address. 0 if there
    /// is none.
    [[nodiscard]] std::uint32_t best_fit(std::uint64_t page_count);
    /// Inserts the run that is described by its first and last descriptors.
    void insert(std::uint32_t page);
    /// Removes the run that begins at `page`. Returns false, and has changed nothing, if the tree does not contain it:
    /// that is damage.
    [[nodiscard]] bool remove(std::uint32_t page);
    /// Calls visit_run(page, page_count) for each run of at least `page_count` pages, in no order; may skip runs of a
    /// damaged tree. Allocates no memory. O(those runs, and their depth).
    void for_each(std::uint64_t page_count, const std::function<void(std::uint32_t, std::uint32_t)>& visit_run);
    /// Returns how many links were followed since the start: the cost of operations, independent of the machine.
    [[nodiscard]] std::uint64_t step_count() const { return step_count_; }

private:
    struct position {
        const std::uint32_t* link;
        std::uint64_t bound; // RT1: priorities from here on are below it
    };
    static constexpr std::uint64_t k_no_bound = std::uint64_t{1} << 32;

    const format::page_descriptor* visit(std::uint32_t page, std::uint64_t& bound);
    void split(std::uint32_t from, std::uint64_t bound, std::uint64_t key, const format::page_descriptor& into);
    void set(const std::uint32_t* link, std::uint32_t page) { *pages_.changing(link) = page; }
    void join(position at, const format::page_descriptor& of);

    heap_pages& pages_;
    std::uint64_t step_count_ = 0;
};

} // namespace remanence::alloc
