// Savepoints: moments of a write section to which it can go back. They exist only in memory. A commit or a rollback
// ends all of them.
//
// Each savepoint copies all pages that the section has written so far. So going back restores every byte, whether the
// program, a container or the allocator wrote it.
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

/// Callers are in a write section. Functions that take no lock are called with at_store held.
class savepoints {
public:
    /// All must outlive this object.
    savepoints(heap_locks& locks, view::memory_view& view, heap_memory& memory, spiller& spiller, health& state)
        : locks_(locks), view_(view), memory_(memory), spiller_(spiller), health_(state) {}

    /// Makes a savepoint. Returns its number, which is unique in this heap. `depth` is the nesting depth of the
    /// section. Until all savepoints have ended, nothing is spilled. errc::exhausted if changes were spilled already;
    /// errc::poisoned. Throws std::bad_alloc. O(pages written in the section), plus O(spilled bytes).
    result<std::uint64_t> make(std::size_t depth);
    /// Brings memory back to the savepoint, and ends later ones. errc::invalid_argument if the savepoint has ended. A
    /// failure to read committed content poisons. O(pages written in the section).
    result<void> roll_back_to(std::uint64_t number);
    /// Goes back to the last savepoint that was made at a lesser depth than this. Returns false if there is none.
    result<bool> roll_back_to_around(std::size_t depth);
    /// Ends this savepoint and later ones. Does nothing if the savepoint has ended.
    void end(std::uint64_t number) noexcept;
    [[nodiscard]] bool has(std::uint64_t number) const noexcept;

    /// Notes what kind of step the section's commit will be in the history. Going back to an earlier savepoint restores
    /// the kind noted then.
    void note_step(history::step_kind kind) noexcept { step_ = kind; }
    [[nodiscard]] history::step_kind step() const noexcept { return step_; }

    /// Returns copies of all written pages, for memory_view::restore() without a savepoint. Until then nothing may be
    /// spilled. errc::exhausted if changes were spilled already. Throws std::bad_alloc. Callers hold both locks.
    result<view::kept_pages> keep_written();

    /// Ends all savepoints. Call it when the changes of the section are committed or rolled back.
    void end_all() noexcept;
    /// Ends all savepoints. Call it when the outermost write section ends, even without a commit or rollback. Acquires
    /// at_store if there are any savepoints.
    void end_with_section() noexcept;

private:
    struct savepoint {
        std::uint64_t number;
        std::size_t depth;
        view::kept_pages pages;
        history::step_kind step;
        block_notes::moment notes;
    };

    /// Ends all savepoints but the first `count`.
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
