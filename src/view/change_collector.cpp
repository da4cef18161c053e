#include "view/change_collector.hpp"

#include "base/checksum.hpp"
#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"
#include "os/memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::view {

using change::change_set;
using change::changed_page;
using change::fresh_contents;
using change::whole_chunk;

namespace {

// Per commit. Up to this size, writing new memory twice (to the log, then to its copy) costs less than writing it to
// copies and syncing them before the record.
constexpr std::uint64_t k_fresh_bytes_in_log = 256 * KiB;
// Up to 1/8 of the bytes that copy_written() copies may be of new memory.
constexpr std::uint64_t k_part_fresh_in_copies = 8;

} // namespace

result<change_set> change_collector::collect(const page_predicate& is_unused, std::uint64_t held_back_max,
                                             fresh_contents fresh) {
    const bool has_spilled = !spilled_.is_empty();
    if (has_spilled)
        REM_TRY(spiller_.give_up_unused(is_unused));
    auto changes = changes_in(written_.ranges(), is_unused, kept_bytes::usable,
                              {.is_allowed = true, .held_back_max = held_back_max}, fresh);
    if (changes && has_spilled)
        spilled_.add_to(*changes);
    return changes;
}

result<std::optional<page_copies>> change_collector::copy_written(const page_predicate& is_unused,
                                                                  const copying_limits& limits) {
    const auto is_outside = [&](std::uint64_t bytes) { return bytes < limits.bytes_min || bytes > limits.bytes_max; };
    if (!spilled_.is_empty() || is_outside(bytes_of(written_.ranges())))
        return std::optional<page_copies>();
    auto used = set_unused_aside(written_.ranges(), is_unused);
    if (!used)
        return used.error();
    auto moves = mover_.is_likely_to_find(*used, limits.held_back_max);
    if (!moves)
        return moves.error();
    if (*moves)
        return std::optional<page_copies>();
    std::vector<heap_range> pages;
    std::uint64_t fresh_bytes = 0;
    for (const heap_range& range : *used) {
        if (image_.is_stored(range.offset / image_.chunk_bytes())) {
            pages.push_back(range);
            continue;
        }
        std::vector<heap_range> contents;
        append_contents(range, contents);
        append_copied(range, contents);
        if (!contents.empty())
            memory_.reserve_place_of(range.offset / image_.chunk_bytes()); // so that accept() need not allocate
        pages.insert(pages.end(), contents.begin(), contents.end());
        fresh_bytes += bytes_of(contents);
    }
    if (fresh_bytes > std::max(k_fresh_bytes_in_log, bytes_of(pages) / k_part_fresh_in_copies))
        return std::optional<page_copies>();
    return copy_from_first_change(pages);
}

// Pages before the first change need not be copied. If no page differs, returns empty copies: there is nothing to
// commit.
result<std::optional<page_copies>> change_collector::copy_from_first_change(const std::vector<heap_range>& pages) {
    page_copies copies = committed_.new_copies();
    copies.expect(bytes_of(pages) / k_page_bytes);
    for (const heap_range& range : pages) {
        std::uint64_t at = range.offset;
        while (copies.is_empty() && at < range.end()) {
            auto differs = differs_from_newest(at);
            if (!differs)
                return differs.error();
            if (*differs)
                break;
            at += k_page_bytes;
        }
        if (at < range.end())
            copies.add({at, range.end() - at}, memory_.base());
    }
    return std::optional(std::move(copies));
}

result<bool> change_collector::differs_from_newest(std::uint64_t page_offset) {
    const std::byte* const now = memory_.base() + page_offset;
    if (committed_.is_copied(page_offset / k_page_bytes))
        return std::memcmp(committed_.newest(page_offset / k_page_bytes), now, k_page_bytes) != 0;
    return comparer_.differs(page_offset / k_page_bytes, now);
}

