#include "view/memory_view.hpp"

#include "base/assert.hpp"
#include "view/announced_pages.hpp"
#include "view/chunk_pieces.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::view {

namespace {

constexpr std::uint64_t k_growth_step = 2 * MiB;
constexpr std::uint64_t k_huge_pages_from = 2 * MiB; // smaller heaps stay small in memory, too
constexpr std::uint64_t k_chunks_looked_at = 16384;  // by one commit, whether they are to be mapped

unexpected exhausted(const std::string& path, const os::reservation& place, const failure& why) {
    std::string reason = why.message;
    if (why.code == errc::base_taken) {
        reason = "the addresses behind it are taken by: " +
                 os::mapping_at(reinterpret_cast<std::uint64_t>(place.base()) + place.bytes(), GiB) +
                 ". Free memory in the heap, or open it with a larger reserve_bytes before that mapping is made.";
    }
    return fail(errc::exhausted,
                "the memory of the heap " + path + " is exhausted at " + std::to_string(place.bytes()) +
                    " bytes: " + reason,
                path, why.os_error);
}

} // namespace

result<std::unique_ptr<memory_view>> memory_view::open(store::heap_file& store, os::reservation place,
                                                       const view_options& options) {
    std::unique_ptr<memory_view> view(new memory_view(store, std::move(place)));
    view->core_dump_ = options.core_dump;
    view->read_ahead_ = options.read_ahead;
    view->scattered_max_ = options.scattered_max;
    auto protection = options.read_only ? os::access::read_only : os::access::read_write;
    REM_TRY(view->place_.extend(store.image_bytes()));
    view->reserved_ = view->place_.bytes();
    if (!options.read_only) {
        auto scanner = track::make_page_scanner(view->base(), options.tracker);
        if (!scanner)
            return scanner.error();
        view->scanner_ = std::move(*scanner);
        if (options.report_stray_write != nullptr && !view->scanner_->report_stray_writes(options.report_stray_write))
            return fail(errc::not_supported, "only the trap tracker notices stray writes.");
    }
    REM_TRY(view->map_image(protection, options.stretches_max));
    view->advise(view->base(), view->place_.bytes());
    return view;
}

// As few system calls as can be: with many extents they are what opening takes.
result<void> memory_view::map_image(os::access protection, std::size_t stretches_max) {
    accessible_ = store_.image_bytes();
    if (accessible_ == 0)
        return {};
    REM_TRY(os::map_anonymous(base(), accessible_));
    if (protection == os::access::read_only)
        REM_TRY(os::protect_read_only(base(), accessible_));
    const std::vector<store::extent> extents = store_.extents();
    auto left = gaps_to_leave(extents, stretches_max);
    if (!left)
        return left.error();
    const std::uint64_t chunk = store_.chunk_bytes();
    std::vector<byte_range> at_home;
    auto gap = left->begin();
    for (auto e = extents.begin(); e != extents.end(); ++e) {
        if (!e->stored) {
            if (scanner_)
                REM_TRY(scanner_->mapped(e->heap.offset, e->heap.bytes, track::page_contents::zeros));
            continue;
        }
        byte_range heap = e->heap;
        const std::uint64_t file_offset = e->file_offset;
        at_home.push_back({e->heap.offset / chunk, e->heap.bytes / chunk});
        for (; gap != left->end() && gap->heap.offset == heap.end(); ++gap) {
            std::advance(e, 2); // the gap, and what is stored behind it
            heap.bytes = e->heap.end() - heap.offset;
            at_home.push_back({e->heap.offset / chunk, e->heap.bytes / chunk});
        }
        REM_TRY(store_.file().map_private(base() + heap.offset, heap.bytes, file_offset, protection));
        if (!read_ahead_)
            os::read_no_more_than_asked(base() + heap.offset, heap.bytes); // before a tracker reads the first page
        if (scanner_)
            REM_TRY(scanner_->mapped(heap.offset, heap.bytes, track::page_contents::file));
    }
    mappings_.begin_with(std::move(at_home));
    for (const store::extent& each : *left)
        file_holes_.push_back(each.heap);
    return {};
}

