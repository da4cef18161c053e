// The engine: one open heap, from file to memory. It drives store, log, view and allocator through open, commit,
// rollback, checkpoint and close, and keeps the rules that span them: I2, I3, I5. May use: everything but types and
// api. Knows nothing of containers or of exceptions.
//
// Not thread-safe but for allocate(), deallocate(), block_of(), announce(), touch(), await(), sync() and
// step_checkpoint(): the section lock is held around all others.
#pragma once

#include "alloc/block_allocator.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "format/heap_header.hpp"
#include "log/record.hpp"
#include "log/redo_log.hpp"
#include "os/counting_files.hpp"
#include "os/file.hpp"
#include "os/quick_mutex.hpp"
#include "store/heap_file.hpp"
#include "store/heap_verification.hpp"
#include "track/page_scan.hpp"
#include "txn/checkpoint_run.hpp"
#include "txn/spill_pace.hpp"
#include "view/memory_view.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::txn {

class engine;

enum class open_mode { open_or_create, create, open_existing };

using change::commit_scope;
using change::fresh_contents;

/// What becomes of a heap whose own addresses are taken. It may be mapped elsewhere if its objects hold none, which the engine
/// does not know.
enum class when_base_taken {
    fail,
    look_elsewhere, // for callers who have to look into it first: engine::why_elsewhere() has what `fail` would have said
    elsewhere,      // for callers who know; nobody finds out what is in its place, which takes long
};

struct engine_options {
    std::uint64_t reserve_bytes = 16 * GiB;
    std::uint64_t chunk_bytes = 256 * KiB;
    std::uint64_t base = 0; // 0: random
    when_base_taken when_taken = when_base_taken::fail;
    std::uint64_t log_limit_bytes = 64 * MiB;
    std::uint64_t twin_limit_bytes = 256 * MiB;
    /// Bytes that may be written and neither committed nor spilled. 0: a quarter of the memory that the process
    /// may use; more than half of that is half. Less than eight chunks are eight chunks.
    std::uint64_t dirty_limit_bytes = 0;
    /// That the process may use. 0: as much as /proc and /sys tell.
    std::uint64_t memory_bytes = 0;
    /// Exceptions of the chunk map, each of which costs mappings, before commits that move chunks bring others together.
    std::size_t scattered_max = 1024;
    /// Of stored chunks, before gaps between them are mapped from holes of the file: each costs opening a mapping.
    std::size_t stretches_max = 16;
    unsigned mode = 0666;
    bool read_only = false;
    std::string application; // as in heap_options
    bool core_dump = false;
    bool read_ahead = true; // as in heap_options
    track::tracker_choice tracker = track::tracker_choice::automatic;
    /// Of writes while they are not allowed: see engine::allow_writes(). Trap tracker only.
    track::stray_write_reporter report_stray_write = nullptr;

    enum class work { recovery, checkpoint, verify };
    /// Called by whoever does the work.
    std::function<void(work, std::uint64_t done, std::uint64_t total)> on_progress;
    /// Sees what a commit is about to make durable, before anything is written, and may refuse it: memory then keeps its
    /// changes. Called with the allocation lock held: it must ask the allocator handed to it, not the engine. While one
    /// is set, freed blocks are zeroed, so that what is in a live block was not left there by an earlier one.
    std::function<result<void>(engine&, const change::change_set&, const alloc::block_allocator&)> inspect;
    /// Sees, before a commit of a declared section, what was changed and not announced; called and answering as `inspect`.
    /// While one is set, such a commit looks for changes everywhere first.
    std::function<result<void>(engine&, const change::change_set&, const alloc::block_allocator&)> inspect_unannounced;
};

struct engine_stats {
    std::uint64_t commits = 0;
    std::uint64_t checkpoints = 0;
    std::uint64_t changed_bytes = 0;
    std::uint64_t logged_bytes = 0;
    std::uint64_t image_bytes = 0;
    std::uint64_t recovered_commits = 0;
    std::uint64_t recovered_bytes = 0;
    std::chrono::nanoseconds open_time{};
};

struct verification {
    std::uint64_t pages_checked = 0;
    std::uint64_t log_records_checked = 0;
    std::uint64_t blocks_checked = 0;
    std::vector<store::damage> problems;
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

