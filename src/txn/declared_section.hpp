// Whether a commit may take what was declared at its word. Depends on the standard library only.
//
// In a declared section every change is made by the allocator or declared, so that the commit need not look for any. Where it is
// known that something else was changed, a commit takes everything: if memory was allocated or freed before the section, if a
// commit of everything failed, or if nothing was committed yet. Half of the allocator's structures must never be committed.
#pragma once

#include <atomic>

namespace remanence::txn {

/// Guarded by the allocation lock, but for is_open() and note_other_changes().
class declared_section {
public:
    /// From any thread.
    [[nodiscard]] bool is_open() const noexcept { return is_open_.load(std::memory_order_relaxed); }
    void begin() { is_open_ = true; }
    /// `declared`: something is, and is in no commit.
    void end(bool declared) {
        is_open_ = false;
        if (declared)
            note_other_changes();
    }

    /// Memory was allocated or freed.
    void note_allocation() {
        if (!is_open())
            note_other_changes();
    }
    /// There are changes in no declaration, until everything is committed. From any thread.
    void note_other_changes() { has_other_changes_.store(true, std::memory_order_relaxed); }
    void note_no_other_changes() { has_other_changes_.store(false, std::memory_order_relaxed); }
    /// Whether declarations tell of every change, as far as can be noticed here.
    [[nodiscard]] bool tells_of_all_changes() const {
        return is_open() && !has_other_changes_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<bool> is_open_ = false;
    std::atomic<bool> has_other_changes_ = false;
};

} // namespace remanence::txn
