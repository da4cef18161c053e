#include "store/superblocks.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "base/range.hpp"
#include "base/units.hpp"
#include "format/heap_header.hpp"
#include "format/log_record.hpp"
#include "os/memory.hpp"
#include "store/checksum_table.hpp"
#include "store/chunk_map.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace remanence::store {

using format::area_reference;
using format::region;
using format::superblock;

namespace {

unexpected damaged_superblock(const std::string& path, std::uint64_t offset, const std::string& what) {
    return fail(errc::corrupt,
                "the superblock of " + path + " at byte " + std::to_string(offset) + " is damaged (" + what +
                    "). Restore the heap from a copy.",
                path, 0, offset);
}

bool is_known(std::uint32_t version) {
    return version >= format::k_format_version_oldest && version <= format::k_format_version;
}

unexpected other_format(const std::string& path, std::uint32_t version, std::uint64_t place) {
    return fail(errc::unsupported_format,
                path + " has format " + std::to_string(version) + ", this release reads format " +
                    std::to_string(format::k_format_version) + ". Use the release that wrote it.",
                path, 0, place + offsetof(superblock, format_version));
}

/// Returns where in the file the heap's first page lies, when no superblock can be read. That page is at the beginning
/// of the first region's copy A, behind a checksum table of unknown size, so this function searches for its magic
/// number.
std::optional<std::uint64_t> find_heap_header(os::file& file, std::uint64_t file_bytes) {
    constexpr std::uint64_t k_searched_bytes = 16 * MiB;
    std::uint64_t magic = 0;
    for (std::uint64_t at = format::k_copy_alignment; at + sizeof magic <= std::min(file_bytes, k_searched_bytes);
         at += format::k_copy_alignment) {
        if (file.read(at, std::as_writable_bytes(std::span(&magic, 1))) && magic == format::k_header_magic)
            return at;
    }
    return {};
}

/// When neither superblock is valid: returns why the file is not a heap or cannot be read.
unexpected no_valid_superblock(os::file& file, const superblock_places& places, std::uint64_t file_bytes) {
    const std::string& path = file.path();
    auto has_magic = [](const superblock& s) { return s.magic == format::k_heap_magic; };
    auto is_empty = [](const superblock& s) { return is_all_zeros(std::as_bytes(std::span(&s, 1))); };
    if (file_bytes >= sizeof places && std::all_of(places.begin(), places.end(), is_empty)) {
        return fail(errc::corrupt,
                    path + " begins with " + std::to_string(sizeof places) +
                        " bytes of zeros where a heap has its superblocks. Restore it from a copy, if it was a heap.",
                    path, 0, 0);
    }
    if (std::none_of(places.begin(), places.end(), has_magic)) {
        if (places[0].magic == format::k_copy_magic) {
            return fail(errc::not_a_heap,
                        path + " is a copy of a heap that was not finished. Make the copy again, or remove it.", path);
        }
        if (const auto header = find_heap_header(file, file_bytes)) {
            return damaged_superblock(
                path, 0,
                "so is the other one: nothing is left of them, but a heap's memory begins at byte " +
                    std::to_string(*header));
        }
        return fail(errc::not_a_heap, path + " is not a heap: it does not begin as one. Name another file.", path, 0,
                    0);
    }
    // Another format may use another checksum. The version is believed only if both superblocks contain it; if they
    // differ, one of them is damaged.
    const std::uint32_t version = places[0].format_version;
    if (std::all_of(places.begin(), places.end(), has_magic) && !is_known(version) &&
        places[1].format_version == version)
        return other_format(path, version, 0);
    if (file_bytes < sizeof places) {
        return fail(errc::truncated,
                    path + " ends at byte " + std::to_string(file_bytes) +
                        ", within its superblocks. Restore it from a copy.",
                    path, 0, file_bytes);
    }
    std::string what = "so is the other one: no checksum fits";
    for (const superblock& s : places) {
        if (has_magic(s) && !is_known(s.format_version))
            what += "; one says that it is of format " + std::to_string(s.format_version);
    }
    return damaged_superblock(path, 0, what);
}

// I7: an area may be named only if its feature bit is set. The bit makes a release that does not know the area refuse
// the heap, or writing to it.
bool is_sound(const area_reference& area, bool may_be_there) {
    if (is_all_zeros(std::as_bytes(std::span(&area, 1))))
        return true;
    return may_be_there && area.zero == 0 && area.version != 0 && area.bytes != 0 && area.bytes <= k_layout_bytes_max &&
           area.offset >= format::k_first_table_offset && area.offset <= k_layout_bytes_max &&
           is_aligned(area.offset, k_page_bytes);
}

// Each function below returns what is wrong with a part of a superblock; null if nothing is.

const char* wrong_in_head(const superblock& s) {
    if (!is_power_of_two(s.chunk_bytes) || s.chunk_bytes < format::k_chunk_bytes_min ||
        s.chunk_bytes > format::k_chunk_bytes_max)
        return "chunk size";
    if (!is_aligned(s.base, os::k_base_alignment) || s.base == 0 || s.base >= os::k_address_end)
        return "base address";
    if (!has_sound_numbers(s))
        return "its numbers";
    if (s.abi.back() != '\0')
        return "ABI";
    if (const std::string_view name(s.application.data(), s.application.size());
        name.find_first_not_of('\0') != name.npos) {
        const std::size_t end = name.find('\0');
        if (end == name.npos || !may_be_application(name.substr(0, end)) ||
            name.find_first_not_of('\0', end) != name.npos)
            return "application";
    }
    if (s.log_begin < format::k_log_header_bytes || s.log_begin > k_layout_bytes_max ||
        !is_aligned(s.log_begin, format::k_record_alignment) ||
        ((s.flags & format::k_flag_clean) != 0 && s.log_begin != format::k_log_header_bytes))
        return "where its log begins";
    return nullptr;
}

/// Checks chunk map, history and log directory. Appends their places in the file to `areas`.
const char* wrong_in_areas(const superblock& s, std::vector<file_range>& areas) {
    if (s.map.slot > 1 || s.map.count > chunk_map::k_exceptions_max || s.map.slot_bytes > k_layout_bytes_max ||
        s.map.area_offset < format::k_first_map_offset || s.map.area_offset > k_layout_bytes_max ||
        !is_aligned(s.map.area_offset, k_page_bytes) || !is_aligned(s.map.slot_bytes, k_page_bytes) ||
        s.map.count * sizeof(format::chunk_exception) > s.map.slot_bytes)
        return "chunk map";
    areas.push_back({s.map.area_offset, 2 * s.map.slot_bytes});
    for (const auto& [area, may_be_there, name] :
         {std::tuple(s.history, (s.features_ro_compat & format::k_feature_history) != 0, "place of its history"),
          std::tuple(s.log_directory, (s.features_incompat & format::k_feature_log_directory) != 0,
                     "place of its log directory")}) {
        if (!is_sound(area, may_be_there))
            return name;
        if (area.bytes != 0)
            areas.push_back({area.offset, area.bytes});
    }
    return nullptr;
}

/// Checks the regions, their copies and the image's size. Appends their places in the file to `areas`.
const char* wrong_in_regions(const superblock& s, std::vector<file_range>& areas) {
    if (s.region_count > s.regions.size())
        return "number of regions";
    std::uint64_t heap_end = 0;
    std::uint64_t file_end = format::k_first_table_offset;
    for (std::size_t i = 0; i < s.region_count; ++i) {
        const region& r = s.regions[i];
        if (r.heap_offset != heap_end || r.bytes == 0 || !is_aligned(r.bytes, format::k_region_alignment) ||
            r.bytes > k_layout_bytes_max || heap_end + r.bytes > k_layout_bytes_max || r.table_offset < file_end ||
            r.table_offset > k_layout_bytes_max || !is_aligned(r.table_offset, k_page_bytes) ||
            r.copy_a_offset < r.table_offset + checksum_table::file_bytes(r.bytes) ||
            r.copy_a_offset > k_layout_bytes_max || !is_aligned(r.copy_a_offset, format::k_copy_alignment) ||
            r.root.slot > 1)
            return "regions";
        heap_end += r.bytes;
        file_end = r.copy_a_offset + r.bytes;
        areas.push_back({r.table_offset, file_end - r.table_offset});
    }
    for (std::size_t i = 0; i < s.copy_b_offsets.size(); ++i) {
        const std::uint64_t copy = s.copy_b_offsets[i];
        if (copy == 0)
            continue;
        if (i >= s.region_count || (s.features_incompat & format::k_feature_copy_b) == 0 ||
            copy < format::k_first_table_offset || copy > k_layout_bytes_max ||
            !is_aligned(copy, format::k_copy_alignment))
            return "copies B";
        areas.push_back({copy, s.regions[i].bytes});
    }
    return s.image_bytes > heap_end || !is_aligned(s.image_bytes, s.chunk_bytes) ? "image size" : nullptr;
}

bool lie_over_each_other(std::vector<file_range>& areas) {
    std::ranges::sort(areas, {}, &file_range::offset);
    return std::ranges::adjacent_find(areas, [](const file_range& one, const file_range& next) {
               return next.offset < one.end();
           }) != areas.end();
}

// I7: a superblock with a correct checksum may still come from an attacker.
result<void> check(const superblock& s, const std::string& path) {
    const std::uint64_t at = s.sequence % 2 * format::k_superblock_bytes;
    if (!is_known(s.format_version))
        return other_format(path, s.format_version, at);
    const bool may_retain_versions = (s.features_ro_compat & format::k_feature_versions) != 0;
    if (s.endianness != format::k_endianness || (s.features_incompat & ~format::k_known_incompat_features) != 0 ||
        s.checksum_algorithm != format::k_checksum_xxh3 || (s.versions.count != 0 && !may_retain_versions)) {
        return fail(errc::unsupported_format,
                    path + " uses features that this release lacks (endianness " + std::to_string(s.endianness) +
                        ", features " + std::to_string(s.features_incompat) + "/" +
                        std::to_string(s.features_ro_compat) + ", checksum " + std::to_string(s.checksum_algorithm) +
                        "). Use a newer release.",
                    path, 0, at);
    }
    std::vector<file_range> areas;
    const char* wrong = wrong_in_head(s);
    if (wrong == nullptr)
        wrong = wrong_in_areas(s, areas);
    if (wrong == nullptr)
        wrong = wrong_in_regions(s, areas);
    if (wrong == nullptr && lie_over_each_other(areas))
        wrong = "chunk map, copies and other areas overlap";
    if (wrong != nullptr)
        return damaged_superblock(path, at, wrong);
    return {};
}

} // namespace

