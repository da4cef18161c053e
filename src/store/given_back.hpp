// Chunks that a record has given back, and whose copies the current superblock may still name.
//
// R3 is enforced here and in retired_copies: both copies of such a chunk retain their bytes, and nothing is written to
// them, until a superblock that covers the record is current. Protected by the lock of the store.
#pragma once

#include "base/range.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace remanence::store {

class given_back {
public:
    /// Notes that these chunks hold nothing since the commit `version`. Precondition: none of them is in this list.
    void add(chunk_range chunks, std::uint64_t version) {
        const auto behind = std::ranges::upper_bound(runs_, chunks.first, {}, first_of);
        runs_.insert(behind, {chunks, version});
    }
    [[nodiscard]] bool contains(std::uint64_t chunk) const {
        const auto behind = std::ranges::upper_bound(runs_, chunk, {}, first_of);
        return behind != runs_.begin() && std::prev(behind)->chunks.contains(chunk);
    }
    [[nodiscard]] bool empty() const { return runs_.empty(); }
    /// Removes the chunks that the current superblock, which has this version, no longer names.
    void note_checkpoint(std::uint64_t version) {
        std::erase_if(runs_, [&](const run& each) { return each.version <= version; });
    }

    /// Calls `f(chunks)` for each run, in order.
    template <class F>
    void for_each(const F& f) const {
        for (const run& each : runs_)
            f(each.chunks);
    }
    /// Returns the first chunk in [first, end) that is in this list, and the first chunk after it that is not. Returns
    /// `end` twice if there is none.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> first_within(std::uint64_t first, std::uint64_t end) const {
        auto found = std::ranges::upper_bound(runs_, first, {}, end_of);
        if (found == runs_.end() || found->chunks.first >= end)
            return {end, end};
        return {std::max(first, found->chunks.first), std::min(end, found->chunks.end())};
    }

private:
    struct run {
        chunk_range chunks;
        std::uint64_t version;
    };
    static std::uint64_t first_of(const run& each) { return each.chunks.first; }
    static std::uint64_t end_of(const run& each) { return each.chunks.end(); }

    std::vector<run> runs_; // sorted, not overlapping
};

} // namespace remanence::store
