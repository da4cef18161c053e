#include "inspect/inspection.hpp"

#include "alloc/red_zones.hpp"
#include "alloc/sections.hpp"
#include "alloc/slab_layout.hpp"
#include "base/range.hpp"
#include "recover/salvage.hpp"
#include "share/presence.hpp"
#include "store/heap_verification.hpp"
#include "store/superblocks.hpp"

#include <algorithm>
#include <utility>

namespace remanence::inspect {

namespace {

constexpr std::uint64_t k_read_bytes = 1 * MiB;
constexpr std::uint64_t k_reserved_bytes = 16 * MiB; // how much memory is reserved at a time

} // namespace

result<std::unique_ptr<inspection>> inspection::open(os::file_system& files, const std::string& path,
                                                     const inspection_progress& progress) {
    return open_unchanged(files, path, store::heap_file::locking::none_if_free, progress);
}

result<std::unique_ptr<inspection>> inspection::open_live(os::file_system& files, const std::string& path,
                                                          const inspection_progress& progress) {
    return open_unchanged(files, path, store::heap_file::locking::no, progress);
}

// Reads the superblock, then the log, then the superblock again. If it is the same, no other superblock was written in
// between, so the log was not begun anew, and it holds every commit that was acknowledged before this call.
result<std::unique_ptr<inspection>> inspection::open_unchanged(os::file_system& files, const std::string& path,
                                                               store::heap_file::locking lock,
                                                               const inspection_progress& progress) {
    auto opened = open_with(files, path, lock, progress);
    if (!opened)
        return opened.error();
    REM_TRY((*opened)->expect_unchanged(files));
    return opened;
}

result<std::unique_ptr<inspection>> inspection::open_with(os::file_system& files, const std::string& path,
                                                          store::heap_file::locking lock,
                                                          const inspection_progress& progress) {
    std::unique_ptr<inspection> opened(new inspection(files));
    REM_TRY(opened->open_store(path, lock));
    REM_TRY(opened->find_log());
    opened->judge_other_superblock();
    REM_TRY(opened->recover_image(progress));
    REM_TRY(opened->make_memory(opened->store_->image().bytes()));
    opened->read_.resize(static_cast<std::size_t>(opened->store_->image().bytes() / k_page_bytes));
    return opened;
}

result<void> inspection::open_store(const std::string& path, store::heap_file::locking lock) {
    auto note = [this](const failure& damage) { note_misfit(damage); };
    auto store = store::heap_file::open_damaged(*files_, path, note, lock);
    if (!store)
        return store.error();
    store_ = std::move(*store);
    if (lock == store::heap_file::locking::none_if_free) {
        // open_damaged() tests only for an exclusive lock, which processes that share the heap do not have.
        auto is_shared = share::is_shared_now(store_->file());
        if (!is_shared)
            return is_shared.error();
        if (*is_shared)
            return store::in_use(path);
    }
    auto size = store_->file().size();
    if (!size)
        return size.error();
    file_bytes_ = *size;
    super_ = store_->super();
    live_ = lock == store::heap_file::locking::no;
    other_superblock_damage_ = store_->supers().other_damage();
    return {};
}

result<void> inspection::find_log() {
    const std::string log_path = store_->log_path();
    auto present = files_->exists(log_path);
    if (!present)
        return present.error();
    log_.present = *present;
    if (!*present)
        return {};
    auto log = files_->open(log_path, os::access::read_only);
    if (!log)
        return log.error();
    auto log_bytes = (*log)->size();
    if (!log_bytes)
        return log_bytes.error();
    log_.file_bytes = *log_bytes;
    return {};
}

void inspection::judge_other_superblock() {
    if (!other_superblock_damage_)
        return;
    const std::uint64_t damaged = *other_superblock_damage_;
    if (log_.present || !store_->is_clean()) {
        torn_superblock_ = damaged;
        return;
    }
    const bool is_all = problems().empty();
    note_misfit({errc::corrupt,
                 "the superblock of " + path() + " at byte " + std::to_string(damaged) +
                     " is damaged; the other one rules" +
                     (is_all ? ", so nothing is lost, and the next commit or close mends it." : "."),
                 path(), 0, damaged});
}

result<void> inspection::recover_image(const inspection_progress& progress) {
    auto note = [this](const failure& damage) { note_misfit(damage); };
    if (live_) {
        if (auto taken = store_->writer().take_over_structure(); !taken) {
            if (!is_damage(taken.why().code))
                return taken.error();
            note(taken.why());
        }
    }
    auto recovered = recover::salvage(*files_, *store_, note, progress);
    if (!recovered)
        return recovered.error();
    log_.commits = recovered->commits;
    log_.record_bytes = recovered->bytes;
    log_.totals = recovered->totals;
    changes_ = std::move(recovered->changes);
    births_ = std::move(recovered->births);
    if (!live_ || (super_.flags & format::k_flag_clean) == 0) // otherwise recovery has not checked the superblock
        return {};
    const format::superblock& super = store_->super();
    return store_->writer().publish(
        {super.checkpoint_version, super.chain, store_->session(), true, format::k_log_header_bytes});
}

result<std::unique_ptr<inspection>> inspection::look_again() {
    std::unique_ptr<inspection> other(new inspection(files_, store_));
    other->super_ = super_;
    other->file_bytes_ = file_bytes_;
    other->log_ = log_;
    other->changes_ = changes_;
    other->births_ = births_;
    other->live_ = live_;
    other->other_superblock_damage_ = other_superblock_damage_;
    other->torn_superblock_ = torn_superblock_;
    REM_TRY(other->make_memory(store_->image().bytes()));
    other->read_.resize(static_cast<std::size_t>(store_->image().bytes() / k_page_bytes));
    return other;
}

result<bool> inspection::is_unchanged(os::file_system& files) {
    auto file = files.open(path(), os::access::read_only);
    if (!file)
        return file.why().code == errc::not_found ? result<bool>(false) : file.error();
    auto size = (*file)->size();
    if (!size)
        return size.error();
    auto now = store::read_superblocks(**file, *size);
    if (!now) {
        const errc code = now.why().code;
        const bool is_other = is_damage(code) || code == errc::not_a_heap || code == errc::unsupported_format;
        return is_other ? result<bool>(false) : now.error();
    }
    return now->super.checksum == super_.checksum && now->other_damage == other_superblock_damage_;
}

result<void> inspection::expect_unchanged(os::file_system& files) {
    auto same = is_unchanged(files);
    if (!same)
        return same.error();
    if (*same)
        return {};
    return fail(errc::in_use, path() + " is open elsewhere, and was written to while it was read. Try again.", path());
}

std::uint64_t inspection::last_change_of(std::uint64_t page) const {
    const auto found = std::ranges::lower_bound(changes_, page, {}, &recover::last_change::page);
    const auto birth = births_.find(page / store_->image().chunk_pages());
    return std::max(found != changes_.end() && found->page == page ? found->version : 0,
                    birth != births_.end() ? birth->second : 0);
}

void inspection::note_misfit(const failure& damage, std::uint64_t bytes) {
    misfits_.add(damage, bytes);
    problems_.add(damage, bytes);
}

void inspection::keep_only(const std::vector<problem>& proven) {
    problems_ = {};
    misfits_ = {};
    for (const problem& each : proven)
        note_misfit(each, each.bytes);
    all_checked_ = false;
}

result<void> inspection::make_memory(std::uint64_t bytes) {
    if (bytes <= accessible_)
        return {};
    if (!place_) {
        auto place = os::reservation::elsewhere(align_up(bytes, k_reserved_bytes));
        if (!place)
            return place.error();
        place_ = std::move(*place);
    }
    if (bytes > place_->bytes())
        REM_TRY(place_->extend(align_up(bytes, k_reserved_bytes)));
    REM_TRY(os::map_anonymous(place_->base() + accessible_, bytes - accessible_));
    accessible_ = bytes;
    return {};
}

bool inspection::contains(std::uint64_t offset, std::uint64_t bytes) const {
    return bytes <= accessible_ && offset <= accessible_ - bytes;
}

result<std::byte*> inspection::at(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t end = std::min<std::uint64_t>(divide_up(offset + bytes, k_page_bytes), read_.size());
    for (std::uint64_t page = offset / k_page_bytes; page < end; ++page) {
        if (read_[static_cast<std::size_t>(page)])
            continue;
        if (auto fetched = fetch(page); !fetched) {
            if (is_damage(fetched.why().code))
                misfits_.add(fetched.why());
            return fetched.error();
        }
        read_[static_cast<std::size_t>(page)] = true;
    }
    return place_->base() + offset;
}

result<void> inspection::fetch(std::uint64_t page) {
    auto checksum = store_->image().checksum_of(page);
    if (!checksum)
        return checksum.error();
    if (*checksum == 0) // the page is zero, as is its memory
        return {};
    return store_->image().read_pages(page, {place_->base() + page * k_page_bytes, k_page_bytes});
}

result<void> inspection::read(heap_range range,
                              const std::function<void(std::uint64_t, std::span<const std::byte>)>& visit) {
    if (is_another_state_) {
        auto bytes = at(range.offset, range.bytes);
        if (!bytes)
            return bytes.error();
        visit(range.offset, {*bytes, static_cast<std::size_t>(range.bytes)});
        return {};
    }
    const std::uint64_t image_end = std::min(range.end(), store_->image().bytes()); // behind it, all bytes are zero
    for (std::uint64_t at = range.offset; at < image_end;) {
        const std::uint64_t first = align_down(at, k_page_bytes);
        const std::uint64_t count = std::min(divide_up(image_end - first, k_page_bytes), k_read_bytes / k_page_bytes);
        piece_.resize(static_cast<std::size_t>(k_read_bytes));
        const auto pages = std::span(piece_).first(static_cast<std::size_t>(count * k_page_bytes));
        if (auto done = store_->image().read_pages(first / k_page_bytes, pages); !done) {
            if (is_damage(done.why().code))
                misfits_.add(done.why());
            return done.error();
        }
        const std::uint64_t end = std::min(image_end, first + pages.size());
        visit(at, pages.subspan(static_cast<std::size_t>(at - first), static_cast<std::size_t>(end - at)));
        at = end;
    }
    return {};
}

result<const format::heap_header*> inspection::header() {
    if (store_->image().bytes() == 0)
        return nullptr;
    auto bytes = at(0, sizeof(format::heap_header));
    if (!bytes)
        return bytes.error();
    const auto* h = reinterpret_cast<const format::heap_header*>(*bytes);
    const bool may_have_schema = (super_.features_ro_compat & format::k_feature_schema) != 0;
    if (h->magic == format::k_header_magic && format::is_known_header_version(h->version) &&
        format::has_sound_schema(*h, may_have_schema, store_->image().bytes())) {
        reach_used(0, h->allocator);
        (void)for_each_arena([&](std::uint64_t page, const format::arena_header& head) -> result<void> {
            reach_used(page, head.allocator);
            return {};
        }); // errors are ignored here: a page that cannot be read is reported when it is needed
        return h;
    }
    if (h->magic == format::k_header_magic && !format::is_known_header_version(h->version))
        return fail(errc::unsupported_format,
                    "the heap header in " + path() + " has version " + std::to_string(h->version) +
                        ", this release knows versions up to " + std::to_string(format::k_header_version_newest) +
                        ". Use the release that wrote it.",
                    path(), 0, file_offset(0));
    return fail(errc::corrupt,
                "the heap header in " + path() + " at byte " + std::to_string(file_offset(0)) +
                    " is damaged. Restore the heap from a copy.",
                path(), 0, file_offset(0));
}

void inspection::reach_used(std::uint64_t first_page, const format::alloc_state& state) {
    std::uint64_t end = 0;
    for (const alloc::section& each : alloc::k_sections) {
        if (const std::uint32_t used = state.used_pages[each.index]; used != 0)
            end = std::min(std::uint64_t{each.first_data_page} + used, each.end_page());
    }
    (void)make_memory(std::min((first_page + end) * k_page_bytes, k_heap_bytes_max));
}

std::uint64_t inspection::file_offset(std::uint64_t heap_offset) const {
    return heap_offset < store_->where().region_bytes() ? store_->image().copy_of(heap_offset) : error::k_no_offset;
}

std::optional<heap_range> inspection::block_of(std::uint64_t offset) const {
    if (!allocator_ || !contains(offset, 1))
        return {};
    auto found = allocator_->block_of(place_->base() + offset);
    if (!found)
        return {};
    return heap_range{static_cast<std::uint64_t>(static_cast<std::byte*>(found->start) - place_->base()), found->bytes};
}

result<std::optional<heap_range>> inspection::block_around(std::uint64_t offset) {
    if (!allocator_ && store_->image().bytes() != 0) {
        inspected_parts parts;
        REM_TRY(check_allocator(parts));
        if (!allocator_)
            return unexpected(problems().front());
    }
    auto found = block_of(offset);
    if (found && (super_.features_ro_compat & format::k_feature_red_zones) != 0) {
        auto bytes = at(found->offset, found->bytes);
        if (!bytes)
            return bytes.error();
        found->bytes = alloc::bytes_without_red_zone(*bytes, found->bytes);
    }
    return found;
}

std::uint64_t inspection::block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const {
    if ((super_.features_ro_compat & format::k_feature_red_zones) != 0)
        return std::max<std::uint64_t>(bytes, 1);
    const bool on_lines = (super_.features_ro_compat & format::k_feature_aligned_blocks) != 0;
    return alloc::block_allocator::block_bytes(on_lines ? alloc::bytes_on_lines(bytes) : bytes, alignment);
}

std::vector<heap_range> inspection::blocks() const {
    std::vector<heap_range> all;
    if (!allocator_)
        return all;
    allocator_->for_each_block([&](alloc::block each) {
        all.push_back({static_cast<std::uint64_t>(static_cast<std::byte*>(each.start) - place_->base()), each.bytes});
    });
    return all;
}

result<void> inspection::become(const history::delta& way) {
    std::uint64_t end = 0;
    way.for_each([&](heap_range range, const std::byte*) { end = std::max(end, range.end()); });
    REM_TRY(make_memory(align_up(end, k_page_bytes)));
    for (const heap_range& pages : way.pages()) {
        if (auto read = at(pages.offset, pages.bytes); !read)
            return read.error();
    }
    if (!way.is_empty())
        way.apply(place_->base());
    is_another_state_ = true;
    return {};
}

result<inspected_parts> inspection::check_all(const inspection_progress& progress) {
    inspected_parts parts;
    const auto found = [&](store::damage d) {
        note_misfit({errc::corrupt, std::move(d.what), path(), 0, d.offset}, d.bytes);
    };
    auto pages = store::verify(*store_, found, progress);
    if (!pages)
        return pages.error();
    parts.pages = *pages;
    REM_TRY(try_to_check_allocator(parts));
    return parts;
}

result<inspected_parts> inspection::check_structure() {
    inspected_parts parts;
    REM_TRY(store::verify_structure(*store_, [&](store::damage d) {
        note_misfit({errc::corrupt, std::move(d.what), path(), 0, d.offset}, d.bytes);
    }));
    REM_TRY(try_to_check_allocator(parts));
    return parts;
}

result<void> inspection::try_to_check_allocator(inspected_parts& parts) {
    if (store_->image().bytes() == 0) {
        parts.allocator = true; // without a commit there is no allocator
        return {};
    }
    auto checked = check_allocator(parts);
    if (checked)
        return {};
    if (!is_damage(checked.why().code))
        return checked.error();
    note(checked.why());
    allocator_.reset();
    return {};
}

result<std::optional<alloc::occupancy>> inspection::survey_allocator() {
    std::optional<alloc::occupancy> found;
    if (store_->image().bytes() == 0)
        return std::optional(alloc::occupancy{}); // nothing was ever committed
    inspected_parts parts;
    if (auto read = check_allocator(parts); !read) {
        if (!is_damage(read.why().code))
            return read.error();
        note(read.why());
        allocator_.reset();
    }
    if (allocator_)
        found = allocator_->survey();
    return found;
}

// Does not check that each page in the list is an arena's header; the allocator's check reports errors about that.
template <class F>
result<void> inspection::for_each_arena(const F& f) {
    std::uint64_t page = reinterpret_cast<const format::heap_header*>(place_->base())->allocator.first_arena;
    for (std::uint64_t left = k_heap_bytes_max / GiB; page != 0 && page < read_.size() && left != 0; --left) {
        auto bytes = at(page * k_page_bytes, k_page_bytes);
        if (!bytes)
            return bytes.error();
        const auto& head = *reinterpret_cast<const format::arena_header*>(*bytes);
        REM_TRY(f(page, head));
        page = head.next;
    }
    return {};
}

/// Reads the header page, and the planes (the allocator's metadata, alloc/sections.hpp) of the heap and its arenas.
result<void> inspection::read_metadata() {
    const auto read_planes = [this](std::uint64_t first_page, std::size_t sections) -> result<void> {
        for (const alloc::section& each : std::span(alloc::k_sections).first(sections)) {
            if (const std::uint64_t page = first_page + each.first_page; page < read_.size())
                REM_TRY(at(page * k_page_bytes, (each.first_data_page - each.first_page) * k_page_bytes));
        }
        return {};
    };
    REM_TRY(at(0, k_page_bytes));
    REM_TRY(read_planes(0, alloc::k_sections.size()));
    return for_each_arena([&](std::uint64_t page, const format::arena_header& head) {
        return read_planes(page, std::min(head.sections_ready, alloc::k_section_count));
    });
}

result<void> inspection::check_allocator(inspected_parts& parts) {
    auto head = header();
    if (!head)
        return head.error();
    if (auto metadata = read_metadata(); !metadata) {
        unexpected why = metadata.error();
        why.why().message = "the allocator's structures cannot be checked: " + why.why().message;
        return why;
    }
    auto extend = [this](std::uint64_t end) -> result<std::uint64_t> {
        REM_TRY(make_memory(align_up(end, store_->image().chunk_bytes())));
        return accessible_;
    };
    auto& state = reinterpret_cast<format::heap_header*>(place_->base())->allocator;
    allocator_ = std::make_unique<alloc::block_allocator>(place_->base(), state, extend, k_heap_bytes_max, accessible_);
    auto note_at = [&](std::uint64_t offset, std::string_view what) {
        note({errc::corrupt, "allocator, at heap offset " + std::to_string(offset) + ": " + std::string(what), path(),
              0, file_offset(offset)});
    };
    if (auto sound = allocator_->check_state(); !sound) {
        if (sound.why().code != errc::corrupt)
            return sound.error();
        note_at(sound.why().offset, sound.why().message);
        allocator_.reset();
        return {};
    }
    parts.allocator = true;
    if (allocator_->check_invariants(note_at) != 0) {
        allocator_.reset(); // the allocator is damaged, so its answers about blocks are not reliable
        return {};
    }
    allocator_->for_each_block([&](alloc::block) { ++parts.blocks; });
    return {};
}

} // namespace remanence::inspect
