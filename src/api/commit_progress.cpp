#include "api/commit_progress.hpp"

#include "api/raise.hpp"

#include <remanence/commit_ticket.hpp>

#include <new>

namespace remanence::detail {

namespace {

void raise_to(std::atomic<std::uint64_t>& value, std::uint64_t least) noexcept {
    std::uint64_t now = value.load();
    while (now < least && !value.compare_exchange_weak(now, least)) {
    }
}

} // namespace

void commit_progress::want(std::uint64_t version) noexcept { raise_to(wanted_, version); }

void commit_progress::bring(txn::engine& engine) noexcept {
    const std::uint64_t version = wanted_;
    bool is_durable = false;
    try {
        auto reached = engine.await(version, log::durability::durable);
        is_durable = static_cast<bool>(reached);
        if (!is_durable) {
            const std::lock_guard lock(mutex_);
            if (!failed_)
                why_ = std::move(reached.error().why());
        }
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): is_durable stays false
    }
    // durable_ is raised before failed_ is set, because a thread that finds failed_ set treats all versions above
    // durable_ as lost
    raise_to(durable_, is_durable ? version : engine.durable_through());
    if (!is_durable)
        failed_ = true;
    ++turn_;
    turn_.notify_all();
}

void commit_progress::note_failed(std::uint64_t version, const std::optional<failure>& why) {
    {
        const std::lock_guard lock(mutex_);
        why_alone_.emplace(version, why);
        some_failed_ = true;
    }
    ++turn_;
    turn_.notify_all();
}

std::uint64_t commit_progress::last_committed(std::uint64_t version) const {
    if (some_failed_) {
        const std::lock_guard lock(mutex_);
        while (why_alone_.contains(version))
            --version;
    }
    return version;
}

void commit_progress::check_alone(std::uint64_t version) const {
    if (!some_failed_)
        return;
    const std::lock_guard lock(mutex_);
    const auto found = why_alone_.find(version);
    if (found == why_alone_.end())
        return;
    if (!found->second)
        throw std::bad_alloc();
    detail::raise(*found->second);
}

bool commit_progress::is_durable(std::uint64_t version) const {
    if (!origin_.same_process()) {
        detail::raise(errc::closed,
                      "a commit of " + origin_.path.string() +
                          " was made before fork(): only the parent process can tell what becomes of it.",
                      origin_.path.string());
    }
    // failed_ is read before durable_, because bring() writes durable_ before failed_. And durable_ is read before
    // some_failed_, because note_failed() sets some_failed_ before bring() raises durable_.
    const bool failed = failed_;
    const bool is_reached = durable_ >= version;
    check_alone(version);
    if (is_reached)
        return true;
    if (!failed)
        return false;
    const std::lock_guard lock(mutex_);
    if (!why_)
        throw std::bad_alloc();
    detail::raise(*why_);
}

void commit_progress::await(std::uint64_t version) const {
    for (std::uint32_t seen = turn_; !is_durable(version); seen = turn_)
        turn_.wait(seen);
}

} // namespace remanence::detail

namespace remanence {

void commit_ticket::wait() const { progress_->await(version_); }

bool commit_ticket::ready() const { return progress_->is_durable(version_); }

} // namespace remanence
