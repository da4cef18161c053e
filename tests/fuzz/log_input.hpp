// A log as the input of a target: its header, and behind it at once what lies from the first record on.
#pragma once

#include "format/log_record.hpp"
#include "format/superblock.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::fuzz {

constexpr std::size_t k_records = sizeof(format::log_header); // where they begin

/// The log's beginning as such an input.
std::vector<std::uint8_t> log_input(const std::vector<std::byte>& log, std::size_t bytes_max);

/// Where each record of the input seems to begin, as far as one leads to the next.
std::vector<std::size_t> record_places(std::span<const std::uint8_t> input);

/// Checksums fit again and, unless `loose`, each record is of the heap with this superblock and follows the one before.
void repair_log(std::span<std::uint8_t> input, const format::superblock& super, bool loose);

} // namespace remanence::fuzz
