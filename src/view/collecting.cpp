// What a commit is to write: the pages that were written, compared with what is committed, and the chunks that it writes whole.

#include "base/checksum.hpp"
#include "view/chunk_pieces.hpp"
#include "view/diff.hpp"
#include "view/memory_view.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::view {

namespace {

constexpr std::uint64_t k_read_bytes = 256 * KiB;        // of the image at one go
constexpr std::size_t k_moved_chunks_min = 4;            // by one commit: fewer are better off in the log
constexpr std::uint64_t k_pages_sampled = 4;             // of a chunk, whether it is to move
constexpr std::uint64_t k_bytes_brought_home = 16 * MiB; // by one commit
// By one commit: more is written twice and copied in less time than it takes to write it home and to sync that before the record.
constexpr std::uint64_t k_fresh_bytes_in_log = 256 * KiB;

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

void memory_view::make_checksums(change_set& changes) const noexcept {
    for (auto* const chunks : {&changes.fresh, &changes.moved}) {
        for (whole_chunk& each : *chunks) {
            const std::byte* page = base() + each.chunk * store_.chunk_bytes();
            for (std::uint32_t& checksum : each.checksums) {
                const std::span bytes(std::exchange(page, page + k_page_bytes), static_cast<std::size_t>(k_page_bytes));
                if (checksum == whole_chunk::k_to_be_made)
                    checksum = page_checksum_or_zero(bytes);
            }
        }
    }
}

bool whole_chunk::has_contents() const { return !format::is_without_contents(checksums); }

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
        return true;
    }
    if (!store_.is_stored(chunk))
        return make_zeros(chunk);
    REM_TRY(os::drop_pages(base() + all.offset, std::min(all.end(), accessible_) - all.offset));
    return true;
}

