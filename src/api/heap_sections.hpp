// The sections of one heap: enters and leaves them, adjusts memory for them, and records failures inside them. This
// class neither commits nor rolls back.
#pragma once

#include "api/heap_origin.hpp"
#include "os/cancellation.hpp"
#include "txn/engine.hpp"
#include "txn/section_lock.hpp"

#include <remanence/heap.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace remanence::detail {

class heap_sections {
public:
    /// The other arguments must outlive this object; `engine` only until end().
    heap_sections(heap_impl* owner, const heap_origin& origin, txn::engine& engine);

    // All functions that enter a section throw errc::closed once the heap has ended. Those that wait also throw it in a
    // forked child.

    /// Enters a write section. errc::section_conflict: the thread is in a read section. In a shared heap, each function
    /// that enters a write section may also throw the errors of engine::take_writer_lock().
    void enter_write(section_kind kind);
    /// Does the same without waiting. Returns false if another thread is in a section.
    bool try_enter_write();
    /// Does the same, but excludes only the threads of this process; used to close the heap.
    bool try_enter_to_close();
    void enter_read();
    bool try_enter_read();
    /// Does the same as enter_write(), but returns false at the deadline.
    bool try_enter_write_until(std::chrono::steady_clock::time_point deadline);

    /// Does the same as enter_read(), but returns false at the deadline.
    bool try_enter_read_until(std::chrono::steady_clock::time_point deadline);
    /// Enters a write section inside read sections of this thread. Does not wait. errc::section_conflict: another thread
    /// is in a section, another process in a write section, or another process has committed since these sections began.
    void enter_write_within_read();

    // unlock() learns of an exception that leaves the section, but not of pthread_cancel(), which also destroys the
    // objects of the stack. So from lock() to unlock() the thread cannot be cancelled.

    /// Must be called by lock() when it has entered a section, nested or not.
    void begin_lock() noexcept;
    /// True if the calling thread is in a section of begin_lock().
    [[nodiscard]] bool is_locked() const { return write_depth() != 0 && !exceptions_at_locks_.empty(); }
    /// Ends the section of the last begin_lock() by `end`, which must leave it, and is told whether an exception ends it.
    template <class F>
    void end_lock(const F& end) noexcept {
        const bool by_exception = std::uncaught_exceptions() > exceptions_at_locks_.back();
        exceptions_at_locks_.pop_back();
        end(by_exception);
        os::allow_cancellation();
    }

    /// Ends the section without commit or rollback.
    void leave_write() noexcept;
    void leave_read() noexcept;
    /// From now on the section is an ordinary one: its commit searches for changes.
    void end_declared();

    // These describe the calling thread:

    [[nodiscard]] bool is_in_any() const { return write_depth() + read_depth() != 0; }
    [[nodiscard]] std::size_t write_depth() const { return lock_.write_depth(); }
    [[nodiscard]] std::size_t read_depth() const { return lock_.read_depth(); }

    // To be called with the write lock held. After a nested section has failed, the outermost one must not be
    // committed.

    void doom() noexcept { is_doomed_ = true; }
    void undo_doom() noexcept { is_doomed_ = false; }
    [[nodiscard]] bool is_doomed() const noexcept { return is_doomed_; }

    /// While such an object lives, functions of the program that a call runs can neither commit nor roll back, because
    /// that call has done only half of its work. The caller holds the write lock.
    class half_made {
    public:
        explicit half_made(heap_sections& of) noexcept : of_(of), outer_(std::exchange(of.is_half_made_, true)) {}
        ~half_made() { of_.is_half_made_ = outer_; }
        half_made(const half_made&) = delete;
        half_made& operator=(const half_made&) = delete;

    private:
        heap_sections& of_;
        bool outer_;
    };
    [[nodiscard]] bool is_half_made() const noexcept { return is_half_made_; }
    /// Throws errc::section_open while such an object lives.
    void refuse_half_made() const;

    // Used when the heap ends; section_lock explains try_to_take_over() and end().

    bool try_to_take_over() noexcept { return lock_.try_to_take_over(); }
    /// Leaves a write section of a heap whose memory no longer matters: in a forked child, or after the heap was
    /// closed.
    void let_go() noexcept { lock_.leave_write(); }
    void end() noexcept;

private:
    [[nodiscard]] bool has_begun(txn::section_lock::outcome got);
    struct ends_without_writer_lock;
    bool take_writer_lock(share::deadline until);
    void take_writer_lock_within_read();
    template <class Alone, class Again>
    bool see_newest(const Alone& alone, const Again& again);
    void catch_up();
    void note_changes_of_others();
    [[nodiscard]] bool leaves_last_read() const { return lock_.is_in_one_read_only(); }
    void begin_declared();

    const heap_origin& origin_;
    txn::engine& engine_;
    txn::heap_memory& memory_;
    txn::section_lock lock_;
    bool has_writer_lock_ = false; // of a shared heap; guarded by the write lock
    bool is_doomed_ = false;       // guarded by the write lock
    bool is_half_made_ = false;    // guarded by the write lock
    // How many exceptions were uncaught when each lock() began; guarded by the write lock.
    std::vector<int> exceptions_at_locks_;
};

} // namespace remanence::detail