// Beyond so many stretches a mapping for each would be what opening takes. So the smallest gaps between them are mapped with
// them, from the holes of the file where they would have their homes; a first write there costs five times as much as in
// anonymous memory. The file is asked whether these are holes: a crash, or a copy, may have left bytes there.
result<std::vector<store::extent>> memory_view::gaps_to_leave(std::span<const store::extent> extents,
                                                              std::size_t stretches_max) {
    std::vector<store::extent> gaps;
    std::size_t stretches = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        if (extents[i].stored)
            ++stretches;
        if (extents[i].stored || i == 0 || i + 1 == extents.size() || !extents[i - 1].stored || !extents[i + 1].stored)
            continue;
        const std::uint64_t home = extents[i - 1].file_offset + extents[i - 1].heap.bytes;
        if (home == store_.home_of(extents[i].heap.offset) &&
            home + extents[i].heap.bytes == extents[i + 1].file_offset)
            gaps.push_back({extents[i].heap, false, home});
    }
    if (stretches <= stretches_max || gaps.empty() || store_.file().fills_holes_when_read())
        return std::vector<store::extent>();
    if (const std::size_t count = stretches - stretches_max; count < gaps.size()) {
        std::ranges::nth_element(gaps, gaps.begin() + static_cast<std::ptrdiff_t>(count), {},
                                 [](const store::extent& gap) { return gap.heap.bytes; });
        gaps.resize(count);
        std::ranges::sort(gaps, {}, [](const store::extent& gap) { return gap.heap.offset; });
    }
    std::vector<store::extent> left;
    for (const store::extent& gap : gaps) {
        auto is_hole = store_.file().is_hole({gap.file_offset, gap.heap.bytes});
        if (!is_hole)
            return is_hole.error();
        if (*is_hole)
            left.push_back(gap);
    }
    return left;
}

result<void> memory_view::map_file_again(byte_range heap, std::uint64_t file_offset) {
    const std::uint64_t chunk = store_.chunk_bytes();
    REM_TRY(store_.file().map_private(base() + heap.offset, heap.bytes, file_offset, os::access::read_write));
    for (std::uint64_t each = heap.offset / chunk; each < heap.end() / chunk; ++each) {
        const mapping before = std::exchange(mappings_.at(each), mapping::home);
        if (before == mapping::former_home)
            store_.left_former_home(each);
        if (before == mapping::anonymous)
            note_mapped(1);
    }
    advise(base() + heap.offset, heap.bytes);
    return scanner_->mapped(heap.offset, heap.bytes, track::page_contents::file);
}

void memory_view::advise(std::byte* where, std::uint64_t bytes) const {
    if (!core_dump_)
        os::exclude_from_core(where, bytes);
    if (!read_ahead_)
        os::read_no_more_than_asked(where, bytes);
}

bool memory_view::is_in_file_hole(std::uint64_t chunk) const {
    const std::uint64_t at = chunk * store_.chunk_bytes();
    const auto behind = std::ranges::upper_bound(file_holes_, at, {}, &byte_range::end);
    return behind != file_holes_.end() && behind->offset <= at;
}

// A chunk that is not stored reads as zeros again. In a hole of the file a spill that failed may have left bytes, so that it
// becomes anonymous, which may cost two mappings. False, and nothing done, when there are too many such.
result<bool> memory_view::make_zeros(std::uint64_t chunk) {
    const std::uint64_t from = chunk * store_.chunk_bytes();
    const std::uint64_t to = std::min(from + store_.chunk_bytes(), accessible_);
    if (!is_in_file_hole(chunk)) {
        REM_TRY(os::drop_pages(base() + from, to - from));
        return true;
    }
    if (scattered_chunks_ == k_scattered_chunks_max)
        return false;
    ++scattered_chunks_;
    REM_TRY(map_zeros(from, to));
    file_holes_ = without(file_holes_, {{from, store_.chunk_bytes()}});
    return true;
}

