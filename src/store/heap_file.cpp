#include "store/heap_file.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "os/memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace remanence::store {

using format::region;
using format::superblock;

namespace {

constexpr std::uint64_t k_heap_bytes_max = std::uint64_t{1} << 46;
constexpr std::uint64_t k_staging_bytes = 1 * MiB;

std::uint64_t superblock_checksum(const superblock& s, std::uint64_t place) {
    return checksum64(std::as_bytes(std::span(&s, 1)).first(offsetof(superblock, checksum)), place);
}

bool is_valid(const superblock& s, std::uint64_t place) {
    return s.magic == format::k_heap_magic && s.sequence % 2 == place && s.checksum == superblock_checksum(s, place);
}

unexpected damaged_superblock(const std::string& path, std::uint64_t offset, const std::string& what) {
    return fail(errc::corrupt,
                "the superblock of " + path + " at byte " + std::to_string(offset) + " is damaged (" + what +
                    "). Restore the heap from a copy.",
                path, 0, offset);
}

unexpected other_format(const std::string& path, std::uint32_t version, std::uint64_t place) {
    return fail(errc::unsupported_format,
                path + " has format " + std::to_string(version) + ", this release reads format " +
                    std::to_string(format::k_format_version) + ". Use the release that wrote it.",
                path, 0, place + offsetof(superblock, format_version));
}

unexpected in_use(const std::string& path) {
    return fail(
        errc::in_use,
        path +
            " is open elsewhere: another process, or another handle of this one, holds its lock. Close it there first.",
        path);
}

} // namespace

std::string new_path(const std::string& heap_path) { return heap_path + "-new"; }
std::string log_path(const std::string& heap_path) { return heap_path + "-log"; }

result<std::unique_ptr<os::file>> begin_new(os::file_system& files, const std::string& path, unsigned mode) {
    const std::string building = new_path(path);
    auto file = files.open_or_create(building, mode);
    if (!file) {
        unexpected why = file.error();
        why.why().path = path; // what the caller named
        return why;
    }
    auto locked = (*file)->try_lock(os::lock_kind::exclusive);
    if (!locked)
        return locked.error();
    auto mine = (*file)->is_at(building); // else another process renamed it before we had the lock
    if (!mine)
        return mine.error();
    if (!*locked || !*mine)
        return in_use(path);
    if (auto emptied = (*file)->resize("store: create", 0); !emptied) { // of what an interrupted creation left
        (void)files.remove("store: create", building);                  // best effort, as below
        return emptied.error();
    }
    return file;
}

result<std::unique_ptr<heap_file>> heap_file::create(os::file_system& files, const std::string& path,
                                                     const creation& how) {
    for (const std::string& taken : {path, log_path(path)}) {
        auto present = files.exists(taken);
        if (!present)
            return present.error();
        if (!*present)
            continue;
        if (taken == path)
            return fail(errc::exists, path + " exists. Open it, or choose another name.", path);
        std::string message = "cannot create " + path;
        message.append(": the redo log ").append(taken);
        message += " of an earlier heap is in the way, and may hold its last commits. Bring that heap back, or remove "
                   "the log.";
        return fail(errc::log_foreign, std::move(message), taken);
    }

    auto file = begin_new(files, path, how.mode);
    if (!file)
        return file.error();
    const std::string building = new_path(path);

    superblock s{};
    s.magic = format::k_heap_magic;
    s.format_version = format::k_format_version;
    s.endianness = format::k_endianness;
    REM_TRY(os::random_bytes(s.uuid.data(), s.uuid.size()));
    s.checksum_algorithm = format::k_checksum_xxh3;
    s.flags = format::k_flag_clean;
    s.chunk_bytes = how.chunk_bytes;
    s.base = how.base;
    s.map.area_offset = format::k_first_map_offset;
    s.map.slot_bytes = format::k_first_map_slot_bytes;
    REM_CHECK(how.abi.size() < s.abi.size());
    std::copy(how.abi.begin(), how.abi.end(), s.abi.begin());

    auto build = [&]() -> result<void> {
        REM_TRY((*file)->reserve("store: create", 0, format::k_first_table_offset));
        for (s.sequence = 0; s.sequence < format::k_superblock_count; ++s.sequence) {
            s.checksum = superblock_checksum(s, s.sequence);
            REM_TRY((*file)->write("store: create", s.sequence * format::k_superblock_bytes,
                                   std::as_bytes(std::span(&s, 1))));
        }
        REM_TRY((*file)->sync("store: sync new heap"));
        REM_TRY(files.rename_to_new("store: rename new heap", building, path));
        return files.sync_directory("store: sync directory of new heap", path);
    };
    if (auto built = build(); !built) {
        (void)files.remove("store: create", building); // best effort: the error at hand is the one that counts
        return built.error();
    }
    file->reset(); // opened again below under its own name
    auto store = open(files, path, os::access::read_write);
    if (store)
        (*store)->confirmed_ = true;
    return store;
}

