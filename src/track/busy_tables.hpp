// Tables of pages of which most are written in each round. Protecting such pages anew gains nothing: the fault at the
// first write to each costs more than comparing those few that were not written.
//
// A table becomes busy when half of its pages were written in two rounds, one after the other. It then stays
// unprotected for 1, 2, 4 and at most 8 rounds, twice as many each time; in the round after that its writes are counted
// again.
#pragma once

#include "base/range.hpp"
#include "base/units.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace remanence::track {

class busy_tables {
public:
    /// What the last level of page tables maps with one table, where a page has 4 KiB. Where pages are larger, so is
    /// the table, and these are parts of one.
    static constexpr std::uint64_t k_table_bytes = 2 * MiB;

    /// Returns the busy tables, sorted and merged.
    [[nodiscard]] const std::vector<heap_range>& ranges() const { return ranges_; }
    /// Notes pages that were written, and that are protected from now on. Throws std::bad_alloc; the note is then lost.
    void note_written(heap_range pages);
    /// Allocates nothing.
    void begin_round() noexcept;

private:
    struct table {
        std::uint64_t counted_in = 0; // the round of which `written` counts
        std::uint64_t written = 0;    // pages
        std::uint64_t half_in = 0;    // the last round in which half of the pages were written
        std::uint64_t unknown_in = 0; // the round in which the table was unprotected at first, so that nothing is known
        unsigned times = 0;           // rounds one after the other with half of the pages written
    };
    struct busy_one {
        std::uint64_t index;
        unsigned rounds; // left
    };
    void note_half(std::uint64_t index);

    std::uint64_t round_ = 2;                         // so that no table was written in the round before the first one
    std::unordered_map<std::uint64_t, table> tables_; // by index; those that were written
    std::vector<busy_one> busy_;
    std::vector<heap_range> ranges_;
};

} // namespace remanence::track
