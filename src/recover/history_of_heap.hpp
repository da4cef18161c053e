// Which history a heap has over sessions: what it records counts, whatever the program's options say or leave out.
#pragma once

#include "base/result.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"

#include <optional>
#include <string>

namespace remanence::recover {

/// errc::not_supported when the heap records a history, and this program has not that part of the library: what it wrote would have no
/// step. Before anything is written, recovery included.
result<void> check_history_part(store::heap_file& store, bool has_part);

/// The limits of the heap's history from now on; nothing: it has none. Those that it records; else it records `given`, those of a history that
/// this program wants to keep. errc::not_supported: neither is there, but beside the heap a history of it, which an earlier release
/// has kept. Precondition: that of heap_file::move_log().
result<std::optional<history::limits>> settle_history(os::file_system& files, store::heap_file& store,
                                                      const std::optional<history::limits>& given);

/// Gives the history that the heap records other limits, or ends it: then its steps and versions are gone, and NAME-history with them. Recovers
/// the heap first, as an open does. Durable once this returns; ended in between, the heap has a history still, perhaps without steps.
/// A record that is damaged can be ended. errc::no_step: it has none; errc::in_use; what recovery and an open fail with. O(log).
result<void> change_history(os::file_system& files, const std::string& path,
                            const std::optional<history::limits>& most);

} // namespace remanence::recover
