#include "store/heap_file.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::store {

using format::region;
using format::superblock;

namespace {

// Two mappings each at worst; a process has 65,530.
constexpr std::size_t k_exceptions_to_forget = 4096;
constexpr std::size_t k_exceptions_to_move = 8192;

/// Whether a log lies beside the file, by how it begins. When in doubt it does not.
bool has_redo_log(os::file_system& files, const std::string& path) {
    auto log = files.open(log_path(path), os::access::read_only);
    auto magic = format::log_header{}.magic;
    return log && (*log)->read(0, std::as_writable_bytes(std::span(&magic, 1))) && magic == format::k_log_magic;
}

} // namespace

result<std::unique_ptr<heap_file>> heap_file::create(os::file_system& files, const std::string& path,
                                                     const creation& how) {
    REM_TRY(create_empty(files, path, how));
    auto store = open(files, path, os::access::read_write);
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
    }
    auto size = (*file)->size();
    if (!size)
        return size.error();
    auto ruling = read_superblocks(**file, *size);
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
    auto store = begin_open(files, path, mode, locking::yes);
    if (!store)
        return store.error();
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

result<void> heap_file::check_length() const {
    if (image_bytes_ == 0)
        return {};
    std::uint64_t needed = 0;
    for (const extent& e : extents()) {
        if (e.stored)
            needed = std::max(needed, e.file_offset + e.heap.bytes);
    }
    if (file_bytes_ >= needed)
        return {};
    return fail(errc::truncated,
                path() + " ends at byte " + std::to_string(file_bytes_) + ", although it should have at least " +
                    std::to_string(needed) + " bytes. Restore it from a copy.",
                path(), 0, file_bytes_);
}

result<void> heap_file::read_map() {
    auto map = chunk_map::read(*file_, super_);
    if (!map)
        return map.error();
    map_ = std::move(*map);
    return {};
}

std::string_view heap_file::abi() const { return super_.abi.data(); }

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
    if (!early_.empty())
        end = std::max(end, home_of(*early_.rbegin() * super_.chunk_bytes) + super_.chunk_bytes);
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
    std::uint64_t home = home_of(first_page * k_page_bytes);
    REM_TRY(file_->reserve("store: reserve pages", home, count * k_page_bytes));
    file_bytes_ = std::max(file_bytes_, home + count * k_page_bytes);
    std::size_t index = region_index(first_page * k_page_bytes);
    std::uint64_t first = first_page - super_.regions[index].heap_offset / k_page_bytes;
    for (std::uint64_t page = first; page < first + count; page += format::k_leaf_pages)
        REM_TRY(tables_[index].reserve(page));
    return tables_[index].reserve(first + count - 1);
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
    return file_->write_direct("store: fresh pages", home_of(first_page * k_page_bytes), pages);
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
    early_.erase(chunk);
}

result<void> heap_file::fold(std::span<const folded_page> pages) {
    std::vector<placed_page> placed;
    placed.reserve(pages.size());
    for (const folded_page& page : pages) {
        REM_TRY(set_checksum(page.page, page.checksum));
        placed.push_back({home_of(page.page * k_page_bytes), page.bytes});
    }
    std::vector<std::byte> staging;
    for (std::span<const placed_page> rest(placed); !rest.empty();) {
        auto count = write_run(*file_, rest, publication::k_step_bytes, staging);
        if (!count)
            return count.error();
        rest = rest.subspan(*count);
    }
    return {};
}

result<void> heap_file::take_fresh_checksums() {
    for (const auto& [chunk, checksums] : fresh_) {
        std::uint64_t first = chunk * chunk_pages();
        std::size_t index = region_index(first * k_page_bytes);
        std::uint64_t in_region = first - super_.regions[index].heap_offset / k_page_bytes;
        for (std::size_t i = 0; i < checksums.size(); ++i) {
            auto before = tables_[index].get(in_region + i);
            if (!before)
                return before.error();
            if (checksums[i] != *before)
                REM_TRY(tables_[index].set(in_region + i, checksums[i]));
        }
    }
    fresh_.clear();
    return {};
}