result<void> memory_view::make_accessible(std::uint64_t bytes) {
    if (bytes <= accessible_)
        return {};
    std::uint64_t wanted =
        align_up(std::max(bytes, accessible_ + accessible_ / 4), std::max(k_growth_step, store_.chunk_bytes()));
    if (wanted > place_.bytes()) {
        if (bytes <= place_.bytes()) {
            wanted = place_.bytes();
        } else if (!place_.extend(align_up(wanted, GiB))) {
            wanted = align_up(
                bytes, std::max(k_growth_step, store_.chunk_bytes())); // what is in the way may leave room for this
            if (auto extended = place_.extend(wanted); !extended)
                return exhausted(store_.path(), place_, extended.why());
        }
    }
    reserved_ = place_.bytes();
    REM_TRY(map_zeros(accessible_, wanted));
    accessible_ = wanted;
    return {};
}

result<void> memory_view::map_zeros(std::uint64_t from, std::uint64_t to) {
    REM_TRY(os::map_anonymous(base() + from, to - from));
    if (!core_dump_)
        os::exclude_from_core(base() + from, to - from);
    if (to > k_huge_pages_from)
        os::prefer_huge_pages(base() + from, to - from);
    return scanner_ ? scanner_->mapped(from, to - from, track::page_contents::zeros) : result<void>();
}

void memory_view::accept(const change_set& changes) {
    for (const whole_chunk& moved : changes.moved) {
        twins_.forget(moved.chunk);
        frozen_.forget(moved.chunk);              // which the image had before
        mapping& now = mappings_.at(moved.chunk); // collect() has seen to its memory
        if (now !=
            mapping::anonymous) // its former home is where it is again, and has just what the view has; so is its next
            now = now == mapping::home ? mapping::former_home : mapping::home;
    }
    renew_twins(changes);
    count_unmapped(changes);
    forget_spilled();
    announced_.clear();
    written_.clear();
    scanner_->watch();
}

// What was written in other pages stays in written_, and with the scanner, which begins no new round.
void memory_view::accept_announced(const change_set& changes) {
    renew_twins(changes);
    count_unmapped(changes);
    announced_.clear();
    kept_in_memory_.clear();
}

void memory_view::renew_twins(const change_set& changes) {
    for (const whole_chunk& fresh : changes.fresh) {
        if (fresh.has_contents())
            twins_.forget(fresh.chunk); // zeros, of a commit that failed and would have put them into the log
    }
    for (const changed_page& changed : changes.pages) {
        std::memcpy(twins_.find(changed.page), base() + changed.page * k_page_bytes, k_page_bytes);
        twins_.set_checksum(changed.page, changed.checksum);
    }
}

result<void> memory_view::rollback(const page_predicate& is_unused, const change_listener& lost) {
    REM_TRY(gather_written());
    if (lost) {
        auto changes = uncommitted_of_written(is_unused);
        if (!changes)
            return changes.error();
        lost(*changes);
    }
    REM_TRY(unspill(spilled_.chunks()));
    for (const byte_range& piece : pieces_of(written_, store_.chunk_bytes())) {
        const std::uint64_t chunk = piece.offset / store_.chunk_bytes();
        if (store_.is_stored(chunk)) {
            REM_TRY(restore(piece));
        } else if (!is_in_file_hole(chunk)) {
            REM_TRY(os::drop_pages(base() + piece.offset, piece.bytes));
        } else {
            auto made = make_zeros(chunk);
            if (!made)
                return made.error();
            if (!*made) {
                REM_TRY(scanner_->announce(piece.offset, piece.bytes));
                std::memset(base() + piece.offset, 0, static_cast<std::size_t>(piece.bytes));
            }
        }
    }
    kept_in_memory_.clear();
    announced_.clear();
    written_.clear();
    scanner_->watch();
    return {};
}