result<std::unique_ptr<heap_file>> heap_file::open(os::file_system& files, const std::string& path, os::access mode) {
    auto file = files.open(path, mode);
    if (!file)
        return file.error();
    auto locked = (*file)->try_lock(mode == os::access::read_only ? os::lock_kind::shared : os::lock_kind::exclusive);
    if (!locked)
        return locked.error();
    if (!*locked)
        return in_use(path);
    std::unique_ptr<heap_file> store(new heap_file(std::move(*file)));
    REM_TRY(store->load(nullptr));
    return store;
}

result<std::unique_ptr<heap_file>> heap_file::open_damaged(os::file_system& files, const std::string& path,
                                                           const std::function<void(const failure&)>& damaged) {
    auto file = files.open(path, os::access::read_write);
    if (!file)
        return file.error();
    auto locked = (*file)->try_lock(os::lock_kind::exclusive);
    if (!locked)
        return locked.error();
    if (!*locked)
        return in_use(path);
    std::unique_ptr<heap_file> store(new heap_file(std::move(*file)));
    REM_TRY(store->load(&damaged));
    return store;
}

result<void> heap_file::load(const std::function<void(const failure&)>* damaged) {
    auto size = file_->size();
    if (!size)
        return size.error();
    file_bytes_ = *size;
    const std::string& path = file_->path();
    if (*size == 0)
        return fail(errc::not_a_heap, path + " is empty, hence not a heap. Remove it, or name another file.", path);

    std::array<superblock, format::k_superblock_count> places{};
    std::uint64_t present = std::min<std::uint64_t>(*size, sizeof places);
    REM_TRY(file_->read(0, std::as_writable_bytes(std::span(places)).first(static_cast<std::size_t>(present))));
    const superblock* newest = nullptr;
    for (std::uint64_t i = 0; i < places.size(); ++i) {
        if (is_valid(places[i], i) && (newest == nullptr || places[i].sequence > newest->sequence))
            newest = &places[i];
    }
    if (newest == nullptr) {
        auto has_magic = [](const superblock& s) { return s.magic == format::k_heap_magic; };
        if (std::none_of(places.begin(), places.end(), has_magic)) {
            return fail(errc::not_a_heap, path + " is not a heap: it does not begin as one. Name another file.", path,
                        0, 0);
        }
        // Its checksum may be another one.
        for (const superblock& s : places) {
            if (has_magic(s) && s.format_version != format::k_format_version)
                return other_format(path, s.format_version, 0);
        }
        if (*size < sizeof places) {
            return fail(errc::truncated,
                        path + " ends at byte " + std::to_string(*size) +
                            ", within its superblocks. Restore it from a copy.",
                        path, 0, *size);
        }
        return damaged_superblock(path, 0, "so is the other one: no checksum fits");
    }
    REM_TRY(check_superblock(*newest));
    super_ = *newest;
    if (auto long_enough = check_length(); !long_enough) {
        if (damaged == nullptr)
            return long_enough.error();
        (*damaged)(long_enough.why());
    }
    const std::uint64_t other = 1 - super_.sequence % 2;
    if (!is_valid(places[other], other))
        other_superblock_damage_ = other * format::k_superblock_bytes;
    image_bytes_ = super_.image_bytes;
    next_map_area_ = super_.map;
    for (std::size_t i = 0; i < super_.region_count; ++i)
        tables_.emplace_back(*file_, super_.regions[i]);
    auto map = chunk_map::read(*file_, super_.map, image_bytes_ / super_.chunk_bytes);
    if (map) {
        map_ = std::move(*map);
    } else if (damaged == nullptr || !is_damage(map.why().code)) {
        return map.error();
    } else {
        (*damaged)(map.why()); // without it, chunks that it calls zero count as stored, and read as zeros too
    }
    return {};
}