result<std::unique_ptr<publication>> heap_file::compose(std::span<const folded_page> pages,
                                                        const published_state& state) {
    REM_CHECK(!state.clean || state.log_begin == format::k_log_header_bytes);
    REM_CHECK(confirmed_ && !is_publishing_);
    is_ahead_of_file_ = true;
    REM_TRY(take_fresh_checksums());
    std::vector<placed_page> placed;
    placed.reserve(pages.size());
    for (const folded_page& page : pages) {
        REM_TRY(set_checksum(page.page, page.checksum));
        placed.push_back({home_of(page.page * k_page_bytes), page.bytes});
    }
    superblock next = super_;
    std::vector<planned_write> nodes;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        auto root = tables_[i].take_changed(nodes);
        if (!root)
            return root.error();
        next.regions[i].root = *root;
    }
    std::optional<planned_write> map_write;
    if (map_.changed()) {
        chunk_map::placed map = map_.place(next_map_area_);
        next.map = map.reference;
        if (!map.write.bytes.empty())
            map_write = std::move(map.write);
    }
    next.checkpoint_version = state.version;
    next.chain = state.chain;
    next.epoch = state.epoch;
    next.log_begin = state.log_begin;
    next.image_bytes = image_bytes_;
    next.flags = state.clean ? format::k_flag_clean : 0;
    auto sealed = numbered(next);
    if (!sealed)
        return sealed.error();
    auto composed = std::make_unique<publication>(*file_, syncs_, std::move(placed), std::move(nodes),
                                                  std::move(map_write), *sealed);
    is_publishing_ = true;
    return composed;
}

void heap_file::adopt(const publication& done) {
    REM_CHECK(is_publishing_ && done.is_done());
    is_publishing_ = is_ahead_of_file_ = false;
    // Else reserve_map() has found a larger area meanwhile.
    if (next_map_area_.area_offset == done.next().map.area_offset)
        next_map_area_ = done.next().map;
    super_ = done.next();
    newly_retired_ = static_cast<std::uint64_t>(std::ranges::count_if(
        retired_, [&](const auto& each) { return each.second.version > super_.checkpoint_version; }));
}

result<void> heap_file::publish(std::uint64_t version, std::uint64_t chain, std::uint64_t epoch, bool clean,
                                std::uint64_t log_begin) {
    REM_TRY(confirm());
    auto composed = compose({}, {version, chain, epoch, clean, log_begin});
    if (!composed)
        return composed.error();
    auto carried = (*composed)->carry_out();
    if (carried)
        adopt(**composed);
    is_publishing_ = false;
    return carried;
}

// What was read when the heap was opened may have been in the page cache only: its writer may have died, or its sync
// may have failed, which leaves pages that count as clean (I5). So it is written again, not just synced.
result<void> heap_file::confirm() {
    if (confirmed_)
        return {};
    REM_TRY(file_->write("store: confirm superblock", super_.sequence % 2 * format::k_superblock_bytes,
                         std::as_bytes(std::span(&super_, 1))));
    REM_TRY(syncs_.sync("store: sync confirmed superblock"));
    confirmed_ = true;
    return {};
}

result<superblock> heap_file::numbered(superblock next) const {
    ++next.sequence;
    const std::uint64_t place = next.sequence % 2;
    if (!has_sound_numbers(next)) {
        return fail(errc::corrupt,
                    "the superblock of " + path() +
                        " has numbers that no use leads to, so that none can follow it. Restore the heap from a copy.",
                    path(), 0, (1 - place) * format::k_superblock_bytes);
    }
    next.checksum = superblock_checksum(next, place);
    return next;
}

result<void> heap_file::take_over_structure() {
    for (checksum_table& table : tables_)
        REM_TRY(table.take_over());
    map_.take_over();
    return {};
}

