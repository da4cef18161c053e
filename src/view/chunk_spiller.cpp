#include "view/chunk_spiller.hpp"

#include "base/checksum.hpp"
#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"
#include "os/blocked_signals.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::view {

namespace {

// Another thread may be about to write the page, or may be waiting in a trap to do so. The thread sanitizer regards
// such a write as done and would report a race, so it must not see this read or a call of memcpy.
[[gnu::no_sanitize_thread]] void copy_page(std::byte* into, const std::byte* page) noexcept {
    const auto* from = reinterpret_cast<const volatile std::uint64_t*>(page);
    auto* to = reinterpret_cast<std::uint64_t*>(into);
    for (std::size_t i = 0; i < k_page_bytes / sizeof(std::uint64_t); ++i)
        to[i] = from[i];
}

/// Converts an error into errc::exhausted, which prevents the spilling of one chunk but does not count as a failure of
/// the file.
unexpected cannot_map(failure why) {
    why.code = errc::exhausted;
    return unexpected(std::move(why));
}

} // namespace

result<chunk_spiller::spillable> chunk_spiller::find_spillable(heap_range handed_out) {
    if (!written_copies_) {
        auto copies = track::private_copies::create(memory_.base());
        if (!copies)
            return copies.error();
        written_copies_.emplace(std::move(*copies));
    }
    std::vector<heap_range> pages;
    REM_TRY(find_written_fresh(pages));
    REM_TRY(find_written_stored(pages));

    spillable found;
    found.written_bytes = bytes_of(pages);
    found.chunks = put_in_turn(pages);
    found_in_turn_.clear();
    for (const written_chunk& each : found.chunks)
        found_in_turn_.push_back(each.chunk);

    std::vector<heap_range> stays = kept_in_memory_.ranges();
    stays.push_back({align_down(handed_out.offset, k_page_bytes), handed_out.bytes + k_page_bytes});
    sort_and_merge(stays);
    std::erase_if(found.chunks, [&](const written_chunk& each) {
        const heap_range all = memory_.range_of(each.chunk);
        const auto first_behind = std::ranges::upper_bound(stays, all.offset, {}, &heap_range::end);
        return all.end() > memory_.accessible_bytes() || !kept_in_memory_.is_complete() ||
               !may_be_spilled(each.chunk) || (first_behind != stays.end() && first_behind->offset < all.end());
    });
    return found;
}

result<void> chunk_spiller::find_written_fresh(std::vector<heap_range>& pages) {
    for (const store::extent& e : copies_.extents()) {
        if (!e.stored)
            REM_TRY(written_copies_->append_sparse({e.heap.offset, e.heap.bytes}, pages));
    }
    const std::uint64_t end = memory_.accessible_bytes();
    if (copies_.image_bytes() < end)
        REM_TRY(written_copies_->append_sparse({copies_.image_bytes(), end - copies_.image_bytes()}, pages));
    return {};
}

// Excludes pages of stored chunks that are not mapped from their copy: these are in memory whether they were written or
// not. Also excludes pages with before-images: they may equal the committed content, and before-images have a limit of
// their own. Sorts all pages.
result<void> chunk_spiller::find_written_stored(std::vector<heap_range>& pages) {
    std::vector<heap_range> copies;
    const auto look_at = [&](std::uint64_t first, std::uint64_t end) -> result<void> {
        copies.clear();
        REM_TRY(written_copies_->append_sparse(
            {first * copies_.where().chunk_bytes(), (end - first) * copies_.where().chunk_bytes()}, copies));
        for (const heap_range& range : copies) {
            for (std::uint64_t at = range.offset; at < range.end(); at += k_page_bytes) {
                if (committed_.copy(at / k_page_bytes) == nullptr)
                    append_run(pages, at, k_page_bytes);
            }
        }
        return {};
    };
    const auto is_to_be_looked_at = [&](std::uint64_t chunk) {
        return memory_.maps_copy(chunk) || memory_.places().is(chunk, place::chunk_state::moving);
    };
    for (const store::extent& e : copies_.extents()) {
        if (!e.stored)
            continue;
        const std::uint64_t behind = e.heap.end() / copies_.where().chunk_bytes();
        for (std::uint64_t chunk = e.heap.offset / copies_.where().chunk_bytes(); chunk < behind;) {
            std::uint64_t end = chunk;
            while (end < behind && is_to_be_looked_at(end))
                ++end;
            if (chunk < end)
                REM_TRY(look_at(chunk, end));
            chunk = end + 1;
        }
    }
    sort_and_merge(pages);
    return {};
}

