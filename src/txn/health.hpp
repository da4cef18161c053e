// Tells whether an open heap still accepts commits. Enforces I5 for all of txn: after a failed write or sync, or if
// memory ran out in the middle of a change, nothing more is written.
#pragma once

#include "base/result.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace remanence::txn {

/// For any thread. No other lock is acquired while its mutex is held.
class health {
public:
    health(std::string path, bool is_read_only) : path_(std::move(path)), is_read_only_(is_read_only) {}

    /// Fails with errc::poisoned or errc::read_only if the heap accepts no commits.
    [[nodiscard]] result<void> usable() const;
    /// Fails with errc::poisoned if the heap is poisoned.
    [[nodiscard]] result<void> sound() const;
    /// Fails with errc::poisoned if memory ran out in the middle of a change. Then the tables in memory that describe
    /// the file may be incomplete, so a check against them would report damage that the file does not have.
    [[nodiscard]] result<void> had_memory() const { return lacked_memory_ ? sound() : result<void>(); }
    [[nodiscard]] bool is_poisoned() const { return is_poisoned_.load(std::memory_order_acquire); }

    /// Poisons the heap, and records the first reason. Returns the failure to report. is_refusal() is false for its
    /// code, since a refusal promises that nothing was written and that the call may be repeated.
    unexpected poison(unexpected why);
    /// Poisons if `done` is a failure.
    result<void> poison_if_failed(result<void> done) {
        if (!done)
            return poison(done.error());
        return done;
    }
    /// Poisons the heap since memory ran out and left a change half done. Needs no memory.
    void lack_memory() noexcept {
        lacked_memory_ = true;
        is_poisoned_ = true;
    }
    /// Runs a step that would be left half done by std::bad_alloc. If the step throws that, poisons the heap and throws
    /// it again.
    template <class F>
    result<void> poisoning_without_memory(F step) {
        try {
            return step();
        } catch (const std::bad_alloc&) {
            lack_memory();
            throw;
        }
    }

private:
    const std::string path_;
    const bool is_read_only_;
    std::atomic<bool> lacked_memory_ = false; // there was not even memory to record the reason
    std::atomic<bool> is_poisoned_ = false;   // set last; each section and commit reads it
    mutable std::mutex mutex_;
    std::optional<failure> why_; // guarded by mutex_; empty if memory ran out
};

} // namespace remanence::txn
