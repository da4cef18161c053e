// The engine: one open heap, from file to memory. It owns the parts and their locks, and says in which order they
// work; each part keeps its own rules. Knows nothing of containers or of exceptions.
//
//   opening        how the parts come to be           health         whether the heap takes commits still (I5)
//   session        the last commit, and the log       heap_names     where the files are now
//   committer      a commit, step by step             checkpointer   applies, and checkpoints beside commits
//   snapshot_point a commit whose record comes later
//   spiller        what is written early              reclaimer      what goes back to the file system
//   heap_memory    allocations and declarations      memory_budget  how much memory may be kept
//   transactions   how a commit and a rollback go     sharing        other processes that have the heap
//   commit_history what undoes commits
//
// Each part knows only those that engine's constructor makes before it.
//
// Not thread-safe but for what is said to be for any thread: callers hold the lock of the sections. In here at_store is locked
// before the allocation lock (heap_locks.hpp).
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
    std::uint64_t checkpoint_waits = 0; // commits, and the like, that took part in one
    std::uint64_t changed_bytes = 0;
    std::uint64_t logged_bytes = 0;
    std::uint64_t image_bytes = 0;   // by commits and checkpoints
    std::uint64_t spilled_bytes = 0; // to the heap file before a commit took it
    std::uint64_t written_bytes = 0; // to both files
    std::uint64_t syncs = 0;         // waits for the device
    std::uint64_t log_limit_bytes = 0;
    std::uint64_t log_used_bytes = 0;
    std::uint64_t before_image_bytes = 0;
    std::uint64_t unmapped_bytes = 0; // of chunks that were committed first and are not mapped from the file yet
    std::uint64_t committed_bytes = 0;
    std::uint64_t allocated_bytes = 0;
    checkpoint_progress checkpoint; // under way, or to be adopted by the next commit
    std::uint64_t recovered_commits = 0;
    std::uint64_t recovered_bytes = 0;
    std::chrono::nanoseconds open_time{};
    const char* tracker = "";
};

class engine {
public:
    /// Opens or creates; recovers when the heap was not closed cleanly. `abi` is the caller's ABI fingerprint.
    static result<std::unique_ptr<engine>> open(os::file_system& files, const std::string& path, open_mode mode,
                                                const engine_options& options, std::string_view abi);
    /// As the death of the process: drops what is not committed and touches no file. close() comes before it.
    ~engine() = default;
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// The memory that the program uses.
    [[nodiscard]] heap_memory& memory() { return memory_; }
    [[nodiscard]] const heap_memory& memory() const { return memory_; }

    /// The first half of a commit: returns its version, for await(), or that of the last one when nothing changed. Not
    /// durable yet, but memory as far as rollback() is concerned. A checkpoint that is due is begun afterwards, or made, if
    /// nobody else is to carry it out; one that was carried out is adopted before. errc::no_space:
    /// nothing written, memory keeps its changes, may be repeated. std::bad_alloc, as from commit(), rollback(),
    /// checkpoint() and close(): not committed; it may be repeated, or says errc::poisoned then.
    /// A commit of declared changes, those declared in the declared section that is open, leaves all others as they are,
    /// uncommitted: the next of everything finds them. Without such a section it takes everything.
    /// New memory is written here, unless the order says that the log may have it.
    /// errc::unlinked when heap or log has lost its name, errc::log_foreign when another file is where its log belongs:
    /// nothing written, memory keeps its changes, may be repeated.
    /// If nothing is awaited, and much was written, it is only copied, and
    /// the record is made by finish_point(), by await(), or by whoever comes first and needs it. When that fails and does not
    /// poison, who gave let_points_be_told_of() hears of it: for lack of space or memory, or since a page of the file cannot be
    /// read. The version is that of a commit without changes then, and the next one takes them.
    result<std::uint64_t> make_commit(const commit_order& order = {});
    /// The second half: the commit is as durable as asked for once it returns, with all before it (I2). From any thread, and
    /// without the section lock (R5). A failure poisons.
    result<void> await(std::uint64_t version, log::durability how);
    /// Both halves.
    result<void> commit(const commit_order& order = {});
    /// Makes everything durable that was committed before the call. From any thread. errc::unlinked, errc::log_foreign: as
    /// make_commit(); of a point that could not be committed, as find_failed_point().
    result<void> sync();
    /// Of the last commit, durable or not; once poisoned, of the last durable one.
    [[nodiscard]] std::uint64_t version() const;
    /// The last version that is known to be durable. From any thread; 0 before the first commit since the heap was opened.
    [[nodiscard]] std::uint64_t durable_through() const { return session_.durable_through(); }
    /// I5. From any thread.
    [[nodiscard]] bool is_poisoned() const { return health_.is_poisoned(); }

