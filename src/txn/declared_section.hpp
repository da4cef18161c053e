// Whether a commit may rely on declarations alone. Depends on the standard library only.
//
// In a declared section the allocator makes, or the program declares, every change, so the commit need not look for
// others. A commit takes everything if something else is known to have changed: memory was allocated or freed before
// the section, a commit of everything failed, or nothing was committed yet. A commit must never take half of the
// allocator's structures.
#pragma once

#include <atomic>

namespace remanence::txn {

/// Guarded by the allocation lock, except is_open() and note_other_changes().
class declared_section {
public:
    /// For any thread.
    [[nodiscard]] bool is_open() const noexcept { return is_open_.load(std::memory_order_relaxed); }
    void begin() { is_open_ = true; }
    /// `declared`: there are declared changes that no commit has taken.
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
    /// Notes changes that no declaration names, until everything is committed. From any thread.
    void note_other_changes() { has_other_changes_.store(true, std::memory_order_relaxed); }
    void note_no_other_changes() { has_other_changes_.store(false, std::memory_order_relaxed); }
    /// True if declarations name every change, as far as this class can notice.
    [[nodiscard]] bool tells_of_all_changes() const {
        return is_open() && !has_other_changes_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<bool> is_open_ = false;
    std::atomic<bool> has_other_changes_ = false;
};

} // namespace remanence::txn