change_set change_collector::fresh_in(std::span<const heap_range> pages) const {
    change_set changes;
    for (const heap_range& range : split_at_chunks(pages, image_.chunk_bytes())) {
        const std::uint64_t chunk = range.offset / image_.chunk_bytes();
        if (image_.is_stored(chunk))
            continue;
        if (changes.fresh.empty() || changes.fresh.back().chunk != chunk)
            changes.fresh.push_back(spilled_.as_in_copy(chunk));
        for (std::uint64_t at = range.offset; at < range.end(); at += k_page_bytes)
            changes.pages.push_back({at / k_page_bytes, 0, 0, 0});
    }
    return changes;
}

result<bool> change_collector::compare_copies(const page_copies& copies, compared_copies& so_far,
                                              std::uint64_t bytes_max) {
    if (so_far.drops != committed_.drops())
        so_far = {.drops = committed_.drops()};
    committed_.expect_before_images((copies.bytes() - so_far.bytes) / k_page_bytes);
    const std::uint64_t end = so_far.bytes + std::min(bytes_max, copies.bytes() - so_far.bytes);
    if (end == copies.bytes())
        committed_.will_read(pages_to_compare(copies, so_far, bytes_max));
    while (so_far.bytes < end) {
        const page_copies::piece& piece = copies.pieces()[so_far.piece];
        const std::uint64_t offset = piece.pages.offset + so_far.piece_bytes;
        const std::uint64_t chunk = offset / image_.chunk_bytes();
        const std::uint64_t behind =
            std::min({piece.pages.end(), (chunk + 1) * image_.chunk_bytes(), offset + (end - so_far.bytes)});
        change_set& changes = so_far.changes;
        if (!image_.is_stored(chunk) && (changes.fresh.empty() || changes.fresh.back().chunk != chunk))
            changes.fresh.push_back(spilled_.as_in_copy(chunk));
        REM_TRY(comparer_.compare({offset, behind - offset}, piece.bytes + so_far.piece_bytes, kept_bytes::not_usable,
                                  changes));
        so_far.bytes += behind - offset;
        so_far.piece_bytes += behind - offset;
        if (behind == piece.pages.end()) {
            ++so_far.piece;
            so_far.piece_bytes = 0;
        }
    }
    return so_far.bytes == copies.bytes();
}

std::vector<file_range> change_collector::places_to_compare(const page_copies& copies, const compared_copies& so_far,
                                                            std::uint64_t bytes_max) const {
    return committed_.places_to_read(pages_to_compare(copies, so_far, bytes_max));
}

// Returns the next pages, split at chunks.
std::vector<heap_range> change_collector::pages_to_compare(const page_copies& copies, const compared_copies& so_far,
                                                           std::uint64_t bytes_max) const {
    std::vector<heap_range> next;
    std::uint64_t done = so_far.piece_bytes;
    for (const page_copies::piece& piece : copies.pieces().subspan(so_far.piece)) {
        const std::uint64_t bytes = std::min(piece.pages.bytes - done, bytes_max);
        next.push_back({piece.pages.offset + done, bytes});
        bytes_max -= bytes;
        if (bytes_max == 0)
            break;
        done = 0;
    }
    return split_at_chunks(next, image_.chunk_bytes());
}

result<std::vector<heap_range>> change_collector::written() {
    REM_TRY(written_.gather(memory_.accessible_bytes()));
    if (written_.tracker().tells_rounds_apart())
        return written_.ranges();
    change_set changes;
    std::vector<heap_range> pages;
    for (const heap_range& range : split_at_chunks(written_.ranges(), image_.chunk_bytes())) {
        if (image_.is_stored(range.offset / image_.chunk_bytes()))
            REM_TRY(comparer_.compare(range, memory_.base() + range.offset, kept_bytes::usable, changes));
        else
            append_contents(range, pages);
    }
    for (const change::changed_page& each : changes.pages)
        pages.push_back({each.page * k_page_bytes, k_page_bytes});
    sort_and_merge(pages);
    return pages;
}

result<change_set> change_collector::uncommitted(const page_predicate& is_unused) {
    REM_TRY(written_.gather(memory_.accessible_bytes()));
    auto changes = changes_in(written_.ranges(), is_unused, kept_bytes::usable);
    if (!changes || spilled_.is_empty())
        return changes;
    spilled_.add_to(*changes);
    auto unchanged = unchanged_spilled();
    if (!unchanged)
        return unchanged.error();
    const auto is_unchanged = [&](const whole_chunk& each) {
        return std::binary_search(unchanged->begin(), unchanged->end(), each.chunk);
    };
    std::erase_if(changes->fresh, is_unchanged);
    std::erase_if(changes->relocated, is_unchanged);
    return changes;
}

