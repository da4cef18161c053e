// What goes back to the file system: chunks without blocks, when a checkpoint is asked for or at close; copies that
// chunks moved out of, after a checkpoint; and reserved space that no commit needed.
//
// Rule kept here: I8, space stays for another time unless it is certain that nobody needs it.
#pragma once

#include "alloc/block_allocator.hpp"
#include "base/range.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "store/heap_file.hpp"
#include "txn/health.hpp"
#include "txn/session.hpp"
#include "view/memory_view.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace remanence::txn {

/// Callers hold the engine's at_store lock. Those that pass the allocator hold the allocation lock, too.
class reclaimer {
public:
    /// All must outlive this object.
    reclaimer(store::heap_file& store, view::memory_view& view, health& state)
        : store_(store), view_(view), health_(state) {}

    // Chunks that are not stored must be holes in the file, since the zeros of fresh ones are not written.

    /// Notes that the file may have bytes where nothing is stored.
    void owe_discard() { owes_discard_ = true; }
    /// Notes so if a commit, rollback or spill has just left copies early.
    void note_left_copies() {
        if (view_.spiller().has_left_copies())
            owes_discard_ = true;
    }
    [[nodiscard]] bool owes_discard() const { return owes_discard_; }
    /// Makes these holes before a commit, or a spill, relies on them.
    result<void> discard_before_fresh();
    /// Makes these holes after a checkpoint is durable. Tries again later if there is no space, which some file
    /// systems need for holes. Any other failure poisons.
    result<void> discard_owed();
    /// Frees space that was reserved in vain. Otherwise a full disk would stay full.
    void give_back_unstored() { (void)store_.unused().discard_unstored(); }

    // Chunks without blocks.

    /// Returns whole stored chunks without blocks, according to memory, committed or not.
    [[nodiscard]] std::vector<heap_range> unused_chunks(alloc::block_allocator& allocator) const;
    /// Commits that these chunks are given back. The checkpoint that must follow at once, and discard_owed() after
    /// it, free their space. Precondition: memory has no uncommitted changes, and a session has begun. A failure
    /// poisons.
    result<void> give_back_unused(alloc::block_allocator& allocator, session& commits);
    /// Gives them back, unless memory has uncommitted changes.
    result<void> give_back_unused_if_committed(alloc::block_allocator& allocator, session& commits);

    // Copies that chunks moved out of.

    /// Notes that a checkpoint is durable: nothing names the copies left before it any more.
    void owe_former_copies() { owes_former_copies_ = true; }
    [[nodiscard]] bool owes_former_copies() const { return owes_former_copies_; }
    /// Frees them. A failure either poisons, which the next commit reports, or is tried again after the next
    /// checkpoint.
    void discard_former_copies();

private:
    result<void> give_back(std::span<const chunk_range> chunks, session& commits);

    store::heap_file& store_;
    view::memory_view& view_;
    health& health_;
    bool owes_former_copies_ = false;
    bool owes_discard_ = true; // also at the open: a file that was copied, or that grew, may have any bytes there
};

} // namespace remanence::txn
