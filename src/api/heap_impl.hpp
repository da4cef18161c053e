// The object behind a heap handle: the engine, and the parts that make it a heap. This file has the operations that
// concern several parts: the end of a section, and the end of the heap.
//
//   heap_origin         its file and process               heap_sections   threads that are in sections
//   heap_threads        the heap's own threads             heap_commits    from the log record to the device
//   outside_allocators  this heap's allocators elsewhere   loss_teller     reports of dropped changes
//   foreign_allocators  other allocators in this heap      whole_calls     calls that must not be left half done
//   root_checks, outdated_roots                            types of the roots that the program asked for
//
// A part may use only the parts that heap_impl's constructor makes before it.
#pragma once

#include "api/debugger_view.hpp"
#include "api/foreign_allocators.hpp"
#include "api/heap_commits.hpp"
#include "api/heap_origin.hpp"
#include "api/heap_sections.hpp"
#include "api/heap_threads.hpp"
#include "api/held_roots.hpp"
#include "api/late_errors.hpp"
#include "api/loss_teller.hpp"
#include "api/outdated_roots.hpp"
#include "api/outside_allocators.hpp"
#include "api/procedure_table.hpp"
#include "api/root_checks.hpp"
#include "api/virtual_part.hpp"
#include "api/whole_call.hpp"
#include "txn/engine.hpp"

#include <remanence/heap.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace remanence::detail {

/// The part of inspect::memory_use that is measured in a section.
struct memory_share {
    double availability = 1;
    double page_efficiency = 1;
};

class heap_impl : public debugger_view { // must be the first base
public:
    heap_impl(heap* of, heap_origin where, const heap_options& how, std::unique_ptr<txn::engine> opened);
    /// Settles open tickets, so that they learn the outcome of their commits.
    ~heap_impl();
    heap_impl(const heap_impl&) = delete;
    heap_impl& operator=(const heap_impl&) = delete;

    const heap_origin origin;
    const heap_options options;

private:
    std::unique_ptr<txn::engine> engine_; // set until the heap ends; declared first, because the parts use it

public:
    whole_calls calls;
    root_checks checks;
    outdated_roots outdated;
    foreign_allocators foreign; // those seen since the last commit of all changes, or since the last rollback
    outside_allocators outsiders;
    heap_threads threads;
    heap_sections sections;
    heap_commits commits;
    loss_teller losses;
    std::unique_ptr<procedure_service> procedures;    // null: the heap was opened without procedures
    std::unique_ptr<held_roots> held;                 // null: the heap has no history
    std::atomic<virtual_classes*> virtuals = nullptr; // owned; null: no object here has virtual functions, as yet
    std::atomic<late_errors*> late = nullptr;         // owned; null: no unlock() has failed
    std::atomic<std::uint64_t> registered_bytes =
        0; // used by the registry, which has no other place for data about a single heap

    [[nodiscard]] txn::engine& engine() noexcept { return *engine_; }
    [[nodiscard]] const txn::engine& engine() const noexcept { return *engine_; }
    [[nodiscard]] txn::heap_memory& memory() noexcept { return engine_->memory(); }
    [[nodiscard]] const txn::heap_memory& memory() const noexcept { return engine_->memory(); }
    /// Returns null once a destructor has left this object to other threads that still use it.
    [[nodiscard]] heap* handle() const noexcept { return handle_; }
    /// To be called when the public handle has moved. From then on, if an exception that was thrown later destroys the
    /// handle, the heap discards its changes.
    void belong_to(heap* handle) noexcept;

    /// Measures memory in a read section of its own. O(blocks).
    [[nodiscard]] memory_share survey();

    // The end of sections. The caller holds the write lock, and these functions release it.

    /// Commits if the section is the outermost; then the caller must call heap_commits::await(). If this function
    /// throws, the section has not ended.
    [[nodiscard]] std::optional<heap_commits::in_flight> finish_write(durability how);
    /// Ends the section. The outermost section is rolled back, and its changes are reported to `lost`; a failure
    /// poisons the engine. A nested section goes back to the savepoint around it, or, without one, is marked as failed.
    void abandon_write(const txn::change_listener& lost = {}) noexcept;
    /// Forgets the error of an unlock() that the calling thread's next call would throw.
    void forget_late_errors() noexcept;
    /// Implements heap::unlock(). A failure of the commit is kept for this thread's next call.
    void unlock() noexcept;
    /// Undoes the changes of the section, and clears its mark of failure; the section goes on. Throws.
    void roll_back();
    /// Implements heap::savepoint(), in a write section. Returns the savepoint's number.
    [[nodiscard]] std::uint64_t make_savepoint();
    /// Undoes the changes made since a savepoint. Otherwise the same as roll_back().
    void roll_back_to(std::uint64_t savepoint);
    /// Must be called before memory changes to another state, because objects outside of the heap will no longer match
    /// those in it.
    void forget_outside() noexcept;
    /// Returns a pointer to this object, valid as long as the heap has its engine.
    [[nodiscard]] std::weak_ptr<heap_impl*> watch();

