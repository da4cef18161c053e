// Moments of a write section to which it can go back. Nothing of them is in the file: a commit and a rollback end them all.
//
// Each keeps a copy of all pages that the section has written until then, so going back is exact, whoever wrote: the program, the
// containers, the allocator.
#pragma once

#include "base/result.hpp"
#include "history/step_tree.hpp"
#include "txn/health.hpp"
#include "txn/heap_locks.hpp"
#include "txn/heap_memory.hpp"
#include "txn/spiller.hpp"
#include "view/kept_pages.hpp"
#include "view/memory_view.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::txn {

/// Callers are in a write section. What takes no lock itself is called with at_store held.
class savepoints {
public:
    /// All must outlive it.
    savepoints(heap_locks& locks, view::memory_view& view, heap_memory& memory, spiller& spiller, health& state)
        : locks_(locks), view_(view), memory_(memory), spiller_(spiller), health_(state) {}

    /// Returns its number; no other of this heap ever has it. `depth` is that of the section. From here on nothing is spilled until
    /// the last savepoint has ended. errc::exhausted when changes were spilled already; errc::poisoned. Throws std::bad_alloc.
    /// O(pages written in the section), and bytes of what was spilled.
    result<std::uint64_t> make(std::size_t depth);
    /// Memory becomes what it was then, and the savepoints that were made later end. errc::invalid_argument when it has ended; a
    /// failure to read what is committed poisons. O(pages written in the section).
    result<void> roll_back_to(std::uint64_t number);
    /// The same, to the last one that was made in a section around this depth; false when there is none.
    result<bool> roll_back_to_around(std::size_t depth);
    /// It ends, with those that were made later. Nothing happens when it has ended.
    void end(std::uint64_t number) noexcept;
    [[nodiscard]] bool has(std::uint64_t number) const noexcept;

    /// What the section's commit is to the history, unless it goes back to a savepoint from before this call.
    void note_step(history::step_kind kind) noexcept { step_ = kind; }
    [[nodiscard]] history::step_kind step() const noexcept { return step_; }

    /// What the heap's thread may come back to by memory_view::restore(), outside of savepoints; nothing may be spilled meanwhile. errc::exhausted:
    /// changes were spilled already. Throws std::bad_alloc. With both locks held.
    result<view::kept_pages> keep_written();

    /// The changes of the section are committed, or dropped.
    void end_all() noexcept;
    /// The outermost write section ends, whatever becomes of its changes. Takes the lock if there are any.
    void end_with_section() noexcept;

private:
    struct savepoint {
        std::uint64_t number;
        std::size_t depth;
        view::kept_pages pages;
        history::step_kind step;
    };

    /// All but the first `count` end.
    void keep_first(std::size_t count) noexcept;
    [[nodiscard]] std::size_t index_of(std::uint64_t number) const noexcept;
    result<void> restore_last();
    result<void> give_up_unchanged();

    heap_locks& locks_;
    view::memory_view& view_;
    heap_memory& memory_;
    spiller& spiller_;
    health& health_;
    std::vector<savepoint> made_; // guarded by at_store
    std::uint64_t next_ = 1;
    history::step_kind step_ = history::step_kind::ordinary; // guarded by at_store
};

} // namespace remanence::txn
