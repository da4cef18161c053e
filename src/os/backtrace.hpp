// Records the calls that led to a place in the program. Depends on the standard library only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace remanence::os {

/// How many calls the options of a heap may ask for.
inline constexpr unsigned k_calls_noted_max = 32;

/// Sets `calls` to the return addresses of the calls that led to this one, innermost first, and the rest of `calls` to
/// null. The first call in a process uses malloc().
void note_calls(void** calls, std::size_t count) noexcept;

/// Returns the C library's description of each call, up to the first null.
[[nodiscard]] std::vector<std::string> texts_of_calls(void* const* calls, std::size_t count);

} // namespace remanence::os
