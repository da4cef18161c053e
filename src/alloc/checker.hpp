// The full walk behind block_allocator::check_invariants(): compares descriptors, bitmaps, lists, tree and counters
// with each other. It assumes nothing about the memory's contents, follows no link outside of the accessible memory,
// always terminates, and changes nothing. Depends on heap_pages.
#pragma once

#include "alloc/heap_pages.hpp"
#include "alloc/slabs.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace remanence::alloc {

class checker {
public:
    using problem_callback = std::function<void(std::uint64_t offset, std::string_view what)>;

    checker(const heap_pages& pages, const problem_callback& report) : pages_(pages), report_(report) {}
    /// Returns the number of problems; the walk stops at k_problems_max.
    std::size_t run();

    /// True if a link in the tree may lead to `page`, because a free run begins there. is_listed_slab() tells the same
    /// for links in the list of a bin (slab_layout.hpp).
    [[nodiscard]] static bool is_free_run(const heap_pages& pages, std::uint32_t page);
    [[nodiscard]] static bool is_listed_slab(const heap_pages& pages, std::uint32_t page, std::uint32_t bin);
    /// True if the allocator's state names a current slab and a free range in it, or no current slab.
    [[nodiscard]] static bool is_current_slab(const heap_pages& pages);

private:
    static constexpr std::size_t k_problems_max = 100;

    [[nodiscard]] bool is_full() const { return problem_count_ >= k_problems_max; }
    void report(std::uint64_t offset, std::string_view what);
    void report_page(std::uint32_t page, std::string_view what);
    void expect_state(bool holds, std::size_t member_offset, std::string_view what);

    void check_section(const section& which);
    void check_wilderness(const section& which, std::uint64_t begin);
    std::uint64_t check_run(std::uint32_t page, std::uint64_t end);
    std::uint64_t check_slab(std::uint32_t page, std::uint64_t end);
    void check_granules(std::uint32_t page);
    void check_place(std::uint32_t page);
    std::uint64_t check_large(std::uint32_t page, std::uint64_t end);
    std::uint64_t check_free(std::uint32_t page, std::uint64_t end);
    void expect_clear(std::uint32_t begin, std::uint64_t end, std::string_view what);
    void expect_clear_bitmaps(std::uint32_t begin, std::uint64_t end);
    void check_list(std::uint32_t bin);
    void check_tree();
    void check_totals();

    const heap_pages& pages_;
    const problem_callback& report_;
    std::size_t problem_count_ = 0;
    std::array<std::uint64_t, k_bin_count> listable_slabs_{}; // how many slabs belong into each bin
    std::uint64_t free_runs_ = 0;
    std::uint64_t free_pages_ = 0;
    std::uint64_t allocated_bytes_ = 0;
};

} // namespace remanence::alloc
