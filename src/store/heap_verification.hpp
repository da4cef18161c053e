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
    std::uint64_t bytes = 0; // how many bytes of pages; 0: unknown
};

/// Returns "page 7" or "pages 7 to 9".
std::string pages_name(std::uint64_t first, std::uint64_t count);

/// Reads superblocks, map, tables and every stored page from the file, and compares them with the checksums. Pages
/// without one must be zeros. Reports each problem to `found` and continues; neighbouring pages with the same problem
/// are one report. Changes nothing. Returns how many pages have a checksum. `progress`, unless empty, gets the bytes of
/// the heap that are done, and their total. O(heap).
result<std::uint64_t> verify(heap_file& heap, const std::function<void(damage)>& found,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress);

/// Checks that superblocks, map and tables fit together, without the contents of pages. O(tables).
result<void> verify_structure(heap_file& heap, const std::function<void(damage)>& found);

} // namespace remanence::store
