// Who this is, as others may be told.
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace remanence::os {

[[nodiscard]] int process_number() noexcept;
/// Of the calling thread; a system call the first time only.
[[nodiscard]] int thread_number() noexcept;
/// Of the program, as the kernel has it: the first 15 characters.
[[nodiscard]] std::string program_name();
/// Drawn by the kernel when it started: another one after each start of the machine.
result<std::array<std::uint8_t, 16>> boot_number();
/// Nanoseconds of the system clock, to about the precision of a timer tick; a few nanoseconds.
[[nodiscard]] std::uint64_t coarse_time() noexcept;

} // namespace remanence::os
