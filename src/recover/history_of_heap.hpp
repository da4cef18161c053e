// Which history a heap keeps over sessions. What the heap records counts, whatever the program's options say.
#pragma once

#include "base/result.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"

#include <optional>
#include <string>

namespace remanence::recover {

/// Fails with errc::not_supported if the heap records a history and this program lacks that part of the library: its
/// commits would have no steps. Call it before anything is written, recovery included.
result<void> check_history_part(store::heap_file& store, bool has_part);

/// Returns the limits of the heap's history from now on; nothing if it has none. Uses those that the heap records;
/// otherwise records `given`, the limits that this program wants. errc::not_supported: both are missing, but beside the
/// heap lies its history, kept by an earlier release. Precondition: that of heap_file::move_log().
result<std::optional<history::limits>> settle_history(os::file_system& files, store::heap_file& store,
                                                      const std::optional<history::limits>& given);

/// Gives the heap's recorded history other limits, or ends it: then its steps, its versions and NAME-history are gone.
/// Recovers the heap first, as an open does. Durable once this returns. If it is interrupted while it ends a history,
/// the heap still has one, perhaps without steps. A damaged record can be ended. errc::no_step: there is none;
/// errc::in_use; the errors of recovery and of an open. O(log).
result<void> change_history(os::file_system& files, const std::string& path,
                            const std::optional<history::limits>& most);

} // namespace remanence::recover