// I7: a superblock with a fitting checksum may still have been made by an enemy.
result<void> heap_file::check_superblock(const superblock& s) const {
    const std::string& path = file_->path();
    const std::uint64_t at = s.sequence % 2 * format::k_superblock_bytes;
    auto bad = [&](const char* what) { return damaged_superblock(path, at, what); };
    if (s.format_version != format::k_format_version)
        return other_format(path, s.format_version, at);
    if (s.endianness != format::k_endianness || s.features_incompat != 0 ||
        s.checksum_algorithm != format::k_checksum_xxh3 || s.features_ro_compat != 0 || s.versions.count != 0) {
        return fail(errc::unsupported_format,
                    path + " uses features that this release lacks (endianness " + std::to_string(s.endianness) +
                        ", features " + std::to_string(s.features_incompat) + "/" +
                        std::to_string(s.features_ro_compat) + ", checksum " + std::to_string(s.checksum_algorithm) +
                        "). Use a newer release.",
                    path, 0, at);
    }
    if (!is_power_of_two(s.chunk_bytes) || s.chunk_bytes < format::k_chunk_bytes_min ||
        s.chunk_bytes > format::k_chunk_bytes_max) {
        return bad("chunk size");
    }
    if (!is_aligned(s.base, os::k_base_alignment) || s.base == 0 || s.base >= os::k_address_end)
        return bad("base address");
    if (s.abi.back() != '\0')
        return bad("ABI");
    if (s.region_count > s.regions.size())
        return bad("number of regions");
    if (s.map.slot > 1 || s.map.count > chunk_map::k_exceptions_max || s.map.slot_bytes > k_heap_bytes_max ||
        s.map.area_offset < format::k_first_map_offset || s.map.area_offset > k_heap_bytes_max ||
        s.map.count * sizeof(format::chunk_exception) > s.map.slot_bytes) {
        return bad("chunk map");
    }
    const byte_range map_area{s.map.area_offset, 2 * s.map.slot_bytes}; // a checkpoint writes to it
    std::uint64_t heap_end = 0;
    std::uint64_t file_end = format::k_first_table_offset;
    for (std::size_t i = 0; i < s.region_count; ++i) {
        const region& r = s.regions[i];
        if (r.heap_offset != heap_end || r.bytes == 0 || !is_aligned(r.bytes, format::k_region_alignment) ||
            r.bytes > k_heap_bytes_max || heap_end + r.bytes > k_heap_bytes_max || r.table_offset < file_end ||
            r.table_offset > k_heap_bytes_max || !is_aligned(r.table_offset, k_page_bytes) ||
            r.home_offset < r.table_offset + checksum_table::file_bytes(r.bytes) || r.home_offset > k_heap_bytes_max ||
            !is_aligned(r.home_offset, format::k_home_alignment) || r.root.slot > 1) {
            return bad("regions");
        }
        heap_end += r.bytes;
        file_end = r.home_offset + r.bytes;
        if (map_area.offset < file_end && r.table_offset < map_area.end())
            return bad("chunk map");
    }
    if (s.image_bytes > heap_end || !is_aligned(s.image_bytes, s.chunk_bytes))
        return bad("image size");
    return {};
}

