// A commit: room for what it writes, and the chunks that it writes whole, to their first home or to their other one.

#include "store/heap_file.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <utility>

namespace remanence::store {

using format::region;
using format::superblock;

namespace {

constexpr std::uint64_t k_direct_bytes_min = 64 * KiB;
constexpr std::size_t k_exceptions_to_move = 8192; // two mappings each at worst; a process has 65,530

} // namespace

unexpected heap_file::exhausted() const {
    return fail(errc::exhausted,
                path() + " has reached the largest size of its format. Split the data over several heaps.", path());
}

result<void> heap_file::add_regions(std::uint64_t heap_bytes) {
    std::uint64_t have = region_bytes();
    if (heap_bytes <= have)
        return {};
    if (super_.region_count == super_.regions.size() || heap_bytes > k_heap_bytes_max)
        return exhausted();
    // By half its size each time, so that few regions make even a large heap; what is not used yet is a hole.
    region r{};
    r.heap_offset = have;
    r.bytes =
        align_up(std::max(heap_bytes - have, std::min(have / 2, k_heap_bytes_max - have)), format::k_region_alignment);
    r.table_offset = layout_end();
    r.home_offset = align_up(r.table_offset + checksum_table::file_bytes(r.bytes), format::k_home_alignment);
    if (r.home_offset > k_heap_bytes_max)
        return exhausted();
    superblock next = super_;
    next.regions[next.region_count++] = r;
    REM_TRY(publish_layout(next));
    tables_.emplace_back(*file_, r);
    return {};
}

result<void> heap_file::upgrade(std::string_view application) {
    superblock next = super_;
    next.format_version = format::k_format_version;
    if (!application.empty())
        set_application(next, application);
    return publish_layout(next);
}

// I3: it names nothing new that exists.
result<void> heap_file::publish_layout(const superblock& next) {
    REM_CHECK(!is_publishing_);
    REM_TRY(confirm()); // the one that stays must be durable before the other is overwritten
    auto sealed = numbered(next);
    if (!sealed)
        return sealed.error();
    REM_TRY(write_superblock(*file_, syncs_, *sealed));
    super_ = *sealed;
    return {};
}

result<void> heap_file::reserve_pages(std::uint64_t first_page, std::uint64_t count) {
    if (file_->fills_holes_when_read()) { // all of the chunks then, since they are going to be mapped
        const std::uint64_t end = align_up(first_page + count, chunk_pages());
        first_page = align_down(first_page, chunk_pages());
        count = end - first_page;
    }
    std::uint64_t home = home_of(first_page * k_page_bytes);
    REM_TRY(file_->reserve("store: reserve pages", home, count * k_page_bytes));
    file_bytes_ = std::max(file_bytes_, home + count * k_page_bytes);
    // Second homes of two regions may follow each other; leaves do not go beyond a region.
    for (std::uint64_t page = first_page; page < first_page + count; page += format::k_leaf_pages)
        REM_TRY(reserve_checksums(page));
    return reserve_checksums(first_page + count - 1);
}

result<void> heap_file::reserve_places() {
    if (places_reserved_)
        return {};
    REM_TRY(file_->reserve("store: reserve superblocks", 0, format::k_first_table_offset));
    if (next_map_area_.area_offset >= format::k_first_table_offset) {
        REM_TRY(file_->reserve("store: reserve chunk map again", next_map_area_.area_offset,
                               2 * next_map_area_.slot_bytes));
    }
    places_reserved_ = true;
    return {};
}

result<void> heap_file::reserve_checksums(std::uint64_t page) {
    std::size_t index = region_index(page * k_page_bytes);
    return tables_[index].reserve(page - super_.regions[index].heap_offset / k_page_bytes);
}

result<void> heap_file::reserve_map(std::uint64_t more) {
    std::uint64_t bytes = (map_.exceptions().size() + more) * sizeof(format::chunk_exception);
    bytes = std::min(bytes, align_up(chunk_map::k_exceptions_max * sizeof(format::chunk_exception), k_page_bytes));
    if (bytes <= next_map_area_.slot_bytes)
        return {};
    format::map_reference area = next_map_area_;
    area.area_offset = layout_end();
    area.slot_bytes = align_up(2 * bytes, k_page_bytes);
    if (area.area_offset > k_heap_bytes_max)
        return exhausted();
    REM_TRY(file_->reserve("store: reserve larger chunk map", area.area_offset, 2 * area.slot_bytes));
    file_bytes_ = std::max(file_bytes_, area.area_offset + 2 * area.slot_bytes);
    next_map_area_ = area; // I8: the old area is left alone
    return {};
}

result<void> heap_file::extend_to(std::uint64_t end) {
    if (file_bytes_ >= end)
        return {};
    REM_TRY(file_->resize("store: extend", end));
    file_bytes_ = end;
    return {};
}

result<void> heap_file::write_fresh(std::uint64_t first_page, std::span<const std::byte> pages) {
    // The whole chunk will be mapped, so the file must extend to its end.
    std::uint64_t last = first_page * k_page_bytes + pages.size() - 1;
    REM_TRY(extend_to(home_of(align_down(last, super_.chunk_bytes)) + super_.chunk_bytes));
    return write_pages("store: fresh pages", home_of(first_page * k_page_bytes), pages);
}

// What is long goes straight to the device. The kernel gathers short ones, of which each would be waited for alone.
result<void> heap_file::write_pages(os::site where, std::uint64_t offset, std::span<const std::byte> pages) {
    return pages.size() < k_direct_bytes_min ? file_->write(where, offset, pages)
                                             : file_->write_direct(where, offset, pages);
}

result<void> heap_file::extend_to_fresh(std::uint64_t chunk) {
    return extend_to(home_of(chunk * super_.chunk_bytes) + super_.chunk_bytes);
}

result<void> heap_file::sync_fresh() { return syncs_.sync("store: sync fresh pages"); }

result<bool> heap_file::has_contents(std::uint64_t chunk) {
    if (!is_stored(chunk))
        return false;
    for (std::uint64_t page = chunk * chunk_pages(); page < (chunk + 1) * chunk_pages(); ++page) {
        auto checksum = checksum_of(page);
        if (!checksum)
            return checksum.error();
        if (*checksum != 0)
            return true;
    }
    return false;
}

void heap_file::accept_fresh(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version) {
    REM_CHECK(checksums.size() == chunk_pages());
    std::uint64_t image_chunks = image_bytes_ / super_.chunk_bytes;
    if (chunk < image_chunks) {
        map_.erase(chunk);
    } else {
        map_.append_zero_run(image_chunks, chunk - image_chunks, version);
        image_bytes_ = (chunk + 1) * super_.chunk_bytes;
    }
    fresh_.emplace(chunk, std::move(checksums));
    release_early(chunk);
}

// R3
bool heap_file::may_move(std::uint64_t chunk) const {
    const auto left = retired_.find(chunk);
    return (left == retired_.end() || left->second.version <= super_.checkpoint_version) &&
           may_move_after_checkpoint(chunk);
}

bool heap_file::may_move_after_checkpoint(std::uint64_t chunk) const {
    return is_stored(chunk) && (has_second_home(chunk) || layout_end() <= k_heap_bytes_max);
}

bool heap_file::can_move(std::uint64_t chunk, chunk_place to) const {
    return may_move(chunk) && has_second_home(chunk) && map_.place_of(chunk) != to;
}

std::size_t heap_file::room_to_move(std::span<const std::uint64_t> chunks) const {
    const std::size_t limit = std::max(k_exceptions_to_move, map_.exceptions().size());
    chunk_map after = map_with_early();
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        move(after, chunks[i], 0);
        if (after.exceptions().size() > limit)
            return i;
    }
    return chunks.size();
}

