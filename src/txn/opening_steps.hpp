// What the ways to open a heap have in common (opening.cpp, shared_opening.cpp): each of them calls these steps, one after the other.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "os/memory.hpp"
#include "store/heap_creation.hpp"
#include "txn/opening.hpp"

#include <string>

namespace remanence::txn {

[[nodiscard]] unexpected cannot_map(const std::string& path, const failure& why);

/// Addresses for a new heap, as the options want them, and what its file is to be made of.
result<os::reservation> place_of_new(const open_request& request);
[[nodiscard]] store::creation creation_at(const os::reservation& place, const open_request& request);

/// Whether this program, built as it is, may have the heap. errc::wrong_application, errc::abi_mismatch.
result<void> check_is_ours(const store::heap_file& store, const open_request& request);
/// Brings into the image what the log has.
result<void> recover(os::file_system& files, opened_heap& heap, const open_request& request);
/// Sees to it that a log can be made where it is to lie. Precondition: there is none.
result<void> place_log(opened_heap& heap, const open_request& request);
/// Of a history that is not kept over sessions nothing is recorded.
result<void> settle_history(opened_heap& heap, const open_request& request);
/// Reserves its addresses, or others, as the options say.
result<void> reserve_place(opened_heap& heap, const open_request& request);

} // namespace remanence::txn
