// Read and write sections of the threads of one process: a reader-writer lock that knows which threads hold it, so
// that sections nest. Knows nothing of what the lock protects.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

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
        busy,      // another thread has it (if `wait` is false, or at the deadline)
        conflict,  // a write section inside a read section of the same thread would wait for itself
        ended,     // the protected object is gone
    };

    outcome enter_write(bool wait);
    /// Waits until the deadline; then returns busy.
    outcome enter_write_until(std::chrono::steady_clock::time_point deadline);
    outcome enter_read(bool wait);
    /// Returns true if this was the outermost section. Precondition: the thread is in such a section. A write section
    /// that ends before the read sections inside it stays exclusive until these end.
    bool leave_write();
    bool leave_read();

    /// Returns how deeply the calling thread's sections are nested; 0: in none.
    [[nodiscard]] std::size_t write_depth() const;
    [[nodiscard]] std::size_t read_depth() const;
    /// For the end of the protected object: takes it exclusively for the calling thread, whatever sections that is
    /// in, without waiting. Returns false if other threads are in a section or wait for one; then the caller's read
    /// sections are forgotten. Returns false, too, if exit() was called in a section of this thread, which may have
    /// stopped anywhere.
    bool try_to_take_over() noexcept;
    /// Releases what try_to_take_over() took, and the sections of this thread. Threads that enter a section from now
    /// on get `ended`.
    void end() noexcept;
    /// True if the thread_local objects of this thread are being destroyed, or have been. For threads that have
    /// entered sections or called watch_end_of_thread(). In the main thread this means that the process ends.
    [[nodiscard]] static bool is_thread_ending() noexcept;
    static void watch_end_of_thread() noexcept;

    /// Returns the owner and the moment of the write section that the calling thread entered last, of those it is in.
    /// The owner is null if it is in none.
    struct entered {
        void* owner;
        std::uint64_t moment;
    };
    [[nodiscard]] static entered innermost_write() noexcept;
    /// Returns a number that orders what the calling thread enters: each call returns a greater one, from 1 on. Write
    /// sections take theirs when they are entered, nested ones too.
    [[nodiscard]] static std::uint64_t next_moment() noexcept;

private:
    template <class Lock>
    outcome enter_write_by(const Lock& lock);
    void forget_all() noexcept;
    bool release(std::size_t depth, bool is_exclusive);

    void* owner_;
    std::timed_mutex gate_; // a waiting writer holds it, so new readers queue behind the writer instead of starving it
    std::shared_timed_mutex mutex_;
    bool is_taken_over_ = false; // locked by try_to_take_over(), for ever or until end()
    bool is_ended_ = false;      // guarded by mutex_
};

} // namespace remanence::txn
