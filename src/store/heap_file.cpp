#include "store/heap_file.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "os/memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::store {

using format::region;

namespace {

/// Whether a log lies beside the file, by how it begins. When in doubt it does not.
bool has_redo_log(os::file_system& files, const std::string& path) {
    auto log = files.open(log_path(path), os::access::read_only);
    auto magic = format::log_header{}.magic;
    return log && (*log)->read(0, std::as_writable_bytes(std::span(&magic, 1))) && magic == format::k_log_magic;
}

} // namespace

result<std::unique_ptr<heap_file>> heap_file::create(os::file_system& files, const std::string& path,
                                                     const creation& how) {
    auto made = create_empty(files, path, how);
    if (!made)
        return made.error();
    auto store = open(files, path, os::access::read_write);
    if (store && (*store)->super().uuid != *made)
        return fail(errc::unlinked, "the new heap " + path + " was replaced at once, by another one. Open that one.",
                    path);
    if (store)
        (*store)->confirmed_ = true;
    return store;
}

/// All of an open but what open_damaged() does not insist on.
result<std::unique_ptr<heap_file>> heap_file::begin_open(os::file_system& files, const std::string& path,
                                                         os::access mode, locking lock) {
    auto file = files.open(path, mode);
    if (!file)
        return file.error();
    if (lock == locking::yes) {
        auto locked =
            (*file)->try_lock(mode == os::access::read_only ? os::lock_kind::shared : os::lock_kind::exclusive);
        if (!locked)
            return locked.error();
        if (!*locked)
            return in_use(path);
        auto name = (*file)->find_name(); // it may have lost it before it was locked
        if (!name)
            return name.error();
        if (!name->exists)
            return fail(errc::unlinked, path + " was removed or replaced while it was being opened. Open it again.",
                        path);
    }
    auto size = (*file)->size();
    if (!size)
        return size.error();
    auto ruling = read_superblocks(**file, *size);
    if (lock == locking::none_if_free) {
        auto locked = (*file)->is_locked_exclusively();
        if (!locked)
            return locked.error();
        if (*locked)
            return in_use(path);
        size = (*file)->size(); // by now it has what the superblock names
        if (!size)
            return size.error();
    }
    if (!ruling && ruling.why().code == errc::not_a_heap && has_redo_log(files, path)) {
        return fail(errc::truncated,
                    path + (*size == 0 ? " is empty" : " does not begin as a heap") + ", although a redo log, " +
                        log_path(path) + ", lies beside it. Keep that log, and restore the heap from a copy.",
                    path, 0, 0);
    }
    if (!ruling)
        return ruling.error();
    return std::unique_ptr<heap_file>(new heap_file(std::move(*file), *size, *ruling));
}

result<std::unique_ptr<heap_file>> heap_file::open(os::file_system& files, const std::string& path, os::access mode) {
    auto store = open_to_upgrade(files, path, mode);
    if (!store)
        return store.error();
    if (const std::uint32_t version = (*store)->super().format_version; version != format::k_format_version) {
        return fail(errc::unsupported_format,
                    path + " has the older format " + std::to_string(version) + ", this release works on format " +
                        std::to_string(format::k_format_version) + ". Convert it: rem upgrade " + path,
                    path, 0,
                    (*store)->super().sequence % 2 * format::k_superblock_bytes +
                        offsetof(format::superblock, format_version));
    }
    return store;
}

result<std::unique_ptr<heap_file>> heap_file::open_to_upgrade(os::file_system& files, const std::string& path,
                                                              os::access mode) {
    auto store = begin_open(files, path, mode, locking::yes);
    if (!store)
        return store.error();
    if (mode == os::access::read_write)
        REM_TRY(check_may_be_written((*store)->super(), path));
    REM_TRY((*store)->check_length());
    REM_TRY((*store)->read_map());
    return store;
}

