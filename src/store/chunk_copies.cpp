#include "store/chunk_copies.hpp"

#include "base/assert.hpp"
#include "base/range.hpp"
#include "store/superblocks.hpp"

#include <algorithm>
#include <utility>

namespace remanence::store {

namespace {

// Moves of chunks must not bring the chunk map above this many exceptions. A move adds at most two mappings, and a
// process may have 65,530.
constexpr std::size_t k_exceptions_to_move = 8192;
// Chunks are given back only while the chunk map has fewer exceptions than this. Giving back a run of chunks also adds
// at most two mappings.
constexpr std::size_t k_exceptions_to_give_back = 4096;

} // namespace

result<void> chunk_copies::read_map(os::file& file) {
    auto map = chunk_map::read(file, current_);
    if (!map)
        return map.error();
    map_ = std::move(*map);
    return {};
}

std::vector<extent> chunk_copies::extents() const {
    std::vector<extent> found;
    const std::uint64_t chunk = layout_.chunk_bytes();
    const auto add_stored = [&](std::uint64_t from, std::uint64_t to, chunk_place place) {
        (void)layout_.for_each_in_region({from, to - from}, [&](heap_range part) -> result<void> {
            found.push_back({part, true, layout_.copy_in(place, part.offset)});
            return {};
        });
    };
    std::uint64_t at = 0;
    for (const format::chunk_exception& e : map_.exceptions()) {
        const std::uint64_t begin = e.chunk * chunk;
        const std::uint64_t end = (e.chunk + e.run_length) * chunk;
        add_stored(at, begin, chunk_place::copy_a);
        if (e.encoding == format::chunk_encoding::zero)
            found.push_back({{begin, end - begin}, false, 0});
        else
            add_stored(begin, end, chunk_place::copy_b);
        at = end;
    }
    add_stored(at, image_bytes_, chunk_place::copy_a);
    return found;
}

std::uint64_t chunk_copies::copy_of(std::uint64_t heap_offset) const {
    return layout_.copy_in(map_.place_of(heap_offset / layout_.chunk_bytes()), heap_offset);
}

std::optional<std::uint64_t> chunk_copies::heap_offset_at(std::uint64_t file_offset) const {
    for (const layout::copies& each : layout_.all_copies()) {
        if (!each.file.contains(file_offset))
            continue;
        const std::uint64_t heap_offset = each.heap_offset + (file_offset - each.file.offset);
        if (copy_of(heap_offset) == file_offset)
            return heap_offset;
    }
    return {};
}

chunk_place chunk_copies::other_place_of(std::uint64_t chunk) const {
    return map_.place_of(chunk) == chunk_place::copy_b ? chunk_place::copy_a : chunk_place::copy_b;
}

bool chunk_copies::may_move(std::uint64_t chunk) const {
    return retired_.may_be_taken(chunk, current_.checkpoint_version) && may_move_after_checkpoint(chunk);
}

bool chunk_copies::may_move_after_checkpoint(std::uint64_t chunk) const {
    return is_stored(chunk) && (layout_.has_copy_b(chunk) || file_end() <= k_layout_bytes_max);
}

bool chunk_copies::can_move(std::uint64_t chunk, chunk_place to) const {
    return may_move(chunk) && layout_.has_copy_b(chunk) && map_.place_of(chunk) != to;
}

std::size_t chunk_copies::room_to_move(std::span<const std::uint64_t> chunks) const {
    const std::size_t limit = std::max(k_exceptions_to_move, map_.exceptions().size());
    chunk_map after = map_with_early();
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        move_in(after, chunks[i], 0);
        if (after.exceptions().size() > limit)
            return i;
    }
    return chunks.size();
}

bool chunk_copies::may_all_move(std::span<const std::uint64_t> chunks) const {
    chunk_map after = map_;
    for (const std::uint64_t chunk : chunks)
        move_in(after, chunk, 0);
    return after.exceptions().size() <= std::max(chunk_map::k_exceptions_max, map_.exceptions().size());
}

std::vector<std::uint64_t> chunk_copies::scattered(std::size_t exceptions, std::uint64_t chunks) const {
    if (map_.exceptions().size() <= exceptions || map_.exceptions().size() > k_exceptions_to_move)
        return {};
    std::vector<format::chunk_exception> runs(map_.exceptions().begin(), map_.exceptions().end());
    std::erase_if(runs, [](const auto& run) { return run.encoding == format::chunk_encoding::zero; });
    std::ranges::stable_sort(runs, {}, &format::chunk_exception::run_length);
    std::vector<std::uint64_t> found;
    for (const format::chunk_exception& run : runs) {
        if (found.size() + run.run_length > chunks)
            break;
        for (std::uint64_t chunk = run.chunk; chunk < run.chunk + run.run_length; ++chunk)
            found.push_back(chunk);
    }
    std::ranges::sort(found);
    return found;
}

