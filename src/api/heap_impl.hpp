// The object behind a heap handle: the engine, and the parts that make it a heap. This file has the operations that
// concern several parts: the end of a section, and the end of the heap.
//
//   heap_origin         its file and process               heap_sections   threads that are in sections
//   heap_threads        the heap's own threads             heap_commits    from the log record to the device
//   outside_allocators  this heap's allocators elsewhere   loss_teller     reports of dropped changes
//   foreign_allocators  other allocators in this heap      whole_calls     calls that must not be left half done
//   root_checks, outdated_roots                            what the requested roots tell about types
//
// A part knows only those parts that heap_impl's constructor makes before it.
#pragma once

#include "api/debugger_view.hpp"
#include "api/foreign_allocators.hpp"
#include "api/heap_commits.hpp"
#include "api/heap_origin.hpp"
#include "api/heap_sections.hpp"
#include "api/heap_threads.hpp"
#include "api/held_roots.hpp"
#include "api/loss_teller.hpp"
#include "api/outdated_roots.hpp"
#include "api/outside_allocators.hpp"
#include "api/procedure_table.hpp"
#include "api/root_checks.hpp"
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

/// The numbers of inspect::memory_use.
struct memory_share {
    double availability = 1;
    double page_efficiency = 1;
};

class heap_impl : public debugger_view { // must be the first base
public:
    heap_impl(heap* of, heap_origin where, const heap_options& how, std::unique_ptr<txn::engine> opened);
    /// Tickets learn the outcome of their commits.
    ~heap_impl();
    heap_impl(const heap_impl&) = delete;
    heap_impl& operator=(const heap_impl&) = delete;

    const heap_origin origin;
    const heap_options options;

private:
    std::unique_ptr<txn::engine> engine_; // until the heap ends. Declared before the parts, which refer to it

public:
    whole_calls calls;
    root_checks checks;
    outdated_roots outdated;
    foreign_allocators foreign; // noted since the last commit of everything, or the last rollback
    outside_allocators outsiders;
    heap_threads threads;
    heap_sections sections;
    heap_commits commits;
    loss_teller losses;
    std::unique_ptr<procedure_service> procedures; // null: the heap was opened without procedures
    std::unique_ptr<held_roots> held;              // null: the heap has no history
    std::atomic<std::uint64_t> registered_bytes =
        0; // belongs to the registry, which has no other place for data of one heap

    [[nodiscard]] txn::engine& engine() noexcept { return *engine_; }
    [[nodiscard]] const txn::engine& engine() const noexcept { return *engine_; }
    [[nodiscard]] txn::heap_memory& memory() noexcept { return engine_->memory(); }
    [[nodiscard]] const txn::heap_memory& memory() const noexcept { return engine_->memory(); }
    /// Returns null once a destructor has left this object to other threads.
    [[nodiscard]] heap* handle() const noexcept { return handle_; }
    /// To be called when the public handle has moved. If an exception is thrown after that, and the handle is destroyed
    /// by it, the heap discards its changes.
    void belong_to(heap* handle) noexcept;

    /// Reads in a read section of its own. O(blocks).
    [[nodiscard]] memory_share survey();

    // The end of sections. The caller holds the write lock, and these functions release it.

    /// Commits if the section is the outermost; then the caller must call heap_commits::await(). If it throws, the
    /// section has not ended.
    [[nodiscard]] std::optional<heap_commits::in_flight> finish_write(durability how);
    /// Ends the section. The outermost section is rolled back, and `lost` gets its changes; a failure poisons the
    /// engine. A nested one is only marked as failed, unless it can go back to a savepoint.
    void abandon_write(const txn::change_listener& lost = {}) noexcept;
    /// Ends a section of heap_sections::lock(). Its uncommitted changes are lost.
    void unlock() noexcept;
    /// Undoes the changes of the section, and its failure; the section continues. Throws.
    void roll_back();
    /// Implements heap::savepoint(), in a write section. Returns its number.
    [[nodiscard]] std::uint64_t make_savepoint();
    /// Does the same as roll_back(), back to a savepoint.
    void roll_back_to(std::uint64_t savepoint);
    /// To be called before memory changes to another state: objects outside of the heap no longer match those in it.
    void forget_outside() noexcept;
    /// Returns a pointer to this object, valid as long as the heap has its engine.
    [[nodiscard]] std::weak_ptr<heap_impl*> watch();

    // The end of the heap:

    /// Implements heap::close(). Afterwards the handle is empty, unless it threw errc::section_open, errc::no_space or
    /// errc::foreign_pointer.
    static void close(std::unique_ptr<heap_impl, heap_impl_deleter>& handle);
    /// Ends the heap as the death of the process would: touches no file. Afterwards the handle is empty, unless it
    /// threw errc::section_open, or an error of engine::sync() other than errc::poisoned.
    static void drop(std::unique_ptr<heap_impl, heap_impl_deleter>& handle);
    /// The heap's destructor. Deletes `impl`, or leaves it to the threads that are using it.
    static void destroy(heap_impl* impl) noexcept;
    /// Throws errc::closed once the heap's destructor has begun.
    void check_not_ending() const;
    /// True if the thread that destroyed the heap did so inside sections. Their ends ask this, and must not touch
    /// anything else.
    [[nodiscard]] bool is_left_to_sections() const noexcept { return is_left_to_sections_; }

private:
    /// Takes the lock of the sections, and begins a call that does not end. Throws errc::section_open.
    void begin_to_close(const char* what);
    /// The ways in which a heap ends without close().
    enum class ending {
        as_asked,   // it is committed, if it was opened with commit_at_close
        discarding, // this thread has an open section, or an exception destroys the heap
        as_by_crash // other threads use it, or an operation of this thread was interrupted: nothing may be touched
    };
    /// Takes the lock of the sections, unless it returns as_by_crash.
    [[nodiscard]] ending begin_to_end() noexcept;
    /// Commits or discards, and closes the files.
    void end_files(ending how) noexcept;
    void leave_as_by_crash() noexcept;
    /// Lets this object live on after its heap's destructor, because it may still be used: by sections of its own
    /// thread; or, at the end of the process, by threads that are about to enter a section. They get errc::closed.
    /// `keeps_memory`: the heap's memory stays, too.
    void outlive_its_heap(bool keeps_memory) noexcept;
    /// Keeps this object until the process ends.
    void keep() noexcept;
    void end_engine() noexcept;
    /// Makes references to fragile elements stop writing back.
    void forget_live_values() const noexcept;

    /// Goes back to the savepoint around a failed inner section. Returns false if there is none.
    [[nodiscard]] bool could_go_back() noexcept;

    heap* handle_;
    std::shared_ptr<heap_impl*> watched_; // set by the first call of watch()
    int exceptions_;                      // uncaught ones where the handle was made, or was moved to
    std::atomic<bool> is_ending_ = false;
    bool is_left_to_sections_ = false; // to those of the thread that destroyed the heap
    heap_impl* kept_before_ = nullptr; // the next in the list of heaps that stay
};

/// Makes a block of whole pages longer or shorter in place. Returns false, and has done nothing, if that is not
/// possible. Throws std::bad_alloc.
[[nodiscard]] bool resize(heap_impl& impl, void* block, std::size_t bytes);

/// Opens a heap as heap::open() and its variants do, but on these files instead of the real ones. For tests that watch
/// file operations of a heap with real containers, or let them fail. `files` must outlive the heap.
heap open(os::file_system& files, const std::filesystem::path& path, const heap_options& options = {},
          opening mode = opening::open_or_create);

} // namespace remanence::detail
