// Records the calls that led to a place in the program. Depends on the standard library only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace remanence::os {

/// How many calls the options of a heap may ask for.
inline constexpr unsigned k_calls_noted_max = 32;

/// Marks a function by which programs allocate memory. Such functions lie together in a section of their own, so that
/// note_calls() can tell the library's calls from the program's without names. The function must not end with a call
/// that the compiler may turn into a jump, as `return f();`: then it is no caller.
#define REM_ALLOCATES [[gnu::noinline, gnu::section("remanence_allocates")]]

/// Sets `calls` to the return addresses of the calls that led to this one, innermost first, and the rest of `calls` to
/// null. Begins with the program's call of a function that allocates. `count` is at most k_calls_noted_max. The first
/// call in a process uses malloc().
void note_calls(void** calls, std::size_t count) noexcept;

/// Returns the C library's description of each call, up to the first null.
[[nodiscard]] std::vector<std::string> texts_of_calls(void* const* calls, std::size_t count);

} // namespace remanence::os