std::uint64_t superblock_checksum(const superblock& s, std::uint64_t place) {
    return checksum64(std::as_bytes(std::span(&s, 1)).first(offsetof(superblock, checksum)), place);
}

bool is_valid(const superblock& s, std::uint64_t place) {
    return s.magic == format::k_heap_magic && s.sequence % 2 == place && s.checksum == superblock_checksum(s, place);
}

bool has_sound_numbers(const superblock& s) {
    return std::max({s.sequence, s.epoch, s.checkpoint_version}) <= k_number_max;
}

bool may_be_application(std::string_view name) {
    return !name.empty() && name.size() < format::k_application_bytes &&
           std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
}

void set_application(superblock& s, std::string_view application) {
    REM_CHECK(may_be_application(application));
    s.application = {};
    std::ranges::copy(application, s.application.begin());
}

result<void> check_may_be_written(const superblock& s, const std::string& path) {
    const std::uint64_t unknown = s.features_ro_compat & ~format::k_known_ro_compat_features;
    if (unknown == 0)
        return {};
    return fail(errc::unsupported_format,
                path + " has features that this release can read past, but not keep up (" + std::to_string(unknown) +
                    "). Open it read-only. Use a newer release to write to it or to copy it.",
                path, 0, s.sequence % 2 * format::k_superblock_bytes);
}

