// The steps of a history that is kept over sessions, read without changing anything: from the file beside the heap, and from the log
// what is not there yet.
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

/// What the file beside a heap was found to be.
struct history_beside {
    std::optional<history::step_tree> steps; // that led to the heap's last commit, without limits; none: `why`
    std::string why;                         // in a sentence
    bool is_there = false;                   // something has its name
    std::uint64_t entries = 0;               // that are sound, from the file's beginning on
    history::entry_end sound_end{};          // of these
};

/// Reads it, and the log (H5, H6). `heap` is as a recovery leaves it, perhaps in memory alone; `files` are those that it was read from.
/// errc::in_use: the heap was written to meanwhile. Throws std::bad_alloc. O(history and log).
result<history_beside> read_history(os::file_system& files, const store::heap_file& heap);

/// The state that has this version, or is kept by this name. errc::no_step, listing what there is.
result<std::uint64_t> state_of(const history::step_tree& steps, std::uint64_t version, const std::string& path);
result<std::uint64_t> state_of(const history::step_tree& steps, const std::string& name, const std::string& path);

} // namespace remanence::recover
