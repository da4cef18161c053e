// What goes back to the file system: chunks in which no block lies, when a checkpoint is asked for or at close;
// copies that chunks moved out of, after a checkpoint; and what no commit came to need.
//
// Kept here: I8, space is left for another time where it is not certain that nobody needs it.
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

/// Callers hold the engine's at_store lock, and those that hand over the allocator the allocation lock, too.
class reclaimer {
public:
    /// All must outlive it.
    reclaimer(store::heap_file& store, view::memory_view& view, health& state)
        : store_(store), view_(view), health_(state) {}

    // Chunks that are not stored must be holes, since the zeros of fresh ones are not written.

    /// Something that is not stored may lie in the file.
    void owe_discard() { owes_discard_ = true; }
    /// That is so if a commit, rollback or spill has just left copies early.
    void note_left_copies() {
        if (view_.spiller().has_left_copies())
            owes_discard_ = true;
    }
    [[nodiscard]] bool owes_discard() const { return owes_discard_; }
    /// Makes holes before a commit, or a spill, relies on them.
    result<void> discard_before_fresh();
    /// Makes holes when a checkpoint is durable. Without room, which some file systems need for holes, it stays owed. Another
    /// failure poisons.
    result<void> discard_owed();
    /// What was reserved in vain would keep a full disk full.
    void give_back_unstored() { (void)store_.unused().discard_unstored(); }

    // Chunks in which no block lies.

    /// Whole chunks in which no block lies, but something is stored; of memory as it is, committed or not.
    [[nodiscard]] std::vector<heap_range> unused_chunks(alloc::block_allocator& allocator) const;
    /// Commits that they are given back. The checkpoint that is to follow at once, and discard_owed() after it, let their space go.
    /// Precondition: memory holds just the last commit, and a session has begun. A failure poisons.
    result<void> give_back_unused(alloc::block_allocator& allocator, session& commits);
    /// The same, unless memory holds anything else.
    result<void> give_back_unused_if_committed(alloc::block_allocator& allocator, session& commits);

    // Copies that chunks moved out of.

    /// A checkpoint is durable: nothing that was left before it is named any more.
    void owe_former_copies() { owes_former_copies_ = true; }
    [[nodiscard]] bool owes_former_copies() const { return owes_former_copies_; }
    /// What fails is tried again after the next checkpoint, unless it poisons, which the next commit will hear.
    void discard_former_copies();

private:
    result<void> give_back(std::span<const chunk_range> chunks, session& commits);

    store::heap_file& store_;
    view::memory_view& view_;
    health& health_;
    bool owes_former_copies_ = false;
    bool owes_discard_ = true; // as when the heap was opened: a file that was copied, or grew, may have anything there
};

} // namespace remanence::txn