result<std::vector<byte_range>> heap_file::forget(byte_range stretch, std::uint64_t version) {
    const std::uint64_t chunk_bytes = super_.chunk_bytes;
    const std::uint64_t end = stretch.end() / chunk_bytes;
    std::vector<byte_range> forgotten;
    for (std::uint64_t chunk = stretch.offset / chunk_bytes; chunk < end;) {
        if (!is_stored(chunk)) {
            ++chunk;
            continue;
        }
        const std::uint64_t first = chunk;
        while (chunk < end && is_stored(chunk))
            ++chunk;
        auto reserved = reserve_to_forget(first, chunk);
        if (!reserved && reserved.why().code == errc::io)
            return reserved.error();
        if (!reserved || map_.exceptions().size() >= k_exceptions_to_forget ||
            !map_.add_zero_run(first, chunk - first, version))
            break; // I8
        for (std::uint64_t each = first; each < chunk; ++each) {
            fresh_.erase(each);
            retired_.erase(each); // both its homes are given back
            REM_TRY(clear_checksums(each));
        }
        forgotten.push_back({first * chunk_bytes, (chunk - first) * chunk_bytes});
    }
    image_bytes_ = map_.without_zeros_at_end(image_bytes_ / chunk_bytes) * chunk_bytes;
    return forgotten;
}

result<void> heap_file::reserve_to_forget(std::uint64_t first, std::uint64_t end) {
    REM_TRY(reserve_map(1));
    for (std::uint64_t chunk = first; chunk < end; ++chunk)
        REM_TRY(reserve_checksums(chunk * chunk_pages())); // one node has those of all its pages
    return {};
}

// In the table, which must know nothing of pages that are zeros when the chunk is stored again.
result<void> heap_file::clear_checksums(std::uint64_t chunk) {
    const std::size_t index = region_index(chunk * super_.chunk_bytes);
    const std::uint64_t first = chunk * chunk_pages() - super_.regions[index].heap_offset / k_page_bytes;
    for (std::uint64_t page = first; page < first + chunk_pages(); ++page) {
        auto checksum = tables_[index].get(page);
        if (!checksum)
            return checksum.error();
        if (*checksum != 0)
            REM_TRY(tables_[index].set(page, 0));
    }
    return {};
}

result<void> heap_file::discard_unstored() {
    // I5: also since a longer file may be so in the page cache only, when the sync after an extension failed. A commit
    // that relied on it would be lost.
    if (const std::uint64_t end = needed_end(); file_bytes_ > end) {
        REM_TRY(file_->resize("store: cut off unstored", end));
        file_bytes_ = end;
    }
    REM_TRY(discard_retired());
    REM_TRY(discard_dead_homes());
    for (const extent& e : extents()) {
        if (!e.stored)
            REM_TRY(discard_first_homes(e.heap));
    }
    return discard_first_homes({image_bytes_, region_bytes() - image_bytes_});
}

// Fresh chunks rely on zeros there.
result<void> heap_file::discard_first_homes(byte_range heap) {
    for (const byte_range& unused : without_early(heap)) {
        for (std::uint64_t from = unused.offset; from < unused.end();) {
            const region& r = region_of(from);
            const std::uint64_t end = std::min(unused.end(), r.heap_offset + r.bytes);
            const std::uint64_t home = home_in(chunk_place::first_home, from);
            if (home < file_bytes_)
                REM_TRY(file_->punch("store: punch unstored", home, std::min(end - from, file_bytes_ - home)));
            from = end;
        }
    }
    return {};
}

// Homes in which a chunk is not, of regions that have two. What moves there is written whole.
result<void> heap_file::discard_dead_homes() {
    if (!has_second_homes())
        return {};
    for (const extent& e : extents()) {
        const bool is_at_first = e.stored && e.file_offset == home_in(chunk_place::first_home, e.heap.offset);
        REM_TRY(discard_homes(e.stored && !is_at_first ? chunk_place::first_home : chunk_place::second_home, e.heap));
    }
    return discard_homes(chunk_place::second_home, {image_bytes_, region_bytes() - image_bytes_});
}