result<void> heap_file::check_length() const {
    if (super_.image_bytes == 0)
        return {};
    const std::uint64_t needed = home_of(super_.image_bytes - 1) + 1;
    if (file_bytes_ >= needed)
        return {};
    return fail(errc::truncated,
                path() + " ends at byte " + std::to_string(file_bytes_) + ", although it should have at least " +
                    std::to_string(needed) + " bytes. Restore it from a copy.",
                path(), 0, file_bytes_);
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

std::uint64_t heap_file::home_of(std::uint64_t heap_offset) const {
    const region& r = region_of(heap_offset);
    return r.home_offset + (heap_offset - r.heap_offset);
}

std::uint64_t heap_file::layout_end() const {
    std::uint64_t end = format::k_first_table_offset;
    for (std::size_t i = 0; i < super_.region_count; ++i)
        end = std::max(end, super_.regions[i].home_offset + super_.regions[i].bytes);
    for (const auto& area : {super_.map, next_map_area_})
        end = std::max(end, area.area_offset + 2 * area.slot_bytes);
    return end;
}

bool heap_file::is_stored(std::uint64_t chunk) const {
    return chunk * super_.chunk_bytes < image_bytes_ && !map_.is_zero(chunk);
}

std::vector<extent> heap_file::extents() const {
    std::vector<extent> found;
    const std::uint64_t chunk = super_.chunk_bytes;
    // A stored stretch falls into pieces at the regions' borders.
    auto add_stored = [&](std::uint64_t from, std::uint64_t to) {
        while (from < to) {
            const region& r = region_of(from);
            std::uint64_t end = std::min(to, r.heap_offset + r.bytes);
            found.push_back({{from, end - from}, true, home_of(from)});
            from = end;
        }
    };
    std::uint64_t at = 0;
    for (const format::chunk_exception& zero : map_.exceptions()) {
        add_stored(at, zero.chunk * chunk);
        found.push_back({{zero.chunk * chunk, zero.run_length * chunk}, false, 0});
        at = (zero.chunk + zero.run_length) * chunk;
    }
    add_stored(at, image_bytes_);
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

result<void> heap_file::add_regions(std::uint64_t heap_bytes) {
    std::uint64_t have = region_bytes();
    if (heap_bytes <= have)
        return {};
    if (super_.region_count == super_.regions.size() || heap_bytes > k_heap_bytes_max) {
        return fail(errc::exhausted,
                    path() + " has reached the largest size of its format. Split the data over several heaps.", path());
    }
    // By half its size each time, so that few regions make even a large heap; what is not used yet is a hole.
    region r{};
    r.heap_offset = have;
    r.bytes = align_up(std::max(heap_bytes - have, have / 2), format::k_region_alignment);
    r.table_offset = layout_end();
    r.home_offset = align_up(r.table_offset + checksum_table::file_bytes(r.bytes), format::k_home_alignment);
    superblock next = super_;
    next.regions[next.region_count++] = r;
    REM_TRY(write_superblock(next)); // I3: it names nothing new that exists
    tables_.emplace_back(*file_, r);
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
        REM_TRY(file_->reserve("store: reserve chunk map", next_map_area_.area_offset, 2 * next_map_area_.slot_bytes));
    }
    places_reserved_ = true;
    return {};
}

result<void> heap_file::reserve_checksums(std::uint64_t page) {
    std::size_t index = region_index(page * k_page_bytes);
    return tables_[index].reserve(page - super_.regions[index].heap_offset / k_page_bytes);
}

result<void> heap_file::reserve_map(std::uint64_t fresh) {
    // A fresh chunk splits one run in two at most, or leaves one behind.
    std::uint64_t bytes = (map_.exceptions().size() + 2 * fresh) * sizeof(format::chunk_exception);
    bytes = std::min(bytes, align_up(chunk_map::k_exceptions_max * sizeof(format::chunk_exception), k_page_bytes));
    if (bytes <= next_map_area_.slot_bytes)
        return {};
    format::map_reference area = next_map_area_;
    area.area_offset = layout_end();
    area.slot_bytes = align_up(2 * bytes, k_page_bytes);
    REM_TRY(file_->reserve("store: reserve chunk map", area.area_offset, 2 * area.slot_bytes));
    file_bytes_ = std::max(file_bytes_, area.area_offset + 2 * area.slot_bytes);
    next_map_area_ = area; // I8: the old area is left alone
    return {};
}

result<void> heap_file::write_fresh(std::uint64_t first_page, std::span<const std::byte> pages) {
    std::uint64_t home = home_of(first_page * k_page_bytes);
    // The whole chunk will be mapped, so the file must extend to its end.
    std::uint64_t last = first_page * k_page_bytes + pages.size() - 1;
    std::uint64_t chunk_end = home_of(align_down(last, super_.chunk_bytes)) + super_.chunk_bytes;
    if (file_bytes_ < chunk_end) {
        REM_TRY(file_->resize("store: extend", chunk_end));
        file_bytes_ = chunk_end;
    }
    return file_->write_direct("store: fresh pages", home, pages);
}

result<void> heap_file::sync_fresh() { return file_->sync("store: sync fresh pages"); }

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
}

result<void> heap_file::fold(std::span<const folded_page> pages) {
    std::vector<std::byte> staging;
    std::uint64_t staged_home = 0;
    auto flush = [&]() -> result<void> {
        if (staging.empty())
            return {};
        REM_TRY(file_->write("store: fold", staged_home, staging));
        staging.clear();
        return {};
    };
    for (const folded_page& page : pages) {
        std::uint64_t home = home_of(page.page * k_page_bytes);
        if (staged_home + staging.size() != home || staging.size() >= k_staging_bytes) {
            REM_TRY(flush());
            staged_home = home;
        }
        staging.insert(staging.end(), page.bytes, page.bytes + k_page_bytes);
        REM_TRY(set_checksum(page.page, page.checksum));
    }
    return flush();
}