// Pages of one stored chunk.
result<void> memory_view::restore(byte_range range) {
    bool from_file = maps_home(range.offset / store_.chunk_bytes());
    for (std::uint64_t at = range.offset; at < range.end();) {
        if (const std::byte* copy = committed_copy(at / k_page_bytes)) {
            if (std::memcmp(base() + at, copy, k_page_bytes) != 0)
                std::memcpy(base() + at, copy, k_page_bytes);
            at += k_page_bytes;
            continue;
        }
        std::uint64_t end = at + k_page_bytes;
        while (end < range.end() && committed_copy(end / k_page_bytes) == nullptr)
            end += k_page_bytes;
        if (from_file) {
            REM_TRY(os::drop_pages(base() + at, end - at));
        } else {
            REM_TRY(scanner_->announce(at, end - at));
            REM_TRY(store_.read_pages(at / k_page_bytes, {base() + at, static_cast<std::size_t>(end - at)}));
        }
        at = end;
    }
    return {};
}

// Memory of chunks that got their place since they were mapped.
result<void> memory_view::map_stored_chunks() {
    for (const store::extent& e : store_.extents()) {
        if (!e.stored)
            continue;
        const std::uint64_t chunk = store_.chunk_bytes();
        for (std::uint64_t from = e.heap.offset; from < e.heap.end();) {
            std::uint64_t to = from + chunk;
            bool mapped = maps_home(from / chunk);
            while (to < e.heap.end() && maps_home(to / chunk) == mapped)
                to += chunk;
            if (!mapped)
                REM_TRY(map_file_again({from, to - from}, e.file_offset + (from - e.heap.offset)));
            from = to;
        }
    }
    scattered_chunks_ = 0;
    unmapped_chunks_ = 0;
    chunk_to_map_ = k_no_chunk;
    return {};
}

std::vector<store::folded_page> memory_view::twin_pages() const {
    REM_CHECK(frozen_is_in_image_ || frozen_.is_empty());
    return twins_.sorted();
}

void memory_view::drop_twins() {
    frozen_.clear();
    to_settle_.clear();
    settled_ = 0;
    twins_.clear();
    twin_memory_.trim();
    mapped_with_newer_ = 0;
    chunk_to_map_ = 0;
    has_left_chunks_ = false;
}

result<std::span<const store::folded_page>> memory_view::freeze() {
    REM_TRY(settle_rest());
    REM_CHECK(frozen_.is_empty());
    frozen_.clear(); // of memory, if there were none
    twins_.freeze_into(frozen_);
    frozen_is_in_image_ = false;
    to_settle_ = frozen_.sorted(); // here, so that thaw() cannot lack memory
    settled_ = 0;
    return std::span<const store::folded_page>(to_settle_);
}

void memory_view::thaw() noexcept {
    mapped_with_newer_ = 0;
    frozen_is_in_image_ = true;
    chunk_to_map_ = 0;
    has_left_chunks_ = false;
}

result<void> memory_view::settle_some(commit_scope committed, std::uint64_t pages) {
    if (frozen_is_in_image_ && !frozen_.is_empty())
        REM_TRY(settle_pages(pages));
    return committed == commit_scope::everything && chunk_to_map_ != k_no_chunk ? map_some_chunks(pages)
                                                                                : result<void>();
}

result<void> memory_view::settle_rest() {
    return frozen_is_in_image_ && !frozen_.is_empty() ? settle_pages(to_settle_.size()) : result<void>();
}

// A page that equals what the image has may be read from there, whether or not anything else is committed.
result<void> memory_view::settle_pages(std::uint64_t pages) {
    std::vector<track::page_run> copies;
    const std::size_t end = std::min(to_settle_.size(), settled_ + static_cast<std::size_t>(pages));
    for (; settled_ < end; ++settled_) {
        const store::folded_page& frozen = to_settle_[settled_];
        const std::uint64_t at = frozen.page * k_page_bytes;
        if (twins_.find(frozen.page) == nullptr && frozen_.find(frozen.page) != nullptr &&
            maps_home(frozen.page / store_.chunk_pages()) && std::memcmp(base() + at, frozen.bytes, k_page_bytes) == 0)
            copies.push_back({at, k_page_bytes});
    }
    sort_and_merge(copies);
    for (const track::page_run& run : copies)
        REM_TRY(os::drop_pages(base() + run.offset, run.bytes));
    if (settled_ == to_settle_.size()) {
        to_settle_.clear();
        settled_ = 0;
        frozen_.clear();
    }
    return {};
}

