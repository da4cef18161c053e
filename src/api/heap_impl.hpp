// What stands behind a heap handle: the engine, the lock of its sections, and what a thread's default allocator and
// heap_of() need to find it.
#pragma once

#include "api/background_checkpoint.hpp"
#include "api/background_spill.hpp"
#include "api/background_sync.hpp"
#include "api/commit_progress.hpp"
#include "api/debugger_view.hpp"
#include "api/outdated_roots.hpp"
#include "api/root_checks.hpp"
#include "api/strange_allocators.hpp"
#include "os/address_table.hpp"
#include "os/cancellation.hpp"
#include "os/memory.hpp"
#include "txn/engine.hpp"
#include "txn/section_lock.hpp"

#include <remanence/heap.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace remanence::detail {

class heap_impl : public debugger_view { // its first base
public:
    heap_impl(heap* of, std::filesystem::path where, const heap_options& how, std::unique_ptr<txn::engine> opened,
              os::fork_guard process);
    /// Tickets learn what became of their commits.
    ~heap_impl();
    /// Those that work beside the program. What they have left undone, close() does, and nobody else needs.
    void end_threads();
    heap_impl(const heap_impl&) = delete;
    heap_impl& operator=(const heap_impl&) = delete;

    heap* handle; // moves with the public handle
    const std::filesystem::path path;
    const heap_options options;
    std::unique_ptr<txn::engine> engine;             // until the heap ends
    const std::shared_ptr<commit_progress> progress; // shared with tickets
    const os::fork_guard& guard;                     // its own
    txn::section_lock lock;
    root_checks checks;
    outdated_roots outdated;
    bool doomed = false;                     // a nested section failed; guarded by the write lock
    std::unique_ptr<background_sync> syncer; // from the first lazy or asynchronous commit on; guarded likewise
    std::unique_ptr<background_checkpoint> checkpointer; // from the first commit on that began one; guarded likewise
    std::unique_ptr<background_spill> spiller;   // since the heap is large; guarded by its own lock until end_threads()
    std::atomic<int> commits_in_flight = 0;      // made and not yet waited for
    std::atomic<int> whole_calls = 0;            // see below
    std::uint64_t discarded_bytes = 0;           // by unlock(); guarded by the write lock
    int exceptions_at_lock = 0;                  // under way when lock() began the section; guarded likewise
    bool has_told_of_loss = false;               // likewise: on standard error, once
    int exceptions = std::uncaught_exceptions(); // under way where the handle was made, or was moved to
    std::mutex timing;
    latency_histogram commit_times;                  // guarded by `timing`
    std::atomic<std::uint64_t> registered_bytes = 0; // written by the registry
    strange_allocators strangers;                    // since the last commit of everything, or rollback
    std::atomic<std::uintptr_t> state;               // what allocators outside of the heap note (allocator.hpp)
    std::atomic<bool> is_ending = false;             // its destructor runs
    bool is_left_to_sections = false;                // of the thread that destroyed the heap within them
    heap_impl* kept_before = nullptr;                // of those that live on

    /// Throws errc::closed in a forked child.
    void check_process() const;
    /// The same once the heap's destructor has begun.
    void check_not_ending() const;
    /// Whether an allocator with this owner may still have blocks: it lies in the heap, or was made since the last rollback.
    [[nodiscard]] bool is_of_this_state(const heap_header* owner) const noexcept {
        const std::uintptr_t note = note_of(owner);
        return note <= k_lies_in_other_heap || note == state.load(std::memory_order_relaxed);
    }
    void begin_new_state() noexcept;
    /// Starts the spiller, if the heap is large: when it is opened, and when it has grown. From any thread. Throws std::bad_alloc.
    void watch_memory();
    void begin_declared();
    void end_declared();
    void enter_write(section_kind kind);
    /// Without waiting: false when somebody else is in a section.
    bool try_enter_write();
    /// Ends the section, and does nothing else.
    void leave_write() noexcept;
    void enter_read();
    bool try_enter_read();
    /// How a heap ends that nobody has closed.
    enum class ending {
        as_asked,   // it is committed, if it was opened so
        discarding, // a section of this thread is open, or an exception takes the heap away
        as_by_crash // others are using it, or what this thread was doing was interrupted: nothing may be touched
    };
    /// Takes the lock of the sections, unless it is as_by_crash.
    [[nodiscard]] ending begin_to_end() noexcept;
    /// For the heap's destructor, if somebody still looks at this: sections of its own thread, or, while the process ends, threads
    /// that are about to enter one. They get errc::closed. This lives on, and the memory of the heap if that is asked for.
    void outlive_its_heap(bool keeps_memory) noexcept;
    /// Lives on to the end of the process.
    void keep() noexcept;
    /// Ends the outermost section, or only a nested one. The former rolls back; a failure poisons the engine. `lost` is
    /// told of it.
    void abandon_write(const txn::change_listener& lost = {}) noexcept;
    /// Ends a section of lock(), whose changes are lost without a commit.
    void unlock() noexcept;
    /// Tells whoever wants to hear it of changes that are about to be dropped with the heap. With the write lock held.
    void tell_of_loss(discarded_changes::by whom) noexcept;
    /// The same, of a heap that nobody may look at.
    void tell_of_end_in_section() noexcept;
    void leave_read() noexcept;