result<void> heap_file::publish(std::uint64_t version, std::uint64_t chain, std::uint64_t epoch, bool clean) {
    for (const auto& [chunk, checksums] : fresh_) {
        std::uint64_t first = chunk * chunk_pages();
        std::size_t index = region_index(first * k_page_bytes);
        std::uint64_t in_region = first - super_.regions[index].heap_offset / k_page_bytes;
        for (std::size_t i = 0; i < checksums.size(); ++i) {
            if (checksums[i] != 0)
                REM_TRY(tables_[index].set(in_region + i, checksums[i]));
        }
    }
    fresh_.clear();
    superblock next = super_;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        auto root = tables_[i].write_changed();
        if (!root)
            return root.error();
        next.regions[i].root = *root;
    }
    if (map_.changed()) {
        auto map = map_.write(*file_, next_map_area_);
        if (!map)
            return map.error();
        next.map = *map;
        next_map_area_ = *map;
    }
    next.checkpoint_version = version;
    next.chain = chain;
    next.epoch = epoch;
    next.image_bytes = image_bytes_;
    next.flags = clean ? format::k_flag_clean : 0;
    REM_TRY(file_->sync("store: sync image")); // I3
    return write_superblock(next);
}

// What was read when the heap was opened may have been in the page cache only: its writer may have died, or its sync
// may have failed, which leaves pages that count as clean (I5). So it is written again, not just synced.
result<void> heap_file::confirm() {
    if (confirmed_)
        return {};
    REM_TRY(file_->write("store: confirm superblock", super_.sequence % 2 * format::k_superblock_bytes,
                         std::as_bytes(std::span(&super_, 1))));
    REM_TRY(file_->sync("store: sync confirmed superblock"));
    confirmed_ = true;
    return {};
}

result<void> heap_file::write_superblock(superblock next) {
    REM_TRY(confirm()); // I3: the one that stays must be durable before the other is overwritten
    ++next.sequence;
    std::uint64_t place = next.sequence % 2; // I3: the current one stays valid
    next.checksum = superblock_checksum(next, place);
    REM_TRY(file_->write("store: superblock", place * format::k_superblock_bytes, std::as_bytes(std::span(&next, 1))));
    REM_TRY(file_->sync("store: sync superblock"));
    super_ = next;
    return {};
}

result<void> heap_file::discard_unstored() {
    if (file_bytes_ > layout_end()) {
        REM_TRY(file_->resize("store: discard", layout_end()));
        file_bytes_ = layout_end();
    }
    auto discard = [&](std::uint64_t from, std::uint64_t to) -> result<void> {
        while (from < to) {
            const region& r = region_of(from);
            std::uint64_t end = std::min(to, r.heap_offset + r.bytes);
            std::uint64_t home = home_of(from);
            if (home < file_bytes_)
                REM_TRY(file_->punch("store: discard", home, std::min(end - from, file_bytes_ - home)));
            from = end;
        }
        return {};
    };
    for (const extent& e : extents()) {
        if (!e.stored)
            REM_TRY(discard(e.heap.offset, e.heap.end()));
    }
    return discard(image_bytes_, region_bytes());
}

