#include "store/chunk_map.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "base/range.hpp"

#include <algorithm>

namespace remanence::store {

using format::chunk_encoding;
using format::chunk_exception;

namespace {

constexpr std::uint64_t k_map_seed = 0x6d6170; // "map"
constexpr std::size_t k_no_limit = ~std::size_t{0};

std::uint64_t map_checksum(std::span<const chunk_exception> exceptions) {
    return checksum64(std::as_bytes(exceptions), k_map_seed);
}

unexpected unknown_encoding(const os::file& file, std::uint64_t offset, chunk_encoding encoding) {
    return fail(errc::unsupported_format,
                "the chunk map of " + file.path() + " says at byte " + std::to_string(offset) +
                    " that chunks have encoding " + std::to_string(static_cast<std::uint32_t>(encoding)) +
                    ", which this release lacks. Use a newer release.",
                file.path(), 0, offset);
}

unexpected damaged_map(const os::file& file, std::uint64_t offset, const std::string& what) {
    return fail(errc::corrupt,
                "the chunk map of " + file.path() + " is damaged at byte " + std::to_string(offset) + " (" + what +
                    "). Restore the heap from a copy.",
                file.path(), 0, offset);
}

std::uint64_t end_of(const chunk_exception& e) { return e.chunk + e.run_length; }

chunk_exception zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version) {
    return {first, count, 0, birth_version, chunk_encoding::zero, 0, 0};
}

chunk_exception part_of(const chunk_exception& e, std::uint64_t first, std::uint64_t end) {
    const std::uint64_t chunk_bytes = e.stored_bytes / e.run_length; // 0 for zeros
    chunk_exception part = e;
    part.chunk = first;
    part.run_length = end - first;
    part.location += (first - e.chunk) * chunk_bytes;
    part.stored_bytes = part.run_length * chunk_bytes;
    return part;
}

bool continues(const chunk_exception& before, const chunk_exception& after) {
    return end_of(before) == after.chunk && before.encoding == after.encoding &&
           before.location + before.stored_bytes == after.location;
}

/// Joins runs that continue each other. `all` is sorted.
void join(std::vector<chunk_exception>& all) {
    std::size_t last = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
        if (continues(all[last], all[i])) {
            all[last].run_length += all[i].run_length;
            all[last].stored_bytes += all[i].stored_bytes;
            all[last].birth_version = std::max(all[last].birth_version, all[i].birth_version);
        } else {
            all[++last] = all[i];
        }
    }
    if (!all.empty())
        all.resize(last + 1);
}

/// True if each of the run's chunks lies in copy B of its region.
bool is_in_copies_b(const chunk_exception& e, const format::superblock& super) {
    const heap_range heap{e.chunk * super.chunk_bytes, e.run_length * super.chunk_bytes};
    for (std::size_t i = 0; i < super.region_count; ++i) {
        const format::region& r = super.regions[i];
        const std::uint64_t from = std::max(heap.offset, r.heap_offset);
        if (from >= std::min(heap.end(), r.heap_offset + r.bytes))
            continue;
        if (super.copy_b_offsets[i] == 0 ||
            e.location + (from - heap.offset) != super.copy_b_offsets[i] + (from - r.heap_offset))
            return false;
    }
    return e.stored_bytes == heap.bytes;
}

} // namespace

// I7
result<chunk_map> chunk_map::read(os::file& file, const format::superblock& super) {
    chunk_map map;
    const format::map_reference& where = super.map;
    const std::uint64_t chunk_count = super.image_bytes / super.chunk_bytes;
    if (where.count == 0)
        return map;
    std::uint64_t offset = where.area_offset + where.slot * where.slot_bytes;
    map.exceptions_.resize(static_cast<std::size_t>(where.count)); // bounded, since the superblock was checked
    REM_TRY(file.read(offset, std::as_writable_bytes(std::span(map.exceptions_))));
    if (map_checksum(map.exceptions_) != where.checksum)
        return damaged_map(file, offset, "its checksum is wrong");
    std::uint64_t next = 0;
    for (const chunk_exception& e : map.exceptions_) {
        std::uint64_t at = offset + static_cast<std::uint64_t>(&e - map.exceptions_.data()) * sizeof e;
        if (e.encoding != chunk_encoding::raw && e.encoding != chunk_encoding::zero)
            return unknown_encoding(file, at, e.encoding); // tested first: an encoding may redefine other fields
        if (e.chunk < next || e.run_length == 0 || e.run_length > chunk_count || e.chunk > chunk_count - e.run_length) {
            return damaged_map(file, at, "an entry is out of order or bounds");
        }
        if (e.zero != 0)
            return damaged_map(file, at, "an entry has something where zeros belong");
        if (e.birth_version > super.checkpoint_version)
            return damaged_map(file, at, "an entry is of a commit that the image does not hold");
        if (e.encoding == chunk_encoding::raw && !is_in_copies_b(e, super))
            return damaged_map(file, at, "an entry names a place other than copy B");
        if (e.encoding == chunk_encoding::zero && (e.location != 0 || e.stored_bytes != 0))
            return damaged_map(file, at, "an entry names a place for chunks that hold nothing");
        next = end_of(e);
    }
    return map;
}

