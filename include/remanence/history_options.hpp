// The options of a heap's history. Depends on the standard library only.
#pragma once

#include <cstdint>

namespace remanence {

namespace detail {
struct history_part; // src/api/history_part.hpp
extern const history_part k_history_part;
} // namespace detail

/// How much heap::undo() can undo. A history is in memory while the heap is open, and, with kept_over_sessions, also in
/// the heap's files. The heap has a history if kept_over_sessions or a limit is set.
struct history_options {
    /// What happens when a commit would exceed a limit.
    enum class when_full {
        /// The oldest steps are dropped. An abandoned branch is dropped with the step before it, or step by step from
        /// its end.
        oldest_go,
        /// The commit fails with errc::history_full; nothing is written, and memory keeps its changes.
        refuse,
    };
    /// The limit of bytes if neither limit is set: 64 MiB.
    static constexpr std::uint64_t k_bytes_max_by_default = std::uint64_t{64} << 20;
    /// Limit of all steps together, in bytes, as history_step::bytes counts them. 0 (the default): no limit, if
    /// steps_max is set.
    std::uint64_t bytes_max = 0;
    /// Limit of the number of steps. 0 (the default): no limit, if bytes_max is set.
    std::uint64_t steps_max = 0;
    when_full then = when_full::oldest_go; ///< what happens at a limit. Default: the oldest steps are dropped
    /// Keeps the history over sessions; default false. The open that sets this records the choice in the heap, with the
    /// limits. From then on the history continues where the last session ended, after a crash too, with its steps,
    /// groups, names and branches, and with the state that memory was in. Every program that writes to the heap then
    /// continues the history, with the recorded limits. inspect::set_history_limits() and end_history()
    /// (look_back.hpp), and `rem history`, change the limits or end the history. A program that uses no history option
    /// or call is linked without the library's code for histories, and cannot open the heap for writing
    /// (errc::not_supported).
    ///
    /// A step is as durable as its commit. The step is part of the commit's record in the redo log; a checkpoint moves
    /// it to NAME-history beside the heap. That file takes about as many bytes as the steps. Copy, rename and remove
    /// that file with the heap. If it is lost, damaged, or another heap's, the history begins anew
    /// (heap::why_history_is_new()). A file that cannot be used is renamed to NAME-history-unfit.
    bool kept_over_sessions = false;
    /// Makes the linker include the library's code for histories in programs that name history options. Leave this
    /// member as it is.
    const detail::history_part* part = &detail::k_history_part;
    /// Returns true if there is a history.
    [[nodiscard]] constexpr bool is_on() const noexcept {
        return bytes_max != 0 || steps_max != 0 || kept_over_sessions;
    }
};

/// No history: the default of heap_options.
inline constexpr history_options no_history{0, 0, history_options::when_full::oldest_go, false, nullptr};

} // namespace remanence
