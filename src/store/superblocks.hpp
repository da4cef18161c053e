// The two superblocks at the beginning of a heap file: which one is current, and whether its contents are plausible
// (I7). May use: base, os, format.
#pragma once

#include "base/result.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::store {

using superblock_places = std::array<format::superblock, format::k_superblock_count>;

/// Limit of the total length of regions, and of file offsets. With larger values, sums could overflow.
constexpr std::uint64_t k_layout_bytes_max = std::uint64_t{1} << 46;
/// Limit of sequence numbers, epochs and versions; a billion per second would take 146 years to reach it. Larger
/// numbers are neither written nor accepted: they could overflow and begin at 0 again, as if they were older.
constexpr std::uint64_t k_number_max = std::uint64_t{1} << 62;

/// Returns the checksum of a superblock that lies at `place` (0 or 1).
std::uint64_t superblock_checksum(const format::superblock& s, std::uint64_t place);
/// True if magic, place and checksum are correct. Does not check the rest.
bool is_valid(const format::superblock& s, std::uint64_t place);

/// True if sequence, epoch and version are within k_number_max (I7).
bool has_sound_numbers(const format::superblock& s);

/// True if `name` is a valid name of an application: 1 to 15 printable ASCII characters without spaces.
bool may_be_application(std::string_view name);
/// Precondition: may_be_application().
void set_application(format::superblock& s, std::string_view application);

/// Fails with errc::unsupported_format if the heap has an unknown feature that forbids writing.
[[nodiscard]] result<void> check_may_be_written(const format::superblock& s, const std::string& path);

struct current_superblock {
    format::superblock super;
    std::optional<std::uint64_t> other_damage; // file offset of the other superblock, if that one is not valid
};

/// Reads both superblocks, and validates the current one: the newer of those with a correct checksum. Accepts formats
/// from k_format_version_oldest on. errc::not_a_heap, unsupported_format, truncated; corrupt, with the place.
result<current_superblock> read_superblocks(os::file& file, std::uint64_t file_bytes);
/// Reads the superblock with this sequence number, which is current even if a newer one is being written. errc::corrupt
/// if the file does not contain it.
result<current_superblock> read_superblock(os::file& file, std::uint64_t sequence);

} // namespace remanence::store
