// Lists of ranges of the heap. "Sorted" means sorted by offset and disjoint.
#pragma once

#include "base/range.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace remanence {

/// Sorts the ranges, and joins those that touch or overlap.
void sort_and_merge(std::vector<heap_range>& ranges);
/// Appends the range, or extends the last range by it if that ends where it begins.
void append_run(std::vector<heap_range>& runs, std::uint64_t offset, std::uint64_t bytes);
/// Returns the parts of `all` that are not in `some`. Both must be sorted.
std::vector<heap_range> without(const std::vector<heap_range>& all, const std::vector<heap_range>& some);
/// Returns the parts of `all` that are in `some`, too. Both must be sorted.
std::vector<heap_range> common_to(const std::vector<heap_range>& all, const std::vector<heap_range>& some);
/// Returns the total length of the ranges.
[[nodiscard]] std::uint64_t bytes_of(std::span<const heap_range> ranges);
/// Cuts the ranges at the boundaries of chunks, so that each lies in one chunk.
std::vector<heap_range> split_at_chunks(std::span<const heap_range> ranges, std::uint64_t chunk_bytes);
/// Returns those ranges of `split` that lie in the same chunk as `first`, which must be the first range in that chunk.
/// `split` must be sorted, and split at chunks.
std::span<const heap_range> in_same_chunk(std::span<const heap_range> split, const heap_range* first,
                                          std::uint64_t chunk_bytes);

} // namespace remanence
