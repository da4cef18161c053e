// Spills chunks if more bytes are written and not committed than the budget allows, so that data may be larger than
// memory. A spilled chunk is written, before its commit, to the copy that the next commit will name, and is mapped from
// that copy.
//
// Chunks are spilled in the order in which they were first found to be written. The block just allocated is never
// spilled, nor memory that heap::touch() declared. The budget counts private copies of pages in fresh chunks, and in
// stored chunks that are mapped from their copy. Pages with before-images have a limit of their own. A page of zeros is
// not written if its place in the file holds zeros already.
//
// The thread that spills cannot keep up with threads that write. So over the budget, all threads that write wait while
// it spills 64 MiB at a time, until half of the budget is left. They do not wait while memory is declared by
// heap::touch(), since system calls may be writing to it.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "store/commit_room.hpp"
#include "store/image.hpp"
#include "track/page_scan.hpp"
#include "txn/checkpointer.hpp"
#include "txn/engine_options.hpp"
#include "txn/health.hpp"
#include "txn/heap_locks.hpp"
#include "txn/memory_budget.hpp"
#include "txn/reclaimer.hpp"
#include "txn/spill_pace.hpp"
#include "view/memory_view.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace remanence::txn {

/// Callers hold the allocation lock; other threads may write to the heap meanwhile. at_store must be locked before the
/// allocation lock, so here it is only tried. If that fails, another thread commits, or will check itself.
class spiller {
public:
    /// All must outlive this object.
    spiller(heap_locks& locks, store::image& image, store::commit_room& room, view::memory_view& view,
            const memory_budget& budget, checkpointer& checkpoints, reclaimer& space, health& state,
            const engine_options& options)
        : locks_(locks),
          image_(image),
          room_(room),
          view_(view),
          budget_(budget),
          checkpoints_(checkpoints),
          space_(space),
          health_(state),
          never_spills_(options.read_only || options.is_shared),
          pace_(options.dirty_limit_bytes) {}

    /// Spills if a check is due and finds too much. Call it for each block, or for several, that is allocated, declared
    /// or freed; for a freed block pass no bytes. A failure poisons the heap, and the next commit reports it.
    void spill_if_due(heap_range handed_out, std::uint64_t blocks = 1) noexcept {
        if (pace_.is_look_due(handed_out.bytes, blocks)) [[unlikely]]
            (void)try_to_spill(handed_out, spilled_by::a_caller);
    }
    /// Checks at once; if it spills, all threads that write wait meanwhile. For a thread that only spills. Returns true
    /// if it checked and there was nothing to spill.
    bool spill_excess() noexcept;
    /// Notes that all written memory is committed, so nothing is left to spill.
    void all_is_committed() { pace_.committed(); }

    /// Begins or ends a time in which nothing is spilled. Callers hold at_store.
    void hold(bool held) { is_held_ = held; }

    /// Returns how many bytes spills have written to the heap file. From any thread.
    [[nodiscard]] std::uint64_t spilled_bytes() const { return spilled_bytes_; }

private:
    enum class spilled_by { a_caller, the_side };
    /// Returns false if it could not check, since another thread holds at_store or a copied commit is not finished.
    [[nodiscard]] bool try_to_spill(heap_range handed_out, spilled_by whom) noexcept;
    result<void> spill(heap_range handed_out, spilled_by whom);
    result<void> spill_some(std::span<const view::chunk_spiller::written_chunk>& chunks, std::uint64_t& left,
                            std::uint64_t enough);
    result<std::optional<std::uint64_t>> spill_chunk(const view::chunk_spiller::written_chunk& written);
    result<void> reserve_to_spill(std::uint64_t chunk, const std::vector<track::page_run>& pages);
    result<void> reserve_to_move_early(std::uint64_t chunk);

    heap_locks& locks_;
    store::image& image_;
    store::commit_room& room_;
    view::memory_view& view_;
    const memory_budget& budget_;
    checkpointer& checkpoints_;
    reclaimer& space_;
    health& health_;
    const bool never_spills_; // in a shared heap another process may use the place that a spill would write to
    bool is_held_ = false;    // guarded by at_store
    spill_pace pace_;
    std::atomic<std::uint64_t> spilled_bytes_ = 0;
};

} // namespace remanence::txn
