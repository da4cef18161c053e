// Makes the steps of a history from what was kept of them: event by event, as they were made.
#pragma once

#include "history/step_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace remanence::history {

class step_loader {
public:
    /// Of a heap of so many bytes.
    explicit step_loader(std::uint64_t heap_bytes) : heap_bytes_(heap_bytes), tree_({}, 0) { tree_.states_.clear(); }

    /// Takes the events of the next commit, which has this version. False: they are not sound (I7), and this is of no use any more.
    /// Throws std::bad_alloc.
    bool add(std::uint64_t version, std::span<const std::byte> events);
    /// Whether there is a state where memory is.
    [[nodiscard]] bool is_whole() const { return is_whole_; }
    /// The steps, for a session with these limits. Precondition: is_whole().
    step_tree take(const limits& most) noexcept;

private:
    bool add_one(format::history_event_kind kind, event_reader& event, std::uint64_t version);
    bool add_session(event_reader& event);
    bool add_step(format::history_event_kind kind, event_reader& event, std::uint64_t version);
    bool add_arrived(event_reader& event, std::uint64_t version);
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
