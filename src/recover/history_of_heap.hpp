// Which history a heap keeps over sessions. The heap's record decides, not the program's options.
#pragma once

#include "base/result.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"

#include <optional>
#include <string>

namespace remanence::recover {

/// Fails with errc::not_supported if the heap records a history and this program lacks that part of the library, so
/// that its commits would have no steps. Must be called before anything is written, recovery included.
result<void> check_history_part(store::heap_file& store, bool has_part);

/// Returns the limits of the heap's history; nothing if it keeps none. If the heap records no limits, first records
/// `given`, the limits that this program wants. errc::not_supported if there are no recorded limits and none `given`,
/// but a history that an earlier release kept lies beside the heap. Precondition: as for heap_file::move_log().
result<std::optional<history::limits>> settle_history(os::file_system& files, store::heap_file& store,
                                                      const std::optional<history::limits>& given);

/// Changes the limits of the heap's recorded history, or ends it: then its steps, its versions and NAME-history are
/// removed. Recovers the heap first, as an open does. Durable once this returns. If ending a history is interrupted,
/// the heap still has one, perhaps without steps. A history whose record is damaged can only be ended. errc::no_step if
/// the heap has no history; errc::in_use; the errors of recovery and of an open. O(log).
result<void> change_history(os::file_system& files, const std::string& path,
                            const std::optional<history::limits>& most);

} // namespace remanence::recover
