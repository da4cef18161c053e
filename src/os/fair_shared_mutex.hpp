// A reader-writer lock for sections of some microseconds up to minutes. Depends on the standard library only.
//
// A writer that leaves admits all readers that wait, or else wakes one writer. The last reader that leaves wakes one
// writer. Readers that come while a writer waits queue behind it. So neither readers nor writers starve, and a release
// wakes exactly the threads that can go on. Among writers the lock is not fair: one that runs may pass one that was
// woken.
#pragma once

#include "os/turn.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace remanence::os {

/// For at most 262,143 threads at once. A forked child may release and destroy its copy, whatever threads of the parent
/// were doing.
class fair_shared_mutex {
public:
    fair_shared_mutex() = default;
    fair_shared_mutex(const fair_shared_mutex&) = delete;
    fair_shared_mutex& operator=(const fair_shared_mutex&) = delete;
    ~fair_shared_mutex() = default;

    void lock() noexcept { (void)lock_before({}); }
    [[nodiscard]] bool try_lock() noexcept;
    [[nodiscard]] bool try_lock_until(std::chrono::steady_clock::time_point until) noexcept {
        return lock_before(until);
    }
    void unlock() noexcept;
    void lock_shared() noexcept { (void)lock_shared_before({}); }
    [[nodiscard]] bool try_lock_shared_until(std::chrono::steady_clock::time_point until) noexcept {
        return lock_shared_before(until);
    }
    /// Returns false if a writer has the lock or waits for it.
    [[nodiscard]] bool try_lock_shared() noexcept;
    void unlock_shared() noexcept;
    /// Turns the caller's shared lock into an exclusive one. Returns false if others share the lock. Does not wait, since
    /// two callers would wait for each other.
    [[nodiscard]] bool try_upgrade() noexcept;
    /// Turns the caller's exclusive lock into a shared one. Lets waiting readers in, unless a writer waits.
    void downgrade() noexcept;
    /// Returns how many threads wait for the lock.
    [[nodiscard]] std::uint64_t waiting() const noexcept;

private:
    // Fields of state_, from the lowest bit on.
    static constexpr std::uint64_t k_count_bits = 18;
    static constexpr std::uint64_t k_writer = 1;
    static constexpr std::uint64_t k_reader = k_writer << 1; // in a section
    static constexpr std::uint64_t k_waiting_reader = k_reader << k_count_bits;
    static constexpr std::uint64_t k_waiting_writer = k_waiting_reader << k_count_bits;
    static constexpr std::uint64_t k_admission = k_waiting_writer << k_count_bits; // of waiting readers; wraps around

    static constexpr std::uint64_t count_of(std::uint64_t unit, std::uint64_t state) {
        return state / unit & ((std::uint64_t{1} << k_count_bits) - 1);
    }
    static constexpr std::uint64_t readers(std::uint64_t state) { return count_of(k_reader, state); }
    static constexpr std::uint64_t waiting_readers(std::uint64_t state) { return count_of(k_waiting_reader, state); }
    static constexpr std::uint64_t waiting_writers(std::uint64_t state) { return count_of(k_waiting_writer, state); }
    static constexpr std::uint64_t admissions(std::uint64_t state) { return state / k_admission; }
    static constexpr bool is_free(std::uint64_t state) { return (state & k_writer) == 0 && readers(state) == 0; }
    static constexpr bool admits_readers(std::uint64_t state) {
        return (state & k_writer) == 0 && waiting_writers(state) == 0;
    }
    static constexpr std::uint64_t with_readers_admitted(std::uint64_t state);
    /// Replaces the state by `change(state)` in one step. Returns the former state.
    template <class F>
    std::uint64_t replace(const F& change) noexcept;
    bool lock_before(const turn::moment& until) noexcept;
    bool lock_shared_before(const turn::moment& until) noexcept;
    void stop_waiting() noexcept;
    void wake_writer() noexcept;

    std::atomic<std::uint64_t> state_ = 0;
    turn writers_turn_; // passes when a waiting writer may find the lock free
    turn readers_turn_; // passes with each admission
};

} // namespace remanence::os