chunk_place chunk_map::place_of(std::uint64_t chunk) const {
    auto after = std::ranges::upper_bound(exceptions_, chunk, {}, &chunk_exception::chunk);
    if (after == exceptions_.begin() || chunk >= end_of(*std::prev(after)))
        return chunk_place::copy_a;
    return std::prev(after)->encoding == chunk_encoding::zero ? chunk_place::nowhere : chunk_place::copy_b;
}

bool chunk_map::replace(std::uint64_t first, std::uint64_t count, const std::optional<chunk_exception>& by,
                        std::size_t exceptions_max) {
    auto begin = std::ranges::upper_bound(exceptions_, first, {}, end_of);
    auto end = std::lower_bound(begin, exceptions_.end(), first + count,
                                [](const chunk_exception& e, std::uint64_t chunk) { return e.chunk < chunk; });
    if (begin == end && !by)
        return true;
    std::vector<chunk_exception> now;
    if (begin != exceptions_.begin())
        now.push_back(*--begin); // this exception may be adjacent to `by`
    if (auto touched = begin + static_cast<std::ptrdiff_t>(now.size()); touched != end && touched->chunk < first)
        now.push_back(part_of(*touched, touched->chunk, first));
    if (by)
        now.push_back(*by);
    if (end != begin && end_of(*std::prev(end)) > first + count)
        now.push_back(part_of(*std::prev(end), first + count, end_of(*std::prev(end))));
    if (end != exceptions_.end())
        now.push_back(*end++); // this exception may be adjacent to `by`
    join(now);
    const auto replaced = static_cast<std::size_t>(end - begin);
    if (exceptions_.size() - replaced + now.size() > std::max(exceptions_max, exceptions_.size()))
        return false;
    changed_ = true;
    const auto kept = static_cast<std::ptrdiff_t>(std::min(replaced, now.size()));
    std::copy_n(now.begin(), kept, begin);
    if (now.size() < replaced)
        exceptions_.erase(begin + kept, end);
    else
        exceptions_.insert(begin + kept, now.begin() + kept, now.end());
    return true;
}

// If there is no room for another exception, the shorter of the two parts into which the run would be split counts as
// stored. That part is a hole in the file, which also reads as zeros.
void chunk_map::erase(std::uint64_t chunk) {
    if (replace(chunk, 1, std::nullopt))
        return;
    const chunk_exception run = *std::ranges::upper_bound(exceptions_, chunk, {}, end_of);
    const bool is_nearer_to_begin = chunk - run.chunk < end_of(run) - chunk;
    const bool is_done = is_nearer_to_begin ? replace(run.chunk, chunk + 1 - run.chunk, std::nullopt)
                                            : replace(chunk, end_of(run) - chunk, std::nullopt);
    REM_CHECK(is_done);
}

void chunk_map::append_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version) {
    if (count == 0)
        return;
    REM_CHECK(exceptions_.empty() || end_of(exceptions_.back()) <= first);
    (void)replace(first, count, zero_run(first, count, birth_version));
}

bool chunk_map::add_zero_run(std::uint64_t first, std::uint64_t count, std::uint64_t birth_version) {
    return replace(first, count, zero_run(first, count, birth_version));
}

void chunk_map::move_to_copy_b(std::uint64_t chunk, std::uint64_t location, std::uint64_t chunk_bytes,
                               std::uint64_t birth_version) {
    (void)replace(chunk, 1, chunk_exception{chunk, 1, location, birth_version, chunk_encoding::raw, 0, chunk_bytes},
                  k_no_limit);
}

void chunk_map::move_to_copy_a(std::uint64_t chunk) { (void)replace(chunk, 1, std::nullopt, k_no_limit); }

std::uint64_t chunk_map::without_zeros_at_end(std::uint64_t chunk_count) {
    while (!exceptions_.empty() && exceptions_.back().encoding == chunk_encoding::zero &&
           end_of(exceptions_.back()) == chunk_count) {
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
