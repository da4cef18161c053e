// Chunks that were written are written to the homes that they take with the next commit early, and mapped from there: to which
// nothing durable points yet (I1), so that a crash leaves bytes there that mean nothing. Fresh ones are written page by page; of
// those that are stored all, to their other home, for they move there (heap_file).
//
// Other threads may be writing to the chunk. So they are paused while it is copied, written and replaced: what they have written
// before is in the copy, what they write afterwards is in the new mapping, and nothing comes between.

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "os/blocked_signals.hpp"
#include "view/memory_view.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

namespace remanence::view {

namespace {

// Another thread may be about to write the page, or waits in a trap to do it. The thread sanitizer must not see this, since it
// takes a write that waits for done, nor a call of memcpy.
[[gnu::no_sanitize_thread]] void copy_page(std::byte* into, const std::byte* page) noexcept {
    const auto* from = reinterpret_cast<const volatile std::uint64_t*>(page);
    auto* to = reinterpret_cast<std::uint64_t*>(into);
    for (std::size_t i = 0; i < k_page_bytes / sizeof(std::uint64_t); ++i)
        to[i] = from[i];
}

/// What keeps a chunk from being spilled, and is no failure of the file.
unexpected cannot_map(failure why) {
    why.code = errc::exhausted;
    return unexpected(std::move(why));
}

} // namespace

result<memory_view::spillable> memory_view::find_spillable(byte_range handed_out) {
    if (!copies_) {
        auto copies = track::private_copies::create(base());
        if (!copies)
            return copies.error();
        copies_.emplace(std::move(*copies));
    }
    std::vector<track::page_run> runs;
    for (const store::extent& e : store_.extents()) {
        if (!e.stored)
            REM_TRY(copies_->append_sparse({e.heap.offset, e.heap.bytes}, runs));
    }
    if (store_.image_bytes() < accessible_)
        REM_TRY(copies_->append_sparse({store_.image_bytes(), accessible_ - store_.image_bytes()}, runs));
    REM_TRY(find_written_stored(runs));

    spillable found;
    std::unordered_set<std::uint64_t> are_written;
    std::vector<std::uint64_t> in_order;
    for (const track::page_run& run : runs) {
        found.written_bytes += run.bytes;
        for (std::uint64_t chunk = run.offset / store_.chunk_bytes(); chunk * store_.chunk_bytes() < run.end();
             ++chunk) {
            if (are_written.insert(chunk).second)
                in_order.push_back(chunk);
        }
    }
    std::vector<std::uint64_t> in_turn; // those known before, then the others by address
    for (const std::uint64_t chunk : found_in_turn_) {
        if (are_written.erase(chunk) != 0)
            in_turn.push_back(chunk);
    }
    for (const std::uint64_t chunk : in_order) {
        if (are_written.contains(chunk))
            in_turn.push_back(chunk);
    }
    found_in_turn_ = in_turn;

    std::vector<track::page_run> stays = kept_in_memory_.runs();
    stays.push_back({align_down(handed_out.offset, k_page_bytes), handed_out.bytes + k_page_bytes});
    sort_and_merge(stays);
    std::erase_if(in_turn, [&](std::uint64_t chunk) {
        const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
        const auto first_behind = std::ranges::upper_bound(stays, all.offset, {}, &byte_range::end);
        return all.end() > accessible_ || !kept_in_memory_.is_complete() || !may_be_spilled(chunk) ||
               (first_behind != stays.end() && first_behind->offset < all.end());
    });
    found.chunks = std::move(in_turn);
    return found;
}

// Pages of stored chunks that are not mapped from their home are left out: they are in memory whether or not somebody writes
// there. So are those with twins, which may be just what is committed; twins have a limit of their own.
result<void> memory_view::find_written_stored(std::vector<track::page_run>& runs) {
    std::vector<track::page_run> copies;
    const auto look_at = [&](std::uint64_t first, std::uint64_t end) -> result<void> {
        copies.clear();
        REM_TRY(copies_->append_sparse({first * store_.chunk_bytes(), (end - first) * store_.chunk_bytes()}, copies));
        for (const track::page_run& run : copies) {
            for (std::uint64_t at = run.offset; at < run.end(); at += k_page_bytes) {
                if (committed_copy(at / k_page_bytes) == nullptr)
                    track::append_run(runs, at, k_page_bytes);
            }
        }
        return {};
    };
    const auto is_to_be_looked_at = [&](std::uint64_t chunk) {
        return maps_home(chunk) || maps(chunk, mapping::next_home);
    };
    for (const store::extent& e : store_.extents()) {
        if (!e.stored)
            continue;
        const std::uint64_t behind = e.heap.end() / store_.chunk_bytes();
        for (std::uint64_t chunk = e.heap.offset / store_.chunk_bytes(); chunk < behind;) {
            std::uint64_t end = chunk;
            while (end < behind && is_to_be_looked_at(end))
                ++end;
            if (chunk < end)
                REM_TRY(look_at(chunk, end));
            chunk = end + 1;
        }
    }
    sort_and_merge(runs);
    return {};
}

bool memory_view::may_be_spilled(std::uint64_t chunk) const {
    return !store_.is_stored(chunk) || spilled_.find(chunk) != nullptr ||
           (maps_home(chunk) && store_.may_move(chunk) && !is_being_written(chunk));
}

// All of it is to be written.
bool memory_view::is_to_move(std::uint64_t chunk) const {
    return store_.is_stored(chunk) && !maps(chunk, mapping::next_home);
}

void memory_view::reserve_to_stage() {
    staged_.resize(static_cast<std::size_t>(store_.chunk_bytes()));
    for (auto* runs : {&private_, &staged_runs_})
        runs->reserve(static_cast<std::size_t>(store_.chunk_pages()));
}

// Pages that are to be written, of memory as it is, which may go on changing: copied to staged_, with checksums. Those of a
// stored chunk which nobody has written come from the file; if they are not what is committed they must not get another checksum:
// no pages then.
result<void> memory_view::stage(std::uint64_t chunk, std::vector<std::uint32_t>& checksums,
                                std::vector<track::page_run>& pages) {
    const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
    const bool is_stored = store_.is_stored(chunk);
    const bool is_moving = is_to_move(chunk);
    private_.clear();
    REM_TRY(copies_->append({all.offset, all.bytes}, private_));
    if (is_moving)
        os::will_read(base() + all.offset, all.bytes);
    auto copied = private_.begin();
    for (std::uint64_t at = all.offset; at < all.end(); at += k_page_bytes) {
        while (copied != private_.end() && copied->end() <= at)
            ++copied;
        const bool is_private = copied != private_.end() && copied->offset <= at;
        if (!is_private && !is_moving)
            continue;
        std::byte* const copy = staged_.data() + (at - all.offset);
        copy_page(copy, base() + at);
        std::uint32_t& checksum = checksums[static_cast<std::size_t>((at - all.offset) / k_page_bytes)];
        const bool is_zeros = is_all_zeros({copy, k_page_bytes});
        if (is_zeros && !is_moving && checksum == 0)
            continue; // its home has them, or is a hole
        checksum = is_zeros && is_stored ? 0 : page_checksum({copy, k_page_bytes});
        track::append_run(pages, at, k_page_bytes);
        if (is_private || is_newer_than_image(at / k_page_bytes))
            continue;
        auto is_sound = is_as_in_image(at / k_page_bytes, {copy, k_page_bytes}, checksum);
        if (!is_sound)
            return is_sound.error();
        if (!*is_sound) {
            pages.clear();
            return {};
        }
    }
    return {};
}

result<std::vector<track::page_run>> memory_view::pages_to_spill(std::uint64_t chunk) {
    reserve_to_stage();
    std::vector<track::page_run> pages;
    if (!store_.may_hold_early(chunk)) // before room on the disk is taken for it
        return pages;
    if (is_to_move(chunk)) {
        pages.push_back({chunk * store_.chunk_bytes(), store_.chunk_bytes()});
        return pages;
    }
    std::vector<std::uint32_t> checksums = as_spilled(chunk).checksums;
    REM_TRY(stage(chunk, checksums, pages));
    return pages;
}

bool memory_view::pause_all() {
    has_paused_all_ = kept_in_memory_.is_empty() && kept_in_memory_.is_complete() &&
                      static_cast<bool>(scanner_->pause_writes({0, accessible_}));
    return has_paused_all_;
}

result<void> memory_view::let_all_go_on() {
    has_paused_all_ = false;
    return scanner_->let_writes_go_on();
}

template <class F>
auto memory_view::while_paused(byte_range where, const F& f) -> decltype(f()) {
    if (has_paused_all_)
        return f();
    const os::blocked_signals none; // a handler that writes there would wait for itself
    if (auto paused = scanner_->pause_writes(where); !paused)
        return cannot_map(paused.why());
    auto done = f();
    REM_TRY(scanner_->let_writes_go_on());
    return done;
}

// Of a chunk that is to move stage() names no pages when one has rotted; and in a hole of the file a spill that failed may have
// left bytes.
result<std::uint64_t> memory_view::give_back_zeros(std::uint64_t chunk) {
    if (is_to_move(chunk) || (is_in_file_hole(chunk) && spilled_.find(chunk) == nullptr))
        return std::uint64_t{0};
    const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
    std::vector<track::page_run> copies; // others may be read only, and take no memory
    REM_TRY(copies_->append_sparse({all.offset, all.bytes}, copies));
    std::uint64_t bytes = 0;
    for (const track::page_run& run : copies)
        bytes += run.bytes;
    std::vector<std::uint32_t> checksums = as_spilled(chunk).checksums;
    reserve_to_stage();
    return while_paused(all, [&]() -> result<std::uint64_t> {
        staged_runs_.clear();
        if (auto staged = stage(chunk, checksums, staged_runs_); !staged)
            return cannot_map(staged.why());
        if (!staged_runs_.empty())
            return std::uint64_t{0};
        if (auto dropped = os::drop_pages(base() + all.offset, all.bytes); !dropped)
            return cannot_map(dropped.why());
        return bytes;
    });
}

result<std::uint64_t> memory_view::spill(std::uint64_t chunk, const std::vector<track::page_run>& pages) {
    // All memory that is needed comes first.
    const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
    const bool was_spilled = spilled_.find(chunk) != nullptr;
    std::vector<std::uint32_t> checksums = as_spilled(chunk).checksums;
    auto aside = os::moving_mapping::create(all.bytes);
    if (!aside)
        return cannot_map(aside.why());
    reserve_to_stage();
    mapping& now = mappings_.at(chunk);
    if (!store_.hold_early(chunk))
        return std::uint64_t{0};
    if (!was_spilled) {
        try {
            spilled_.insert(chunk, checksums);
        } catch (...) {
            store_.release_early(chunk);
            throw;
        }
    }

    auto replaced = while_paused(all, [&] { return replace_by_file(chunk, pages, *aside, checksums); });
    if (!replaced || !*replaced) {
        if (!was_spilled) {
            spilled_.erase(chunk);
            store_.release_early(chunk);
        }
        if (!replaced)
            return replaced.error();
        return std::uint64_t{0};
    }
    now = store_.is_stored(chunk) ? mapping::next_home : mapping::home;
    std::uint64_t bytes = 0;
    for (const track::page_run& run : pages)
        bytes += run.bytes;
    written_ = without(written_, {all});
    return bytes;
}

// While writes are paused. What is not replaced is as if nothing had been written: pages of a chunk that was spilled before
// differ from its home where they are private, and are known to the tracker.
result<bool> memory_view::replace_by_file(std::uint64_t chunk, const std::vector<track::page_run>& pages,
                                          os::moving_mapping& by, std::vector<std::uint32_t>& checksums) {
    const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
    staged_runs_.clear();
    if (auto staged = stage(chunk, checksums, staged_runs_); !staged)
        return cannot_map(staged.why());
    if (pages.empty() || staged_runs_ != pages)
        return false;
    const bool had_left_homes = std::exchange(has_left_homes_, true); // until it is replaced
    for (const track::page_run& run : pages) {
        const std::span bytes(staged_.data() + (run.offset - all.offset), static_cast<std::size_t>(run.bytes));
        const std::uint64_t page = run.offset / k_page_bytes;
        REM_TRY(store_.is_stored(chunk) ? store_.write_moved(page, bytes) : store_.write_fresh(page, bytes));
    }
    spilled_.replace(chunk, std::move(checksums)); // whether or not it is mapped from there
    auto mapped = store_.file().map_private(by.base(), all.bytes, store_.early_home_of(chunk), os::access::read_write);
    if (!mapped)
        return cannot_map(mapped.why());
    advise(by.base(), all.bytes);
    if (auto moved = scanner_->replace_paused(by, all.offset); !moved)
        return cannot_map(moved.why());
    has_left_homes_ = had_left_homes;
    return true;
}

bool memory_view::has_spilled(std::uint64_t page) const {
    const spilled_chunks::checksums* const spilled = spilled_.find(page / store_.chunk_pages());
    return spilled != nullptr && (*spilled)[static_cast<std::size_t>(page % store_.chunk_pages())] != 0;
}

whole_chunk memory_view::as_spilled(std::uint64_t chunk) const {
    const spilled_chunks::checksums* const spilled = spilled_.find(chunk);
    if (spilled == nullptr)
        return {chunk, std::vector<std::uint32_t>(static_cast<std::size_t>(store_.chunk_pages())), {}};
    return {chunk, *spilled, std::vector<bool>(spilled->size(), true)};
}

// Those in which nothing was written since: the others are among the changes already.
void memory_view::add_spilled(change_set& changes) const {
    const std::size_t fresh = changes.fresh.size();
    const std::size_t moved = changes.moved.size();
    for (const auto& [chunk, checksums] : spilled_.all()) {
        const bool is_stored = store_.is_stored(chunk);
        std::vector<whole_chunk>& whole = is_stored ? changes.moved : changes.fresh;
        const auto reported = std::span(whole).first(is_stored ? moved : fresh);
        if (!std::ranges::binary_search(reported, chunk, {}, &whole_chunk::chunk))
            whole.push_back(as_spilled(chunk));
    }
    std::ranges::sort(changes.fresh, {}, &whole_chunk::chunk);
    std::ranges::sort(changes.moved, {}, &whole_chunk::chunk);
}

void memory_view::forget_spilled() noexcept {
    kept_in_memory_.clear();
    found_in_turn_.clear();
    spilled_.erase_if([&](std::uint64_t chunk) { return store_.is_stored(chunk); });
    REM_ASSERT(spilled_.is_empty());
}

// Those in which no block lies are no changes: nobody reads them.
result<void> memory_view::unspill_unused(const page_predicate& is_unused) {
    std::vector<std::uint64_t> unused;
    const std::uint64_t pages = store_.chunk_pages();
    for (const auto& [chunk, checksums] : spilled_.all()) {
        std::uint64_t page = chunk * pages;
        while (page < (chunk + 1) * pages && is_unused(page))
            ++page;
        if (page == (chunk + 1) * pages)
            unused.push_back(chunk);
    }
    return unspill(unused);
}

// Fresh ones become zeros, and must not be spilled again, or stored, before their homes are holes.
result<void> memory_view::unspill(const std::vector<std::uint64_t>& chunks) {
    has_left_homes_ = has_left_homes_ || !chunks.empty();
    for (std::size_t i = 0; i < chunks.size();) {
        if (store_.is_stored(chunks[i])) {
            REM_TRY(restore_committed(chunks[i]));
            forget_spilled(chunks[i++]);
            continue;
        }
        std::size_t end = i + 1;
        while (end < chunks.size() && chunks[end] == chunks[i] + (end - i) && !store_.is_stored(chunks[end]))
            ++end;
        REM_TRY(map_zeros(chunks[i] * store_.chunk_bytes(),
                          std::min((chunks[end - 1] + 1) * store_.chunk_bytes(), accessible_)));
        for (; i < end; ++i) {
            mappings_.at(chunks[i]) = mapping::anonymous;
            forget_spilled(chunks[i]);
        }
    }
    return {};
}

void memory_view::forget_spilled(std::uint64_t chunk) noexcept {
    spilled_.erase(chunk);
    store_.release_early(chunk);
}

result<void> memory_view::restore_committed(std::uint64_t chunk) {
    const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
    REM_TRY(map_file_again(all, store_.home_of(all.offset)));
    for (std::uint64_t at = all.offset; at < all.end(); at += k_page_bytes) {
        if (const std::byte* const copy = committed_copy(at / k_page_bytes); copy != nullptr) {
            REM_TRY(scanner_->announce(at, k_page_bytes));
            std::memcpy(base() + at, copy, k_page_bytes);
        }
    }
    return {};
}

void memory_view::count_unmapped(const change_set& changes) {
    unmapped_chunks_ += static_cast<std::uint64_t>(
        std::ranges::count_if(changes.fresh, [&](const whole_chunk& each) { return !maps_home(each.chunk); }));
}

result<void> memory_view::map_unmapped() {
    chunk_to_map_ = 0;
    while (chunk_to_map_ != k_no_chunk)
        REM_TRY(map_some_chunks(~std::uint64_t{0} - store_.chunk_pages()));
    for (const store::extent& e : store_.extents()) {
        if (!e.stored || unmapped_chunks_ == 0)
            continue;
        for (std::uint64_t chunk = e.heap.offset / store_.chunk_bytes(); chunk < e.heap.end() / store_.chunk_bytes();
             ++chunk) {
            if (!maps(chunk, mapping::anonymous))
                continue;
            if (mapped_with_newer_ == k_chunks_mapped_with_newer_max)
                return {};
            REM_TRY(map_with_newer_pages(chunk));
        }
    }
    return {};
}

// In one step, since others may be reading.
result<void> memory_view::map_with_newer_pages(std::uint64_t chunk) {
    const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
    auto aside = os::moving_mapping::create(all.bytes);
    if (!aside)
        return aside.error();
    REM_TRY(store_.file().map_private(aside->base(), all.bytes, store_.home_of(all.offset), os::access::read_write));
    advise(aside->base(), all.bytes);
    const std::uint64_t first = chunk * store_.chunk_pages();
    for (std::uint64_t page = first; page < first + store_.chunk_pages(); ++page) {
        if (const std::byte* const newer = committed_copy(page); newer != nullptr)
            std::memcpy(aside->base() + (page - first) * k_page_bytes, newer, k_page_bytes);
    }
    mapping& now = mappings_.at(chunk);
    REM_TRY(aside->move_to(base() + all.offset));
    now = mapping::home;
    ++mapped_with_newer_;
    note_mapped(1);
    return scanner_->mapped(all.offset, all.bytes, track::page_contents::file);
}

} // namespace remanence::view
