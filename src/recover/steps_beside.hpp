// Reads the steps of a kept history without changing anything: from the file beside the heap, and from the log those
// that the file lacks.
#pragma once

#include "base/result.hpp"
#include "history/history_file.hpp"
#include "history/recent_steps.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace remanence::recover {

/// The steps found beside a heap.
struct history_beside {
    std::optional<history::step_tree> steps; // those up to the heap's last commit, without limits; if none: see `why`
    std::string why;                         // why there are no steps: one sentence
    bool is_there = false;                   // a file of that name exists
    std::uint64_t entries = 0;               // number of sound entries at the file's beginning
    history::entry_end sound_end{};          // where the last sound entry ends
};

/// Reads the history and the log (H5, H6). `heap` must be in the state in which a recovery leaves it, perhaps in memory
/// only. `files` must be those from which it was read. errc::in_use if the heap was written to meanwhile. Throws
/// std::bad_alloc. O(history and log).
///
/// If only some states are `wanted`, and the file has them near its end, reads only the events since then: O(these
/// events and log). Then the result has these states and the steps between them and the present one, but perhaps no
/// other steps, and does not count the entries. A state that is not there, or was kept long ago, makes it read all.
result<history_beside> read_history(os::file_system& files, const store::heap_file& heap,
                                    std::span<const history::version_or_name> wanted = {});

/// Returns the state of this version, or the one kept by this name. errc::no_step, with a list of those that exist.
result<std::uint64_t> state_of(const history::step_tree& steps, const history::version_or_name& which,
                               const std::string& path);

} // namespace remanence::recover