bool heap_file::may_all_move(std::span<const std::uint64_t> chunks) const {
    chunk_map after = map_;
    for (const std::uint64_t chunk : chunks)
        move(after, chunk, 0);
    return after.exceptions().size() <= std::max(chunk_map::k_exceptions_max, map_.exceptions().size());
}

std::vector<std::uint64_t> heap_file::scattered(std::size_t exceptions, std::uint64_t chunks) const {
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

const chunk_map& heap_file::map_with_early() const {
    if (!map_with_early_) {
        map_with_early_ = map_;
        for (const std::uint64_t chunk : early_) {
            if (is_stored(chunk))
                move(*map_with_early_, chunk, 0);
        }
    }
    return *map_with_early_;
}

bool heap_file::may_hold_early(std::uint64_t chunk) const {
    const std::size_t limit = std::max(k_exceptions_to_move, map_.exceptions().size());
    return !is_stored(chunk) || early_.contains(chunk) || map_with_early().exceptions().size() + 2 <= limit;
}

bool heap_file::hold_early(std::uint64_t chunk) {
    if (!may_hold_early(chunk))
        return false;
    if (is_stored(chunk) && !early_.contains(chunk)) {
        move(*map_with_early_, chunk, 0);
        retired_.erase(
            chunk); // may_move(): nothing durable names the home that it is to take, which must not be punched now
    }
    early_.insert(chunk);
    return true;
}

void heap_file::release_early(std::uint64_t chunk) noexcept {
    early_.erase(chunk);
    map_with_early_.reset();
}

void heap_file::move(chunk_map& map, std::uint64_t chunk, std::uint64_t version) const {
    if (map.place_of(chunk) == chunk_place::second_home) {
        map.move_to_first_home(chunk);
        return;
    }
    const std::uint64_t location = home_in(chunk_place::second_home, chunk * super_.chunk_bytes);
    map.move_to_second_home(chunk, location, super_.chunk_bytes, version);
}

bool heap_file::needs_second_homes(std::span<const std::uint64_t> chunks) const {
    return !std::ranges::all_of(chunks, [&](std::uint64_t chunk) { return has_second_home(chunk); });
}

result<void> heap_file::add_second_homes(std::span<const std::uint64_t> chunks) {
    superblock next = super_;
    std::uint64_t end = layout_end();
    for (const std::uint64_t chunk : chunks) {
        const std::size_t index = region_index(chunk * super_.chunk_bytes);
        if (next.second_homes[index] != 0)
            continue;
        next.second_homes[index] = align_up(end, format::k_home_alignment);
        end = next.second_homes[index] + next.regions[index].bytes;
        if (next.second_homes[index] > k_heap_bytes_max)
            return exhausted();
    }
    if (next.second_homes == super_.second_homes)
        return {};
    next.features_incompat |= format::k_feature_second_homes;
    return publish_layout(next);
}

chunk_place heap_file::other_place_of(std::uint64_t chunk) const {
    return map_.place_of(chunk) == chunk_place::second_home ? chunk_place::first_home : chunk_place::second_home;
}

std::uint64_t heap_file::other_home_of(std::uint64_t chunk) const {
    return home_in(other_place_of(chunk), chunk * super_.chunk_bytes);
}

result<void> heap_file::reserve_move(std::uint64_t first_chunk, std::uint64_t count) {
    const std::uint64_t home = other_home_of(first_chunk);
    const std::uint64_t bytes = count * super_.chunk_bytes;
    REM_TRY(file_->reserve("store: reserve moved chunks", home, bytes));
    file_bytes_ = std::max(file_bytes_, home + bytes);
    for (std::uint64_t chunk = first_chunk; chunk < first_chunk + count; ++chunk)
        REM_TRY(reserve_checksums(chunk * chunk_pages())); // one node has those of all its pages
    return {};
}

result<void> heap_file::write_moved(std::uint64_t first_page, std::span<const std::byte> pages) {
    const std::uint64_t first_chunk = first_page / chunk_pages();
    const std::uint64_t in_chunk = first_page % chunk_pages() * k_page_bytes;
    const std::uint64_t home = other_home_of(first_chunk);
    REM_TRY(extend_to(home + align_up(in_chunk + pages.size(), super_.chunk_bytes)));
    return write_pages("store: moved chunks", home + in_chunk, pages);
}

void heap_file::accept_moved(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version,
                             bool maps_former_home) {
    REM_CHECK(checksums.size() == chunk_pages());
    move(map_, chunk, version);
    retired_[chunk] = {version, maps_former_home};
    ++newly_retired_; // may_move(): it was not one of them
    fresh_.insert_or_assign(chunk, std::move(checksums));
    release_early(chunk);
}

} // namespace remanence::store