    /// The first half of a commit: returns its version, for await(), or that of the last one when nothing changed. Not
    /// durable yet, but memory as far as rollback() is concerned. A checkpoint that is due is begun on the way, or made, if
    /// nobody else is to carry it out; one that was carried out is adopted. errc::no_space:
    /// nothing written, memory keeps its changes, may be repeated. std::bad_alloc, as from commit(), rollback(),
    /// checkpoint() and close(): not committed; it may be repeated, or says errc::poisoned then.
    /// A commit of declared changes, those announced in the declared section that is open, leaves all others as they are,
    /// uncommitted: the next of everything finds them. Without such a section it takes everything.
    /// New memory is written here, unless `fresh` says that the log may have it.
    /// errc::unlinked when heap or log has lost its name, errc::log_foreign when another file is where its log belongs:
    /// nothing written, memory keeps its changes, may be repeated.
    result<std::uint64_t> submit(commit_scope scope = commit_scope::everything,
                                 fresh_contents fresh = fresh_contents::at_home);
    /// The second half: the commit is as durable as asked for once it returns, with all before it (I2). From any thread, and
    /// without the section lock (R5). A failure poisons.
    result<void> await(std::uint64_t version, log::durability how);
    /// Both halves.
    result<void> commit(log::durability how = log::durability::durable, commit_scope scope = commit_scope::everything);
    /// Makes everything durable that was committed before the call. From any thread. errc::unlinked, errc::log_foreign: as
    /// submit().
    result<void> sync();
    /// The last version that is known to be. From any thread; 0 before the first commit since the heap was opened.
    [[nodiscard]] std::uint64_t durable_through() const;
    /// Sees changes that are in memory and in no commit; called as engine_options::inspect.
    using change_listener = std::function<void(engine&, const change::change_set&, const alloc::block_allocator&)>;
    /// Memory becomes what the last commit left, allocator included. `lost` is told before, unless there is nothing.
    result<void> rollback(const change_listener& lost = {});
    /// Tells `seen` what a commit would take, unless that is nothing, and changes nothing. Complexity: as collect() of the view.
    result<void> look_at_changes(const change_listener& seen);
    /// Folds every committed record into the image and empties the log, after a checkpoint that is under way. Uncommitted
    /// changes stay what they are. When there are none, chunks in which no block lies are given back to the file system.
    /// errc::unlinked, errc::log_foreign: as submit().
    result<void> checkpoint();
    /// Folds, marks the heap clean and removes the log. What is not committed is lost. Chunks in which no block lies are given
    /// back to the file system. Only await() and destruction may follow. errc::unlinked when nobody can open the heap any more;
    /// errc::log_foreign when all that was done, and another heap's log is where it keeps the next open from the heap.
    result<void> close();

    /// engine_options::on_progress is not called any more: whoever gave it may be gone.
    void stop_reporting() noexcept { is_reporting_ = false; }

    // Checkpoints beside commits. The engine has no thread: somebody else carries them out, step by step.

    /// From now on a checkpoint that is due is begun by the commit that finds it due, and `begun` is called, with the
    /// section lock held: step_checkpoint() is to be called then until it says that nothing is left. If `begun` says that
    /// nobody can, that commit does it. No commit waits for it, unless the log or the twins reach twice their limit meanwhile,
    /// its record finds no room in the log, or the heap needs another region: then it takes part.
    void let_checkpoints_be_carried_out(std::function<bool()> begun) { begun_ = std::move(begun); }
    /// Carries out about `bytes_max` of the checkpoint that is under way, or a sync. Whether something is left. A failure
    /// poisons. From any thread.
    result<bool> step_checkpoint(std::uint64_t bytes_max = store::publication::k_step_bytes);
    /// Spills when more than dirty_limit_bytes is written and not committed, while all others that write wait. For who watches
    /// memory of programs that write without allocating, freeing or announcing anything, which is when that is done else. System
    /// calls that write, meanwhile, to what is spilled or kept waiting fail with EFAULT, unless it was announced by touch(). A
    /// failure poisons. From any thread, before close(). Whether it looked, and nothing was to
    /// be spilled.
    bool spill_excess() noexcept;
    /// dirty_limit_bytes, if the heap is so large that there may ever be so much; else 0.
    [[nodiscard]] std::uint64_t budget_to_watch() const;
    /// Whether more memory is accessible than when this was asked last. From any thread.
    [[nodiscard]] bool has_grown() {
        return has_grown_.load(std::memory_order_relaxed) && has_grown_.exchange(false, std::memory_order_relaxed);
    }
    /// Bytes of the pages of the checkpoint that is under way, or to be adopted by the next commit; 0, both: of none.
    struct checkpoint_progress {
        std::uint64_t done_bytes = 0;
        std::uint64_t total_bytes = 0;
    };
    [[nodiscard]] checkpoint_progress checkpoint_under_way() const;
    /// Whether the checkpoint that a commit began will be done long before another one is due, at the pace at which both have
    /// gone so far: then who carries it out may rest. From any thread.
    [[nodiscard]] bool is_checkpoint_ahead() const;

