// What a heap keeps of its history.
#pragma once

#include <cstdint>

namespace remanence {

namespace detail {
struct history_part; // src/api/history_part.hpp
extern const history_part k_history_part;
} // namespace detail

/// What undo() needs of commits, kept in memory as long as the heap is open, and, if kept_over_sessions says so, in its files. Nothing is
/// kept when neither that nor a limit is set.
struct history_options {
    /// What becomes of the steps when a commit comes that would be one too many: `refuse` is for programs that must not lose one.
    enum class when_full {
        oldest_go, ///< until it has room. Branches that were left go when the step before them does, or from their ends
        refuse,    ///< it fails with errc::history_full; nothing is written, and memory keeps its changes
    };
    static constexpr std::uint64_t k_bytes_max_by_default = std::uint64_t{64} << 20; ///< where no limit is set
    std::uint64_t bytes_max = 0; ///< of all steps, as history_step::bytes counts them. 0: no limit, if steps_max is set
    std::uint64_t steps_max = 0; ///< 0: no limit, if bytes_max is set
    when_full then = when_full::oldest_go;
    /// The heap records that it has a history, with these limits, from the open that sets this on. The history goes on where the last session
    /// ended, though that one died: steps, groups, names, branches, and where memory is among them. It goes on in every program that writes
    /// to the heap, with the recorded limits: inspect::set_history_limits() and end_history() change that (look_back.hpp), and `rem history`.
    /// A program that lacks this part of the library, since it names no history anywhere, is refused for writing (errc::not_supported).
    ///
    /// A step is as durable as its commit. It lies in the redo log and, from checkpoint to checkpoint, in NAME-history beside the heap,
    /// which takes about as many bytes as the steps; copy, rename and remove it with the heap. When that file is lost, damaged, or
    /// another heap's, the history begins anew: see heap::why_history_is_new(). An unfit one is set aside as NAME-history-unfit.
    bool kept_over_sessions = false;
    /// Brings this part of the library into the program, where options are written with braces. Leave it as it is.
    const detail::history_part* part = &detail::k_history_part;
    [[nodiscard]] constexpr bool is_on() const noexcept {
        return bytes_max != 0 || steps_max != 0 || kept_over_sessions;
    }
};

/// That of heap_options where nobody names one.
inline constexpr history_options no_history{0, 0, history_options::when_full::oldest_go, false, nullptr};

} // namespace remanence
