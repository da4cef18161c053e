// How far a heap's commits have got, as their tickets ask.
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

/// Lives as long as the heap and its tickets do. Everything may be called from any thread.
class commit_progress {
public:
    explicit commit_progress(heap_origin of) : origin_(std::move(of)) {}

    /// The commit of this version, which is made, is to become durable.
    void want(std::uint64_t version) noexcept;
    /// Makes durable what is wanted, and tells those who wait; a failure poisons the engine. Not in a forked child.
    void bring(txn::engine& engine) noexcept;

    /// The commit of this version has no changes in it, since those that it was to have were not committed, and this is why;
    /// nothing: for lack of memory. Comes before bring() may make it durable. Throws std::bad_alloc.
    void note_failed(std::uint64_t version, const std::optional<failure>& why);

    /// The last commit up to this one that was not noted as failed: what memory is, if nothing has changed since and what failed is
    /// no change any more.
    [[nodiscard]] std::uint64_t last_committed(std::uint64_t version) const;

    /// Throws when it never will be.
    [[nodiscard]] bool is_durable(std::uint64_t version) const;
    void await(std::uint64_t version) const;

private:
    void check_alone(std::uint64_t version) const;

    const heap_origin origin_;
    std::atomic<std::uint64_t> wanted_ = 0;
    std::atomic<std::uint64_t> durable_ = 0;
    std::atomic<bool> failed_ = false;      // what is not durable by then never will be
    std::atomic<bool> some_failed_ = false; // of those that are durable without their changes
    mutable std::mutex mutex_;
    std::optional<failure> why_;                                // guarded by mutex_; none when memory was lacking
    std::map<std::uint64_t, std::optional<failure>> why_alone_; // likewise, of versions of which some_failed_ speaks
    /// Counts calls of bring(); see redo_log::turn_ for why it is no condition variable.
    std::atomic<std::uint32_t> turn_ = 0;
};

} // namespace remanence::detail