    /// A commit that is made, and not yet known to be as durable as it is to be.
    struct in_flight {
        std::uint64_t version;
        durability how;
        std::chrono::steady_clock::time_point started;
        bool has_record; // else nothing had changed
    };
    /// With the write lock held. await() must follow.
    [[nodiscard]] in_flight make_commit(txn::commit_scope scope, durability how,
                                        txn::fresh_contents fresh = txn::fresh_contents::at_home);
    /// Without the lock, if the thread is in no outer section (R5). Throws when the commit failed.
    void await(const in_flight& commit);
    /// With the write lock held: makes a commit that becomes durable by itself. ticket_of() must follow.
    [[nodiscard]] in_flight make_async_commit(txn::commit_scope scope);
    /// Without the lock.
    [[nodiscard]] commit_ticket ticket_of(const in_flight& commit) noexcept;
    /// Ends the section; commits when it is the outermost, and then await() must follow. When it throws, the section has
    /// not ended.
    [[nodiscard]] std::optional<in_flight> finish_write(durability how);
    void roll_back();
    /// To be called with the write lock held, before a commit of what was changed outside write sections, where a default-made
    /// allocator belongs to no heap: errc::foreign_pointer when an object in this one has memory of such an allocator, or of
    /// another heap.
    [[nodiscard]] result<void> refuse_memory_of_no_heap();

private:
    void end_engine() noexcept;
    void land(const in_flight& commit) noexcept;
    /// `bytes` of these changes, if anybody could count them; else there are none.
    void report_loss(discarded_changes::by whom, std::optional<std::uint64_t> bytes,
                     const std::function<std::string()>& where) noexcept;
    [[nodiscard]] bool is_loss_heard() const noexcept;
    // Both: false when there is no thread to be had. With the write lock held.
    bool start_syncer();
    bool carry_out_checkpoint();
    std::mutex watching_; // guards spiller
    void note_time(const in_flight& commit);
    /// References to fragile elements write nothing back any more.
    void forget_live_values() const noexcept;
};

/// A call that must not be left half done. While it lives, its thread is not cancelled; and should the heap's destructor run
/// meanwhile, since a handler of a signal or on_progress has called exit(), it leaves everything as it is.
class whole_call {
public:
    explicit whole_call(heap_impl& impl) noexcept : impl_(impl) { ++impl.whole_calls; }
    whole_call(const whole_call&) = delete;
    whole_call& operator=(const whole_call&) = delete;
    ~whole_call() { --impl_.whole_calls; }

private:
    os::no_cancellation none_;
    heap_impl& impl_;
};

/// Turns a failure into the public exception.
[[noreturn]] void raise(const failure& why);
inline void check(result<void> done) {
    if (!done)
        raise(done.why());
}

/// Absolute and without symbolic links, as far as the system tells: the log is made by name, later. The program may have changed
/// its directory by then, and whoever recovers the heap may use its real name.
std::filesystem::path real_path(const std::filesystem::path& path);

/// Says on standard error where a write outside any write section went to and came from. Called in a handler of a signal
/// of which the process dies.
void report_stray_write(const void* address);

/// Says on standard error what a fault in memory of a heap that is read-only, or closed, is about. Async-signal-safe.
void report_fault(const void* address, bool is_write);

/// Opens a heap as heap::open() and its like do, on other files than the real ones: for tests that watch or fail the operations
/// of a heap with real containers in it. `files` must outlive the heap.
heap open(os::file_system& files, const std::filesystem::path& path, const heap_options& options = {},
          opening mode = opening::open_or_create);

/// Finds open heaps by address: the one process-wide table besides the fault handler, since an allocator in the heap
/// can only tell where it lies (I6).
namespace registry {
extern os::address_table<heap_impl> heaps; // NOLINT: process-wide; heaps never share a GiB

/// From now on a SIGBUS in a heap names it, and so does a SIGSEGV in one that is read-only or closed. Before add().
void watch_faults();
void add(heap_impl& impl);
/// The reservation has grown.
void extend(heap_impl& impl);
void remove(heap_impl& impl) noexcept;
/// Where a heap was mapped.
struct closed_range {
    std::atomic<std::uint64_t> begin; // addresses
    std::atomic<std::uint64_t> end;   // 0: nothing is known, or not yet
    std::array<char, 512> path;       // its end, if it is longer
};
/// Of the last heaps that were closed; null when none of these was there. For a handler of a signal.
[[nodiscard]] const closed_range* closed_at(const void* address) noexcept;
/// Null when there is none. O(1).
[[nodiscard]] inline heap_impl* find(const void* address) noexcept { return heaps.find(address); }
/// The path of the open heap whose addresses these are; empty when there is none. Safe while heaps open and close.
[[nodiscard]] std::string path_at(const void* address);
/// Whether this process has the file open as a heap. Walks the whole table: for error paths.
[[nodiscard]] bool holds(const std::filesystem::path& path);
} // namespace registry

} // namespace remanence::detail
