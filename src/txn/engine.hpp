// The engine: one open heap, from file to memory. It owns the parts and their locks, and calls them in order. Each part
// enforces its own rules. Knows nothing of the program's containers.
//
//   opening        opens the files                   health         whether the heap accepts commits (I5)
//   session        the last commit, and the log      heap_names     where the files are now
//   committer      the steps of a commit             checkpointer   checkpoints
//   snapshot_point a commit whose record is made later
//   spiller        writing before a commit           reclaimer      returning space to the file system
//   heap_memory    allocations and declarations      memory_budget  how much memory may be used
//   transactions   commit and rollback               sharing        processes that share the heap
//   commit_history undo of commits                   memory_limiter limits of resident memory
//
// A part uses only parts that the engine's constructor constructs before it.
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
#include "txn/memory_limiter.hpp"
#include "txn/opening.hpp"
#include "txn/reclaimer.hpp"
#include "txn/savepoints.hpp"
#include "txn/session.hpp"
#include "txn/sharing.hpp"
#include "txn/snapshot_point.hpp"
#include "txn/spiller.hpp"
#include "txn/transactions.hpp"
#include "txn/verification.hpp"

#include <atomic>
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

class past_memory;

struct engine_stats {
    std::uint64_t commits = 0;
    std::uint64_t checkpoints = 0;
    std::uint64_t checkpoint_waits = 0; // how often commits and other calls took part in a checkpoint
    std::uint64_t changed_bytes = 0;
    std::uint64_t logged_bytes = 0;
    std::uint64_t image_bytes = 0;   // written to the image by commits and checkpoints
    std::uint64_t spilled_bytes = 0; // written to the heap file before their commit
    std::uint64_t written_bytes = 0; // written to both files
    std::uint64_t syncs = 0;         // each waits for the device
    std::uint64_t log_limit_bytes = 0;
    std::uint64_t log_used_bytes = 0;
    std::uint64_t before_image_bytes = 0;
    std::uint64_t unmapped_bytes = 0; // in committed chunks that are not mapped from the file yet
    std::uint64_t committed_bytes = 0;
    std::uint64_t allocated_bytes = 0;
    std::uint64_t resident_bytes = 0; // these three are 0 without limits of resident memory
    std::uint64_t dirty_bytes = 0;
    std::uint64_t evicted_bytes = 0;
    checkpoint_progress checkpoint; // under way, or done and not adopted yet
    std::uint64_t recovered_commits = 0;
    std::uint64_t recovered_bytes = 0;
    std::chrono::nanoseconds point_wait{}; // how long commits have waited for points in flight
    std::chrono::nanoseconds open_time{};
    const char* tracker = "";
};

class engine {
public:
    /// Opens or creates a heap. Recovers it if it was not closed cleanly. `abi` is the caller's ABI fingerprint.
    static result<std::unique_ptr<engine>> open(os::file_system& files, const std::string& path, open_mode mode,
                                                const engine_options& options, std::string_view abi);
    /// Has the same effect as the death of the process: loses uncommitted changes and touches no file. To keep the
    /// files in order, call close() before.
    ~engine() = default;
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// Returns the memory that the program uses.
    [[nodiscard]] heap_memory& memory() { return memory_; }
    [[nodiscard]] const heap_memory& memory() const { return memory_; }

    /// The first half of a commit. Returns its version, for await(); or the last version if nothing changed. The
    /// commit is not durable yet, but rollback() no longer undoes it.
    /// Before the commit, adopts a checkpoint that is done. After it, begins a due checkpoint, or makes it if no other
    /// thread carries checkpoints out.
    /// A commit of declared changes includes only the changes that were declared in the open declared section; the next
    /// commit of everything finds the others. Outside of such a section it includes everything.
    /// Writes new memory to the heap file, unless `order` allows to write it to the log.
    /// If `order` awaits nothing and much was written, only copies the changed pages (a point, snapshot_point.hpp). The
    /// record is made later by finish_point(), await(), or the first caller that needs it. Such a commit does not wait
    /// for earlier points, unless their copies take too much memory; all others do. If that fails without
    /// poisoning (no space, no memory, or a page of the file that cannot be read), the listener of
    /// let_points_be_told_of() is called. Then the version is that of a commit without changes, and the next commit
    /// includes the changes.
    /// Errors: errc::no_space. errc::unlinked: heap or log no longer has a name. errc::log_foreign: another file has
    /// the name that the log needs. After these three errors nothing is written, memory keeps its changes, and the call
    /// may be repeated. If this, commit(), rollback(), checkpoint() or close() throws std::bad_alloc, nothing was
    /// committed; a repeated call may succeed or return errc::poisoned.
    result<std::uint64_t> make_commit(const commit_order& order = {});
    /// The second half of a commit. When it returns, the commit and all before it are as durable as asked for (I2).
    /// From any thread, and without the section lock (R5). A failure poisons.
    result<void> await(std::uint64_t version, log::durability how);
    /// Does both halves of a commit.
    result<void> commit(const commit_order& order = {});
    /// Makes all commits before the call durable. From any thread. errc::unlinked, errc::log_foreign: as make_commit().
    /// Fails as find_failed_point() if a point could not be committed.
    result<void> sync();
    /// Returns the version of the last commit, durable or not; once the heap is poisoned, of the last durable one.
    [[nodiscard]] std::uint64_t version() const;
    /// Returns the last version known to be durable; 0 before the first commit since the heap was opened. From any
    /// thread.
    [[nodiscard]] std::uint64_t durable_through() const { return session_.durable_through(); }
    /// True if the heap is poisoned (I5). From any thread.
    [[nodiscard]] bool is_poisoned() const { return health_.is_poisoned(); }