result<std::unique_ptr<heap_file>> heap_file::open_damaged(os::file_system& files, const std::string& path,
                                                           const std::function<void(const failure&)>& damaged,
                                                           locking lock) {
    auto store = begin_open(files, path, os::access::read_write, lock);
    if (!store)
        return store.error();
    if (auto long_enough = (*store)->check_length(); !long_enough)
        damaged(long_enough.why());
    if (auto read = (*store)->read_map(); !read) {
        if (!is_damage(read.why().code))
            return read.error();
        damaged(read.why()); // without it, chunks that it calls zero count as stored, and read as zeros too
    }
    return store;
}

heap_file::heap_file(std::unique_ptr<os::file> file, std::uint64_t file_bytes, const ruling_superblock& ruling)
    : file_(std::move(file)),
      syncs_(*file_),
      super_(ruling.super),
      next_map_area_(super_.map),
      image_bytes_(super_.image_bytes),
      file_bytes_(file_bytes),
      other_superblock_damage_(ruling.other_damage) {
    for (std::size_t i = 0; i < super_.region_count; ++i)
        tables_.emplace_back(*file_, super_.regions[i]);
}

std::uint64_t heap_file::stored_end() const {
    std::uint64_t end = 0;
    for (const extent& e : extents()) {
        if (e.stored)
            end = std::max(end, e.file_offset + e.heap.bytes);
    }
    return end;
}

std::uint64_t heap_file::written_end() const {
    const auto is_in_log = [&](std::uint64_t chunk) {
        const auto placed = fresh_.find(chunk);
        return placed != fresh_.end() && format::is_without_contents(placed->second);
    };
    std::uint64_t end = 0;
    for (const extent& e : extents()) {
        std::uint64_t bytes = e.stored ? e.heap.bytes : 0;
        while (bytes != 0 && is_in_log((e.heap.offset + bytes) / super_.chunk_bytes - 1))
            bytes -= super_.chunk_bytes;
        if (bytes != 0)
            end = std::max(end, e.file_offset + bytes);
    }
    return end;
}

result<void> heap_file::check_length() const { return check_reaches(stored_end()); }

result<void> heap_file::check_reaches(std::uint64_t needed) const {
    if (file_bytes_ >= needed)
        return {};
    return fail(errc::truncated,
                path() + " ends at byte " + std::to_string(file_bytes_) + ", although it should have at least " +
                    std::to_string(needed) + " bytes. Restore it from a copy.",
                path(), 0, file_bytes_);
}

// I5: also when it is as long already, since that may be so in the page cache only. It never becomes shorter here: behind the last
// stored chunk there may be checksums, or the chunk map.
result<void> heap_file::extend_to_image() {
    REM_TRY(check_reaches(written_end()));
    if (written_end() == stored_end())
        return {};
    const std::uint64_t end = std::max(file_bytes_, stored_end());
    REM_TRY(file_->resize("store: extend for what the log has", end));
    file_bytes_ = end;
    return {};
}

result<void> heap_file::read_map() {
    auto map = chunk_map::read(*file_, super_);
    if (!map)
        return map.error();
    map_ = std::move(*map);
    return {};
}

std::string_view heap_file::abi() const { return super_.abi.data(); }

std::string_view heap_file::application() const { return super_.application.data(); }

result<void> heap_file::check_application(std::string_view application, unstated when) const {
    const std::string_view own = this->application();
    if (application.empty() || application == own || (own.empty() && when == unstated::taken))
        return {};
    const std::string wanted(application);
    if (own.empty()) {
        return fail(errc::wrong_application,
                    path() + " does not say which application's heap it is, this program is of \"" + wanted +
                        "\". If it is its heap, record that: rem upgrade --application " + wanted + " " + path(),
                    path());
    }
    return fail(errc::wrong_application,
                path() + " is a heap of the application \"" + std::string(own) + "\", this program is of \"" + wanted +
                    "\". Name another file.",
                path());
}

result<session_identity> heap_file::next_session() const {
    session_identity next{super_.epoch + 1, {}};
    REM_TRY(os::random_bytes(next.number.data(), next.number.size()));
    return next;
}