    // The end of the heap:

    /// Implements heap::close(). Afterwards the handle is empty, unless close() threw errc::section_open,
    /// errc::no_space or errc::foreign_pointer.
    static void close(std::unique_ptr<heap_impl, heap_impl_deleter>& handle);
    /// Ends the heap as the death of the process would, without changing a file. Afterwards the handle is empty, unless
    /// drop() threw errc::section_open, or an error of engine::sync() other than errc::poisoned.
    static void drop(std::unique_ptr<heap_impl, heap_impl_deleter>& handle);
    /// Implements the heap's destructor. Deletes `impl`, or leaves it to the threads that still use it.
    static void destroy(heap_impl* impl) noexcept;
    /// Throws errc::closed once the heap's destructor has begun.
    void check_not_ending() const;
    /// True if a thread destroyed the heap while it was inside sections of that heap. When such a section ends, it must
    /// call this first, and if it is true touch nothing else.
    [[nodiscard]] bool is_left_to_sections() const noexcept { return is_left_to_sections_; }
    /// Returns the place of that value. If it becomes true, this object is never freed.
    [[nodiscard]] const bool* left_to_sections() const noexcept { return &is_left_to_sections_; }

private:
    /// Acquires the sections' lock, and counts a call that never ends. Throws errc::section_open.
    void begin_to_close(const char* what);
    /// The ways in which a heap ends without close().
    enum class ending {
        as_asked,   // commits first, if the heap was opened with commit_at_close
        discarding, // this thread has an open section, or an exception destroys the heap
        as_by_crash // other threads use it, or an operation of this thread was interrupted: nothing may be touched
    };
    /// Acquires the sections' lock, unless it returns as_by_crash.
    [[nodiscard]] ending begin_to_end() noexcept;
    /// Commits or discards, and closes the files.
    void end_files(ending how) noexcept;
    void leave_as_by_crash() noexcept;
    /// Lets this object outlive its heap, because it may still be used: by sections of the thread that destroyed the
    /// heap, or, at the end of the process, by threads that are about to enter a section. Those threads get
    /// errc::closed. `keeps_memory`: the heap's memory stays mapped, too.
    void outlive_its_heap(bool keeps_memory) noexcept;
    /// Adds this object to the list of those that stay until the process ends.
    void keep() noexcept;
    void end_engine() noexcept;
    /// Stops references to fragile elements from writing their objects back.
    void forget_live_values() const noexcept;

    /// Goes back to the savepoint around a failed inner section. Returns false if there is no savepoint, or if that
    /// failed.
    [[nodiscard]] bool could_go_back() noexcept;

    heap* handle_;
    std::shared_ptr<heap_impl*> watched_; // set by the first call of watch()
    int exceptions_;                      // number of uncaught exceptions when the handle was made or last moved
    std::atomic<bool> is_ending_ = false;
    bool is_left_to_sections_ = false; // destroyed by a thread inside sections, which still use this object
    heap_impl* kept_before_ = nullptr; // the next object in the list of those that stay until the process ends
};

/// As checked() (heap.hpp), but keeps the errors that an unlock() has left.
heap_impl* opened(const std::unique_ptr<heap_impl, heap_impl_deleter>& impl);

/// Runs `f` with the write lock held, inside or outside of a write section.
template <class F>
void exclusively(heap_impl* impl, F&& f) {
    impl->sections.enter_write(section_kind::joining);
    try {
        f();
    } catch (...) {
        impl->sections.leave_write();
        throw;
    }
    impl->sections.leave_write();
}

/// Makes a block of whole pages longer or shorter in place. Returns false, without a change, if that is not possible.
/// Throws std::bad_alloc.
[[nodiscard]] bool resize(heap_impl& impl, void* block, std::size_t bytes);

/// Opens a heap as heap::open() and its variants do, but with these files instead of the real ones. Tests use this to
/// watch, or to fail, the file operations of a heap with real containers. `files` must outlive the heap.
heap open(os::file_system& files, const std::filesystem::path& path, const heap_options& options = {},
          opening mode = opening::open_or_create);

} // namespace remanence::detail
