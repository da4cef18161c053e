// Decides whether a commit may rely on declarations alone. Depends on the standard library only.
//
// In a declared section every change is declared, by the program or by the allocator, so the commit need not look for
// others. The commit includes everything if there may be undeclared changes: memory was allocated or freed before the
// section, a commit of everything failed, or nothing was committed yet. A commit must never include only a part of the
// changes to the allocator's structures.
#pragma once

#include <atomic>

namespace remanence::txn {

/// Callers hold the allocation lock, except for is_open() and note_other_changes().
class declared_section {
public:
    /// For any thread.
    [[nodiscard]] bool is_open() const noexcept { return is_open_.load(std::memory_order_relaxed); }
    void begin() { is_open_ = true; }
    /// `declared` tells whether there are declared changes that are not committed.
    void end(bool declared) {
        is_open_ = false;
        if (declared)
            note_other_changes();
    }

    /// Notes that memory was allocated or freed.
    void note_allocation() {
        if (!is_open())
            note_other_changes();
    }
    /// Notes that there may be undeclared changes, until everything is committed. From any thread.
    void note_other_changes() { has_other_changes_.store(true, std::memory_order_relaxed); }
    void note_no_other_changes() { has_other_changes_.store(false, std::memory_order_relaxed); }
    /// True if every change is declared, as far as this class was told.
    [[nodiscard]] bool tells_of_all_changes() const {
        return is_open() && !has_other_changes_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<bool> is_open_ = false;
    std::atomic<bool> has_other_changes_ = false;
};

} // namespace remanence::txn