std::size_t heap_file::region_index(std::uint64_t heap_offset) const {
    auto end = super_.regions.begin() + static_cast<std::ptrdiff_t>(super_.region_count);
    auto after = std::upper_bound(super_.regions.begin(), end, heap_offset,
                                  [](std::uint64_t offset, const region& r) { return offset < r.heap_offset; });
    return static_cast<std::size_t>(after - super_.regions.begin()) - 1;
}

const region& heap_file::region_of(std::uint64_t heap_offset) const {
    REM_ASSERT(heap_offset < region_bytes());
    return super_.regions[region_index(heap_offset)];
}

std::uint64_t heap_file::region_bytes() const {
    if (super_.region_count == 0)
        return 0;
    const region& last = super_.regions[super_.region_count - 1];
    return last.heap_offset + last.bytes;
}

std::uint64_t heap_file::home_in(chunk_place place, std::uint64_t heap_offset) const {
    const std::size_t index = region_index(heap_offset);
    const region& r = super_.regions[index];
    const std::uint64_t begin = place == chunk_place::second_home ? super_.second_homes[index] : r.home_offset;
    return begin + (heap_offset - r.heap_offset);
}

std::uint64_t heap_file::home_of(std::uint64_t heap_offset) const {
    REM_ASSERT(heap_offset < region_bytes());
    return home_in(map_.place_of(heap_offset / super_.chunk_bytes), heap_offset);
}

std::vector<heap_file::homes> heap_file::all_homes() const {
    std::vector<homes> found;
    for (std::size_t i = 0; i < super_.region_count; ++i) {
        const region& r = super_.regions[i];
        found.push_back({{r.home_offset, r.bytes}, r.heap_offset, chunk_place::first_home});
        if (super_.second_homes[i] != 0)
            found.push_back({{super_.second_homes[i], r.bytes}, r.heap_offset, chunk_place::second_home});
    }
    std::ranges::sort(found, {}, [](const homes& each) { return each.file.offset; });
    return found;
}

std::optional<std::uint64_t> heap_file::heap_offset_at(std::uint64_t file_offset) const {
    for (const homes& each : all_homes()) {
        if (file_offset < each.file.offset || file_offset >= each.file.end())
            continue;
        const std::uint64_t heap_offset = each.heap_offset + (file_offset - each.file.offset);
        if (home_of(heap_offset) == file_offset)
            return heap_offset;
    }
    return {};
}

std::uint64_t heap_file::layout_end() const {
    std::uint64_t end = format::k_first_table_offset;
    for (const homes& each : all_homes())
        end = std::max(end, each.file.end());
    for (const auto& area : {super_.map, next_map_area_})
        end = std::max(end, area.area_offset + 2 * area.slot_bytes);
    return end;
}

std::uint64_t heap_file::needed_end() const {
    std::uint64_t end = format::k_first_table_offset;
    for (std::size_t i = 0; i < super_.region_count; ++i)
        end = std::max(end, super_.regions[i].table_offset + checksum_table::file_bytes(super_.regions[i].bytes));
    for (const extent& e : extents()) {
        if (e.stored)
            end = std::max(end, e.file_offset + e.heap.bytes);
    }
    for (const auto& [chunk, home] : retired_)
        end = std::max(end, other_home_of(chunk) + super_.chunk_bytes);
    for (const std::uint64_t chunk : early_)
        end = std::max(end, early_home_of(chunk) + super_.chunk_bytes);
    for (const auto& area : {super_.map, next_map_area_})
        end = std::max(end, area.area_offset + 2 * area.slot_bytes);
    return end;
}

std::vector<byte_range> heap_file::without_early(byte_range heap) const {
    std::vector<byte_range> found;
    std::uint64_t from = heap.offset;
    const auto add_up_to = [&](std::uint64_t to) {
        if (from < to)
            found.push_back({from, to - from});
    };
    for (auto each = early_.lower_bound(heap.offset / super_.chunk_bytes);
         each != early_.end() && *each * super_.chunk_bytes < heap.end(); ++each) {
        add_up_to(*each * super_.chunk_bytes);
        from = (*each + 1) * super_.chunk_bytes;
    }
    add_up_to(heap.end());
    return found;
}

