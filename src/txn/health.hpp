// Whether an open heap still takes commits. Keeps I5 for the whole of txn: after a failed write or sync, and after a
// lack of memory in the midst of one, nothing is written any more.
#pragma once

#include "base/result.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace remanence::txn {

/// May be called from any thread; it has a lock of its own, which is the innermost of all.
class health {
public:
    health(std::string path, bool is_read_only) : path_(std::move(path)), is_read_only_(is_read_only) {}

    /// errc::poisoned and errc::read_only say why the heap takes no commits.
    [[nodiscard]] result<void> usable() const;
    /// errc::poisoned alone: whether memory is to be relied on.
    [[nodiscard]] result<void> sound() const;
    /// errc::poisoned when memory lacked in the midst of something: what is kept of the file in memory may be half of what it should be,
    /// and says nothing of the file.
    [[nodiscard]] result<void> had_memory() const { return lacked_memory_ ? sound() : result<void>(); }
    [[nodiscard]] bool is_poisoned() const { return is_poisoned_.load(std::memory_order_acquire); }

    /// Notes the first failure, and returns what the caller is to report: no is_refusal(), which would promise that nothing was
    /// written and that the call may be repeated.
    unexpected poison(unexpected why);
    /// The same, of what may have succeeded.
    result<void> poison_if_failed(result<void> done) {
        if (!done)
            return poison(done.error());
        return done;
    }
    /// A lack of memory left something half done. Needs no memory to note that.
    void lack_memory() noexcept {
        lacked_memory_ = true;
        is_poisoned_ = true;
    }
    /// Runs a step that a lack of memory would leave half done; then that is noted, and std::bad_alloc goes on to the caller.
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
    std::atomic<bool> lacked_memory_ = false; // when not even the reason could be kept
    std::atomic<bool> is_poisoned_ = false;   // set last: each section and commit asks
    mutable std::mutex mutex_;
    std::optional<failure> why_; // guarded by mutex_; not when memory lacked
};

} // namespace remanence::txn
