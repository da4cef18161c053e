// The interface through which the engine records commits in the history. This is a part (parts.hpp), implemented by
// undo_manager.hpp. An engine whose heap has no history has a null pointer.
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

    /// Fails with errc::section_open if an undo or redo is running a procedure, which must not commit.
    [[nodiscard]] virtual result<void> may_commit() const = 0;
    /// Collects what is needed to undo `commit`, allocates all memory for it, and adds the history's events to the
    /// commit's record. Errors: errc::history_full: the limits do not allow one more step; the caller must not commit.
    /// errc::corrupt, errc::io: the former content of a chunk cannot be read. errc::no_space. Throws std::bad_alloc.
    /// Precondition: the collector has just found the changes.
    virtual result<void> prepare(pending_commit& commit) = 0;
    /// Records the prepared commit as a step. Call it once the commit's record is in the log.
    virtual void accept() noexcept = 0;
    virtual void note_rollback() noexcept = 0;

    /// True if the history is kept over sessions.
    [[nodiscard]] virtual bool is_kept() const = 0;
    /// See heap_history::differs_from_others().
    [[nodiscard]] virtual bool differs_from_others() const = 0;
    [[nodiscard]] virtual history_follower& follower() = 0;

    // Callers hold the section lock.

    /// From now on calls `by` whenever memory becomes another state of the history. `by` must outlive this object.
    virtual void let_roots_be_kept(root_keeper& by) = 0;
    /// Notes that the section has changed the types of objects. So the next commit will remove all steps, its own
    /// included, and no step will lead across it. A rollback(), or going back to a savepoint from before this call,
    /// cancels this.
    virtual result<void> let_next_commit_migrate() = 0;
};

/// The parts of an engine that the history uses. They must outlive the history.
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

/// How a history begins: in a heap that this process has open alone, as the first process of a shared heap, or beside
/// processes that have the heap open.
enum class history_begins { alone, to_be_shared, joining };

} // namespace remanence::txn
