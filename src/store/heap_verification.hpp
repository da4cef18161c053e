// Checks everything in a heap file against its checksums.
#pragma once

#include "base/result.hpp"
#include "store/heap_file.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace remanence::store {

struct damage {
    std::string what;
    std::uint64_t offset;    // in the file
    std::uint64_t bytes = 0; // total length of the pages; 0 means unknown
};

/// Returns "page 7" or "pages 7 to 9".
std::string pages_name(std::uint64_t first, std::uint64_t count);

/// Reads superblocks, map, tables and every stored page from the file, and checks them against the checksums. Pages
/// without a checksum must be zeros. Reports each problem to `found` and continues; adjacent pages with the same
/// problem make one report. Changes nothing. Returns the number of pages with a checksum. `progress`, unless empty, is
/// called with the number of bytes checked so far and the size of the heap. O(heap).
result<std::uint64_t> verify(heap_file& heap, const std::function<void(damage)>& found,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress);

/// Checks that superblocks, map and tables are consistent; does not read pages. O(tables).
result<void> verify_structure(heap_file& heap, const std::function<void(damage)>& found);

} // namespace remanence::store
