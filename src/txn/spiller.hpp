// Beyond memory: when more is written and not committed than the budget allows, chunks are spilled. They are written
// early to the copies that they take with the next commit, and mapped from there.
//
// First go those that were found written first; never the block just handed out, nor what heap::touch() named. What counts are private
// copies in fresh chunks, and in stored ones that are mapped from their copy; pages with before-images have a limit of their own. A page of
// zeros whose place in the file is zero need not be written.
//
// The thread of the heap cannot spill as fast as others write. So over the budget everybody who writes waits while it spills, 64 MiB at a
// time, until half of the budget is left; unless system calls were promised memory by heap::touch().
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

/// Callers hold the allocation lock, while others write to the heap; at_store, which comes first in the order, is only tried
/// for: who has it commits, or will look by itself.
class spiller {
public:
    /// All must outlive it.
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

    /// Called with each block that is handed out, declared or taken back (of no bytes then), or with several of them. Whatever comes of
    /// it, the caller goes on: a failure poisons, and the next commit will hear.
    void spill_if_due(heap_range handed_out, std::uint64_t blocks = 1) noexcept {
        if (pace_.is_look_due(handed_out.bytes, blocks)) [[unlikely]]
            (void)try_to_spill(handed_out, spilled_by::a_caller);
    }
    /// For a thread that does nothing else: looks at once, and while it spills all others that write wait. Whether it looked, and
    /// nothing was to be spilled.
    bool spill_excess() noexcept;
    /// Nothing that was written is left to spill.
    void all_is_committed() { pace_.committed(); }

    /// While it is held nothing is spilled. With at_store.
    void hold(bool held) { is_held_ = held; }

    /// Written to the heap file before a commit took it. From any thread.
    [[nodiscard]] std::uint64_t spilled_bytes() const { return spilled_bytes_; }

private:
    enum class spilled_by { a_caller, the_side };
    /// Whether it could: nobody else was at the store.
    [[nodiscard]] bool try_to_spill(heap_range handed_out, spilled_by whom) noexcept;
    result<void> spill(heap_range handed_out, spilled_by whom);
    result<void> spill_some(std::span<const std::uint64_t>& chunks, std::uint64_t& left, std::uint64_t enough);
    result<std::optional<std::uint64_t>> spill_chunk(std::uint64_t chunk);
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
    const bool never_spills_; // what is uncommitted of a shared heap must not be where another process may put chunks
    bool is_held_ = false;    // guarded by at_store
    spill_pace pace_;
    std::atomic<std::uint64_t> spilled_bytes_ = 0;
};

} // namespace remanence::txn
