// What undoes commits, as the engine sees it. A part (parts.hpp), which undo_manager.hpp has; null in an engine whose heap has no history.
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

    // Of each commit. Callers hold both locks of the heap, but for may_commit().

    /// errc::section_open: it is a procedure that commits, while an undo runs it.
    [[nodiscard]] virtual result<void> may_commit() const = 0;
    /// Takes what undoes a commit of these changes, with the memory to keep it, and adds to the record what the commit is to the history.
    /// errc::history_full when it may not be kept, and so may not be made; errc::corrupt and errc::io when what a chunk held cannot be read;
    /// errc::no_space. Throws std::bad_alloc. Precondition: the collector has just found the changes.
    virtual result<void> prepare(pending_commit& commit) = 0;
    /// It is in the log.
    virtual void accept() noexcept = 0;
    virtual void note_rollback() noexcept = 0;

    /// Whether it goes on in the next session.
    [[nodiscard]] virtual bool is_kept() const = 0;
    /// heap_history::differs_from_others()
    [[nodiscard]] virtual bool differs_from_others() const = 0;
    [[nodiscard]] virtual history_follower& follower() = 0;

    // With the lock of the sections.

    /// From now on asks `by`, which must outlive this, whenever memory becomes another state of the history.
    virtual void let_roots_be_kept(root_keeper& by) = 0;
    /// The section has changed types, so the next commit lets all steps go, its own included, and no step ever leads across it. Going back to
    /// before this call ends that: a rollback(), or one to a savepoint.
    virtual result<void> let_next_commit_migrate() = 0;
};

/// What it needs of an engine, and must not outlive.
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

/// How a history begins: in a heap of this process, in one that others are going to share, or in one that they have open.
enum class history_begins { alone, to_be_shared, joining };

} // namespace remanence::txn
