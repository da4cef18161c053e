// Steps of opening that opening.cpp and shared_opening.cpp have in common.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "os/memory.hpp"
#include "store/heap_creation.hpp"
#include "txn/opening.hpp"

#include <string>

namespace remanence::txn {

[[nodiscard]] unexpected cannot_map(const std::string& path, const failure& why);

/// Reserves addresses for a new heap, as the options say.
result<os::reservation> place_of_new(const open_request& request);
[[nodiscard]] store::creation creation_at(const os::reservation& place, const open_request& request);

/// Checks that this program, as it is built, may open the heap. errc::wrong_application, errc::abi_mismatch.
result<void> check_is_ours(const store::heap_file& store, const open_request& request);
/// Applies the log to the image.
result<void> recover(os::file_system& files, opened_heap& heap, const open_request& request);
/// Makes sure that a log can be created where the options, or else the heap, place it. Precondition: there is no log.
result<void> place_log(opened_heap& heap, const open_request& request);
/// For a history that is kept over sessions: uses the limits that the heap records. If it records none, records those
/// of the request.
result<void> settle_history(opened_heap& heap, const open_request& request);
/// Reserves the heap's own addresses or, if the options allow it, others.
result<void> reserve_place(opened_heap& heap, const open_request& request);

} // namespace remanence::txn