// What was written, without the chunks given back.
result<std::vector<byte_range>> memory_view::set_unused_aside(const std::vector<track::page_run>& runs,
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

result<change_set> memory_view::collect(const page_predicate& is_unused, std::uint64_t held_back_max,
                                        fresh_contents fresh) {
    REM_TRY(gather_written());
    REM_TRY(unspill_unused(is_unused));
    auto changes = changes_in(written_, is_unused, kept_bytes::usable,
                              {.is_allowed = true, .held_back_max = held_back_max}, fresh);
    if (changes)
        add_spilled(*changes);
    return changes;
}

result<change_set> memory_view::uncommitted(const page_predicate& is_unused) {
    REM_TRY(gather_written());
    return uncommitted_of_written(is_unused);
}

result<change_set> memory_view::uncommitted_of_written(const page_predicate& is_unused) {
    auto changes = changes_in(written_, is_unused, kept_bytes::usable);
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

result<change_set> memory_view::collect_announced(const page_predicate& is_unused, fresh_contents fresh) {
    const std::vector<track::page_run> behind{{accessible_, ~std::uint64_t{0} - accessible_}};
    return changes_in(without(announced_.runs(), behind), is_unused, kept_bytes::not_usable, {false, 0}, fresh);
}

result<change_set> memory_view::collect_unannounced(const page_predicate& is_unused) {
    REM_TRY(gather_written());
    return changes_in(without(written_, announced_.runs()), is_unused, kept_bytes::usable);
}

result<change_set> memory_view::changes_in(const std::vector<track::page_run>& runs, const page_predicate& is_unused,
                                           kept_bytes kept, moving move, fresh_contents fresh) {
    auto used = set_unused_aside(runs, is_unused);
    if (!used)
        return used.error();
    change_set changes;
    const std::uint64_t chunk_bytes = store_.chunk_bytes();
    if (move.is_allowed)
        REM_TRY(collect_moved(*used, move, changes));
    if (changes.held_back_bytes > move.held_back_max)
        return changes;
    const std::size_t moved = changes.moved.size();
    std::uint64_t stored_bytes = 0;
    for (const byte_range& piece : *used)
        stored_bytes += store_.is_stored(piece.offset / chunk_bytes) ? piece.bytes : 0;
    twins_.expect(stored_bytes / k_page_bytes);
    std::vector<track::page_run> fresh_pages;
    for (const byte_range& piece : *used) {
        const std::uint64_t chunk = piece.offset / chunk_bytes;
        if (std::ranges::binary_search(std::span(changes.moved).first(moved), chunk, {}, &whole_chunk::chunk))
            continue;
        const std::vector<std::uint32_t>* const at_home = spilled_.find(chunk);
        const bool is_stored = store_.is_stored(chunk);
        if (is_stored && at_home == nullptr) {
            REM_TRY(collect_stored(piece, kept, changes));
            continue;
        }
        std::vector<whole_chunk>& whole = is_stored ? changes.moved : changes.fresh;
        for (std::uint64_t at = piece.offset; at < piece.end(); at += k_page_bytes) {
            const auto page = static_cast<std::size_t>(at % chunk_bytes / k_page_bytes);
            const bool is_zeros = is_all_zeros({base() + at, k_page_bytes});
            if (is_zeros && (at_home == nullptr || (*at_home)[page] == 0))
                continue; // as it is
            if (at_home == nullptr) {
                track::append_run(fresh_pages, at, k_page_bytes);
                continue;
            }
            if (whole.empty() || whole.back().chunk != chunk)
                whole.push_back(as_spilled(chunk));
            // Bytes are at the home of a fresh chunk; so that its zeros are written, they have a checksum.
            whole.back().checksums[page] = is_zeros && is_stored ? 0 : page_checksum({base() + at, k_page_bytes});
            whole.back().is_at_home[page] = false;
        }
    }
    REM_TRY(collect_fresh(fresh_pages, fresh, changes));
    std::ranges::sort(changes.moved, {}, &whole_chunk::chunk);
    std::ranges::sort(changes.fresh, {}, &whole_chunk::chunk);
    for (const whole_chunk& each : changes.moved)
        (void)mappings_.at(each.chunk); // accept() must not lack memory
    return changes;
}

// Pages of chunks that are neither stored nor spilled.
result<void> memory_view::collect_fresh(const std::vector<track::page_run>& pages, fresh_contents where,
                                        change_set& changes) {
    std::uint64_t bytes = 0;
    for (const track::page_run& run : pages)
        bytes += run.bytes;
    const bool in_log = where == fresh_contents::in_log_if_few && bytes <= k_fresh_bytes_in_log;
    const std::size_t spilled = changes.fresh.size();
    for (const byte_range& piece : pieces_of(pages, store_.chunk_bytes())) {
        const std::uint64_t chunk = piece.offset / store_.chunk_bytes();
        if (changes.fresh.size() == spilled || changes.fresh.back().chunk != chunk)
            changes.fresh.push_back(as_spilled(chunk));
        if (in_log) { // zeros are what is committed
            REM_TRY(collect_stored(piece, kept_bytes::not_usable, changes));
            continue;
        }
        for (std::uint64_t at = piece.offset; at < piece.end(); at += k_page_bytes)
            changes.fresh.back().checksums[static_cast<std::size_t>(at % store_.chunk_bytes() / k_page_bytes)] =
                whole_chunk::k_to_be_made;
    }
    if (in_log)
        std::ranges::sort(changes.pages, {}, &changed_page::page);
    return {};
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
result<std::vector<std::uint64_t>> memory_view::chunks_to_move(std::span<const byte_range> written,
                                                               change_set& changes) {
    std::vector<std::uint64_t> found;
    std::vector<std::uint64_t> held_back;
    const std::uint64_t chunk_bytes = store_.chunk_bytes();
    for (std::size_t i = 0; i < written.size();) {
        const auto pieces = pieces_in(written, &written[i], chunk_bytes);
        i += pieces.size();
        const std::uint64_t chunk = pieces[0].offset / chunk_bytes;
        std::uint64_t bytes = 0;
        for (const byte_range& piece : pieces)
            bytes += piece.bytes;
        if (2 * bytes < chunk_bytes || !store_.may_move_after_checkpoint(chunk) || spilled_.find(chunk) != nullptr)
            continue;
        auto is_cheaper = is_cheaper_whole(pieces);
        if (!is_cheaper)
            return is_cheaper.error();
        if (*is_cheaper)
            (store_.may_move(chunk) && !is_being_written(chunk) ? found : held_back).push_back(chunk);
    }
    if (held_back.size() >= k_moved_chunks_min)
        changes.held_back_bytes = store_.room_to_move(held_back) * chunk_bytes;
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

result<void> memory_view::collect_moved(std::span<const byte_range> written, moving move, change_set& changes) {
    auto to_move = chunks_to_move(written, changes);
    if (!to_move)
        return to_move.error();
    if (changes.held_back_bytes > move.held_back_max)
        return {};
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
    if (changes.moved.empty())
        return {};
    REM_TRY(collect_scattered(written, changes));
    std::vector<std::uint64_t> chunks;
    for (const whole_chunk& moved : changes.moved)
        chunks.push_back(moved.chunk);
    if (chunks != *to_move) { // without those that have rotted, or with others, there may be more exceptions
        const auto room = static_cast<std::ptrdiff_t>(store_.room_to_move(chunks));
        changes.moved.erase(changes.moved.begin() + room, changes.moved.end());
    }
    std::ranges::sort(changes.moved, {}, &whole_chunk::chunk);
    return {};
}

// Who moves chunks anyway brings others back to their first homes: they are not changed, but many mappings become one.
result<void> memory_view::collect_scattered(std::span<const byte_range> written, change_set& changes) {
    const std::uint64_t chunk_bytes = store_.chunk_bytes();
    const std::size_t moved = changes.moved.size();
    for (const std::uint64_t chunk : store_.scattered(scattered_max_, k_bytes_brought_home / chunk_bytes)) {
        const auto known = std::span(changes.moved).first(moved);
        if (!store_.may_move(chunk) || is_being_written(chunk) || spilled_.find(chunk) != nullptr ||
            std::ranges::binary_search(known, chunk, {}, &whole_chunk::chunk))
            continue;
        const auto first = std::ranges::lower_bound(written, chunk * chunk_bytes, {}, &byte_range::offset);
        const auto end = std::ranges::lower_bound(written, (chunk + 1) * chunk_bytes, {}, &byte_range::offset);
        auto checksums = checksums_to_move(chunk, std::span(first, end));
        if (!checksums)
            return checksums.error();
        if (!checksums->empty())
            changes.moved.push_back({chunk, std::move(*checksums)});
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
        while (piece != written.end() && piece->end() <= at)
            ++piece;
        if ((piece != written.end() && piece->offset <= at) || is_newer_than_image(page)) {
            checksums.push_back(whole_chunk::k_to_be_made);
            continue;
        }
        const std::span<const std::byte> bytes(base() + at, k_page_bytes);
        checksums.push_back(page_checksum_or_zero(bytes));
        auto is_sound = is_as_in_image(page, bytes, checksums.back());
        if (!is_sound)
            return is_sound.error();
        if (!*is_sound)
            return std::vector<std::uint32_t>();
    }
    return checksums;
}

// In the image zeros have a checksum if they were written by a change in the log.
result<bool> memory_view::is_as_in_image(std::uint64_t page, std::span<const std::byte> bytes, std::uint32_t checksum) {
    auto committed = store_.checksum_of(page);
    if (!committed)
        return committed.error();
    return *committed == checksum || (checksum == 0 && *committed == page_checksum(bytes));
}

} // namespace remanence::view
