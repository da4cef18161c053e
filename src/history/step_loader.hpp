// Makes the steps of a history again, by replaying their stored events in order.
#pragma once

#include "history/step_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace remanence::history {

class step_loader {
public:
    /// `heap_bytes` is the size of the heap: deltas must lie within it.
    explicit step_loader(std::uint64_t heap_bytes) : heap_bytes_(heap_bytes), tree_({}, 0) { tree_.states_.clear(); }
    /// Continues these steps with the events of another process. If a group is open in these steps, the next commit is
    /// not joined to the group's step.
    step_loader(std::uint64_t heap_bytes, step_tree&& steps) noexcept
        : heap_bytes_(heap_bytes), tree_(std::move(steps)), is_whole_(true) {
        tree_.group_step_ = 0;
        tree_.is_group_lost_ = false;
    }

    /// Adds the events of the next commit, which has this version. Returns false if they are not sound (I7): then the
    /// loader must not be used any more. Throws std::bad_alloc.
    bool add(std::uint64_t version, std::span<const std::byte> events);
    /// True if the events so far name the present state.
    [[nodiscard]] bool is_whole() const { return is_whole_; }
    /// See step_tree::has_lacked_memory().
    [[nodiscard]] bool has_lacked_memory() const { return tree_.has_lacked_memory(); }
    /// True if take(most) returns the steps unchanged. Precondition: is_whole().
    [[nodiscard]] bool has_limits(const limits& most) const { return tree_.most_ == most; }
    /// Returns the steps, for a session with these limits. Precondition: is_whole().
    step_tree take(const limits& most) noexcept;
    /// Returns the steps, in the same session. Precondition: is_whole().
    step_tree take() noexcept { return std::move(tree_); }

private:
    bool add_one(format::history_event_kind kind, event_reader& event, std::uint64_t version);
    bool add_unkept(std::uint64_t version);
    bool add_session(event_reader& event);
    bool add_step(format::history_event_kind kind, event_reader& event, std::uint64_t version);
    bool add_checkout(event_reader& event, std::uint64_t version);
    bool add_kept(event_reader& event);
    bool add_dropped(event_reader& event);
    bool add_squashed(event_reader& event);
    bool add_state(event_reader& event);
    bool add_present(event_reader& event, std::uint64_t version);
    bool stay(std::uint64_t version);

    const std::uint64_t heap_bytes_;
    step_tree tree_;
    bool is_whole_ = false;
};

} // namespace remanence::history