    /// Memory in the heap; null, with the reason in `why`, when the heap cannot grow.
    void* allocate(std::uint64_t bytes, std::uint64_t alignment, std::optional<unexpected>& why);
    void deallocate(void* block, std::uint64_t bytes, std::uint64_t alignment);
    [[nodiscard]] std::optional<alloc::block> block_of(const void* address) const;
    /// Calls f with the allocator, which nobody uses meanwhile.
    template <class F>
    auto with_allocator(const F& f) const {
        const std::scoped_lock lock(allocation_);
        return f(std::as_const(*allocator_));
    }
    /// For a handler of a signal: the allocator, unless a thread is changing it.
    [[nodiscard]] const alloc::block_allocator* quiet_allocator() const;

    /// [first, first+bytes) will be written, perhaps by system calls, until the next commit or rollback.
    result<void> announce(const void* first, std::uint64_t bytes);
    /// The same, and system calls may rely on it: it is not spilled meanwhile.
    result<void> touch(const void* first, std::uint64_t bytes);

    // A declared section: every change is made by this allocator or announced, so that the commit need not look for any.
    // Where that is known not to hold, a commit takes everything: if before the section memory was allocated, or a
    // commit failed, or if the process lacks memory to note an announcement.

    void begin_declared();
    /// Before or after the commit; what was announced and not committed is then for the next commit of everything to find.
    void end_declared();
    /// From any thread.
    [[nodiscard]] bool is_declared() const noexcept { return is_declared_.load(std::memory_order_relaxed); }
    /// A write section begins or ends; callers hold the lock of the sections. Writes are allowed after open().
    void allow_writes(bool allowed);

    /// Reads everything: image, log, allocator. Changes nothing.
    result<verification> verify();

    [[nodiscard]] std::byte* base() const { return view_->base(); }
    /// With when_base_taken::look_elsewhere: errc::base_taken, if that is not where the heap was created.
    [[nodiscard]] const std::optional<failure>& why_elsewhere() const { return why_elsewhere_; }
    [[nodiscard]] std::uint64_t offset_of(const void* address) const {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base());
    }
    [[nodiscard]] bool contains(const void* address) const;
    [[nodiscard]] format::heap_header& header() const { return *header_at(view_->base()); }
    /// Of the last commit, durable or not; once poisoned, of the last durable one.
    [[nodiscard]] std::uint64_t version() const;
    [[nodiscard]] bool read_only() const { return options_.read_only; }
    /// I5. From any thread.
    [[nodiscard]] bool is_poisoned() const;
    [[nodiscard]] const std::string& path() const { return store_->path(); }
    [[nodiscard]] std::string_view application() const { return store_->application(); }
    /// Whether `path` names the file of this heap, which may have been renamed since. From any thread.
    result<bool> is_at(const std::string& path);
    [[nodiscard]] const engine_stats& stats() const { return stats_; }
    /// While it is held nothing is spilled, so that numbers fit together.
    [[nodiscard]] std::unique_lock<std::recursive_mutex> at_rest() const { return std::unique_lock(at_store_); }
    /// To both files, and waits for the device.
    [[nodiscard]] std::uint64_t written_bytes() const { return files_.written_bytes(); }
    [[nodiscard]] std::uint64_t syncs() const { return files_.syncs(); }
    [[nodiscard]] std::uint64_t log_limit_bytes() const { return options_.log_limit_bytes; }
    [[nodiscard]] std::uint64_t log_used_bytes() const { return log_ ? log_->used_bytes() : 0; }
    /// Those that are in the file, as far as they were not written again, and in no commit yet.
    [[nodiscard]] std::vector<std::uint64_t> spilled_chunks() const { return view_->spiller().spilled().chunks(); }
    /// Of chunks that were committed first and are not mapped from the file yet.
    [[nodiscard]] std::uint64_t unmapped_bytes() const { return view_->memory().unmapped_bytes(); }
    /// Written to the heap file before a commit took it.
    [[nodiscard]] std::uint64_t spilled_bytes() const { return spilled_bytes_; }
    [[nodiscard]] std::uint64_t twin_bytes() const { return view_->committed().twin_bytes(); }
    [[nodiscard]] std::uint64_t committed_bytes() const { return store_->image_bytes(); }
    [[nodiscard]] std::uint64_t chunk_bytes() const { return store_->chunk_bytes(); }
    [[nodiscard]] std::uint64_t reserved_bytes() const { return view_->memory().reserved_bytes(); }
    [[nodiscard]] std::uint64_t accessible_bytes() const { return view_->memory().accessible_bytes(); }
    [[nodiscard]] const char* tracker_name() const { return view_->tracker_name(); }