result<bool> change_collector::holds_changes(const page_predicate& is_unused) {
    REM_TRY(written_.gather(memory_.accessible_bytes()));
    REM_TRY(spiller_.give_up_unused(is_unused));
    for (const std::uint64_t chunk : spilled_.chunks()) {
        auto differs = spilled_differs(chunk);
        if (!differs || *differs)
            return differs;
    }
    return differs_in(written_.ranges(), is_unused);
}

result<std::optional<bool>> change_collector::holds_changes_in(const std::vector<heap_range>& where,
                                                               const page_predicate& is_unused) {
    if (!spilled_.is_empty())
        return std::optional<bool>();
    auto written = written_.find(common_to(where, {{0, memory_.accessible_bytes()}}));
    if (!written)
        return written.error();
    if (!*written)
        return std::optional<bool>();
    auto differs = differs_in(**written, is_unused);
    return differs ? result<std::optional<bool>>(*differs) : differs.error();
}

// Leaves out spilled chunks.
[[gnu::cold]] result<bool> change_collector::differs_in(const std::vector<heap_range>& ranges,
                                                        const page_predicate& is_unused) {
    for (const heap_range& range : split_at_chunks(ranges, image_.chunk_bytes())) {
        if (spilled_.contains(range.offset / image_.chunk_bytes()))
            continue;
        auto changes = changes_in({range}, is_unused, kept_bytes::usable);
        if (!changes)
            return changes.error();
        if (!changes->empty())
            return true;
    }
    return false;
}

result<std::vector<std::uint64_t>> change_collector::unchanged_spilled() {
    std::vector<std::uint64_t> unchanged;
    for (const std::uint64_t chunk : spilled_.chunks()) {
        auto differs = spilled_differs(chunk);
        if (!differs)
            return differs.error();
        if (!*differs)
            unchanged.push_back(chunk);
    }
    return unchanged;
}

// A spilled chunk may be unchanged: memory that a checkpoint has written stays in use until it is settled, and may be
// spilled meanwhile.
result<bool> change_collector::spilled_differs(std::uint64_t chunk) {
    const heap_range all = memory_.range_of(chunk);
    for (std::uint64_t at = all.offset; at < std::min(all.end(), memory_.accessible_bytes()); at += k_page_bytes) {
        auto differs = comparer_.differs(at / k_page_bytes, memory_.base() + at);
        if (!differs || *differs)
            return differs;
    }
    return false;
}

result<change_set> change_collector::collect_declared(const page_predicate& is_unused, fresh_contents fresh) {
    const declarations all = declared();
    change_set changes;
    if (!all.pages.empty()) {
        auto found = changes_in(all.pages, is_unused, kept_bytes::not_usable, {false, 0}, fresh);
        if (!found)
            return found;
        changes = std::move(*found);
    }
    if (!all.words.empty()) {
        committed_.expect_before_images(all.words.size());
        REM_TRY(words_.compare(all.words, changes));
        std::ranges::sort(changes.pages, {}, &changed_page::page);
    }
    return changes;
}

// For chunks that are not stored yet, returns whole pages in place of the declared words.
change_collector::declarations change_collector::declared() const {
    const std::uint64_t end = memory_.accessible_bytes();
    const std::vector<heap_range> behind{{end, ~std::uint64_t{0} - end}};
    declarations all{without(declared_.ranges(), behind), without(declared_.words(), behind)};
    bool has_fresh = false;
    for (const heap_range& each : split_at_chunks(all.words, image_.chunk_bytes())) {
        if (image_.is_stored(each.offset / image_.chunk_bytes()))
            continue;
        const std::uint64_t from = align_down(each.offset, k_page_bytes);
        all.pages.push_back({from, align_up(each.end(), k_page_bytes) - from});
        has_fresh = true;
    }
    if (has_fresh)
        sort_and_merge(all.pages);
    if (!all.pages.empty())
        all.words = without(all.words, all.pages);
    return all;
}

