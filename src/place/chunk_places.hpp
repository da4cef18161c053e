// Where each chunk lives: one state for each, and one function for each step from one state to another.
//
// | state | the file has it | memory is |
// |---|---|---|
// | fresh | nowhere | anonymous, or a hole of the file |
// | spilled | at its copy A, which no commit names yet | mapped from there |
// | unmapped | at its copy | anonymous, as it was when it was fresh |
// | mapped | at its copy | mapped from there |
// | moved | at its copy | mapped from the former one, which is retired: its space stays until it is unmapped |
// | moving | at its copy; at the other one, which no commit names yet, something newer | mapped from the other one |
//
// | step | from → to |
// |---|---|
// | spill | fresh → spilled, mapped → moving; spilled and moving again |
// | give_up | spilled → fresh |
// | commit_fresh | fresh → unmapped, spilled → mapped |
// | commit_relocated | mapped → moved, moving → mapped, moved → mapped (back where it was), unmapped again, fresh → unmapped |
// | map | unmapped, moved, fresh → mapped; moving → mapped, since what is newer is given up; mapped again |
// | forget | unmapped, moved, mapped, fresh → fresh |
//
// Steps from fresh that look wrong are right: without room in its map the store counts a chunk that was skipped as stored, which reads
// as zeros.
//
// Which of its two copies a chunk has is in the store's chunk map, for that is in the file. A heap just opened is known by ranges, so
// that opening does not take a step for each chunk. Guarded by the lock of who may use the view.
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
    /// Before any step: these chunks, sorted, are mapped, the others fresh.
    void begin_with(std::vector<chunk_range> mapped) { mapped_ = std::move(mapped); }

    [[nodiscard]] chunk_state of(std::uint64_t chunk) const noexcept;
    [[nodiscard]] bool is(std::uint64_t chunk, chunk_state what) const noexcept { return of(chunk) == what; }
    /// Whether the memory of the chunk is anonymous.
    [[nodiscard]] bool is_anonymous(std::uint64_t chunk) const noexcept;
    /// Whether it is mapped from the copy that it has, or will have with the next commit.
    [[nodiscard]] bool is_mapped_from_copy(std::uint64_t chunk) const noexcept;
    /// How many are unmapped.
    [[nodiscard]] std::uint64_t unmapped_count() const { return unmapped_; }

    /// Takes the memory that steps of the chunk need, so that they take none afterwards.
    void reserve(std::uint64_t chunk) { (void)at(chunk); }

    // The steps. Each asserts that the chunk is in a state from which it may be taken.

    void spill(std::uint64_t chunk);
    void give_up(std::uint64_t chunk);
    void commit_fresh(std::uint64_t chunk);
    void commit_relocated(std::uint64_t chunk);
    /// Returns where the chunk was before: the copy that a moved one left is not mapped any more.
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