// Returns the chunks of these pages: first those that the last call returned, in its order, then the others by address.
std::vector<chunk_spiller::written_chunk> chunk_spiller::put_in_turn(const std::vector<heap_range>& pages) {
    const std::uint64_t chunk_bytes = copies_.where().chunk_bytes();
    std::vector<written_chunk> by_address;
    for (const heap_range& range : split_at_chunks(pages, chunk_bytes)) {
        const std::uint64_t chunk = range.offset / chunk_bytes;
        if (by_address.empty() || by_address.back().chunk != chunk)
            by_address.push_back({chunk, 0});
        by_address.back().bytes += range.bytes;
    }
    std::vector<written_chunk> in_turn;
    for (const std::uint64_t chunk : found_in_turn_) {
        const auto at = std::ranges::lower_bound(by_address, chunk, {}, &written_chunk::chunk);
        if (at != by_address.end() && at->chunk == chunk)
            in_turn.push_back({chunk, std::exchange(at->bytes, 0)});
    }
    for (const written_chunk& each : by_address) {
        if (each.bytes != 0)
            in_turn.push_back(each);
    }
    return in_turn;
}

bool chunk_spiller::may_be_spilled(std::uint64_t chunk) const {
    return !copies_.is_stored(chunk) || spilled_.contains(chunk) ||
           (memory_.maps_copy(chunk) && copies_.may_move(chunk) && !committed_.is_being_written(chunk));
}

// True for a stored chunk that moves when it is spilled, so that all of it must be written.
bool chunk_spiller::is_to_move(std::uint64_t chunk) const {
    return copies_.is_stored(chunk) && !memory_.places().is(chunk, place::chunk_state::moving);
}

void chunk_spiller::reserve_to_stage() {
    staged_.resize(static_cast<std::size_t>(copies_.where().chunk_bytes()));
    for (auto* ranges : {&written_here_, &staged_pages_}) // twice, since the tracker may have reported a private copy
        ranges->reserve(2 * static_cast<std::size_t>(copies_.where().chunk_pages()));
}

// Copies the pages to be written to staged_ and sets their checksums; memory may change afterwards. Pages of a stored
// chunk that were not written are read from the file. If one of them differs from its committed content, it must not
// get a new checksum, so this function then returns no pages.
result<void> chunk_spiller::stage(std::uint64_t chunk, std::vector<std::uint32_t>& checksums,
                                  std::vector<heap_range>& pages) {
    const heap_range all = memory_.range_of(chunk);
    const bool is_stored = copies_.is_stored(chunk);
    const bool is_moving = is_to_move(chunk);
    written_here_.clear();
    REM_TRY(written_copies_->append_sparse(all, written_here_));
    written_.append_reported(all, written_here_); // for copies in swap that the tracker has protected since
    sort_and_merge(written_here_);
    if (is_moving)
        os::will_read(memory_.base() + all.offset, all.bytes);
    auto written = written_here_.begin();
    for (std::uint64_t at = all.offset; at < all.end(); at += k_page_bytes) {
        while (written != written_here_.end() && written->end() <= at)
            ++written;
        const bool is_written = written != written_here_.end() && written->offset <= at;
        if (!is_written && !is_moving)
            continue;
        std::byte* const copy = staged_.data() + (at - all.offset);
        copy_page(copy, memory_.base() + at);
        std::uint32_t& checksum = checksums[static_cast<std::size_t>((at - all.offset) / k_page_bytes)];
        const bool is_zeros = is_all_zeros({copy, k_page_bytes});
        if (is_zeros && !is_moving && checksum == 0)
            continue; // the copy already has zeros there
        checksum = is_zeros && is_stored ? 0 : page_checksum({copy, k_page_bytes});
        append_run(pages, at, k_page_bytes);
        if (is_written || committed_.is_newer_than_image(at / k_page_bytes))
            continue;
        auto is_sound = committed_.is_as_in_image(at / k_page_bytes, {copy, k_page_bytes}, checksum);
        if (!is_sound)
            return is_sound.error();
        if (!*is_sound) {
            pages.clear();
            return {};
        }
    }
    return {};
}

