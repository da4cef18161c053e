// Chooses the stored chunks that a commit writes whole, to their other copy, instead of into the log.
//
// A chunk is relocated if so much of it was rewritten that the log would need half of its bytes. A commit that
// relocates chunks also moves some others back to their copies A, so that several mappings become one. The unwritten
// pages of a relocated chunk must have their committed content: otherwise a page with bit rot would get a new, correct
// checksum.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "store/chunk_copies.hpp"
#include "view/committed_content.hpp"
#include "view/mapped_memory.hpp"
#include "view/spilled_chunks.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::view {

class chunk_mover {
public:
    /// If the chunk map has more than `scattered_max` exceptions, find() also moves chunks back to copy A.
    chunk_mover(store::chunk_copies& copies, mapped_memory& memory, committed_content& committed,
                const spilled_chunks& spilled, std::size_t scattered_max)
        : copies_(copies), memory_(memory), committed_(committed), spilled_(spilled), scattered_max_(scattered_max) {}

    /// Returns the number of written bytes below which find() would find nothing and need not be called.
    [[nodiscard]] std::uint64_t bytes_min() const { return k_chunks_min * copies_.where().chunk_bytes() / 2; }
    /// Sets changes.relocated (sorted) and changes.held_back_bytes: the total length of chunks that may move only after
    /// a checkpoint. If that exceeds `held_back_max`, finds no chunks. `written` must be sorted and split at chunks.
    result<void> find(std::span<const heap_range> written, std::uint64_t held_back_max, change::change_set& changes);
    /// True if find() would probably find most of the chunks that were mostly written, or hold back more than
    /// `held_back_max`, judging by a small sample. Reads at most 16 pages of the image, whatever the number of chunks.
    result<bool> is_likely_to_find(std::span<const heap_range> written, std::uint64_t held_back_max);

private:
    static constexpr std::size_t k_chunks_min = 4; // per commit: for fewer chunks the log is cheaper

    result<std::vector<std::uint64_t>> chunks_to_move(std::span<const heap_range> written, change::change_set& changes);
    [[nodiscard]] std::vector<std::span<const heap_range>>
    chunks_mostly_written(std::span<const heap_range> written) const;
    result<bool> is_cheaper_whole(std::span<const heap_range> written, std::uint64_t pages_sampled);
    result<void> add_scattered(std::span<const heap_range> written, change::change_set& changes);
    result<void> add(std::uint64_t chunk, std::span<const heap_range> written, change::change_set& changes);
    result<std::vector<std::uint32_t>> checksums_to_move(std::uint64_t chunk, std::span<const heap_range> written);
    [[nodiscard]] bool may_move_now(std::uint64_t chunk) const {
        return copies_.may_move(chunk) && !committed_.is_being_written(chunk);
    }

    store::chunk_copies& copies_;
    mapped_memory& memory_;
    committed_content& committed_;
    const spilled_chunks& spilled_;
    std::size_t scattered_max_;
};

} // namespace remanence::view
