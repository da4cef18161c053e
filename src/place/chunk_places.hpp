// The state of each chunk: where in the file its contents are, and what its memory is mapped from. Each step between
// states is one function. "Current copy": the one that the store's chunk map names.
//
// | state | contents in the file | memory |
// |---|---|---|
// | fresh | none | anonymous, or mapped from a hole of the file |
// | spilled | in copy A, which no commit names yet | mapped from copy A |
// | unmapped | in the current copy | still anonymous, as when the chunk was fresh |
// | mapped | in the current copy | mapped from it |
// | moved | in the current copy | mapped from the former copy, which is retired: its space is freed once unmapped |
// | moving | in the current copy; newer ones, which no commit names yet, in the other | mapped from the other copy |
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
// commit_relocated and map accept a fresh chunk, too: if the store's chunk map has no room to note that a chunk was
// skipped, it counts the chunk as stored, with zeros.
//
// When a heap is opened, its mapped chunks are recorded as ranges, so opening does not take a step for each chunk.
// The lock that protects the view protects this object, too.
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
    /// Sets the initial states: these chunks (sorted) are mapped, all others fresh. Call it before the first step.
    void begin_with(std::vector<chunk_range> mapped) { mapped_ = std::move(mapped); }

    [[nodiscard]] chunk_state of(std::uint64_t chunk) const noexcept;
    [[nodiscard]] bool is(std::uint64_t chunk, chunk_state what) const noexcept { return of(chunk) == what; }
    /// True if the memory of the chunk is anonymous.
    [[nodiscard]] bool is_anonymous(std::uint64_t chunk) const noexcept;
    /// True if the chunk is mapped from its current copy, or spilled: then it is mapped from the copy that the next
    /// commit will name.
    [[nodiscard]] bool is_mapped_from_copy(std::uint64_t chunk) const noexcept;
    /// Returns how many chunks are unmapped.
    [[nodiscard]] std::uint64_t unmapped_count() const { return unmapped_; }

    /// Allocates the memory that steps of this chunk need, so that the steps themselves allocate nothing.
    void reserve(std::uint64_t chunk) { (void)at(chunk); }

    // The steps. Each asserts that the chunk's state allows it.

    void spill(std::uint64_t chunk);
    void give_up(std::uint64_t chunk);
    void commit_fresh(std::uint64_t chunk);
    void commit_relocated(std::uint64_t chunk);
    /// Returns the state before this step. If that was `moved`, the former copy is no longer mapped.
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
