// Gives space back to the file system: chunks without blocks, when a checkpoint is asked for or at close; the former
// copies of chunks that moved, after a checkpoint; and reserved space that no commit needed.
//
// Rule kept here: I8, space is given back only if it is certain that nothing needs it; otherwise later.
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

    // Chunks that are not stored must be holes in the file, since a commit does not write the zeros of fresh chunks.

    /// Notes that the file may have bytes where nothing is stored.
    void owe_discard() { owes_discard_ = true; }
    /// Does the same if the commit, rollback or spill just before has abandoned copies that no commit names.
    void note_left_copies() {
        if (view_.spiller().has_left_copies())
            owes_discard_ = true;
    }
    [[nodiscard]] bool owes_discard() const { return owes_discard_; }
    /// Makes holes where nothing is stored, before a commit or a spill relies on them.
    result<void> discard_before_fresh();
    /// Makes holes where nothing is stored, after a checkpoint is durable. Some file systems need space for this: if
    /// there is none, a later call tries again. Any other failure poisons.
    result<void> discard_owed();
    /// Frees space that was reserved for a commit that failed. Otherwise a full disk would stay full.
    void give_back_unstored() { (void)store_.unused().discard_unstored(); }

    // Chunks without blocks.

    /// Returns the stored chunks that contain no blocks according to the allocator, whose state need not be committed.
    [[nodiscard]] std::vector<heap_range> unused_chunks(alloc::block_allocator& allocator) const;
    /// Logs, as a commit of its own, that these chunks are given back. The caller must then make a checkpoint and call
    /// discard_owed(), which frees their space. Precondition: memory has no uncommitted changes, and a session has
    /// begun. A failure poisons.
    result<void> give_back_unused(alloc::block_allocator& allocator, session& commits);
    /// Calls give_back_unused(), unless memory has uncommitted changes.
    result<void> give_back_unused_if_committed(alloc::block_allocator& allocator, session& commits);

    // Parts of the file's structure that keep it long.

    /// Lets the next checkpoint write the chunk map to the beginning of the file, if it fits there.
    void return_map() { owes_discard_ |= store_.room().return_map(); }
    /// Removes regions that hold nothing, so that discard_owed() can cut the file. After that checkpoint, and only while
    /// memory has no uncommitted changes and no other process has the heap open. A failure poisons.
    result<void> remove_regions();

    // Former copies of chunks that moved.

    /// Notes that a checkpoint is durable, so nothing names the former copies of chunks that moved before it.
    void owe_former_copies() { owes_former_copies_ = true; }
    [[nodiscard]] bool owes_former_copies() const { return owes_former_copies_; }
    /// Frees these former copies. If the file system refuses, they are freed after the next checkpoint. Any other
    /// failure poisons, and the next commit reports it.
    void discard_former_copies();

private:
    result<void> give_back(std::span<const chunk_range> chunks, session& commits);

    store::heap_file& store_;
    view::memory_view& view_;
    health& health_;
    bool owes_former_copies_ = false;
    bool owes_discard_ = true; // true at the open, since a file that was copied or enlarged may have bytes there
};

} // namespace remanence::txn