    /// Whether the record of this commit is not made yet. From any thread.
    [[nodiscard]] bool is_point_in_flight(std::uint64_t version) const {
        return session_.has_begun() && session_.appended_through() < version;
    }
    /// Makes it, if there is one. From any thread. A failure poisons.
    result<void> finish_point();
    /// Fails as the last point did, also with std::bad_alloc, if it was not committed and what it had is in no later commit. Finishes
    /// the one that is in flight. From any thread.
    result<void> find_failed_point();
    /// Points are copied from so many written bytes on, instead of 1 MiB: for tests, before the first commit.
    void copy_points_from(std::uint64_t bytes) { point_.copy_from(bytes); }
    /// From now on `failed` hears of points that were not committed. Comes before the first commit.
    void let_points_be_told_of(point_listener failed) { point_.tell_of_failures(std::move(failed)); }

    /// Memory becomes what the last commit left, allocator included. `lost` is told before, unless there is nothing.
    result<void> rollback(const change_listener& lost = {});
    /// To go back to within a write section. A commit and rollback() end them all.
    [[nodiscard]] savepoints& points() { return savepoints_; }

    /// The section, which began without changes, makes an empty root and nothing else: its commit is none of the user's steps.
    void let_next_commit_be_hidden();
    /// Whether memory differs from what is committed. As change_collector::holds_changes().
    result<bool> holds_changes();

    /// Of a copy of a heap, without a history: this leads from its last commit to what it is to be. Commits that. Throws std::bad_alloc.
    result<void> become(const history::delta& way);
    /// Tells `seen` what a commit would take, unless that is nothing, and changes nothing. Complexity: as collect() of the view.
    result<void> look_at_changes(const change_listener& seen);
    /// Applies every committed record into the image and empties the log, after a checkpoint that is under way. Uncommitted
    /// changes stay what they are. When there are none, chunks in which no block lies are given back to the file system.
    /// errc::unlinked, errc::log_foreign: as make_commit().
    result<void> checkpoint();
    /// Applies, marks the heap clean and removes the log. What is not committed is lost. Chunks in which no block lies are given
    /// back to the file system. Only await() and destruction may follow. errc::unlinked when nobody can open the heap any more;
    /// errc::log_foreign when all that was done, and another heap's log is where it keeps the next open from the heap.
    result<void> close();
    /// engine_options::on_progress is not called any more: whoever gave it may be gone.
    void stop_reporting() noexcept { checkpoints_.stop_reporting(); }

    // Checkpoints beside commits. The engine has no thread: somebody else carries them out, step by step.

    /// From now on a checkpoint that is due is begun after the commit that finds it due, and `begun` is called, with the
    /// section lock held: step_checkpoint() is to be called then until it says that nothing is left. If `begun` says that
    /// nobody can, that commit does it. No commit waits for it, unless the log or the before-images reach twice their limit meanwhile,
    /// its record finds no room in the log, or the heap needs another region: then it takes part.
    void let_checkpoints_be_carried_out(std::function<bool()> begun) {
        checkpoints_.let_be_carried_out(std::move(begun));
    }
    /// Carries out about `bytes_max` of the checkpoint that is under way, or a sync. Whether something is left. A failure
    /// poisons. From any thread.
    result<bool> step_checkpoint(std::uint64_t bytes_max = store::publication::k_step_bytes) {
        return checkpoints_.step(bytes_max);
    }
    /// As checkpointer::is_ahead(). From any thread.
    [[nodiscard]] bool is_checkpoint_ahead() const { return checkpoints_.is_ahead(); }