result<current_superblock> read_superblock(os::file& file, std::uint64_t sequence) {
    const std::uint64_t place = sequence % 2;
    superblock found{};
    REM_TRY(file.read(place * format::k_superblock_bytes, std::as_writable_bytes(std::span(&found, 1))));
    if (!is_valid(found, place) || found.sequence != sequence)
        return damaged_superblock(file.path(), place * format::k_superblock_bytes, "it is not the current one");
    REM_TRY(check(found, file.path()));
    return current_superblock{found, {}};
}

result<current_superblock> read_superblocks(os::file& file, std::uint64_t file_bytes) {
    const std::string& path = file.path();
    if (file_bytes == 0)
        return fail(errc::not_a_heap, path + " is empty, hence not a heap. Remove it, or name another file.", path);
    superblock_places places{};
    const std::uint64_t present = std::min<std::uint64_t>(file_bytes, sizeof places);
    REM_TRY(file.read(0, std::as_writable_bytes(std::span(places)).first(static_cast<std::size_t>(present))));
    const superblock* newest = nullptr;
    for (std::uint64_t i = 0; i < places.size(); ++i) {
        if (is_valid(places[i], i) && (newest == nullptr || places[i].sequence > newest->sequence))
            newest = &places[i];
    }
    if (newest == nullptr)
        return no_valid_superblock(file, places, file_bytes);
    REM_TRY(check(*newest, path));
    current_superblock found{*newest, {}};
    const std::uint64_t other = 1 - newest->sequence % 2;
    if (!is_valid(places[other], other))
        found.other_damage = other * format::k_superblock_bytes;
    return found;
}

} // namespace remanence::store
