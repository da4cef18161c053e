// Reads the steps of a kept history without changing anything: from the file beside the heap, and from the log what the
// file lacks.
#pragma once

#include "base/result.hpp"
#include "history/history_file.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace remanence::recover {

/// What was found in the file beside a heap.
struct history_beside {
    std::optional<history::step_tree> steps; // those that led to the heap's last commit, without limits; none: `why`
    std::string why;                         // one sentence
    bool is_there = false;                   // something has the file's name
    std::uint64_t entries = 0;               // sound entries from the file's beginning on
    history::entry_end sound_end{};          // where these end
};

/// Reads the history and the log (H5, H6). `heap` is in the state that a recovery leaves, perhaps in memory only.
/// `files` are those that it was read from. errc::in_use: the heap was written to meanwhile. Throws std::bad_alloc.
/// O(history and log).
result<history_beside> read_history(os::file_system& files, const store::heap_file& heap);

/// Return the state that has this version, or is kept by this name. errc::no_step, with a list of those that exist.
result<std::uint64_t> state_of(const history::step_tree& steps, std::uint64_t version, const std::string& path);
result<std::uint64_t> state_of(const history::step_tree& steps, const std::string& name, const std::string& path);

} // namespace remanence::recover
