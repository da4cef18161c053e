// How far the commits of a heap are durable. Tickets of asynchronous commits ask this object.
#pragma once

#include "api/heap_origin.hpp"
#include "txn/engine.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace remanence::detail {

/// Lives as long as the heap or one of its tickets. Any thread may call any function.
class commit_progress {
public:
    explicit commit_progress(heap_origin of) : origin_(std::move(of)) {}

    /// Requests that the commit that made this version becomes durable.
    void want(std::uint64_t version) noexcept;
    /// Makes requested commits durable, and wakes the threads that wait for them; a failure poisons the engine. Not to
    /// be called in a forked child.
    void bring(txn::engine& engine) noexcept;

    /// Records that this version contains none of the changes of its commit, because they could not be committed. `why`
    /// is the reason; it is empty if memory was lacking. Must be called before bring() may make the version durable.
    /// Throws std::bad_alloc.
    void note_failed(std::uint64_t version, const std::optional<failure>& why);

    /// Returns the last version, at most this one, that is not recorded as failed. Memory is in that state if nothing
    /// has changed since and the failed changes are undone.
    [[nodiscard]] std::uint64_t last_committed(std::uint64_t version) const;

    /// Throws if the version will never become durable.
    [[nodiscard]] bool is_durable(std::uint64_t version) const;
    void await(std::uint64_t version) const;

private:
    void check_alone(std::uint64_t version) const;

    const heap_origin origin_;
    std::atomic<std::uint64_t> wanted_ = 0;
    std::atomic<std::uint64_t> durable_ = 0;
    std::atomic<bool> failed_ = false;      // commits above durable_ will never become durable
    std::atomic<bool> some_failed_ = false; // some versions are durable without the changes of their commits
    mutable std::mutex mutex_;
    std::optional<failure> why_; // guarded by mutex_; nothing if memory was lacking
    // The versions that some_failed_ is about, and why their commits failed. Guarded by mutex_.
    std::map<std::uint64_t, std::optional<failure>> why_alone_;
    /// Counts calls of bring() and note_failed(). redo_log::turn_ explains why this is no condition variable.
    std::atomic<std::uint32_t> turn_ = 0;
};

} // namespace remanence::detail
