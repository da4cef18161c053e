#include "view/memory_view.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "view/diff.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::view {

namespace {

constexpr std::uint64_t k_growth_step = 2 * MiB;
constexpr std::uint64_t k_huge_pages_from = 2 * MiB;   // smaller heaps stay small in memory, too
constexpr std::uint64_t k_scattered_chunks_max = 4096; // two mappings each at worst; a process has 65,530
constexpr std::uint64_t k_chunks_looked_at = 16384;    // by one commit, whether they are to be mapped
constexpr std::uint64_t k_read_bytes = 256 * KiB;      // of the image at one go
constexpr std::size_t k_moved_chunks_min = 4;          // by one commit: fewer are better off in the log
constexpr std::uint64_t k_pages_sampled = 4;           // of a chunk, whether it is to move

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

/// The runs in pieces that lie in one chunk each.
std::vector<byte_range> pieces_of(const std::vector<os::page_run>& runs, std::uint64_t chunk_bytes) {
    std::vector<byte_range> pieces;
    for (const os::page_run& run : runs) {
        for (std::uint64_t from = run.offset; from < run.end();) {
            const std::uint64_t to = std::min(run.end(), (from / chunk_bytes + 1) * chunk_bytes);
            pieces.push_back({from, to - from});
            from = to;
        }
    }
    return pieces;
}

/// The pieces that lie in the same chunk as `first`, which is the first of them.
std::span<const byte_range> pieces_in(std::span<const byte_range> pieces, const byte_range* first,
                                      std::uint64_t chunk_bytes) {
    const byte_range* end = first;
    while (end != pieces.data() + pieces.size() && end->offset / chunk_bytes == first->offset / chunk_bytes)
        ++end;
    return {first, end};
}

} // namespace

std::uint64_t change_set::changed_bytes() const {
    std::uint64_t bytes = 0;
    for (const format::change_range& range : ranges)
        bytes += range.bytes;
    for (const auto* chunks : {&fresh, &moved}) {
        for (const whole_chunk& chunk : *chunks)
            bytes += k_page_bytes * static_cast<std::uint64_t>(
                                        std::ranges::count_if(chunk.checksums, [](auto sum) { return sum != 0; }));
    }
    return bytes;
}

