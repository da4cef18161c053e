#include "view/memory_view.hpp"

#include "base/assert.hpp"
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
    view->scattered_max_ = options.scattered_max;
    auto protection = options.read_only ? os::access::read_only : os::access::read_write;
    REM_TRY(view->place_.extend(store.image_bytes()));
    view->reserved_ = view->place_.bytes();
    if (!options.read_only) {
        auto scanner = os::make_page_scanner(view->base(), options.tracker);
        if (!scanner)
            return scanner.error();
        view->scanner_ = std::move(*scanner);
        if (options.report_stray_write != nullptr && !view->scanner_->report_stray_writes(options.report_stray_write))
            return fail(errc::not_supported, "only the trap tracker notices stray writes.");
    }
    REM_TRY(view->map_image(protection));
    if (!options.core_dump)
        os::exclude_from_core(view->base(), view->place_.bytes());
    return view;
}

// As few system calls as can be: with many extents they are what opening takes.
result<void> memory_view::map_image(os::access protection) {
    accessible_ = store_.image_bytes();
    if (accessible_ == 0)
        return {};
    REM_TRY(os::map_anonymous(base(), accessible_));
    if (protection == os::access::read_only)
        REM_TRY(os::protect_read_only(base(), accessible_));
    for (const store::extent& e : store_.extents()) {
        if (e.stored) {
            REM_TRY(map_file(e.heap, e.file_offset, protection));
        } else if (scanner_) {
            REM_TRY(scanner_->mapped(e.heap.offset, e.heap.bytes, os::page_contents::zeros));
        }
    }
    return {};
}

result<void> memory_view::map_file(byte_range heap, std::uint64_t file_offset, os::access protection) {
    const std::uint64_t chunk = store_.chunk_bytes();
    if (mappings_.size() < heap.end() / chunk)
        mappings_.resize(static_cast<std::size_t>(heap.end() / chunk));
    REM_TRY(store_.file().map_private(base() + heap.offset, heap.bytes, file_offset, protection));
    for (std::uint64_t each = heap.offset / chunk; each < heap.end() / chunk; ++each) {
        const mapping before = std::exchange(mappings_[static_cast<std::size_t>(each)], mapping::home);
        if (before == mapping::former_home)
            store_.left_former_home(each);
        if (before == mapping::anonymous)
            note_mapped(1);
    }
    return scanner_ ? scanner_->mapped(heap.offset, heap.bytes, os::page_contents::file) : result<void>();
}

result<void> memory_view::map_file_again(byte_range heap, std::uint64_t file_offset) {
    REM_TRY(map_file(heap, file_offset, os::access::read_write));
    if (!core_dump_)
        os::exclude_from_core(base() + heap.offset, heap.bytes);
    return {};
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
    return scanner_ ? scanner_->mapped(from, to - from, os::page_contents::zeros) : result<void>();
}

void memory_view::accept(const change_set& changes) {
    for (const whole_chunk& moved : changes.moved) {
        twins_.forget(moved.chunk);
        frozen_.forget(moved.chunk); // which the image had before
        if (moved.chunk >= mappings_.size())
            continue;
        mapping& now = mappings_[static_cast<std::size_t>(moved.chunk)];
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

result<void> memory_view::rollback() {
    REM_TRY(gather_written());
    REM_TRY(unspill(spilled_.chunks()));
    for (const byte_range& piece : pieces_of(written_, store_.chunk_bytes())) {
        if (store_.is_stored(piece.offset / store_.chunk_bytes())) {
            REM_TRY(restore(piece));
        } else {
            REM_TRY(os::drop_pages(base() + piece.offset, piece.bytes));
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
    std::vector<os::page_run> copies;
    const std::size_t end = std::min(to_settle_.size(), settled_ + static_cast<std::size_t>(pages));
    for (; settled_ < end; ++settled_) {
        const store::folded_page& frozen = to_settle_[settled_];
        const std::uint64_t at = frozen.page * k_page_bytes;
        if (twins_.find(frozen.page) == nullptr && frozen_.find(frozen.page) != nullptr &&
            maps_home(frozen.page / store_.chunk_pages()) && std::memcmp(base() + at, frozen.bytes, k_page_bytes) == 0)
            copies.push_back({at, k_page_bytes});
    }
    sort_and_merge(copies);
    for (const os::page_run& run : copies)
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
        if (!maps_home(chunk))
            note_mapped(1);
        if (chunk < mappings_.size())
            mappings_[static_cast<std::size_t>(chunk)] = mapping::anonymous;
    }
    return map_zeros(chunks.offset, std::min(chunks.end(), accessible_));
}

result<void> memory_view::settle(commit_scope committed) {
    if (committed == commit_scope::everything)
        REM_TRY(map_stored_chunks());
    std::vector<os::page_run> copies;
    for (const store::folded_page& twin : twins_.sorted()) {
        const std::uint64_t at = twin.page * k_page_bytes;
        if (committed == commit_scope::everything ||
            (maps_home(twin.page / store_.chunk_pages()) && std::memcmp(base() + at, twin.bytes, k_page_bytes) == 0))
            copies.push_back({at, k_page_bytes});
    }
    sort_and_merge(copies);
    for (const os::page_run& run : copies)
        REM_TRY(os::drop_pages(base() + run.offset, run.bytes));
    return {};
}

} // namespace remanence::view