result<change_set> change_collector::collect_undeclared(const page_predicate& is_unused) {
    REM_TRY(written_.gather(memory_.accessible_bytes()));
    const declarations all = declared();
    auto changes = changes_in(without(written_.ranges(), all.pages), is_unused, kept_bytes::usable);
    if (changes)
        leave_out(all.words, *changes);
    return changes;
}

void change_collector::make_checksums(change_set& changes) const noexcept {
    for (auto* const chunks : {&changes.fresh, &changes.relocated}) {
        for (whole_chunk& each : *chunks) {
            const std::byte* page = memory_.base() + each.chunk * image_.chunk_bytes();
            for (std::uint32_t& checksum : each.checksums) {
                const std::span bytes(std::exchange(page, page + k_page_bytes), static_cast<std::size_t>(k_page_bytes));
                if (checksum == whole_chunk::k_to_be_made)
                    checksum = page_checksum_or_zero(bytes);
            }
        }
    }
}

result<change_set> change_collector::changes_in(const std::vector<heap_range>& ranges, const page_predicate& is_unused,
                                                kept_bytes kept, moving move, fresh_contents fresh) {
    auto used = set_unused_aside(ranges, is_unused);
    if (!used)
        return used.error();
    change_set changes;
    const std::uint64_t chunk_bytes = image_.chunk_bytes();
    if (move.is_allowed && bytes_of(*used) >= mover_.bytes_min())
        REM_TRY(mover_.find(*used, move.held_back_max, changes));
    if (changes.held_back_bytes > move.held_back_max)
        return changes;
    const std::size_t moved = changes.relocated.size();
    std::uint64_t stored_bytes = 0;
    for (const heap_range& range : *used)
        stored_bytes += image_.is_stored(range.offset / chunk_bytes) ? range.bytes : 0;
    committed_.expect_before_images(stored_bytes / k_page_bytes);
    std::vector<heap_range> fresh_pages;
    for (const heap_range& range : *used) {
        const std::uint64_t chunk = range.offset / chunk_bytes;
        if (std::ranges::binary_search(std::span(changes.relocated).first(moved), chunk, {}, &whole_chunk::chunk))
            continue;
        if (spilled_.contains(chunk)) {
            add_spilled_before(range, changes);
        } else if (image_.is_stored(chunk)) {
            REM_TRY(comparer_.compare(range, memory_.base() + range.offset, kept, changes));
        } else {
            append_contents(range, fresh_pages);
        }
    }
    REM_TRY(add_fresh(fresh_pages, fresh, changes));
    std::ranges::sort(changes.relocated, {}, &whole_chunk::chunk);
    std::ranges::sort(changes.fresh, {}, &whole_chunk::chunk);
    for (const auto* const chunks : {&changes.relocated, &changes.fresh}) {
        for (const whole_chunk& each : *chunks)
            memory_.reserve_place_of(each.chunk); // so that accept() need not allocate
    }
    return changes;
}

void change_collector::append_contents(heap_range fresh, std::vector<heap_range>& pages) const {
    for (std::uint64_t at = fresh.offset; at < fresh.end(); at += k_page_bytes) {
        if (!is_all_zeros({memory_.base() + at, k_page_bytes})) // a page of zeros has not changed
            append_run(pages, at, k_page_bytes);
    }
}

// Adds pages of zeros whose committed content is in copies, where it may not be zeros.
void change_collector::append_copied(heap_range fresh, std::vector<heap_range>& pages) const {
    if (!committed_.has_copies())
        return;
    const std::size_t before = pages.size();
    for (std::uint64_t at = fresh.offset; at < fresh.end(); at += k_page_bytes) {
        if (committed_.is_copied(at / k_page_bytes))
            pages.push_back({at, k_page_bytes});
    }
    if (pages.size() != before)
        sort_and_merge(pages);
}