    /// True if the commit of this version has no record yet. From any thread.
    [[nodiscard]] bool is_point_in_flight(std::uint64_t version) const {
        return session_.has_begun() && session_.appended_through() < version;
    }
    /// Makes the records of the points in flight now. From any thread, which must not hold at_store. Commits may begin
    /// other points meanwhile. A failure poisons.
    result<void> finish_point() { return finish_points(session_.promised()); }
    /// Finishes the points in flight. If the last point was not committed, and no later commit has its changes, fails as
    /// that point did, or throws std::bad_alloc if that was the reason. From any thread.
    result<void> find_failed_point();
    /// Sets how many bytes must be written for a point to be copied, and how many are compared at once, instead of
    /// 1 MiB. For tests, before the first commit.
    void copy_points_from(std::uint64_t bytes, std::uint64_t step_bytes = k_page_bytes) {
        point_.copy_from(bytes, step_bytes);
    }
    /// From now on calls `failed` for each point that was not committed. Call it before the first commit.
    void let_points_be_told_of(point_listener failed) { point_.tell_of_failures(std::move(failed)); }

    /// Brings memory, allocator included, back to the last commit. Before that, calls `lost` with the changes that are
    /// lost, if there are any.
    result<void> rollback(const change_listener& lost = {});
    /// Returns the savepoints: moments of a write section to which the section can go back. A commit and rollback() end
    /// all of them.
    [[nodiscard]] savepoints& points() { return savepoints_; }

    /// Makes the section's commit a hidden step of the history. For a section that only makes an empty root, which is
    /// no step of the user's.
    void let_next_commit_be_hidden();
    /// True if memory differs from committed content. As change_collector::holds_changes().
    result<bool> holds_changes();

    /// For a copy of a heap, without a history: applies `way`, which leads from the copy's last commit to the wanted
    /// state, and commits. Throws std::bad_alloc.
    result<void> become(const history::delta& way);
    /// For a heap that is open read-only and mapped elsewhere, before anybody uses it: lets `change` write to all of its
    /// memory, so that all addresses in it lead to where it is mapped. The file stays as it is.
    result<void> rewrite_addresses(const std::function<void(std::byte* memory)>& change);
    /// Returns the address that the file records for the heap's first byte.
    [[nodiscard]] std::uint64_t recorded_base() const { return heap_.store->super().base; }
    /// Returns the limits of the history that the file records; nothing if it records none. errc::corrupt.
    [[nodiscard]] result<std::optional<format::history_limits>> recorded_history() { return heap_.store->history(); }
    /// Calls `seen` with the changes that a commit would include, if there are any. Changes nothing. Complexity: as
    /// collect() of the view.
    result<void> look_at_changes(const change_listener& seen);
    /// Finishes a checkpoint under way. Then applies every committed record to the image and empties the log.
    /// Uncommitted changes stay uncommitted. If there are none, gives chunks without blocks back to the file system.
    /// errc::unlinked, errc::log_foreign: as make_commit().
    result<void> checkpoint();
    /// As checkpoint(), but also makes the file as short as what it holds permits. Returns by how many bytes it became
    /// shorter. errc::uncommitted; errc::not_supported if other processes may have the heap open, or if it has a history.
    result<std::uint64_t> shrink();
    /// Applies all records, marks the heap clean and removes the log. Uncommitted changes are lost. Gives chunks
    /// without blocks back to the file system. After this only await() and the destructor may be called. errc::unlinked
    /// if the heap no longer has a name. errc::log_foreign if the heap is closed, but cannot be opened next because
    /// another file has the name of its log.
    result<void> close();
    /// From now on each commit settles vptrs (vptr_settler.hpp). `by` must live until no more commits are made.
    void settle_vptrs_by(vptr_settler& by) noexcept { transactions_.settle_vptrs_by(by); }
    /// From now on does not call engine_options::on_progress, whose owner may be gone.
    void stop_reporting() noexcept { checkpoints_.stop_reporting(); }

    // Concurrent checkpoints. The engine has no thread of its own: another thread carries them out, step by step.

    /// From now on a commit that finds a checkpoint due only begins it, and calls `begun` with the section lock held.
    /// If `begun` returns true, another thread must call step_checkpoint() until that returns false. If `begun` returns
    /// false, the commit carries the checkpoint out. Later commits carry out steps of the checkpoint, or all of it,
    /// only if the log or the before-images reach twice their limit, the log has no room for the record, or the heap
    /// needs another region.
    void let_checkpoints_be_carried_out(std::function<bool()> begun) {
        checkpoints_.let_be_carried_out(std::move(begun));
    }
    /// Writes about `bytes_max` bytes of the checkpoint under way, or makes one sync. Returns true if more steps are
    /// needed. A failure poisons. From any thread.
    result<bool> step_checkpoint(std::uint64_t bytes_max = store::publication::k_step_bytes) {
        return checkpoints_.step(bytes_max);
    }
    /// See checkpointer::is_ahead(). From any thread.
    [[nodiscard]] bool is_checkpoint_ahead() const { return checkpoints_.is_ahead(); }

