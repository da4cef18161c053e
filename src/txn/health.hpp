// Whether an open heap still takes commits. Keeps I5 for all of txn: nothing is written after a failed write or sync,
// or after memory ran out in the middle of one.
#pragma once

#include "base/result.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace remanence::txn {

/// For any thread. Its own lock is the innermost of all.
class health {
public:
    health(std::string path, bool is_read_only) : path_(std::move(path)), is_read_only_(is_read_only) {}

    /// Returns errc::poisoned or errc::read_only if the heap takes no commits.
    [[nodiscard]] result<void> usable() const;
    /// Returns errc::poisoned if memory is not reliable.
    [[nodiscard]] result<void> sound() const;
    /// Returns errc::poisoned if memory ran out in the middle of a change. Then what memory has of the file may be
    /// incomplete, and says nothing about the file.
    [[nodiscard]] result<void> had_memory() const { return lacked_memory_ ? sound() : result<void>(); }
    [[nodiscard]] bool is_poisoned() const { return is_poisoned_.load(std::memory_order_acquire); }

    /// Records the first failure. Returns the failure to report. It is never one of is_refusal(): those promise that
    /// nothing was written and that the call may be repeated.
    unexpected poison(unexpected why);
    /// Poisons if `done` is a failure.
    result<void> poison_if_failed(result<void> done) {
        if (!done)
            return poison(done.error());
        return done;
    }
    /// Notes that memory ran out and left something half done. Needs no memory.
    void lack_memory() noexcept {
        lacked_memory_ = true;
        is_poisoned_ = true;
    }
    /// Runs a step that std::bad_alloc would leave half done. In that case poisons, and rethrows.
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
    std::atomic<bool> lacked_memory_ = false; // there was no memory even to keep the reason
    std::atomic<bool> is_poisoned_ = false;   // set last; each section and commit reads it
    mutable std::mutex mutex_;
    std::optional<failure> why_; // guarded by mutex_; empty if memory ran out
};

} // namespace remanence::txn
