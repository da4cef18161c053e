// Whom to ask about a commit that the caller did not wait for. Depends on the standard library only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace remanence {

namespace detail {
class commit_progress; // src/api/commit_progress.hpp
class heap_commits;    // src/api/heap_commits.hpp
} // namespace detail

/// A commit that heap::commit_async() or write_async() made: when it is durable, or why it never will be. May be copied, and asked from
/// several threads; one that was moved from still names its commit. It may be dropped, which changes nothing, and outlive
/// the heap: closing it settles every commit. A forked child's tickets say errc::closed.
class commit_ticket {
public:
    // A move is a copy.
    commit_ticket(const commit_ticket&) = default;
    commit_ticket& operator=(const commit_ticket&) = default;
    ~commit_ticket() = default;

    /// Waits until the commit is durable, with all before it. Throws, as often as it is called, what kept it from becoming so:
    /// errc::io (the heap is poisoned then), or std::bad_alloc. Needs no section, and may be called in any.
    void wait() const;
    /// Whether the commit is durable: wait() would return at once. Throws what wait() throws. Does not wait.
    [[nodiscard]] bool ready() const;

private:
    friend class detail::heap_commits;
    commit_ticket(std::shared_ptr<const detail::commit_progress> progress, std::uint64_t version) noexcept
        : progress_(std::move(progress)), version_(version) {}

    std::shared_ptr<const detail::commit_progress> progress_;
    std::uint64_t version_;
};

} // namespace remanence
