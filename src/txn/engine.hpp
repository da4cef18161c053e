// The engine: one open heap, from file to memory. It owns the parts and their locks, and says in which order they
// work. Each part keeps its own rules. Knows nothing of containers or of exceptions.
//
//   opening        makes the parts                   health         whether the heap takes commits (I5)
//   session        the last commit, and the log      heap_names     where the files are now
//   committer      a commit, step by step            checkpointer   checkpoints
//   snapshot_point a commit whose record comes later
//   spiller        what is written early             reclaimer      what goes back to the file system
//   heap_memory    allocations and declarations      memory_budget  how much memory may be kept
//   transactions   how a commit and a rollback go    sharing        other processes that have the heap
//   commit_history the undo of commits
//
// Each part knows only those that engine's constructor makes before it.
//
// Callers hold the section lock, except for functions marked for any thread. Inside, at_store is locked before the
// allocation lock (heap_locks.hpp).
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "log/redo_log.hpp"
#include "os/counting_files.hpp"
#include "os/file.hpp"
#include "txn/checkpointer.hpp"
#include "txn/commit_history.hpp"
#include "txn/committer.hpp"
#include "txn/engine_options.hpp"
#include "txn/health.hpp"
#include "txn/heap_locks.hpp"
#include "txn/heap_memory.hpp"
#include "txn/heap_names.hpp"
#include "txn/memory_budget.hpp"
#include "txn/opening.hpp"
#include "txn/reclaimer.hpp"
#include "txn/savepoints.hpp"
#include "txn/session.hpp"
#include "txn/sharing.hpp"
#include "txn/snapshot_point.hpp"
#include "txn/spiller.hpp"
#include "txn/transactions.hpp"
#include "txn/verification.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::txn {

struct engine_stats {
    std::uint64_t commits = 0;
    std::uint64_t checkpoints = 0;
    std::uint64_t checkpoint_waits = 0; // commits and other calls that took part in a checkpoint
    std::uint64_t changed_bytes = 0;
    std::uint64_t logged_bytes = 0;
    std::uint64_t image_bytes = 0;   // by commits and checkpoints
    std::uint64_t spilled_bytes = 0; // written to the heap file before a commit took it
    std::uint64_t written_bytes = 0; // written to both files
    std::uint64_t syncs = 0;         // each waits for the device
    std::uint64_t log_limit_bytes = 0;
    std::uint64_t log_used_bytes = 0;
    std::uint64_t before_image_bytes = 0;
    std::uint64_t unmapped_bytes = 0; // in chunks of first commits that are not mapped from the file yet
    std::uint64_t committed_bytes = 0;
    std::uint64_t allocated_bytes = 0;
    checkpoint_progress checkpoint; // under way, or done and not adopted yet
    std::uint64_t recovered_commits = 0;
    std::uint64_t recovered_bytes = 0;
    std::chrono::nanoseconds open_time{};
    const char* tracker = "";
};

class engine {
public:
    /// Opens or creates a heap. Recovers it if it was not closed cleanly. `abi` is the caller's ABI fingerprint.
    static result<std::unique_ptr<engine>> open(os::file_system& files, const std::string& path, open_mode mode,
                                                const engine_options& options, std::string_view abi);
    /// Has the effect of the process's death: drops uncommitted changes and touches no file. close() comes before it.
    ~engine() = default;
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// Returns the memory that the program uses.
    [[nodiscard]] heap_memory& memory() { return memory_; }
    [[nodiscard]] const heap_memory& memory() const { return memory_; }

    /// The first half of a commit. Returns its version, for await(); or the last version if nothing changed. The
    /// commit is not durable yet, but rollback() no longer undoes it.
    /// Adopts a checkpoint that is done. Begins a due one afterwards, or makes it if nobody else carries checkpoints
    /// out.
    /// A commit of declared changes takes what was declared in the open declared section. It leaves all other changes
    /// uncommitted; the next commit of everything finds them. Without such a section it takes everything.
    /// Writes new memory to the heap file, unless `order` says that it may go to the log.
    /// If the caller waits for nothing and much was written, pages are only copied. finish_point(), await(), or the
    /// first caller that needs the record makes it later. If that fails without poisoning (no space, no memory, or a
    /// page of the file that cannot be read), the listener of let_points_be_told_of() is told. Then the version is
    /// that of a commit without changes, and the next commit takes the changes.
    /// Errors: errc::no_space. errc::unlinked: heap or log has lost its name. errc::log_foreign: another file is in
    /// the log's place. With these three nothing is written, memory keeps its changes, and the call may be repeated.
    /// std::bad_alloc, as from commit(), rollback(), checkpoint() and close(): not committed; a repeated call may
    /// succeed or return errc::poisoned.
    result<std::uint64_t> make_commit(const commit_order& order = {});
    /// The second half. When it returns, the commit and all before it are as durable as asked for (I2). From any
    /// thread, and without the section lock (R5). A failure poisons.
    result<void> await(std::uint64_t version, log::durability how);
    /// Does both halves.
    result<void> commit(const commit_order& order = {});
    /// Makes durable all that was committed before the call. From any thread. errc::unlinked, errc::log_foreign: as
    /// make_commit(). Fails as find_failed_point() if a point could not be committed.
    result<void> sync();
    /// Returns the version of the last commit, durable or not; once poisoned, of the last durable one.
    [[nodiscard]] std::uint64_t version() const;
    /// Returns the last version known to be durable; 0 before the first commit since the heap was opened. From any
    /// thread.
    [[nodiscard]] std::uint64_t durable_through() const { return session_.durable_through(); }
    /// See I5. From any thread.
    [[nodiscard]] bool is_poisoned() const { return health_.is_poisoned(); }

