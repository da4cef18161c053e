// Whether all that a heap file holds is as its checksums say. May use: base, os, format.
#pragma once

#include "base/result.hpp"
#include "store/heap_file.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace remanence::store {

struct damage {
    std::string what;
    std::uint64_t offset; // in the file
};

/// Reads superblocks, map, tables and every stored page from the file and compares with the checksums; pages without one
/// must be zeros. What is wrong is told to `found` and does not end it. Changes nothing. Returns how many pages have a
/// checksum. `progress`, unless empty: bytes of the heap that are done, and all. O(heap).
result<std::uint64_t> verify(heap_file& heap, const std::function<void(damage)>& found,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress);

} // namespace remanence::store