bool heap_file::is_stored(std::uint64_t chunk) const {
    return chunk * super_.chunk_bytes < image_bytes_ && map_.place_of(chunk) != chunk_place::nowhere;
}

std::vector<extent> heap_file::extents() const {
    std::vector<extent> found;
    const std::uint64_t chunk = super_.chunk_bytes;
    // A stored stretch falls into pieces at the regions' borders.
    auto add_stored = [&](std::uint64_t from, std::uint64_t to, chunk_place place) {
        while (from < to) {
            const region& r = region_of(from);
            std::uint64_t end = std::min(to, r.heap_offset + r.bytes);
            found.push_back({{from, end - from}, true, home_in(place, from)});
            from = end;
        }
    };
    std::uint64_t at = 0;
    for (const format::chunk_exception& e : map_.exceptions()) {
        const std::uint64_t begin = e.chunk * chunk;
        const std::uint64_t end = (e.chunk + e.run_length) * chunk;
        add_stored(at, begin, chunk_place::first_home);
        if (e.encoding == format::chunk_encoding::zero)
            found.push_back({{begin, end - begin}, false, 0});
        else
            add_stored(begin, end, chunk_place::second_home);
        at = end;
    }
    add_stored(at, image_bytes_, chunk_place::first_home);
    return found;
}

result<std::uint32_t> heap_file::checksum_of(std::uint64_t page) {
    std::uint64_t chunk = page / chunk_pages();
    if (!is_stored(chunk))
        return std::uint32_t{0};
    if (auto fresh = fresh_.find(chunk); fresh != fresh_.end())
        return fresh->second[page % chunk_pages()];
    std::size_t index = region_index(page * k_page_bytes);
    return tables_[index].get(page - super_.regions[index].heap_offset / k_page_bytes);
}

result<void> heap_file::set_checksum(std::uint64_t page, std::uint32_t checksum) {
    if (auto fresh = fresh_.find(page / chunk_pages()); fresh != fresh_.end()) {
        fresh->second[page % chunk_pages()] = checksum;
        return {};
    }
    std::size_t index = region_index(page * k_page_bytes);
    return tables_[index].set(page - super_.regions[index].heap_offset / k_page_bytes, checksum);
}

result<void> heap_file::read_pages(std::uint64_t first_page, std::span<std::byte> into) {
    const std::uint64_t count = into.size() / k_page_bytes;
    std::vector<std::uint32_t> checksums(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
        auto checksum = checksum_of(first_page + i);
        if (!checksum)
            return checksum.error();
        checksums[i] = *checksum;
    }
    for (std::uint64_t i = 0; i < count;) {
        std::uint64_t end = i + 1;
        if (checksums[i] == 0) {
            std::memset(into.data() + i * k_page_bytes, 0, k_page_bytes);
            i = end;
            continue;
        }
        std::uint64_t home = home_of((first_page + i) * k_page_bytes);
        while (end < count && checksums[end] != 0 &&
               home_of((first_page + end) * k_page_bytes) == home + (end - i) * k_page_bytes)
            ++end;
        auto run = into.subspan(i * k_page_bytes, (end - i) * k_page_bytes);
        REM_TRY(file_->read(home, run));
        for (; i < end; ++i) {
            if (page_checksum(into.subspan(i * k_page_bytes, k_page_bytes)) == checksums[i])
                continue;
            std::uint64_t at = home_of((first_page + i) * k_page_bytes);
            return fail(errc::corrupt,
                        "page " + std::to_string(first_page + i) + " of " + path() + " is damaged at byte " +
                            std::to_string(at) + " (its checksum is wrong). Restore the heap from a copy.",
                        path(), 0, at);
        }
    }
    return {};
}

} // namespace remanence::store