    /// True if this commit has no record yet. From any thread.
    [[nodiscard]] bool is_point_in_flight(std::uint64_t version) const {
        return session_.has_begun() && session_.appended_through() < version;
    }
    /// Makes the record of the point in flight, if there is one. From any thread. A failure poisons.
    result<void> finish_point();
    /// Finishes the point in flight. Then fails as the last point did, also with std::bad_alloc, if that was not
    /// committed and no later commit has its changes. From any thread.
    result<void> find_failed_point();
    /// Sets from how many written bytes on points are copied, instead of 1 MiB. For tests, before the first commit.
    void copy_points_from(std::uint64_t bytes) { point_.copy_from(bytes); }
    /// From now on `failed` is told of points that were not committed. Call it before the first commit.
    void let_points_be_told_of(point_listener failed) { point_.tell_of_failures(std::move(failed)); }

    /// Brings memory, allocator included, back to the last commit. Tells `lost` what is dropped, unless there is
    /// nothing.
    result<void> rollback(const change_listener& lost = {});
    /// Savepoints: moments within a write section to go back to. A commit and rollback() end them all.
    [[nodiscard]] savepoints& points() { return savepoints_; }

    /// The section began without changes and makes only an empty root. So its commit is not a step of the user's.
    void let_next_commit_be_hidden();
    /// True if memory differs from committed content. As change_collector::holds_changes().
    result<bool> holds_changes();

    /// For a copy of a heap, without a history: applies `way`, which leads from its last commit to the wanted state,
    /// and commits. Throws std::bad_alloc.
    result<void> become(const history::delta& way);
    /// Tells `seen` what a commit would take, unless that is nothing. Changes nothing. Complexity: as collect() of
    /// the view.
    result<void> look_at_changes(const change_listener& seen);
    /// Finishes a checkpoint under way. Then applies every committed record to the image and empties the log.
    /// Uncommitted changes stay uncommitted. If there are none, gives chunks without blocks back to the file system.
    /// errc::unlinked, errc::log_foreign: as make_commit().
    result<void> checkpoint();
    /// Applies all records, marks the heap clean and removes the log. Uncommitted changes are lost. Gives chunks
    /// without blocks back to the file system. Only await() and destruction may follow. errc::unlinked if nobody can
    /// open the heap any more. errc::log_foreign if all this is done, but another heap's log is in the log's place,
    /// so that the heap cannot be opened next.
    result<void> close();
    /// Ends calls of engine_options::on_progress: its owner may be gone.
    void stop_reporting() noexcept { checkpoints_.stop_reporting(); }

    // Concurrent checkpoints. The engine has no thread: another thread carries them out, step by step.

    /// From now on the commit that finds a checkpoint due begins it afterwards, and calls `begun` with the section
    /// lock held. Then somebody calls step_checkpoint() until it returns false. If `begun` returns false, the commit
    /// carries it out. Commits wait for the checkpoint, and take part in it, only if the log or the before-images
    /// reach twice their limit, the record finds no room in the log, or the heap needs another region.
    void let_checkpoints_be_carried_out(std::function<bool()> begun) {
        checkpoints_.let_be_carried_out(std::move(begun));
    }
    /// Carries out about `bytes_max` of the checkpoint under way, or one sync. Returns whether something is left. A
    /// failure poisons. From any thread.
    result<bool> step_checkpoint(std::uint64_t bytes_max = store::publication::k_step_bytes) {
        return checkpoints_.step(bytes_max);
    }
    /// See checkpointer::is_ahead(). From any thread.
    [[nodiscard]] bool is_checkpoint_ahead() const { return checkpoints_.is_ahead(); }

