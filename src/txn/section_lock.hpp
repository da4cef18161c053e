// Read and write sections of the threads of one process: a reader-writer lock that knows which threads hold it, so
// that sections nest. Knows nothing of what the lock protects.
#pragma once

#include "os/fair_shared_mutex.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::txn {

class section_lock {
public:
    /// `owner` is what innermost_write() returns.
    explicit section_lock(void* owner) : owner_(owner) {}
    section_lock(const section_lock&) = delete;
    section_lock& operator=(const section_lock&) = delete;
    /// Forgets the calling thread's sections of this lock, if any are left.
    ~section_lock();

    enum class outcome {
        outermost, // the thread entered its first section
        nested,    // the thread was in one already
        busy,      // another thread holds the lock (only if `wait` is false, or at the deadline)
        conflict,  // a write section inside a read section of the same thread would wait for itself
        ended,     // the protected object is gone
    };

    outcome enter_write(bool wait);
    /// As enter_write(), but waits only until the deadline, and then returns busy.
    outcome enter_write_until(std::chrono::steady_clock::time_point deadline);
    /// Enters a write section inside the read sections of the calling thread, if no other thread is in a section.
    /// Otherwise returns busy.
    outcome enter_write_within_read();
    outcome enter_read(bool wait);
    /// As enter_read(), but waits only until the deadline, and then returns busy.
    outcome enter_read_until(std::chrono::steady_clock::time_point deadline);
    /// Ends a section of the calling thread. Returns true if it was the outermost one. Precondition: the thread is in
    /// such a section. When the last write section ends before read sections of the thread, other threads may read, too.
    bool leave_write();
    bool leave_read();

    /// Returns how deeply the calling thread's sections are nested; 0 if it is in none.
    [[nodiscard]] std::size_t write_depth() const;
    [[nodiscard]] std::size_t read_depth() const;
    /// True if the calling thread is in one read section, and in no write section.
    [[nodiscard]] bool is_in_one_read_only() const;
    /// For the end of the protected object: acquires the lock exclusively for the calling thread, whatever sections
    /// that thread is in, without waiting. Returns false if other threads are in a section or wait for one; then the
    /// caller's read sections are forgotten. Also returns false if exit() was called in a section of this thread,
    /// since that section may have stopped anywhere.
    bool try_to_take_over() noexcept;
    /// Releases the lock that try_to_take_over() acquired, and ends all sections of this thread. From now on entering
    /// a section returns `ended`.
    void end() noexcept;
    /// True if the thread_local objects of this thread are being destroyed, or have been. Works only in threads that
    /// have entered a section or called watch_end_of_thread(). In the main thread it means that the process ends.
    [[nodiscard]] static bool is_thread_ending() noexcept;
    static void watch_end_of_thread() noexcept;

    /// Of the write sections that the calling thread is in, returns the owner of the one entered last, and the number
    /// that it got from next_moment(). The owner is null if the thread is in none.
    struct entered {
        void* owner;
        std::uint64_t moment;
    };
    [[nodiscard]] static entered innermost_write() noexcept;
    /// Returns the owners of all locks whose sections the calling thread is in.
    [[nodiscard]] static std::vector<void*> owners();
    /// Returns a number that orders the sections and scopes that the calling thread enters: each call returns a greater
    /// one, from 1 on. A write section, nested or not, gets its number when it is entered.
    [[nodiscard]] static std::uint64_t next_moment() noexcept;

private:
    template <class Lock>
    outcome enter_write_by(const Lock& lock);
    template <class Lock>
    outcome enter_read_by(const Lock& lock);
    void forget_all() noexcept;
    bool release(std::size_t depth, bool is_exclusive);

    void* owner_;
    os::fair_shared_mutex mutex_;
    bool is_taken_over_ = false; // try_to_take_over() has locked mutex_, until end() or destruction
    bool is_ended_ = false;      // guarded by mutex_
};

} // namespace remanence::txn
