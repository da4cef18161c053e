// What migration asks of the roots of C programs.
#pragma once

#include "capi/handles.hpp"

#include <remanence/types/detail/fingerprint.hpp>

namespace remanence::capi {

/// Whether the root is there, and of another type than this one. One that was set before the type was described gets it with the next
/// commit. Throws errc::type_mismatch for the root of a C++ program, errc::not_supported for one that shares its block with something else.
[[nodiscard]] bool is_to_migrate(const open_heap& heap, const char* name, const detail::type_fingerprint& type);

} // namespace remanence::capi
