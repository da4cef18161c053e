// Whether all that a heap file holds is as its checksums say.
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
    std::uint64_t bytes = 0; // from there on, of pages; 0: not known
};

/// "page 7", "pages 7 to 9"
std::string pages_name(std::uint64_t first, std::uint64_t count);

/// Reads superblocks, map, tables and every stored page from the file and compares with the checksums; pages without one
/// must be zeros. What is wrong is told to `found` and does not end it; neighbouring pages of which the same is to be said
/// are told of at one go. Changes nothing. Returns how many pages have a checksum. `progress`, unless empty: bytes of the heap that are done, and all. O(heap).
result<std::uint64_t> verify(heap_file& heap, const std::function<void(damage)>& found,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress);

/// The same without the contents of pages: whether superblocks, map and tables fit together. O(tables).
result<void> verify_structure(heap_file& heap, const std::function<void(damage)>& found);

} // namespace remanence::store
