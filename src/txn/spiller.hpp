// Data larger than memory: if more is written and not committed than the budget allows, chunks are spilled. They are
// written early to the copies that they take with the next commit, and mapped from there.
//
// Chunks that were found written first go first; never the block just handed out, nor what heap::touch() named.
// Private copies in fresh chunks, and in stored ones that are mapped from their copy, count. Pages with before-images
// have their own limit. A page of zeros whose place in the file is zero need not be written.
//
// The thread that spills cannot keep up with threads that write. So over the budget all threads that write wait while
// it spills 64 MiB at a time, until half of the budget is left. They do not wait while heap::touch() has promised any
// memory to system calls.
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

/// Callers hold the allocation lock, while other threads write to the heap. at_store comes first in the order, so it
/// is only tried: its holder commits, or will check by itself.
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

    /// Call it for each block, or several, that is handed out, declared or taken back (with no bytes then). The
    /// caller goes on in any case: a failure poisons, and the next commit reports it.
    void spill_if_due(heap_range handed_out, std::uint64_t blocks = 1) noexcept {
        if (pace_.is_look_due(handed_out.bytes, blocks)) [[unlikely]]
            (void)try_to_spill(handed_out, spilled_by::a_caller);
    }
    /// For a thread that does nothing else: checks at once, and all threads that write wait while it spills. Returns
    /// true if it checked and there was nothing to spill.
    bool spill_excess() noexcept;
    /// Notes that nothing written is left to spill.
    void all_is_committed() { pace_.committed(); }

    /// While held, nothing is spilled. Callers hold at_store.
    void hold(bool held) { is_held_ = held; }

    /// Returns the bytes written to the heap file before a commit took them. From any thread.
    [[nodiscard]] std::uint64_t spilled_bytes() const { return spilled_bytes_; }

private:
    enum class spilled_by { a_caller, the_side };
    /// Returns whether it checked: no other thread had at_store.
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
    const bool never_spills_; // uncommitted bytes of a shared heap must not be where another process may put chunks
    bool is_held_ = false;    // guarded by at_store
    spill_pace pace_;
    std::atomic<std::uint64_t> spilled_bytes_ = 0;
};

} // namespace remanence::txn
