// Chunks that were spilled, and what their copies contain. The store spares these copies (*held early*).
//
// Only chunk_spiller and the end of a round change this object; the collector and the mover read it.
#pragma once

#include "change/change_set.hpp"
#include "store/chunk_copies.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace remanence::view {

class spilled_chunks {
public:
    using checksums = std::vector<std::uint32_t>; // one per page of the copy; 0: a hole

    explicit spilled_chunks(store::chunk_copies& copies) : copies_(copies) {}

    [[nodiscard]] bool is_empty() const { return all_.empty(); }
    [[nodiscard]] bool contains(std::uint64_t chunk) const { return all_.contains(chunk); }
    /// Returns null for a chunk that was not spilled.
    [[nodiscard]] const checksums* find(std::uint64_t chunk) const {
        const auto found = all_.find(chunk);
        return found == all_.end() ? nullptr : &found->second;
    }
    /// True if the spill wrote the page to the chunk's copy. If so, the page has room on the disk.
    [[nodiscard]] bool has_page(std::uint64_t page) const;
    [[nodiscard]] std::vector<std::uint64_t> chunks() const;
    /// Returns the chunk with the checksums of its copy; zeros if it was not spilled.
    [[nodiscard]] change::whole_chunk as_in_copy(std::uint64_t chunk) const;
    /// Adds the spilled chunks that are not among `changes`, because they were not written after they were spilled.
    void add_to(change::change_set& changes) const;

    /// Makes the store hold the chunk's copy early. Returns false, and does nothing, if the store cannot.
    bool hold(std::uint64_t chunk, const checksums& sums);
    void replace(std::uint64_t chunk, checksums&& sums) noexcept { all_.find(chunk)->second = std::move(sums); }
    /// Notes that the copy's bytes are not needed any more.
    void release(std::uint64_t chunk) noexcept;
    /// Forgets all chunks, because they are committed, and so stored.
    void forget_committed() noexcept;

private:
    store::chunk_copies& copies_;
    std::map<std::uint64_t, checksums> all_;
};

} // namespace remanence::view
