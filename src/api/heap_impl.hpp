// What stands behind a heap handle: the engine, and the parts that make a heap of it. Here is what concerns several of these: how a
// section ends, and how the heap does.
//
//   heap_origin         which file, and whose              heap_sections   who is in a section
//   heap_threads        those beside the program           heap_commits    from the record to the device
//   outside_allocators  those of this heap elsewhere       loss_teller     changes that are dropped
//   strange_allocators  those of others in this heap       whole_calls     what must not be left half done
//   root_checks, outdated_roots                            what is known of types by the roots that were asked for
//
// A part knows only those that heap_impl's constructor makes before it.
#pragma once

#include "api/debugger_view.hpp"
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
#include "api/strange_allocators.hpp"
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

/// What inspect::memory_use says, too.
struct memory_share {
    double availability = 1;
    double page_efficiency = 1;
};

class heap_impl : public debugger_view { // its first base
public:
    heap_impl(heap* of, heap_origin where, const heap_options& how, std::unique_ptr<txn::engine> opened);
    /// Tickets learn what became of their commits.
    ~heap_impl();
    heap_impl(const heap_impl&) = delete;
    heap_impl& operator=(const heap_impl&) = delete;

    const heap_origin origin;
    const heap_options options;

private:
    std::unique_ptr<txn::engine> engine_; // until the heap ends; before the parts, which refer to it

public:
    whole_calls calls;
    root_checks checks;
    outdated_roots outdated;
    strange_allocators strangers; // since the last commit of everything, or rollback
    outside_allocators outsiders;
    heap_threads threads;
    heap_sections sections;
    heap_commits commits;
    loss_teller losses;
    std::unique_ptr<procedure_service> procedures; // null: it was opened without
    std::unique_ptr<held_roots> held;              // null: it has no history
    std::atomic<std::uint64_t> registered_bytes =
        0; // the registry's, which has no other place for what it knows of one heap

    [[nodiscard]] txn::engine& engine() noexcept { return *engine_; }
    [[nodiscard]] const txn::engine& engine() const noexcept { return *engine_; }
    [[nodiscard]] txn::heap_memory& memory() noexcept { return engine_->memory(); }
    [[nodiscard]] const txn::heap_memory& memory() const noexcept { return engine_->memory(); }
    /// Null once a destructor has left this to others.
    [[nodiscard]] heap* handle() const noexcept { return handle_; }
    /// The public handle has moved. An exception takes the heap away if it begins after the heap has come to where its handle is.
    void belong_to(heap* handle) noexcept;

    /// In a read section of its own. O(blocks).
    [[nodiscard]] memory_share survey();

    // How sections end. With the write lock held, which they give back.

    /// Commits when it is the outermost, and then heap_commits::await() must follow. When it throws, the section has not ended.
    [[nodiscard]] std::optional<heap_commits::in_flight> finish_write(durability how);
    /// Ends the outermost section, or only a nested one. The former rolls back; a failure poisons the engine. `lost` is
    /// told of it.
    void abandon_write(const txn::change_listener& lost = {}) noexcept;
    /// Ends a section of heap_sections::lock(), whose changes are lost without a commit.
    void unlock() noexcept;
    /// Keeps the section, but for what failed in it. Throws.
    void roll_back();
    /// heap::savepoint(), in a write section. Returns its number.
    [[nodiscard]] std::uint64_t make_savepoint();
    /// As roll_back(), to a savepoint.
    void roll_back_to(std::uint64_t savepoint);
    /// Before memory becomes another: what lies outside of the heap no longer means what is in it.
    void forget_outside() noexcept;
    /// Holds this address as long as the heap has its engine.
    [[nodiscard]] std::weak_ptr<heap_impl*> watch();

    // How the heap ends.

    /// heap::close(). The handle is empty afterwards, unless errc::section_open, errc::no_space or errc::foreign_pointer was thrown.
    static void close(std::unique_ptr<heap_impl, heap_impl_deleter>& handle);
    /// As the death of the process: touches no file. The handle is empty afterwards, unless errc::section_open was thrown, or what
    /// engine::sync() says but errc::poisoned.
    static void drop(std::unique_ptr<heap_impl, heap_impl_deleter>& handle);
    /// The heap's destructor. `impl` is deleted, or left to those who are using it.
    static void destroy(heap_impl* impl) noexcept;
    /// Throws errc::closed once the heap's destructor has begun.
    void check_not_ending() const;
    /// True if the thread that destroyed the heap did so within sections, whose ends find this and nothing else.
    [[nodiscard]] bool is_left_to_sections() const noexcept { return is_left_to_sections_; }

private:
    /// Takes the lock of the sections, and begins a call that does not end. Throws errc::section_open.
    void begin_to_close(const char* what);
    /// How a heap ends that nobody has closed.
    enum class ending {
        as_asked,   // it is committed, if it was opened so
        discarding, // a section of this thread is open, or an exception takes the heap away
        as_by_crash // others are using it, or what this thread was doing was interrupted: nothing may be touched
    };
    /// Takes the lock of the sections, unless it is as_by_crash.
    [[nodiscard]] ending begin_to_end() noexcept;
    /// Commits or discards, and closes the files.
    void end_files(ending how) noexcept;
    void leave_as_by_crash() noexcept;
    /// For the heap's destructor, if somebody still looks at this: sections of its own thread, or, while the process ends, threads
    /// that are about to enter one. They get errc::closed. This lives on, and the memory of the heap if that is asked for.
    void outlive_its_heap(bool keeps_memory) noexcept;
    /// Lives on to the end of the process.
    void keep() noexcept;
    void end_engine() noexcept;
    /// References to fragile elements write nothing back any more.
    void forget_live_values() const noexcept;

    /// True if a failed inner section could go back to a savepoint around it.
    [[nodiscard]] bool could_go_back() noexcept;

    heap* handle_;
    std::shared_ptr<heap_impl*> watched_; // once somebody does
    int exceptions_;                      // under way where the handle was made, or was moved to
    std::atomic<bool> is_ending_ = false;
    bool is_left_to_sections_ = false; // of the thread that destroyed the heap
    heap_impl* kept_before_ = nullptr; // of those that live on
};

/// Makes a block of whole pages longer or shorter where it is. False, and nothing was done, when that cannot be. Throws
/// std::bad_alloc.
[[nodiscard]] bool resize(heap_impl& impl, void* block, std::size_t bytes);

/// Opens a heap as heap::open() and its like do, on other files than the real ones: for tests that watch or fail the operations
/// of a heap with real containers in it. `files` must outlive the heap.
heap open(os::file_system& files, const std::filesystem::path& path, const heap_options& options = {},
          opening mode = opening::open_or_create);

} // namespace remanence::detail