// Precondition: the view holds just what is committed. A chunk with twins is left for another time, since memory must not
// change under who reads it.
result<void> memory_view::map_some_chunks(std::uint64_t pages) {
    const std::uint64_t chunk_bytes = store_.chunk_bytes();
    const std::uint64_t end = store_.image_bytes() / chunk_bytes;
    const auto has_newer = [&](std::uint64_t chunk) {
        return twins_.has_any_in(chunk) || (!frozen_is_in_image_ && frozen_.has_any_in(chunk));
    };
    const std::uint64_t chunks_max = divide_up(pages, store_.chunk_pages());
    std::uint64_t mapped = 0;
    for (std::uint64_t looked = 0; chunk_to_map_ < end && mapped < chunks_max && looked < k_chunks_looked_at;
         ++looked) {
        const std::uint64_t first = chunk_to_map_++;
        if (maps_home(first) || !store_.is_stored(first))
            continue;
        if (has_newer(first)) { // between others it costs mappings
            has_left_chunks_ = true;
            if (++scattered_chunks_ >= k_scattered_chunks_max)
                chunk_to_map_ = end;
            continue;
        }
        const std::uint64_t home = store_.home_of(first * chunk_bytes);
        std::uint64_t count = 1;
        for (; count < chunks_max && chunk_to_map_ < end; ++count, ++chunk_to_map_) {
            const std::uint64_t next = chunk_to_map_;
            if (maps_home(next) || !store_.is_stored(next) || has_newer(next) ||
                store_.home_of(next * chunk_bytes) != home + count * chunk_bytes)
                break;
        }
        REM_TRY(map_file_again({first * chunk_bytes, count * chunk_bytes}, home));
        mapped += count;
    }
    if (chunk_to_map_ < end)
        return {};
    if (!has_left_chunks_)
        scattered_chunks_ = 0;
    chunk_to_map_ = k_no_chunk;
    return {};
}

result<void> memory_view::forget(byte_range chunks) {
    REM_CHECK(frozen_.is_empty());
    const std::uint64_t chunk_bytes = store_.chunk_bytes();
    for (std::uint64_t chunk = chunks.offset / chunk_bytes; chunk < chunks.end() / chunk_bytes; ++chunk) {
        twins_.forget(chunk);
        if (maps(chunk, mapping::anonymous))
            note_mapped(1);
        mappings_.at(chunk) = mapping::anonymous;
    }
    // Behind a hole of the file before them the file may end now.
    std::uint64_t first = chunks.offset / chunk_bytes;
    while (first > 0 && is_in_file_hole(first - 1) && !store_.is_stored(first - 1))
        --first;
    const std::uint64_t end = std::min(chunks.end(), accessible_);
    REM_TRY(map_zeros(first * chunk_bytes, end));
    file_holes_ = without(file_holes_, {{first * chunk_bytes, chunks.end() - first * chunk_bytes}});
    return {};
}

result<void> memory_view::settle(commit_scope committed) {
    if (committed == commit_scope::everything)
        REM_TRY(map_stored_chunks());
    std::vector<track::page_run> copies;
    for (const store::folded_page& twin : twins_.sorted()) {
        const std::uint64_t at = twin.page * k_page_bytes;
        if (committed == commit_scope::everything ||
            (maps_home(twin.page / store_.chunk_pages()) && std::memcmp(base() + at, twin.bytes, k_page_bytes) == 0))
            copies.push_back({at, k_page_bytes});
    }
    sort_and_merge(copies);
    for (const track::page_run& run : copies)
        REM_TRY(os::drop_pages(base() + run.offset, run.bytes));
    return {};
}

} // namespace remanence::view