    // For programs that write without allocating, freeing or declaring: those calls are where memory is spilled
    // otherwise.

    /// Returns how many bytes may be written and not committed; 0 if the heap is too small ever to have so many. From
    /// any thread.
    [[nodiscard]] std::uint64_t budget_to_watch() const;
    /// Spills if more than that is written and not committed. All other threads that write wait meanwhile. A system
    /// call that writes to memory that is being spilled or kept waiting fails with EFAULT, unless touch() declared
    /// that memory. A failure poisons. From any thread, before close(). Returns true if it looked and there was nothing
    /// to spill.
    bool spill_excess() noexcept;

    /// Returns the pages that may differ from committed content, sorted: all that were written, and spilled chunks.
    /// Compares pages only with the fallback tracker, which does not know enough. O(memory in use), in the kernel.
    result<std::vector<heap_range>> written_pages();

    [[nodiscard]] bool has_history() const { return history_ != nullptr; }
    /// Null: engine_options::history asked for none.
    [[nodiscard]] commit_history* history() const { return history_.get(); }

    // Shared heaps.

    [[nodiscard]] bool is_shared() const { return sharing_ != nullptr; }
    /// Null: only this process has the heap.
    [[nodiscard]] sharing* shared() const { return sharing_.get(); }
    /// Returns the last commit that any process has published. Once poisoned, returns the version of memory, which no
    /// longer follows others. From any thread.
    [[nodiscard]] std::uint64_t newest_version() const {
        return is_shared() && !is_poisoned() ? sharing_->protocol().visible() : session_.version();
    }
    /// Makes the last commit as durable as `how` says, and visible to others. Then begins a due checkpoint. The
    /// caller holds the writer lock.
    result<void> publish(log::durability how);

    /// Reads everything: image, log, allocator. Changes nothing.
    result<verification> verify();
    /// From any thread.
    [[nodiscard]] engine_stats stats() const;
    /// Returns the chunks that are spilled, in no commit yet, and not written again since.
    [[nodiscard]] std::vector<std::uint64_t> spilled_chunks() const { return heap_.view->spiller().spilled().chunks(); }

    /// With when_base_taken::look_elsewhere: errc::base_taken if memory is not where the heap was created.
    [[nodiscard]] const std::optional<failure>& why_elsewhere() const { return heap_.why_elsewhere; }
    /// True if memory is not where the heap was created.
    [[nodiscard]] bool is_elsewhere() const {
        return heap_.store->super().base != reinterpret_cast<std::uint64_t>(memory_.base());
    }
    [[nodiscard]] const parts& has() const { return options_.has; }
    [[nodiscard]] bool read_only() const { return options_.read_only; }
    [[nodiscard]] const std::string& path() const { return heap_.store->path(); }
    [[nodiscard]] std::string_view application() const { return heap_.store->application(); }
    /// True if `path` names this heap's file, which may have been renamed. From any thread.
    result<bool> is_at(const std::string& path) { return names_.is_at(path); }

private:
    engine(const engine_options& options, std::unique_ptr<os::counting_files> files, opened_heap heap);
    result<std::uint64_t> try_to_commit(const commit_order& order);
    [[nodiscard]] result<void> tell_of_failed_point() const;
    result<void> begin_history(history_begins how);
    // These prepare the memory of an open heap: one of this process alone, one that it shares as the first, one that
    // others have open.
    result<void> begin_alone();
    result<void> begin_to_share();
    result<void> join();
    std::unique_ptr<sharing> make_sharing();
    void begin_sharing(std::unique_ptr<sharing> shared);
    result<void> close_shared();
    result<void> close_alone();
    result<void> close_finished();
    result<void> close_without_log();
    result<void> close_session();

    const engine_options options_;
    const std::unique_ptr<os::counting_files> files_; // opened the files of heap_
    const opened_heap heap_;
    mutable heap_locks locks_;
    health health_;
    heap_names names_;
    session session_;
    memory_budget budget_;
    reclaimer space_;
    checkpointer checkpoints_;
    spiller spiller_;
    heap_memory memory_;
    savepoints savepoints_;
    committer committer_;
    snapshot_point point_;
    transactions transactions_;
    std::unique_ptr<commit_history> history_;   // null: no history
    std::optional<std::uint64_t> seen_version_; // the version of memory, if that is not the last commit
    std::chrono::nanoseconds open_time_{};
    // For a shared heap:
    std::unique_ptr<sharing> sharing_; // null: not shared, or not yet
};

} // namespace remanence::txn
