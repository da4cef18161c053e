// The undo of commits, as the engine sees it. A part (parts.hpp); undo_manager.hpp implements it. Null in an engine
// whose heap has no history.
#pragma once

#include "base/result.hpp"
#include "log/redo_log.hpp"

#include <cstdint>
#include <memory>

namespace remanence::os {
class file_system;
}
namespace remanence::store {
class heap_file;
}
namespace remanence::view {
class memory_view;
}

namespace remanence::txn {

class checkpointer;
class committer;
class health;
class heap_memory;
class heap_names;
class history_follower;
class root_keeper;
class savepoints;
class session;
class spiller;
class transactions;
struct engine_options;
struct heap_locks;
struct pending_commit;

class commit_history {
public:
    commit_history() = default;
    commit_history(const commit_history&) = delete;
    commit_history& operator=(const commit_history&) = delete;
    virtual ~commit_history() = default;

    // For each commit. Callers hold both locks of the heap, except for may_commit().

    /// errc::section_open if a procedure commits while an undo runs it.
    [[nodiscard]] virtual result<void> may_commit() const = 0;
    /// Takes what undoes these changes, and the memory to keep it. Adds the history's events to the commit's record.
    /// errc::history_full if it may not be kept, so the commit must not be made. errc::corrupt and errc::io if the
    /// former content of a chunk cannot be read. errc::no_space. Throws std::bad_alloc. Precondition: the collector
    /// has just found the changes.
    virtual result<void> prepare(pending_commit& commit) = 0;
    /// The commit is in the log.
    virtual void accept() noexcept = 0;
    virtual void note_rollback() noexcept = 0;

    /// True if the next session continues the history.
    [[nodiscard]] virtual bool is_kept() const = 0;
    /// See heap_history::differs_from_others().
    [[nodiscard]] virtual bool differs_from_others() const = 0;
    [[nodiscard]] virtual history_follower& follower() = 0;

    // Callers hold the section lock.

    /// From now on asks `by` whenever memory becomes another state of the history. `by` must outlive this object.
    virtual void let_roots_be_kept(root_keeper& by) = 0;
    /// The section has changed types. So the next commit removes all steps, its own included, and no step ever leads
    /// across it. A rollback(), or going back to a savepoint from before this call, cancels that.
    virtual result<void> let_next_commit_migrate() = 0;
};

/// The parts of an engine that the history needs. It must not outlive them.
struct history_needs {
    const engine_options& options;
    os::file_system& files;
    heap_locks& locks;
    class health& health;
    heap_names& names;
    class session& session;
    store::heap_file& store;
    view::memory_view& view;
    checkpointer& checkpoints;
    spiller& spills;
    heap_memory& memory;
    class savepoints& savepoints;
    class committer& committer;
    class transactions& transactions;
};

/// How a history begins: in a heap of this process alone, in one that others are going to share, or in one that
/// others have open.
enum class history_begins { alone, to_be_shared, joining };

} // namespace remanence::txn
