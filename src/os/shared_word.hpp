// Waits for a change of a word that several processes have mapped.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace remanence::os {

/// Returns when the word is not `expected`, after wake_all(), after `at_most`, or spuriously.
void wait_on(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::nanoseconds at_most) noexcept;
void wake_all(std::atomic<std::uint32_t>& word) noexcept;

} // namespace remanence::os