result<std::uint64_t> heap_file::verify(const std::function<void(damage)>& found,
                                        const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    std::array<superblock, format::k_superblock_count> places{};
    REM_TRY(file_->read(0, std::as_writable_bytes(std::span(places))));
    for (std::uint64_t i = 0; i < places.size(); ++i) {
        if (!is_valid(places[i], i))
            found({"a superblock is damaged", i * format::k_superblock_bytes});
    }
    auto map = chunk_map::read(*file_, super_.map, super_.image_bytes / super_.chunk_bytes);
    if (!map)
        found({map.why().message, map.why().offset});

    std::uint64_t checked = 0;
    std::uint64_t run_first = 0;
    std::vector<std::uint32_t> run; // checksums of consecutive pages, so that they are read at one go
    auto check_run = [&] {
        if (run.empty())
            return;
        checked += run.size();
        verify_pages(run_first, run, found);
        run.clear();
        progress(run_first * k_page_bytes, image_bytes_);
    };
    auto check_page = [&](std::uint64_t page, std::uint32_t checksum) {
        if (run_first + run.size() != page || run.size() * k_page_bytes >= k_staging_bytes ||
            (!run.empty() && region_index(page * k_page_bytes) != region_index(run_first * k_page_bytes))) {
            check_run();
            run_first = page;
        }
        run.push_back(checksum);
    };
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        const std::uint64_t first = super_.regions[i].heap_offset / k_page_bytes;
        const std::uint64_t end = first + super_.regions[i].bytes / k_page_bytes;
        std::uint64_t next = first; // the page after the last one with a checksum
        bool is_gap_known = true;   // no damaged node since then, so that the pages between have no checksum
        auto check_gap = [&](std::uint64_t to) {
            if (is_gap_known)
                verify_zeros(next, to, found);
            is_gap_known = true;
        };
        tables_[i].walk(
            [&](std::uint64_t at) {
                found({"a node of the checksum table is damaged; the pages it covers cannot be checked", at});
                is_gap_known = false;
            },
            [&](std::uint64_t page, std::uint32_t checksum) {
                check_gap(first + page);
                next = first + page + 1;
                check_page(first + page, checksum);
            });
        check_run();
        check_gap(end);
    }
    for (const auto& [chunk, checksums] : fresh_) {
        for (std::size_t i = 0; i < checksums.size(); ++i) {
            if (checksums[i] != 0)
                check_page(chunk * chunk_pages() + i, checksums[i]);
        }
        check_run();
    }
    return checked;
}

// Pages of stored chunks that have no checksum are mapped like all others. Those of fresh chunks may have one that is not
// in the table yet.
void heap_file::verify_zeros(std::uint64_t first_page, std::uint64_t end_page,
                             const std::function<void(damage)>& found) {
    std::vector<std::byte> bytes;
    while (first_page < end_page) {
        const std::uint64_t chunk = first_page / chunk_pages();
        const std::uint64_t end = std::min(end_page, (chunk + 1) * chunk_pages());
        const std::uint64_t begin = std::exchange(first_page, end);
        if (chunk * super_.chunk_bytes >= image_bytes_)
            return;
        if (!is_stored(chunk) || fresh_.contains(chunk))
            continue;
        bytes.resize(static_cast<std::size_t>((end - begin) * k_page_bytes));
        const std::uint64_t home = home_of(begin * k_page_bytes);
        if (auto read = file_->read(home, bytes); !read) {
            found({read.why().message, home});
            continue;
        }
        for (std::uint64_t page = begin; page < end; ++page) {
            const std::uint64_t at = (page - begin) * k_page_bytes;
            const auto zeros = std::span(bytes).subspan(static_cast<std::size_t>(at), k_page_bytes);
            if (std::any_of(zeros.begin(), zeros.end(), [](std::byte b) { return b != std::byte{0}; }))
                found({"page " + std::to_string(page) + " was never written, but is not all zeros", home + at});
        }
    }
}

void heap_file::verify_pages(std::uint64_t first_page, std::span<const std::uint32_t> checksums,
                             const std::function<void(damage)>& found) {
    if ((first_page + checksums.size()) * k_page_bytes > region_bytes()) {
        found({"the checksum table names pages beyond the heap", error::k_no_offset});
        return;
    }
    std::vector<std::byte> bytes(checksums.size() * k_page_bytes);
    std::uint64_t home = home_of(first_page * k_page_bytes);
    const auto read_at_once = file_->read(home, bytes);
    bool told = static_cast<bool>(read_at_once); // else page by page, to say which
    const bool readable = told;
    for (std::size_t i = 0; i < checksums.size(); ++i) {
        const auto page = std::span(bytes).subspan(i * k_page_bytes, k_page_bytes);
        const std::uint64_t at = home + i * k_page_bytes;
        const std::string name = "page " + std::to_string(first_page + i);
        if (!is_stored((first_page + i) / chunk_pages())) {
            found({name + " has a checksum, but according to the chunk map no place", at});
            continue;
        }
        if (!readable) {
            if (auto read = file_->read(at, page); !read) {
                found({name + ": " + read.why().message, at});
                told = true;
                continue;
            }
        }
        if (page_checksum(page) != checksums[i])
            found({name + " is damaged", at});
    }
    if (!told) // it works the second time, so that nothing is known to be lost; still it failed
        found({read_at_once.why().message, home});
}

} // namespace remanence::store