private:
    engine(os::file_system& files, const engine_options& options)
        : files_(files), options_(options), may_write_(!options.read_only), spill_pace_(options.dirty_limit_bytes) {}
    // Both with allocation_ held, and apart from what is done each time.
    [[nodiscard, gnu::cold]] unexpected why_no_memory(std::uint64_t bytes) const;
    [[gnu::noinline]] void wipe(void* block);
    static format::heap_header* header_at(std::byte* base) { return reinterpret_cast<format::heap_header*>(base); }

    result<void> open_store(const std::string& path, open_mode mode, std::string_view abi,
                            std::optional<os::reservation>& place);
    result<os::reservation> reserve();
    result<void> open_memory(os::reservation place);
    result<void> check_header();
    result<void> format_header();
    result<void> check_allocator();
    result<void> usable() const;
    [[nodiscard]] bool knows_all_changes() const;
    /// With allocation_ held. What a new heap is made of before anything is in it is no loss.
    void tell(const change_listener& listener, const change::change_set& changes);
    result<change::change_set> collect(commit_scope scope, fresh_contents fresh);
    result<change::change_set> collect_everything(const view::page_predicate& is_unused, fresh_contents fresh);
    unexpected poison(unexpected why);
    /// What a lack of memory interrupts may be half done. It is noted without memory, too.
    template <class F>
    result<void> poisoning_without_memory(F step) {
        try {
            return step();
        } catch (const std::bad_alloc&) {
            lacked_memory_ = true;
            throw;
        }
    }
    /// What those below, who know no files, could not do.
    static unexpected name_file(const std::string& before, const std::string& path, failure why);

    result<std::uint64_t> try_to_submit(commit_scope scope, fresh_contents fresh);
    result<void> submit(change::change_set& changes, log::record_builder& record, commit_scope scope);
    void accept(const change::change_set& changes, commit_scope scope);
    result<void> prepare(const change::change_set& changes, std::uint64_t record_bytes);
    result<void> begin_session();
    /// Looks up where heap and log are now, and moves the log beside the heap. errc::unlinked when one of them is nowhere;
    /// errc::log_foreign when another file is where the log belongs. Nothing is lost then, and it may be repeated.
    result<void> find_names();
    result<bool> are_at_names();
    result<std::string> find_heap();
    result<void> bring_log(const std::string& heap);
    result<void> check_is_linked();
    /// Ends the session of a heap that nobody can open any more, for the reason that find_names() has told.
    result<void> leave_unlinked(unexpected why);
    result<void> remove_log();
    /// What whoever closed the heap must know, after find_names() said why heap or log were not in their places.
    result<void> tell_what_is_left(unexpected why);
    /// And makes their checksums.
    result<void> write_whole_chunks(change::change_set& changes);
    /// Takes no memory: there is room.
    void fill(log::record_builder& record, const change::change_set& changes) const;
    /// Of what makes a checkpoint due, the most: by its limit.
    [[nodiscard]] double limits_reached() const;
    result<void> checkpoint_if_due(commit_scope scope, std::uint64_t pages_changed);
    result<void> make_or_begin_checkpoint(commit_scope scope);
    result<void> fold(bool clean);
    /// Of all that is committed; memory keeps its changes. A failure poisons. Nothing else may be under way.
    result<void> fold_beside_changes();
    /// Stretches of whole chunks in which no block lies, but something is stored. Of memory as it is, committed or not.
    [[nodiscard]] std::vector<byte_range> unused_chunks();
    /// So that the next fold, and discard_owed() after it, gives their space back. Memory must hold what is committed.
    result<void> forget_unused();
    result<void> forget_unused_if_committed();
    result<void> discard_owed();
    void discard_former_homes();
    result<void> discard_before_fresh();
    [[nodiscard]] std::uint64_t memory_limit() const;
    [[nodiscard]] std::uint64_t dirty_limit_bytes() const;
    [[nodiscard]] std::uint64_t twin_limit_bytes() const;
    [[nodiscard]] std::uint64_t twin_limit_of_memory() const;
    [[nodiscard]] std::uint64_t retired_limit_bytes() const;
    /// For the homes that chunks moved out of.
    [[nodiscard]] bool is_memory_short() const;
    [[nodiscard]] bool holds_too_many_unsettled() const;
    [[nodiscard]] bool holds_too_many_unmapped() const;
    /// Somebody who calls the engine anyway, or a thread that does nothing else.
    enum class spilled_by { a_caller, the_side };
    /// Whether it could: nobody else was at the store.
    [[nodiscard]] bool try_to_spill(byte_range handed_out, spilled_by whom) noexcept;
    /// With allocation_ held. Whatever comes of it, the block is handed out.
    void spill_if_due(const void* block, std::uint64_t bytes) noexcept {
        if (spill_pace_.is_look_due(bytes)) [[unlikely]]
            (void)try_to_spill({offset_of(block), bytes}, spilled_by::a_caller);
    }
    result<void> spill(byte_range handed_out, spilled_by whom);
    result<void> spill_some(std::span<const std::uint64_t>& chunks, std::uint64_t& left, std::uint64_t enough);
    result<std::optional<std::uint64_t>> spill_chunk(std::uint64_t chunk);
    result<void> reserve_to_spill(std::uint64_t chunk, const std::vector<track::page_run>& pages);
    result<void> reserve_to_move_early(std::uint64_t chunk);
    result<void> fold_and_settle(commit_scope scope);
    result<void> begin_run();
    result<void> step(checkpoint_run& run, std::uint64_t bytes_max);
    /// Carries out what is left of the run that is under way, if there is one.
    result<void> carry_out_run();
    /// The same, and adopts it.
    result<void> finish_run();
    result<void> make_room_for_twins();
    void adopt_run() noexcept;
    void adopt_run_if_done() noexcept;

    mutable os::counting_files files_; // the files below are opened by it
    engine_options options_;
    std::unique_ptr<store::heap_file> store_;
    std::unique_ptr<view::memory_view> view_;          // its mappings go before the file that holds the lock
    std::string heap_name_;                            // as of the last find_names(); guarded by at_store_
    std::unique_ptr<log::redo_log> log_;               // from the first commit on
    std::string log_name_;                             // likewise, if there is a log
    std::atomic<log::redo_log*> shared_log_ = nullptr; // the same, for any thread
    std::unique_ptr<alloc::block_allocator> allocator_;
    mutable os::quick_mutex allocation_; // guards allocator_ and the view's growth
    std::atomic<bool> has_grown_ = false;
    std::atomic<bool> is_declared_ = false; // written with allocation_ held
    bool may_write_ = true;                 // guarded by allocation_; false: the allocator, too, would be caught
    bool has_other_changes_ = false; // guarded by allocation_; changes in no announcement, as far as the engine notices
    std::uint64_t version_ = 0;
    std::uint64_t chain_ = 0; // checksum of the last record
    mutable std::mutex health_;
    std::optional<failure> poisoned_;         // I5; guarded by health_
    std::atomic<bool> lacked_memory_ = false; // likewise, when not even the reason could be kept
    std::optional<failure> why_elsewhere_;    // set while opening
    engine_stats stats_;
    bool owes_former_homes_ = false; // since the last checkpoint space of theirs was not given back
    bool owes_discard_ =
        true; // what is not stored may not be holes, which fresh chunks rely on; as when the heap was opened
    /// Of whoever uses store and view as the holder of the section lock does: a thread that spills holds only this and
    /// allocation_, which comes after it.
    mutable std::recursive_mutex at_store_;
    spill_pace spill_pace_;                             // guarded by allocation_
    mutable std::optional<std::uint64_t> memory_limit_; // guarded by at_store_; once it was asked for
    std::atomic<std::uint64_t> spilled_bytes_ = 0;
    std::atomic<bool> is_silent_ = false; // others are paused, so on_progress is not called
    std::atomic<bool> is_reporting_ = true;
    std::function<bool()> begun_;         // of who carries checkpoints out, if there is somebody
    std::shared_ptr<checkpoint_run> run_; // that is under way, or to be adopted; changed with the section lock, too
    std::atomic<double> due_again_ = 0;   // 0 when run_ began, and 1 when commits wait for it
    mutable std::mutex running_;          // guards run_ for who has not the section lock
};

} // namespace remanence::txn