// But for those that chunks left, and that something durable may name.
result<void> heap_file::discard_homes(chunk_place place, byte_range heap) {
    const std::uint64_t chunk_bytes = super_.chunk_bytes;
    for (std::uint64_t from = heap.offset; from < heap.end();) {
        const region& r = region_of(from);
        std::uint64_t end = std::min(heap.end(), r.heap_offset + r.bytes);
        const auto left = retired_.lower_bound(from / chunk_bytes);
        std::uint64_t next = end;
        if (left != retired_.end() && left->first * chunk_bytes < end) {
            end = left->first * chunk_bytes;
            next = end + chunk_bytes;
        }
        if (from < end && has_second_home(from / chunk_bytes))
            REM_TRY(punch_homes(home_in(place, from), end - from));
        from = next;
    }
    return {};
}

result<void> heap_file::punch_homes(std::uint64_t home, std::uint64_t bytes) {
    if (home >= file_bytes_)
        return {};
    return file_->punch("store: punch former homes", home, std::min(bytes, file_bytes_ - home), os::unpunchable::stays);
}

// R3
bool heap_file::may_move(std::uint64_t chunk) const {
    const auto left = retired_.find(chunk);
    return is_stored(chunk) && (left == retired_.end() || left->second.version <= super_.checkpoint_version) &&
           (has_second_home(chunk) || layout_end() <= k_heap_bytes_max);
}

bool heap_file::can_move(std::uint64_t chunk, chunk_place to) const {
    return may_move(chunk) && has_second_home(chunk) && map_.place_of(chunk) != to;
}

std::size_t heap_file::room_to_move(std::span<const std::uint64_t> chunks) const {
    const std::size_t limit = std::max(k_exceptions_to_move, map_.exceptions().size());
    chunk_map after = map_;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        if (!move(after, chunks[i], 0) || after.exceptions().size() > limit)
            return i;
    }
    return chunks.size();
}

bool heap_file::move(chunk_map& map, std::uint64_t chunk, std::uint64_t version) const {
    if (map.place_of(chunk) == chunk_place::second_home)
        return map.move_to_first_home(chunk);
    const std::uint64_t location = home_in(chunk_place::second_home, chunk * super_.chunk_bytes);
    return map.move_to_second_home(chunk, location, super_.chunk_bytes, version);
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

result<void> heap_file::write_moved(std::uint64_t first_chunk, std::span<const std::byte> chunks) {
    const std::uint64_t home = other_home_of(first_chunk);
    REM_TRY(extend_to(home + chunks.size()));
    return file_->write_direct("store: moved chunks", home, chunks);
}

void heap_file::accept_moved(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version,
                             bool maps_former_home) {
    REM_CHECK(checksums.size() == chunk_pages());
    const bool has_room = move(map_, chunk, version);
    REM_CHECK(has_room); // room_to_move() said so
    retired_[chunk] = {version, maps_former_home};
    ++newly_retired_; // may_move(): it was not one of them
    fresh_.insert_or_assign(chunk, std::move(checksums));
}

void heap_file::left_former_home(std::uint64_t chunk) {
    if (const auto left = retired_.find(chunk); left != retired_.end())
        left->second.is_mapped = false;
}

void heap_file::left_all_former_homes() {
    for (auto& [chunk, home] : retired_)
        home.is_mapped = false;
}

result<void> heap_file::discard_retired() {
    const auto is_free = [&](const auto& each) {
        return !each.second.is_mapped && each.second.version <= super_.checkpoint_version;
    };
    for (auto first = retired_.begin(); first != retired_.end();) {
        if (!is_free(*first)) {
            ++first;
            continue;
        }
        const std::uint64_t home = other_home_of(first->first);
        std::uint64_t count = 1;
        auto end = std::next(first);
        while (end != retired_.end() && is_free(*end) &&
               other_home_of(end->first) == home + count * super_.chunk_bytes) {
            ++count;
            ++end;
        }
        REM_TRY(punch_homes(home, count * super_.chunk_bytes));
        first = retired_.erase(first, end);
    }
    return {};
}

} // namespace remanence::store
