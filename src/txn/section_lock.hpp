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
    /// `owner` is what innermost_write() is to tell.
    explicit section_lock(void* owner) : owner_(owner) {}
    section_lock(const section_lock&) = delete;
    section_lock& operator=(const section_lock&) = delete;
    /// The calling thread's sections of it, if any are left, are forgotten.
    ~section_lock();

    enum class outcome {
        outermost, // the thread entered its first section
        nested,    // it was in one already
        busy,      // try only: somebody else is
        conflict,  // a write section inside a read section of the same thread would wait for itself
        ended,     // what it protects is gone
    };

    outcome enter_write(bool wait);
    /// Waits until then at most: busy.
    outcome enter_write_until(std::chrono::steady_clock::time_point deadline);
    outcome enter_read(bool wait);
    /// True when it was the outermost. Precondition: the thread is in such a section. A write section that ends before
    /// the read sections within it stays exclusive until these end.
    bool leave_write();
    bool leave_read();

    /// What the calling thread holds: 0, or the depth of its nesting.
    [[nodiscard]] std::size_t write_depth() const;
    [[nodiscard]] std::size_t read_depth() const;
    /// For the end of what it protects: takes it for the calling thread alone, whatever sections that is in, without
    /// waiting. False when other threads are in a section or wait for one (the caller's read sections are forgotten then),
    /// and when exit() was called in a section of this thread, which may have been interrupted anywhere.
    bool try_to_take_over() noexcept;
    /// Lets go of what try_to_take_over() took, and of the sections of this thread: whoever enters one from now on is told that
    /// it has ended.
    void end() noexcept;
    /// Whether what is thread_local in this thread is being destroyed, or has been: for a thread that has entered sections, or called
    /// watch_end_of_thread(). In the main thread this means that the process ends.
    [[nodiscard]] static bool is_thread_ending() noexcept;
    static void watch_end_of_thread() noexcept;

    /// Of the write sections that the calling thread is in, the one that it entered last: the section's owner, and when. A
    /// null owner: it is in none.
    struct entered {
        void* owner;
        std::uint64_t moment;
    };
    [[nodiscard]] static entered innermost_write() noexcept;
    /// Orders what the calling thread enters: each is later than all before it. Of write sections it is taken when they are
    /// entered, nested ones too; it starts at 1.
    [[nodiscard]] static std::uint64_t next_moment() noexcept;

private:
    template <class Lock>
    outcome enter_write_by(const Lock& lock);
    void forget_all() noexcept;
    bool release(std::size_t depth, bool is_exclusive);

    void* owner_;
    std::timed_mutex gate_; // a waiting writer holds it, so that new readers queue behind it instead of starving it
    std::shared_timed_mutex mutex_;
    bool is_taken_over_ = false; // locked by try_to_take_over(), for the rest of its life, or until end()
    bool is_ended_ = false;      // guarded by mutex_
};

} // namespace remanence::txn
