// Tells whether an asynchronous commit is durable. Depends on the standard library only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace remanence {

namespace detail {
class commit_progress; // src/api/commit_progress.hpp
class heap_commits;    // src/api/heap_commits.hpp
} // namespace detail

/// Names a commit that heap::commit_async() or write_async() made, and tells whether it is durable, or why it never
/// will be. A ticket may be copied and used by several threads; destroying a ticket has no effect on the commit. A
/// ticket may outlive the heap: closing the heap makes the commit durable, or records in the ticket why it failed. In a
/// forked child every ticket throws errc::closed.
class commit_ticket {
public:
    // A move is a copy: a ticket that was moved from still names its commit.
    /// Copies name the same commit.
    commit_ticket(const commit_ticket&) = default;
    /// Names the other ticket's commit from now on.
    commit_ticket& operator=(const commit_ticket&) = default;
    ~commit_ticket() = default;

    /// Waits until the commit, and all before it, are durable. Needs no section, and may be called in any section. If
    /// the commit failed, each call throws the reason: errc::io (the heap is then poisoned), std::bad_alloc, or an
    /// error that heap::commit_async() lists.
    void wait() const;
    /// Returns true if the commit is durable, so that wait() would return at once. Does not wait. Throws what wait()
    /// throws.
    [[nodiscard]] bool ready() const;

private:
    friend class detail::heap_commits;
    commit_ticket(std::shared_ptr<const detail::commit_progress> progress, std::uint64_t version) noexcept
        : progress_(std::move(progress)), version_(version) {}

    std::shared_ptr<const detail::commit_progress> progress_;
    std::uint64_t version_;
};

} // namespace remanence