result<std::vector<heap_range>> chunk_spiller::pages_to_spill(std::uint64_t chunk) {
    reserve_to_stage();
    std::vector<heap_range> pages;
    if (!copies_.may_hold_early(chunk)) // tested before the caller reserves room on the disk
        return pages;
    if (is_to_move(chunk)) {
        pages.push_back(memory_.range_of(chunk));
        return pages;
    }
    std::vector<std::uint32_t> checksums = spilled_.as_in_copy(chunk).checksums;
    REM_TRY(stage(chunk, checksums, pages));
    return pages;
}

bool chunk_spiller::pause_all() {
    has_paused_all_ = kept_in_memory_.is_empty() && kept_in_memory_.is_complete() &&
                      static_cast<bool>(written_.tracker().pause_writes({0, memory_.accessible_bytes()}));
    return has_paused_all_;
}

result<void> chunk_spiller::let_all_go_on() {
    has_paused_all_ = false;
    return written_.tracker().let_writes_go_on();
}

template <class F>
auto chunk_spiller::while_paused(heap_range where, const F& f) -> decltype(f()) {
    if (has_paused_all_)
        return f();
    const os::blocked_signals none; // a signal handler that writes there would wait for its own thread
    if (auto paused = written_.tracker().pause_writes(where); !paused)
        return cannot_map(paused.why());
    auto done = f();
    REM_TRY(written_.tracker().let_writes_go_on());
    return done;
}

// Does nothing for a chunk that would move, because stage() also returns no pages if one of its pages has bit rot. Does
// nothing for a hole of the file, because a failed spill may have left bytes there.
result<std::uint64_t> chunk_spiller::give_back_zeros(std::uint64_t chunk) {
    if (is_to_move(chunk) || (memory_.is_in_file_hole(chunk) && !spilled_.contains(chunk)))
        return std::uint64_t{0};
    const heap_range all = memory_.range_of(chunk);
    std::vector<heap_range> copies; // excludes pages that were only read, which use no memory
    REM_TRY(written_copies_->append_sparse({all.offset, all.bytes}, copies));
    const std::uint64_t bytes = bytes_of(copies);
    std::vector<std::uint32_t> checksums = spilled_.as_in_copy(chunk).checksums;
    reserve_to_stage();
    return while_paused(all, [&]() -> result<std::uint64_t> {
        staged_pages_.clear();
        if (auto staged = stage(chunk, checksums, staged_pages_); !staged)
            return cannot_map(staged.why());
        if (!staged_pages_.empty())
            return std::uint64_t{0};
        if (auto dropped = os::drop_pages(memory_.base() + all.offset, all.bytes); !dropped)
            return cannot_map(dropped.why());
        return bytes;
    });
}

result<std::uint64_t> chunk_spiller::spill(std::uint64_t chunk, const std::vector<heap_range>& pages) {
    // Allocate everything before writes are paused.
    const heap_range all = memory_.range_of(chunk);
    const bool was_spilled = spilled_.contains(chunk);
    std::vector<std::uint32_t> checksums = spilled_.as_in_copy(chunk).checksums;
    auto aside = os::moving_mapping::create(all.bytes);
    if (!aside)
        return cannot_map(aside.why());
    reserve_to_stage();
    memory_.reserve_place_of(chunk);
    if (!spilled_.hold(chunk, checksums))
        return std::uint64_t{0};

    auto replaced = while_paused(all, [&] { return replace_by_file(chunk, pages, *aside, checksums); });
    if (!replaced || !*replaced) {
        if (!was_spilled)
            spilled_.release(chunk);
        if (!replaced)
            return replaced.error();
        return std::uint64_t{0};
    }
    memory_.note_spilled(chunk);
    written_.forget(all);
    return bytes_of(pages);
}