// Gives unused chunks back, and returns the other ranges, split at chunks.
result<std::vector<heap_range>> change_collector::set_unused_aside(const std::vector<heap_range>& ranges,
                                                                   const page_predicate& is_unused) {
    std::vector<heap_range> used;
    std::uint64_t last = ~std::uint64_t{0};
    bool is_given_back = false;
    for (const heap_range& range : split_at_chunks(ranges, image_.chunk_bytes())) {
        const std::uint64_t chunk = range.offset / image_.chunk_bytes();
        if (chunk != last) {
            auto given_back = give_back(chunk, is_unused);
            if (!given_back)
                return given_back.error();
            is_given_back = *given_back;
            last = chunk;
        }
        if (!is_given_back)
            used.push_back(range);
    }
    return used;
}

// Returns the memory of an unused chunk without before-images to the kernel, so that it reads as the image. This is
// right even if no commit follows, since nobody reads that memory, and a rollback would have the same effect.
result<bool> change_collector::give_back(std::uint64_t chunk, const page_predicate& is_unused) {
    const std::uint64_t pages = image_.chunk_pages();
    for (std::uint64_t page = chunk * pages; page < (chunk + 1) * pages; ++page) {
        if (!is_unused(page) || committed_.is_newer_than_image(page))
            return false;
    }
    const heap_range all = memory_.range_of(chunk);
    if (image_.is_stored(chunk) && !memory_.maps_copy(chunk)) {
        if (!memory_.may_scatter())
            return false;
        memory_.note_scattered();
        REM_TRY(memory_.map_copies(all));
        return true;
    }
    if (!image_.is_stored(chunk))
        return memory_.make_zeros(chunk);
    REM_TRY(os::drop_pages(memory_.base() + all.offset, std::min(all.end(), memory_.accessible_bytes()) - all.offset));
    return true;
}

// Adds the pages of a chunk that was spilled and then written again.
void change_collector::add_spilled_before(heap_range pages, change_set& changes) const {
    const std::uint64_t chunk = pages.offset / image_.chunk_bytes();
    const spilled_chunks::checksums& in_copy = *spilled_.find(chunk);
    const bool is_stored = image_.is_stored(chunk);
    std::vector<whole_chunk>& whole = is_stored ? changes.relocated : changes.fresh;
    for (std::uint64_t at = pages.offset; at < pages.end(); at += k_page_bytes) {
        const auto page = static_cast<std::size_t>(at % image_.chunk_bytes() / k_page_bytes);
        const std::span<const std::byte> bytes(memory_.base() + at, k_page_bytes);
        const bool is_zeros = is_all_zeros(bytes);
        if (is_zeros && in_copy[page] == 0)
            continue; // unchanged
        if (whole.empty() || whole.back().chunk != chunk)
            whole.push_back(spilled_.as_in_copy(chunk));
        // A page of zeros of a fresh chunk gets a checksum, so that it is written over the bytes that the spill left in
        // the copy.
        whole.back().checksums[page] = is_zeros && is_stored ? 0 : page_checksum(bytes);
        whole.back().is_in_copy[page] = false;
    }
}

// Adds the pages of chunks that are neither stored nor spilled.
result<void> change_collector::add_fresh(const std::vector<heap_range>& pages, fresh_contents where,
                                         change_set& changes) {
    const bool in_log = where == fresh_contents::in_log_if_few && bytes_of(pages) <= k_fresh_bytes_in_log;
    const std::size_t spilled = changes.fresh.size();
    for (const heap_range& range : split_at_chunks(pages, image_.chunk_bytes())) {
        const std::uint64_t chunk = range.offset / image_.chunk_bytes();
        if (changes.fresh.size() == spilled || changes.fresh.back().chunk != chunk)
            changes.fresh.push_back(spilled_.as_in_copy(chunk));
        if (in_log) { // compares with the committed content: zeros
            REM_TRY(comparer_.compare(range, memory_.base() + range.offset, kept_bytes::not_usable, changes));
            continue;
        }
        for (std::uint64_t at = range.offset; at < range.end(); at += k_page_bytes)
            changes.fresh.back().checksums[static_cast<std::size_t>(at % image_.chunk_bytes() / k_page_bytes)] =
                whole_chunk::k_to_be_made;
    }
    if (in_log)
        std::ranges::sort(changes.pages, {}, &changed_page::page);
    return {};
}

} // namespace remanence::view