const chunk_map& chunk_copies::map_with_early() const {
    if (!map_with_early_) {
        map_with_early_ = map_;
        for (const std::uint64_t chunk : early_) {
            if (is_stored(chunk))
                move_in(*map_with_early_, chunk, 0);
        }
    }
    return *map_with_early_;
}

bool chunk_copies::may_hold_early(std::uint64_t chunk) const {
    if (given_back_.contains(chunk))
        return false; // R3
    const std::size_t limit = std::max(k_exceptions_to_move, map_.exceptions().size());
    return !is_stored(chunk) || early_.contains(chunk) || map_with_early().exceptions().size() + 2 <= limit;
}

bool chunk_copies::hold_early(std::uint64_t chunk) {
    if (!may_hold_early(chunk))
        return false;
    if (is_stored(chunk) && !early_.contains(chunk)) {
        move_in(*map_with_early_, chunk, 0);
        // may_hold_early() made sure that nothing durable names the copy to which the chunk will move. From now on that
        // copy must not be punched.
        retired_.erase(chunk);
    }
    early_.insert(chunk);
    return true;
}

void chunk_copies::release_early(std::uint64_t chunk) noexcept {
    early_.erase(chunk);
    map_with_early_.reset();
}

void chunk_copies::move_in(chunk_map& map, std::uint64_t chunk, std::uint64_t version) const {
    if (map.place_of(chunk) == chunk_place::copy_b) {
        map.move_to_copy_a(chunk);
        return;
    }
    const std::uint64_t location = layout_.copy_in(chunk_place::copy_b, chunk * layout_.chunk_bytes());
    map.move_to_copy_b(chunk, location, layout_.chunk_bytes(), version);
}

void chunk_copies::place_fresh(std::uint64_t chunk, std::uint64_t version) {
    REM_CHECK(!given_back_.contains(chunk)); // R3
    const std::uint64_t image_chunks = image_bytes_ / layout_.chunk_bytes();
    if (chunk < image_chunks) {
        map_.erase(chunk);
    } else {
        map_.append_zero_run(image_chunks, chunk - image_chunks, version);
        image_bytes_ = (chunk + 1) * layout_.chunk_bytes();
    }
    release_early(chunk);
}

void chunk_copies::move(std::uint64_t chunk, std::uint64_t version, bool maps_former_copy) {
    move_in(map_, chunk, version);
    retired_.add(chunk, version, maps_former_copy);
    release_early(chunk);
}

std::size_t chunk_copies::room_to_give_back(std::span<const chunk_range> chunks) const {
    chunk_map after = map_;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        if (after.exceptions().size() >= k_exceptions_to_give_back ||
            !after.add_zero_run(chunks[i].first, chunks[i].count, 0))
            return i;
    }
    return chunks.size();
}

// I7: records are input, so this also checks the runs that a record names.
std::optional<std::uint64_t> chunk_copies::image_bytes_without(std::span<const chunk_range> chunks) const {
    const std::uint64_t image_chunks = image_bytes_ / layout_.chunk_bytes();
    chunk_map after = map_;
    for (const chunk_range& run : chunks) {
        if (run.first >= image_chunks || run.count > image_chunks - run.first)
            return {};
        for (std::uint64_t chunk = run.first; chunk < run.end(); ++chunk) {
            if (!is_stored(chunk))
                return {};
        }
        if (!after.add_zero_run(run.first, run.count, 0))
            return {};
    }
    return after.without_zeros_at_end(image_chunks) * layout_.chunk_bytes();
}

void chunk_copies::give_back(std::span<const chunk_range> chunks, std::uint64_t version) {
    for (const chunk_range& run : chunks) {
        const bool is_done = map_.add_zero_run(run.first, run.count, version);
        REM_CHECK(is_done);
        given_back_.add(run, version);
        for (std::uint64_t chunk = run.first; chunk < run.end(); ++chunk)
            retired_.erase(chunk); // given_back_ covers both its copies
    }
    image_bytes_ = map_.without_zeros_at_end(image_bytes_ / layout_.chunk_bytes()) * layout_.chunk_bytes();
    map_with_early_.reset();
}

void chunk_copies::note_checkpoint() {
    // If the offsets differ, the map was given another area since the last checkpoint.
    if (next_map_area_.area_offset == current_.map.area_offset)
        next_map_area_ = current_.map;
    retired_.note_checkpoint(current_.checkpoint_version);
    given_back_.note_checkpoint(current_.checkpoint_version);
}

} // namespace remanence::store
