#include "view/page_evictor.hpp"

#include "base/checksum.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"
#include "track/private_copies.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace remanence::view {

using place::chunk_state;

namespace {

constexpr std::uint64_t k_piece_bytes = 4 * MiB; // whole chunks of any size

} // namespace

result<void> page_evictor::evict(heap_range where, std::uint64_t from, std::uint64_t enough, beside whom,
                                 outcome& done) {
    done = {.end = from};
    const std::uint64_t begin = where.contains(from) ? from : where.offset;
    const auto go = [&](std::uint64_t at, std::uint64_t end) -> result<void> {
        for (; at < end && done.evicted_bytes < enough; at = done.end) {
            done.end = std::min(align_down(at, k_piece_bytes) + k_piece_bytes, end);
            REM_TRY(evict_piece({at, done.end - at}, whom, done));
        }
        return {};
    };
    REM_TRY(go(begin, where.end()));
    return go(where.offset, begin);
}

// If nobody writes, pages are dropped: those of the file stay in the kernel's page cache, so that they cost a fault when
// they are used again, and the kernel evicts them when memory is short. Beside readers somebody may write without a
// section, so the kernel is asked to evict them, which loses nothing; then they are read from the device.
result<void> page_evictor::evict_piece(heap_range piece, beside whom, outcome& done) {
    std::byte* const base = memory_.base();
    const std::uint64_t chunk_bytes = image_.chunk_bytes();
    const auto resident = [&] {
        runs_.clear();
        os::add_resident_runs(base, piece, runs_);
        std::uint64_t bytes = 0;
        for (const os::resident_run& run : runs_)
            bytes += run.pages.bytes;
        return bytes;
    };
    const std::uint64_t before = resident();
    if (before == 0)
        return {};
    clean_.clear();
    std::uint64_t mapped = ~std::uint64_t{0}; // the chunk that was mapped last, or was to be
    for (const os::resident_run& run : runs_) {
        for (std::uint64_t at = run.pages.offset; at < run.pages.end();) {
            const std::uint64_t chunk = at / chunk_bytes;
            const heap_range part{at, std::min((chunk + 1) * chunk_bytes, run.pages.end()) - at};
            at = part.end();
            if (!run.is_private) {
                clean_.push_back(part);
                continue;
            }
            if (whom == beside::readers)
                continue;
            const chunk_state is = memory_.places().of(chunk);
            if (is == chunk_state::mapped) {
                add_as_in_image(part, done);
            } else if (is == chunk_state::fresh) {
                add_zeros(part);
            } else if ((is == chunk_state::unmapped || is == chunk_state::moved) && chunk != mapped) {
                mapped = chunk;
                REM_TRY(map_if_as_in_image(chunk, done));
            }
        }
    }
    sort_and_merge(clean_);
    for (const heap_range& pages : clean_) {
        if (whom == beside::nobody)
            os::drop_unlocked_pages(base + pages.offset, pages.bytes);
        else
            os::page_out(base + pages.offset, pages.bytes);
    }
    done.evicted_bytes += before - std::min(before, resident());
    return {};
}

// The pages of the kernel may be larger than ours: then all parts of one must equal the image.
void page_evictor::add_as_in_image(heap_range written, outcome& done) {
    const std::uint64_t unit = std::max(k_page_bytes, track::kernel_page_bytes());
    for (std::uint64_t at = written.offset; at < written.end(); at += unit) {
        const heap_range pages{at, std::min(unit, written.end() - at)};
        bool is_newer = false;
        for (std::uint64_t page = at / k_page_bytes; page < pages.end() / k_page_bytes; ++page)
            is_newer |= committed_.is_newer_than_image(page);
        if (is_newer) {
            done.newer_bytes += pages.bytes;
            continue;
        }
        if (is_as_in_image(pages))
            clean_.push_back(pages);
    }
}

// A page of a chunk without a place in the file reads as zeros again when it was dropped.
void page_evictor::add_zeros(heap_range written) {
    const std::uint64_t unit = std::max(k_page_bytes, track::kernel_page_bytes());
    for (std::uint64_t at = written.offset; at < written.end(); at += unit) {
        const std::uint64_t bytes = std::min(unit, written.end() - at);
        if (is_all_zeros({memory_.base() + at, static_cast<std::size_t>(bytes)}))
            clean_.push_back({at, bytes});
    }
}

// Uncommitted changes make the chunk differ, so it stays as it is.
result<void> page_evictor::map_if_as_in_image(std::uint64_t chunk, outcome& done) {
    const heap_range all = memory_.range_of(chunk);
    if (committed_.has_newer_in(chunk)) {
        done.newer_bytes += all.bytes;
        return {};
    }
    if (!image_.is_stored(chunk) || all.end() > memory_.accessible_bytes())
        return {};
    const bool joins = (chunk != 0 && memory_.maps_copy(chunk - 1)) || memory_.maps_copy(chunk + 1);
    if ((!joins && !memory_.may_scatter()) || !is_as_in_image(all))
        return {};
    memory_.reserve_place_of(chunk);
    if (!joins)
        memory_.note_scattered();
    return memory_.map_copies(all);
}

bool page_evictor::is_as_in_image(heap_range pages) {
    content_.resize(static_cast<std::size_t>(std::max(pages.bytes, k_page_bytes)));
    const std::span<std::byte> content(content_.data(), static_cast<std::size_t>(pages.bytes));
    return image_.read_pages(pages.offset / k_page_bytes, content) &&
           std::memcmp(memory_.base() + pages.offset, content.data(), content.size()) == 0;
}

} // namespace remanence::view
