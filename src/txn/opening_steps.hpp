// The steps that the ways to open a heap share (opening.cpp, shared_opening.cpp). Each way calls them one after the
// other.
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
/// Makes sure that a log can be made in its place. Precondition: there is none.
result<void> place_log(opened_heap& heap, const open_request& request);
/// Sets the limits of a history that is kept over sessions: those that the heap records, or else those of the request,
/// which it then records.
result<void> settle_history(opened_heap& heap, const open_request& request);
/// Reserves the heap's addresses, or others, as the options say.
result<void> reserve_place(opened_heap& heap, const open_request& request);

} // namespace remanence::txn