    // For programs that write without allocating, freeing or declaring, since otherwise memory is spilled only when it
    // is allocated, freed or declared.

    /// Returns how many bytes may be written and not committed; 0 if the heap is too small ever to have so many. From
    /// any thread.
    [[nodiscard]] std::uint64_t budget_to_watch() const;
    /// Spills if more than budget_to_watch() bytes are written and not committed. All other threads that write to the
    /// heap wait meanwhile. A system call that writes to the heap meanwhile may fail with EFAULT, unless touch()
    /// declared that memory. A failure poisons. From any thread, before close(). Returns true if it checked and there
    /// was nothing to spill.
    bool spill_excess() noexcept;

    // Limits of resident memory.

    /// From now on keeps the heap, and arenas with a limit, within their limits. Called more than once, has no effect.
    /// Throws std::bad_alloc. From any thread, without the section lock.
    void limit_memory_by(const memory_limiter_part& part);
    /// Returns the limiter; null if nothing is limited. From any thread.
    [[nodiscard]] memory_limiter* limiter() const noexcept { return limiter_.load(std::memory_order_acquire); }

    /// Returns the pages that may differ from committed content, sorted: all that were written, and spilled chunks.
    /// Compares pages only with the fallback tracker, which cannot tell which pages were written. O(memory in use), in
    /// the kernel.
    result<std::vector<heap_range>> written_pages();

    // A past state of memory (past_memory.hpp), for programs that read it while they go on.

    /// From now on keeps memory as it is, and notes what is freed. The caller has just committed everything, and is
    /// still in the same write section; the heap is not shared. The result is valid until end_past(), or as long as the
    /// engine. errc::in_use if there is one already. Throws std::bad_alloc.
    result<past_memory*> keep_past();
    /// From now on only notes what is freed.
    void forget_past_pages(past_memory& past) noexcept;
    /// Destroys it.
    void end_past(past_memory& past) noexcept;

    [[nodiscard]] bool has_history() const { return history_ != nullptr; }
    /// Returns null if the heap is open without a history.
    [[nodiscard]] commit_history* history() const { return history_.get(); }

    // Shared heaps.

    [[nodiscard]] bool is_shared() const { return sharing_ != nullptr; }
    /// Returns null if the heap is not shared.
    [[nodiscard]] sharing* shared() const { return sharing_.get(); }
    /// Returns the last commit that any process has published. Once poisoned, returns the version of memory, which no
    /// longer follows others. From any thread.
    [[nodiscard]] std::uint64_t newest_version() const {
        return is_shared() && !is_poisoned() ? sharing_->protocol().visible() : session_.version();
    }
    /// Makes the last commit as durable as `how` says, and visible to others. Then begins a due checkpoint. The
    /// caller holds the writer lock.
    result<void> publish(log::durability how);

    /// Checks image, log and allocator. Reads all of them, and changes nothing.
    result<verification> verify();
    /// From any thread.
    [[nodiscard]] engine_stats stats() const;
    /// Returns the chunks that are spilled, not committed yet, and not written again since they were spilled.
    [[nodiscard]] std::vector<std::uint64_t> spilled_chunks() const { return heap_.view->spiller().spilled().chunks(); }

    /// With when_base_taken::look_elsewhere: errc::base_taken if memory is not where its addresses lead.
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
    result<void> finish_points(std::uint64_t through);
    [[nodiscard]] result<void> tell_of_failed_point() const;
    result<void> begin_history(history_begins how);
    // These prepare the memory of an open heap: one that is not shared, one that this process shares as the first, and
    // one that other processes have open.
    result<void> begin_alone();
    result<void> begin_to_share();
    result<void> join();
    std::unique_ptr<sharing> make_sharing();
    void begin_sharing(std::unique_ptr<sharing> shared);
    result<void> close_shared();
    result<void> shrink_committed();
    result<void> commit_release_of_empty_slab();
    result<void> close_alone();
    result<void> close_finished();
    result<void> close_without_log();
    result<void> close_session();

    const engine_options options_;
    const std::unique_ptr<os::counting_files> files_; // opened the files of heap_
    opened_heap heap_;
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
    std::unique_ptr<commit_history> history_;        // null: no history
    std::unique_ptr<memory_limiter> limits_;         // guarded by at_store; null: nothing is limited
    std::atomic<memory_limiter*> limiter_ = nullptr; // limits_.get()
    std::optional<std::uint64_t> seen_version_;      // the version of memory, if options asked for an old one
    std::chrono::nanoseconds open_time_{};
    // For a shared heap:
    std::unique_ptr<sharing> sharing_; // null: not shared, or still being opened
};

} // namespace remanence::txn
