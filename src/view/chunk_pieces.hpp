// Stretches of memory, chunk by chunk. May use: base, os.
#pragma once

#include "base/units.hpp"
#include "track/page_scan.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::view {

/// The runs in pieces that lie in one chunk each.
inline std::vector<byte_range> pieces_of(const std::vector<track::page_run>& runs, std::uint64_t chunk_bytes) {
    std::vector<byte_range> pieces;
    for (const track::page_run& run : runs) {
        for (std::uint64_t from = run.offset; from < run.end();) {
            const std::uint64_t to = std::min(run.end(), (from / chunk_bytes + 1) * chunk_bytes);
            pieces.push_back({from, to - from});
            from = to;
        }
    }
    return pieces;
}

/// The pieces that lie in the same chunk as `first`, which is the first of them.
inline std::span<const byte_range> pieces_in(std::span<const byte_range> pieces, const byte_range* first,
                                             std::uint64_t chunk_bytes) {
    const byte_range* end = first;
    while (end != pieces.data() + pieces.size() && end->offset / chunk_bytes == first->offset / chunk_bytes)
        ++end;
    return {first, end};
}

} // namespace remanence::view
