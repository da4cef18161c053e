// Former copies of chunks that have moved to their other copy. They may still occupy space.
//
// R3 is enforced here: something durable may name such a copy until a superblock that covers the move is current.
// Before that, no chunk moves there, and the space is not given back. Protected by the lock of the store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace remanence::store {

class retired_copies {
public:
    /// Notes that the commit `version` moved the chunk. `is_mapped`: the former copy stays mapped until
    /// note_unmapped().
    void add(std::uint64_t chunk, std::uint64_t version, bool is_mapped) {
        copies_[chunk] = {version, is_mapped};
        ++newly_; // not counted yet: may_be_taken() permits no second move before the next checkpoint
    }
    /// Forgets the chunk's former copy, because it is used again or given_back covers it.
    void erase(std::uint64_t chunk) { copies_.erase(chunk); }
    void note_unmapped(std::uint64_t chunk) {
        if (const auto left = copies_.find(chunk); left != copies_.end())
            left->second.is_mapped = false;
    }
    void note_all_unmapped() {
        for (auto& [chunk, copy] : copies_)
            copy.is_mapped = false;
    }

    /// True if nothing durable names a former copy of the chunk. `checkpoint_version` is that of the current
    /// superblock.
    [[nodiscard]] bool may_be_taken(std::uint64_t chunk, std::uint64_t checkpoint_version) const {
        const auto left = copies_.find(chunk);
        return left == copies_.end() || left->second.version <= checkpoint_version;
    }
    /// Returns how many copies chunks have left since the last checkpoint.
    [[nodiscard]] std::uint64_t newly_retired() const { return newly_; }
    void note_checkpoint(std::uint64_t version) {
        newly_ = static_cast<std::uint64_t>(
            std::ranges::count_if(copies_, [&](const auto& each) { return each.second.version > version; }));
    }

    /// Calls `f(chunk)` for each chunk with a former copy, in order.
    template <class F>
    void for_each(const F& f) const {
        for (const auto& [chunk, copy] : copies_)
            f(chunk);
    }
    /// Returns the first chunk in [first, end) that has a former copy; `end` if there is none.
    [[nodiscard]] std::uint64_t first_within(std::uint64_t first, std::uint64_t end) const {
        const auto left = copies_.lower_bound(first);
        return left == copies_.end() ? end : std::min(left->first, end);
    }
    /// Returns the chunks whose former copies may be given back, in order.
    [[nodiscard]] std::vector<std::uint64_t> free_ones(std::uint64_t checkpoint_version) const {
        std::vector<std::uint64_t> found;
        for (const auto& [chunk, copy] : copies_) {
            if (!copy.is_mapped && copy.version <= checkpoint_version)
                found.push_back(chunk);
        }
        return found;
    }

private:
    struct retired {
        std::uint64_t version; // of the commit that moved the chunk
        bool is_mapped;
    };
    std::map<std::uint64_t, retired> copies_; // key: the chunk
    std::uint64_t newly_ = 0;
};

} // namespace remanence::store