    // Memory of programs that write without allocating, freeing or declaring anything, which is when it is spilled else.

    /// What may be written and not committed, if the heap is so large that there may ever be so much; else 0. From any thread.
    [[nodiscard]] std::uint64_t budget_to_watch() const;
    /// Spills when more than that is written and not committed, while all others that write wait. System
    /// calls that write, meanwhile, to what is spilled or kept waiting fail with EFAULT, unless it was declared by touch(). A
    /// failure poisons. From any thread, before close(). Whether it looked, and nothing was to be spilled.
    bool spill_excess() noexcept;

    /// The pages that may differ from what is committed, sorted: all that were written, and chunks that were spilled. Compares
    /// nothing, but with the fallback tracker, which knows too little: O(memory in use), in the kernel.
    result<std::vector<heap_range>> written_pages();

    [[nodiscard]] bool has_history() const { return history_ != nullptr; }
    /// Null: engine_options::history asked for none.
    [[nodiscard]] commit_history* history() const { return history_.get(); }

    // A heap that several processes share.

    [[nodiscard]] bool is_shared() const { return sharing_ != nullptr; }
    /// Null: the heap is this process's alone.
    [[nodiscard]] sharing* shared() const { return sharing_.get(); }
    /// The last commit that any process has made known; once poisoned, that of memory, which follows nobody any more. From any
    /// thread.
    [[nodiscard]] std::uint64_t newest_version() const {
        return is_shared() && !is_poisoned() ? sharing_->protocol().visible() : session_.version();
    }
    /// With the writer lock: the last commit is so durable, and others may see it. Then a checkpoint that is due is begun.
    result<void> publish(log::durability how);

    /// Reads everything: image, log, allocator. Changes nothing.
    result<verification> verify();
    /// From any thread.
    [[nodiscard]] engine_stats stats() const;
    /// Those that are in the file, as far as they were not written again, and in no commit yet.
    [[nodiscard]] std::vector<std::uint64_t> spilled_chunks() const { return heap_.view->spiller().spilled().chunks(); }

    /// With when_base_taken::look_elsewhere: errc::base_taken, if that is not where the heap was created.
    [[nodiscard]] const std::optional<failure>& why_elsewhere() const { return heap_.why_elsewhere; }
    /// Whether memory is not where the heap was created.
    [[nodiscard]] bool is_elsewhere() const {
        return heap_.store->super().base != reinterpret_cast<std::uint64_t>(memory_.base());
    }
    [[nodiscard]] const parts& has() const { return options_.has; }
    [[nodiscard]] bool read_only() const { return options_.read_only; }
    [[nodiscard]] const std::string& path() const { return heap_.store->path(); }
    [[nodiscard]] std::string_view application() const { return heap_.store->application(); }
    /// Whether `path` names the file of this heap, which may have been renamed since. From any thread.
    result<bool> is_at(const std::string& path) { return names_.is_at(path); }

private:
    engine(const engine_options& options, std::unique_ptr<os::counting_files> files, opened_heap heap);
    result<std::uint64_t> try_to_commit(const commit_order& order);
    [[nodiscard]] result<void> tell_of_failed_point() const;
    result<void> begin_history(history_begins how);
    // How memory of an open heap begins: of one that this process has for itself, of one that it is the first to share, beside others.
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
    const std::unique_ptr<os::counting_files> files_; // opened the files below
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
    std::unique_ptr<commit_history> history_;   // null: there is none
    std::optional<std::uint64_t> seen_version_; // that memory is of, if that is not the last commit
    std::chrono::nanoseconds open_time_{};
    // Of a shared heap:
    std::unique_ptr<sharing> sharing_; // null: it is not, or not yet
};

} // namespace remanence::txn