// Call while writes are paused. If this fails, the chunk's memory is unchanged. Its copy may have new bytes, but only
// for private pages, which the tracker still reports as written.
result<bool> chunk_spiller::replace_by_file(std::uint64_t chunk, const std::vector<heap_range>& pages,
                                            os::moving_mapping& by, std::vector<std::uint32_t>& checksums) {
    const heap_range all = memory_.range_of(chunk);
    staged_pages_.clear();
    if (auto staged = stage(chunk, checksums, staged_pages_); !staged)
        return cannot_map(staged.why());
    if (pages.empty() || staged_pages_ != pages)
        return false;
    const bool had_left_copies = std::exchange(has_left_copies_, true); // until the chunk is replaced
    for (const heap_range& range : pages) {
        const std::span bytes(staged_.data() + (range.offset - all.offset), static_cast<std::size_t>(range.bytes));
        const std::uint64_t page = range.offset / k_page_bytes;
        REM_TRY(copies_.is_stored(chunk) ? chunks_.write_relocated(page, bytes) : chunks_.write_fresh(page, bytes));
    }
    spilled_.replace(chunk, std::move(checksums)); // correct even if the chunk is not mapped from its copy below
    if (auto mapped = memory_.map_aside(by, copies_.early_copy_of(chunk)); !mapped)
        return cannot_map(mapped.why());
    if (auto moved = written_.tracker().replace_paused(by, all.offset); !moved)
        return cannot_map(moved.why());
    has_left_copies_ = had_left_copies;
    return true;
}

void chunk_spiller::accept() noexcept {
    kept_in_memory_.clear();
    found_in_turn_.clear();
    spilled_.forget_committed();
}

result<void> chunk_spiller::give_up_unused(const page_predicate& is_unused) {
    std::vector<std::uint64_t> unused;
    const std::uint64_t pages = copies_.where().chunk_pages();
    for (const std::uint64_t chunk : spilled_.chunks()) {
        std::uint64_t page = chunk * pages;
        while (page < (chunk + 1) * pages && is_unused(page))
            ++page;
        if (page == (chunk + 1) * pages)
            unused.push_back(chunk);
    }
    return give_up(unused);
}

// Fresh chunks become zeros. They must not be spilled again or stored before their copies are holes.
result<void> chunk_spiller::give_up(const std::vector<std::uint64_t>& chunks) {
    has_left_copies_ = has_left_copies_ || !chunks.empty();
    for (std::size_t i = 0; i < chunks.size();) {
        if (copies_.is_stored(chunks[i])) {
            REM_TRY(restore_committed(chunks[i]));
            spilled_.release(chunks[i++]);
            continue;
        }
        std::size_t end = i + 1;
        while (end < chunks.size() && chunks[end] == chunks[i] + (end - i) && !copies_.is_stored(chunks[end]))
            ++end;
        REM_TRY(memory_.map_zeros(chunks[i] * copies_.where().chunk_bytes(),
                                  std::min(memory_.range_of(chunks[end - 1]).end(), memory_.accessible_bytes())));
        for (; i < end; ++i) {
            memory_.note_given_up(chunks[i]);
            spilled_.release(chunks[i]);
        }
    }
    return {};
}

result<void> chunk_spiller::restore_committed(std::uint64_t chunk) {
    const heap_range all = memory_.range_of(chunk);
    REM_TRY(memory_.map_copies(all));
    for (std::uint64_t at = all.offset; at < all.end(); at += k_page_bytes) {
        if (const std::byte* const copy = committed_.copy(at / k_page_bytes); copy != nullptr) {
            REM_TRY(written_.tracker().declare(at, k_page_bytes));
            std::memcpy(memory_.base() + at, copy, k_page_bytes);
        }
    }
    return {};
}

} // namespace remanence::view
