// The calls that led to a place in the program. Depends on the standard library only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace remanence::os {

/// The return addresses of the calls that led here, the innermost first; the others of `count` are null. The first call in a process
/// takes memory of malloc().
void note_calls(void** calls, std::size_t count) noexcept;

/// How the C library writes them, one text for each up to the first null.
[[nodiscard]] std::vector<std::string> texts_of_calls(void* const* calls, std::size_t count);

} // namespace remanence::os
