// Numbers and names that identify this process to others.
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace remanence::os {

[[nodiscard]] int process_number() noexcept;
/// Returns the calling thread's number. Makes a system call only at the thread's first call.
[[nodiscard]] int thread_number() noexcept;
/// Returns the program's name as the kernel records it: the first 15 characters.
[[nodiscard]] std::string program_name();
/// Returns a number that the kernel draws at random when the machine boots.
result<std::array<std::uint8_t, 16>> boot_number();
/// Returns the system clock in nanoseconds, with the precision of a timer tick. Takes a few nanoseconds.
[[nodiscard]] std::uint64_t coarse_time() noexcept;

} // namespace remanence::os
