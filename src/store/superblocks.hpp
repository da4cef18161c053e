// The two superblocks at the beginning of a heap file: which one rules, and whether what it says can be believed (I7). May
// use: base, os, format.
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

/// Of all regions, and of the places in the file: above it sums could overflow.
constexpr std::uint64_t k_layout_bytes_max = std::uint64_t{1} << 46;
/// Of superblocks, epochs and commits: a billion of them every second reach it in 146 years. Higher ones are neither read
/// nor written: they would come to an end, and what follows begin from 0 again, as if it were older.
constexpr std::uint64_t k_number_max = std::uint64_t{1} << 62;

/// Checksum of a superblock that lies at `place`, 0 or 1.
std::uint64_t superblock_checksum(const format::superblock& s, std::uint64_t place);
/// Whether magic, place and checksum fit; says nothing of the rest.
bool is_valid(const format::superblock& s, std::uint64_t place);

/// Whether its sequence, epoch and version are such as heaps have. (I7)
bool has_sound_numbers(const format::superblock& s);

/// Whether an application may be called so: 1 to 15 printable characters of ASCII, none of them a space.
bool may_be_application(std::string_view name);
/// Precondition: it may be.
void set_application(format::superblock& s, std::string_view application);

/// errc::unsupported_format when the heap has a feature that a release which does not know it may read, but must not write.
[[nodiscard]] result<void> check_may_be_written(const format::superblock& s, const std::string& path);

struct current_superblock {
    format::superblock super;
    std::optional<std::uint64_t> other_damage; // where in the file the other one lies, when it is not valid
};

/// Reads both and validates the current one: the newer of those that are valid. It may be of an older format, from
/// k_format_version_oldest on. errc::not_a_heap, unsupported_format,
/// truncated, corrupt with the place.
result<current_superblock> read_superblocks(os::file& file, std::uint64_t file_bytes);
/// Reads the one with this sequence, which rules although a newer one may be on its way. errc::corrupt when it is not there.
result<current_superblock> read_superblock(os::file& file, std::uint64_t sequence);

} // namespace remanence::store
