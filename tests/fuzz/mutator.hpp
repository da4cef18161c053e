// For a target that knows how to change its inputs: it defines the first two, which custom_mutator.cpp hands to libFuzzer.
#pragma once

#include "heap_files.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace remanence::fuzz {

/// Size of the largest input.
extern const std::size_t k_input_bytes_max;
/// Makes another input of the first `size` bytes of `room`, which has space for the largest; or, when they are none, a seed.
/// Returns its size.
std::size_t mutate(std::span<std::uint8_t> room, std::size_t size, generator& random);

/// What libFuzzer does with bytes that it knows nothing of: the first `size` of `room`. Returns their new number.
std::size_t mutate_blindly(std::span<std::uint8_t> room, std::size_t size);

} // namespace remanence::fuzz
