// The state of each chunk: where the file has it, and what its memory is. One function for each step between states.
//
// | state | the file has it | memory is |
// |---|---|---|
// | fresh | nowhere | anonymous, or a hole of the file |
// | spilled | at its copy A, which no commit names yet | mapped from there |
// | unmapped | at its copy | anonymous, as it was when it was fresh |
// | mapped | at its copy | mapped from there |
// | moved | at its copy | mapped from the former one, which is retired: it keeps its space until it is unmapped |
// | moving | at its copy; the other one has newer contents, which no commit names yet | mapped from the other one |
//
// | step | from → to |
// |---|---|
// | spill | fresh, spilled → spilled; mapped, moving → moving |
// | give_up | spilled → fresh |
// | commit_fresh | fresh → unmapped, spilled → mapped |
// | commit_relocated | mapped → moved, moving → mapped, moved → mapped (back), unmapped → unmapped, fresh → unmapped |
// | map | unmapped, moved, fresh, mapped → mapped; moving → mapped (the newer contents are given up) |
// | forget | unmapped, moved, mapped, fresh → fresh |
//
// commit_relocated and map accept a fresh chunk for a reason: without room in its map, the store counts a skipped chunk
// as stored. It reads as zeros.
//
// The store's chunk map, which is in the file, says in which copy a chunk is. The chunks of a heap just opened are
// known by ranges, so that opening does not take a step for each. Guarded by the lock that users of the view hold.
#pragma once

#include "base/range.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace remanence::place {

enum class chunk_state : std::uint8_t { fresh, spilled, unmapped, mapped, moved, moving };

class chunk_places {
public:
    /// Sets the states before the first step: these chunks (sorted) are mapped, all others fresh.
    void begin_with(std::vector<chunk_range> mapped) { mapped_ = std::move(mapped); }

    [[nodiscard]] chunk_state of(std::uint64_t chunk) const noexcept;
    [[nodiscard]] bool is(std::uint64_t chunk, chunk_state what) const noexcept { return of(chunk) == what; }
    /// True if the memory of the chunk is anonymous.
    [[nodiscard]] bool is_anonymous(std::uint64_t chunk) const noexcept;
    /// True if the chunk is mapped from its copy, or from the one that the next commit gives it.
    [[nodiscard]] bool is_mapped_from_copy(std::uint64_t chunk) const noexcept;
    /// Returns how many chunks are unmapped.
    [[nodiscard]] std::uint64_t unmapped_count() const { return unmapped_; }

    /// Allocates what the chunk's steps need, so that they allocate nothing later.
    void reserve(std::uint64_t chunk) { (void)at(chunk); }

    // The steps. Each asserts that the chunk's state allows it.

    void spill(std::uint64_t chunk);
    void give_up(std::uint64_t chunk);
    void commit_fresh(std::uint64_t chunk);
    void commit_relocated(std::uint64_t chunk);
    /// Returns the former state. A moved chunk's former copy is no longer mapped after this.
    chunk_state map(std::uint64_t chunk);
    void forget(std::uint64_t chunk);

private:
    static constexpr std::uint64_t k_block_chunks = 1024;
    using block = std::array<chunk_state, k_block_chunks>;

    [[nodiscard]] chunk_state as_begun(std::uint64_t chunk) const noexcept;
    chunk_state& at(std::uint64_t chunk);
    void step(chunk_state& from, chunk_state to);

    std::vector<chunk_range> mapped_; // sorted
    std::vector<std::unique_ptr<block>> blocks_;
    std::uint64_t unmapped_ = 0;
};

} // namespace remanence::place