result<std::unique_ptr<memory_view>> memory_view::open(store::heap_file& store, os::reservation place,
                                                       const view_options& options) {
    std::unique_ptr<memory_view> view(new memory_view(store, std::move(place)));
    view->core_dump_ = options.core_dump;
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

result<void> memory_view::gather_written() {
    REM_TRY(scanner_->collect(accessible_, written_));
    sort_and_merge(written_);
    return {};
}

// An unused chunk without twins becomes what the image has, by giving its memory back to the kernel. That is right even
// if no commit follows: nobody reads it now, and rollback would make it the same.
result<bool> memory_view::give_back(std::uint64_t chunk, const page_predicate& is_unused) {
    const std::uint64_t pages = store_.chunk_pages();
    for (std::uint64_t page = chunk * pages; page < (chunk + 1) * pages; ++page) {
        if (!is_unused(page) || is_newer_than_image(page))
            return false;
    }
    const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
    if (store_.is_stored(chunk) && !maps_home(chunk)) {
        if (scattered_chunks_ == k_scattered_chunks_max)
            return false;
        ++scattered_chunks_;
        REM_TRY(map_file_again(all, store_.home_of(all.offset)));
    } else {
        REM_TRY(os::drop_pages(base() + all.offset, std::min(all.end(), accessible_) - all.offset));
    }
    return true;
}

// What was written, without the chunks given back.
result<std::vector<byte_range>> memory_view::set_unused_aside(const std::vector<os::page_run>& runs,
                                                              const page_predicate& is_unused) {
    std::vector<byte_range> used;
    std::uint64_t last = ~std::uint64_t{0};
    bool is_given_back = false;
    for (const byte_range& piece : pieces_of(runs, store_.chunk_bytes())) {
        const std::uint64_t chunk = piece.offset / store_.chunk_bytes();
        if (chunk != last) {
            auto given_back = give_back(chunk, is_unused);
            if (!given_back)
                return given_back.error();
            is_given_back = *given_back;
            last = chunk;
        }
        if (!is_given_back)
            used.push_back(piece);
    }
    return used;
}

result<change_set> memory_view::collect(const page_predicate& is_unused) {
    REM_TRY(gather_written());
    REM_TRY(unspill_unused(is_unused));
    auto changes = changes_in(written_, is_unused, kept_bytes::usable, moving::allowed);
    if (changes)
        add_spilled(*changes);
    return changes;
}

result<bool> memory_view::holds_changes(const page_predicate& is_unused) {
    REM_TRY(gather_written());
    if (has_spilled())
        return true;
    for (const byte_range& piece : pieces_of(written_, store_.chunk_bytes())) {
        auto changes = changes_in({{piece.offset, piece.bytes}}, is_unused, kept_bytes::usable);
        if (!changes)
            return changes.error();
        if (!changes->empty())
            return true;
    }
    return false;
}

result<change_set> memory_view::collect_announced(const page_predicate& is_unused) {
    const std::vector<os::page_run> behind{{accessible_, ~std::uint64_t{0} - accessible_}};
    return changes_in(without(announced_.runs(), behind), is_unused, kept_bytes::not_usable);
}

result<change_set> memory_view::collect_unannounced(const page_predicate& is_unused) {
    REM_TRY(gather_written());
    return changes_in(without(written_, announced_.runs()), is_unused, kept_bytes::usable);
}

result<change_set> memory_view::changes_in(const std::vector<os::page_run>& runs, const page_predicate& is_unused,
                                           kept_bytes kept, moving move) {
    auto used = set_unused_aside(runs, is_unused);
    if (!used)
        return used.error();
    change_set changes;
    const std::uint64_t chunk_bytes = store_.chunk_bytes();
    if (move == moving::allowed)
        REM_TRY(collect_moved(*used, changes));
    for (const byte_range& piece : *used) {
        const std::uint64_t chunk = piece.offset / chunk_bytes;
        if (std::ranges::binary_search(changes.moved, chunk, {}, &whole_chunk::chunk))
            continue;
        if (store_.is_stored(chunk)) {
            REM_TRY(collect_stored(piece, kept, changes));
            continue;
        }
        const std::vector<std::uint32_t>* const at_home = spilled_.find(chunk);
        for (std::uint64_t at = piece.offset; at < piece.end(); at += k_page_bytes) {
            const auto page = static_cast<std::size_t>(at % chunk_bytes / k_page_bytes);
            if ((at_home == nullptr || (*at_home)[page] == 0) && is_all_zeros({base() + at, k_page_bytes}))
                continue; // what was never written reads as zeros anyway
            if (changes.fresh.empty() || changes.fresh.back().chunk != chunk)
                changes.fresh.push_back(as_spilled(chunk));
            whole_chunk& fresh = changes.fresh.back();
            fresh.checksums[page] = page_checksum({base() + at, k_page_bytes});
            if (at_home != nullptr)
                fresh.is_at_home[page] = false;
        }
    }
    return changes;
}

result<void> memory_view::collect_stored(byte_range range, kept_bytes kept, change_set& changes) {
    const auto old_bytes = [&](std::uint64_t offset) {
        return kept == kept_bytes::usable ? scanner_->old_bytes(offset) : nullptr;
    };
    for (std::uint64_t at = range.offset; at < range.end();) {
        std::uint64_t page = at / k_page_bytes;
        if (committed_copy(page) != nullptr) {
            REM_TRY(compare_with_copy(page, changes));
            at += k_page_bytes;
            continue;
        }
        const std::byte* const old = old_bytes(at);
        std::uint64_t end = at + k_page_bytes;
        std::uint64_t limit = old != nullptr ? end : std::min(range.end(), at + k_read_bytes);
        while (end < limit && committed_copy(end / k_page_bytes) == nullptr && old_bytes(end) == nullptr)
            end += k_page_bytes;
        // The image's pages become twins at once where they differ: their content is committed either way.
        std::byte* image = twins_.allocate((end - at) / k_page_bytes);
        auto read = read_image({at, end - at}, old, image);
        unchanged_.clear();
        for (; at < end; at += k_page_bytes, image += k_page_bytes) {
            std::size_t before = changes.pages.size();
            if (read)
                REM_TRY(compare(at / k_page_bytes, image, changes));
            if (changes.pages.size() != before) {
                twins_.insert(at / k_page_bytes, image);
            } else {
                unchanged_.push_back(image);
            }
        }
        for (auto page_image = unchanged_.rbegin(); page_image != unchanged_.rend(); ++page_image)
            twins_.discard(*page_image);
        if (!read)
            return read.error();
    }
    return {};
}

// A frozen twin stays as it is: what is committed next becomes another one.
result<void> memory_view::compare_with_copy(std::uint64_t page, change_set& changes) {
    const std::size_t before = changes.pages.size();
    REM_TRY(compare(page, committed_copy(page), changes));
    if (changes.pages.size() == before || twins_.find(page) != nullptr)
        return {};
    std::byte* const twin = twins_.allocate(1);
    std::memcpy(twin, frozen_.find(page), k_page_bytes);
    twins_.insert(page, twin);
    return {};
}

// R1. Bytes that the tracker kept count as the image's only if the image's checksum says so.
result<void> memory_view::read_image(byte_range range, const std::byte* kept, std::byte* into) {
    const std::uint64_t page = range.offset / k_page_bytes;
    if (kept != nullptr) {
        auto checksum = store_.checksum_of(page);
        if (!checksum)
            return checksum.error();
        std::memcpy(into, kept, k_page_bytes);
        if (*checksum != 0 && page_checksum({into, k_page_bytes}) == *checksum)
            return {};
    }
    return store_.read_pages(page, {into, static_cast<std::size_t>(range.bytes)});
}

result<void> memory_view::compare(std::uint64_t page, const std::byte* committed, change_set& changes) {
    const std::byte* now = base() + page * k_page_bytes;
    std::size_t first = changes.ranges.size();
    diff_pages(committed, now, changes.ranges);
    auto count = static_cast<std::uint32_t>(changes.ranges.size() - first);
    if (count != 0)
        changes.pages.push_back({page, page_checksum({now, k_page_bytes}), count, first});
    return {};
}

// Sorted. One alone is not worth the sync that it takes.
result<std::vector<std::uint64_t>> memory_view::chunks_to_move(std::span<const byte_range> written) {
    std::vector<std::uint64_t> found;
    const std::uint64_t chunk_bytes = store_.chunk_bytes();
    for (std::size_t i = 0; i < written.size();) {
        const auto pieces = pieces_in(written, &written[i], chunk_bytes);
        i += pieces.size();
        const std::uint64_t chunk = pieces[0].offset / chunk_bytes;
        std::uint64_t bytes = 0;
        for (const byte_range& piece : pieces)
            bytes += piece.bytes;
        if (2 * bytes < chunk_bytes || !store_.may_move(chunk) || frozen_.has_any_in(chunk))
            continue;
        auto is_cheaper = is_cheaper_whole(pieces);
        if (!is_cheaper)
            return is_cheaper.error();
        if (*is_cheaper)
            found.push_back(chunk);
    }
    if (found.size() >= k_moved_chunks_min)
        found.resize(store_.room_to_move(found));
    if (found.size() < k_moved_chunks_min)
        found.clear();
    return found;
}

// Than the log: if it would take half of the chunk's bytes, by a sample of the pages that were written. The fold after it would
// write them again; but nobody waits for that, and it does so once for many commits.
result<bool> memory_view::is_cheaper_whole(std::span<const byte_range> written) {
    change_set sample;
    std::vector<std::byte> image(static_cast<std::size_t>(k_page_bytes));
    std::uint64_t written_bytes = 0;
    for (const byte_range& piece : written)
        written_bytes += piece.bytes;
    const std::uint64_t step =
        written_bytes / k_page_bytes / k_pages_sampled | 1; // every other page is a common pattern
    std::uint64_t pages = 0;
    std::uint64_t sampled = 0;
    for (const byte_range& piece : written) {
        for (std::uint64_t at = piece.offset; at < piece.end(); at += k_page_bytes) {
            if (pages++ % step != 0)
                continue;
            ++sampled;
            const std::byte* committed = committed_copy(at / k_page_bytes);
            if (committed == nullptr) {
                REM_TRY(store_.read_pages(at / k_page_bytes, image));
                committed = image.data();
            }
            REM_TRY(compare(at / k_page_bytes, committed, sample));
        }
    }
    const std::uint64_t bytes = sample.changed_bytes() + sample.ranges.size() * sizeof(format::change_range) +
                                sample.pages.size() * sizeof(format::page_change);
    return 2 * bytes * pages / sampled > store_.chunk_bytes();
}

result<void> memory_view::collect_moved(std::span<const byte_range> written, change_set& changes) {
    auto to_move = chunks_to_move(written);
    if (!to_move)
        return to_move.error();
    auto next = to_move->begin();
    for (std::size_t i = 0; i < written.size() && next != to_move->end();) {
        const auto pieces = pieces_in(written, &written[i], store_.chunk_bytes());
        i += pieces.size();
        if (pieces[0].offset / store_.chunk_bytes() != *next)
            continue;
        auto checksums = checksums_to_move(*next, pieces);
        if (!checksums)
            return checksums.error();
        if (!checksums->empty())
            changes.moved.push_back({*next, std::move(*checksums)});
        ++next;
    }
    return {};
}

// Pages that were not written come from the file. If they are not what was committed they must not get another checksum: none
// then, and the log takes what was written.
result<std::vector<std::uint32_t>> memory_view::checksums_to_move(std::uint64_t chunk,
                                                                  std::span<const byte_range> written) {
    std::vector<std::uint32_t> checksums;
    os::will_read(base() + chunk * store_.chunk_bytes(), store_.chunk_bytes());
    auto piece = written.begin();
    for (std::uint64_t page = chunk * store_.chunk_pages(); page < (chunk + 1) * store_.chunk_pages(); ++page) {
        const std::uint64_t at = page * k_page_bytes;
        const std::span<const std::byte> bytes(base() + at, k_page_bytes);
        checksums.push_back(is_all_zeros(bytes) ? 0 : page_checksum(bytes));
        while (piece != written.end() && piece->end() <= at)
            ++piece;
        if ((piece != written.end() && piece->offset <= at) || committed_copy(page) != nullptr)
            continue;
        auto committed = store_.checksum_of(page);
        if (!committed)
            return committed.error();
        if (*committed != checksums.back())
            return std::vector<std::uint32_t>();
    }
    return checksums;
}

void memory_view::accept(const change_set& changes) {
    for (const whole_chunk& moved : changes.moved) {
        twins_.forget(moved.chunk);
        if (moved.chunk >= mappings_.size())
            continue;
        mapping& now = mappings_[static_cast<std::size_t>(moved.chunk)];
        if (now != mapping::anonymous) // its former home is where it is again, and has just what the view has
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
    for (const changed_page& changed : changes.pages) {
        std::memcpy(twins_.find(changed.page), base() + changed.page * k_page_bytes, k_page_bytes);
        twins_.set_checksum(changed.page, changed.checksum);
    }
}

result<void> memory_view::rollback() {
    REM_TRY(gather_written());
    for (const byte_range& piece : pieces_of(written_, store_.chunk_bytes())) {
        if (store_.is_stored(piece.offset / store_.chunk_bytes())) {
            REM_TRY(restore(piece));
        } else {
            REM_TRY(os::drop_pages(base() + piece.offset, piece.bytes));
        }
    }
    REM_TRY(unspill(spilled_.chunks()));
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
        if (twins_.find(frozen.page) == nullptr && maps_home(frozen.page / store_.chunk_pages()) &&
            std::memcmp(base() + at, frozen.bytes, k_page_bytes) == 0)
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
