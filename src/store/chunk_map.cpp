#include "store/chunk_map.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <algorithm>

namespace remanence::store {

using format::chunk_exception;

namespace {

constexpr std::uint64_t k_map_seed = 0x6d6170; // "map"

std::uint64_t map_checksum(std::span<const chunk_exception> exceptions) {
    return checksum64(std::as_bytes(exceptions), k_map_seed);
}

unexpected damaged_map(const os::file& file, std::uint64_t offset, const std::string& what) {
    return fail(errc::corrupt,
                "the chunk map of " + file.path() + " is damaged at byte " + std::to_string(offset) + " (" + what +
                    "). Restore the heap from a copy.",
                file.path(), 0, offset);
}

} // namespace

result<chunk_map> chunk_map::read(os::file& file, const format::map_reference& where, std::uint64_t chunk_count) {
    chunk_map map;
    if (where.count == 0)
        return map;
    std::uint64_t offset = where.area_offset + where.slot * where.slot_bytes;
    map.exceptions_.resize(static_cast<std::size_t>(where.count)); // bounded by the superblock's validation
    REM_TRY(file.read(offset, std::as_writable_bytes(std::span(map.exceptions_))));
    if (map_checksum(map.exceptions_) != where.checksum)
        return damaged_map(file, offset, "its checksum is wrong");
    std::uint64_t next = 0;
    for (const chunk_exception& e : map.exceptions_) { // I7
        std::uint64_t at = offset + static_cast<std::uint64_t>(&e - map.exceptions_.data()) * sizeof e;
        if (e.chunk < next || e.run_length == 0 || e.run_length > chunk_count || e.chunk > chunk_count - e.run_length) {
            return damaged_map(file, at, "an entry is out of order or bounds");
        }
        if (e.encoding != format::chunk_encoding::zero)
            return damaged_map(file, at, "an entry has an unknown encoding");
        next = e.chunk + e.run_length;
    }
    return map;
}

bool chunk_map::is_zero(std::uint64_t chunk) const {
    auto after = std::upper_bound(exceptions_.begin(), exceptions_.end(), chunk,
                                  [](std::uint64_t c, const chunk_exception& e) { return c < e.chunk; });
    return after != exceptions_.begin() && chunk - std::prev(after)->chunk < std::prev(after)->run_length;
}

void chunk_map::erase(std::uint64_t chunk) {
    auto after = std::upper_bound(exceptions_.begin(), exceptions_.end(), chunk,
                                  [](std::uint64_t c, const chunk_exception& e) { return c < e.chunk; });
    if (after == exceptions_.begin())
        return;
    auto run = std::prev(after);
    if (chunk - run->chunk >= run->run_length)
        return;
    changed_ = true;
    chunk_exception rest = *run;
    rest.chunk = chunk + 1;
    rest.run_length = run->chunk + run->run_length - rest.chunk;
    run->run_length = chunk - run->chunk;
    if (run->run_length != 0 && rest.run_length != 0) {
        if (exceptions_.size() < k_exceptions_max) {
            exceptions_.insert(after, rest);
        } else if (rest.run_length > run->run_length) {
            *run = rest; // without room the shorter part counts as stored: a hole, which reads as zeros, too
        }
    } else if (rest.run_length != 0) {
        *run = rest;
    } else if (run->run_length == 0) {
        exceptions_.erase(run);
    }
}

void chunk_map::append_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version) {
    if (count == 0 || exceptions_.size() == k_exceptions_max)
        return;
    REM_CHECK(exceptions_.empty() || exceptions_.back().chunk + exceptions_.back().run_length <= first);
    changed_ = true;
    exceptions_.push_back({first, count, 0, birth_version, format::chunk_encoding::zero, 0, 0});
}

bool chunk_map::add_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version) {
    const auto after = std::ranges::lower_bound(exceptions_, first, {}, &chunk_exception::chunk);
    REM_CHECK(after == exceptions_.end() || first + count <= after->chunk);
    const bool joins_after = after != exceptions_.end() && after->chunk == first + count;
    const bool joins_before =
        after != exceptions_.begin() && std::prev(after)->chunk + std::prev(after)->run_length == first;
    if (!joins_before && !joins_after && exceptions_.size() == k_exceptions_max)
        return false;
    changed_ = true;
    chunk_exception joined{first, count, 0, birth_version, format::chunk_encoding::zero, 0, 0};
    if (joins_after)
        joined.run_length += after->run_length;
    if (joins_before) {
        const auto before = std::prev(after);
        joined.chunk = before->chunk;
        joined.run_length += before->run_length;
        *before = joined;
        if (joins_after)
            exceptions_.erase(after);
    } else if (joins_after) {
        *after = joined;
    } else {
        exceptions_.insert(after, joined);
    }
    return true;
}

std::uint64_t chunk_map::without_zeros_at_end(std::uint64_t chunk_count) {
    while (!exceptions_.empty() && exceptions_.back().chunk + exceptions_.back().run_length == chunk_count) {
        chunk_count = exceptions_.back().chunk;
        exceptions_.pop_back();
        changed_ = true;
    }
    return chunk_count;
}

chunk_map::placed chunk_map::place(format::map_reference area) {
    area.slot = 1 - area.slot; // I1
    area.count = exceptions_.size();
    area.checksum = map_checksum(exceptions_);
    REM_CHECK(area.count * sizeof(chunk_exception) <= area.slot_bytes);
    const auto bytes = std::as_bytes(std::span(exceptions_));
    changed_ = false;
    return {area, {area.area_offset + area.slot * area.slot_bytes, {bytes.begin(), bytes.end()}}};
}

} // namespace remanence::store
