#include "view/memory_view.hpp"

#include "base/assert.hpp"
#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::view {

using change::change_set;
using change::whole_chunk;

memory_view::memory_view(store::heap_file& store, os::reservation place, std::unique_ptr<track::page_scanner> tracker,
                         const view_options& options)
    : options_(options),
      image_(store.image()),
      memory_(store.image(), store.copies().retired(), std::move(place), written_, options),
      written_(std::move(tracker)),
      committed_(store.image()),
      spilled_(store.copies()),
      spiller_(store.copies(), store.whole_chunks(), memory_, written_, committed_, spilled_),
      mover_(store.copies(), memory_, committed_, spilled_, options.scattered_max),
      collector_(store.image(), memory_, written_, committed_, spilled_, spiller_, mover_, declared_),
      settler_(store.image(), memory_, committed_) {}

result<std::unique_ptr<memory_view>> memory_view::open(store::heap_file& store, os::reservation place,
                                                       const view_options& options) {
    REM_TRY(place.extend(store.image().bytes()));
    std::unique_ptr<track::page_scanner> tracker;
    if (!options.read_only) {
        auto made = track::make_page_scanner(place.base(), options.tracker);
        if (!made)
            return made.error();
        tracker = std::move(*made);
        if (options.report_stray_write != nullptr && !tracker->report_stray_writes(options.report_stray_write))
            return fail(errc::not_supported, "only the trap tracker notices stray writes.");
    }
    std::unique_ptr<memory_view> view(new memory_view(store, std::move(place), std::move(tracker), options));
    REM_TRY(view->memory_.map_image(options));
    return view;
}

void memory_view::accept(const change_set& changes) {
    for (const whole_chunk& moved : changes.relocated) {
        committed_.forget(moved.chunk);
        memory_.note_moved(moved.chunk);
    }
    committed_.renew(changes, page_source(base()));
    for (const whole_chunk& fresh : changes.fresh)
        memory_.note_committed(fresh.chunk);
    spiller_.accept();
    declared_.clear();
    written_.begin_round();
}

// Does not begin a new round, so the pages written elsewhere are still reported.
void memory_view::accept_declared(const change_set& changes) {
    for (const whole_chunk& fresh : changes.fresh)
        memory_.note_committed(fresh.chunk);
    declared_.clear();
    spiller_.forget_promises();
}

void memory_view::begin_with_copies(const page_copies& copies) {
    committed_.add_copies(copies);
    spiller_.accept();
    declared_.clear();
    written_.begin_round();
}

void memory_view::accept_copies(const change_set& changes, const page_copies& copies) {
    committed_.forget_oldest_copies();
    committed_.renew(changes, page_source(copies));
    for (const whole_chunk& fresh : changes.fresh)
        memory_.note_committed(fresh.chunk);
}

void memory_view::give_up_copies(const page_copies& copies) {
    std::vector<heap_range> pages;
    for (const page_copies::piece& piece : copies.pieces())
        pages.push_back(piece.pages);
    written_.gather_again(pages);
    committed_.forget_oldest_copies();
}

void memory_view::restore_copies(const page_copies& copies) {
    for (const page_copies::piece& piece : copies.pieces())
        std::memcpy(base() + piece.pages.offset, piece.bytes, static_cast<std::size_t>(piece.pages.bytes));
}

result<void> memory_view::rollback(const page_predicate& is_unused, const change_listener& lost) {
    if (lost) {
        auto changes = collector_.uncommitted(is_unused);
        if (!changes)
            return changes.error();
        lost(*changes);
    } else {
        REM_TRY(written_.gather(memory_.accessible_bytes()));
    }
    REM_TRY(spiller_.give_up(spilled_.chunks()));
    for (const heap_range& pages : split_at_chunks(written_.ranges(), image_.chunk_bytes()))
        REM_TRY(image_.is_stored(pages.offset / image_.chunk_bytes()) ? restore(pages) : restore_zeros(pages));
    spiller_.forget_promises();
    declared_.clear();
    written_.begin_round();
    return {};
}

// Restores pages of one chunk that is not stored.
result<void> memory_view::restore_zeros(heap_range pages) {
    const std::uint64_t chunk = pages.offset / image_.chunk_bytes();
    if (!memory_.is_in_file_hole(chunk))
        return os::drop_pages(base() + pages.offset, pages.bytes);
    auto made = memory_.make_zeros(chunk);
    if (!made)
        return made.error();
    if (!*made) {
        REM_TRY(written_.tracker().declare(pages.offset, pages.bytes));
        std::memset(base() + pages.offset, 0, static_cast<std::size_t>(pages.bytes));
    }
    return {};
}

// Restores pages of one stored chunk.
result<void> memory_view::restore(heap_range pages) {
    const bool from_file = memory_.maps_copy(pages.offset / image_.chunk_bytes());
    for (std::uint64_t at = pages.offset; at < pages.end();) {
        if (const std::byte* copy = committed_.copy(at / k_page_bytes)) {
            if (std::memcmp(base() + at, copy, k_page_bytes) != 0)
                std::memcpy(base() + at, copy, k_page_bytes);
            at += k_page_bytes;
            continue;
        }
        std::uint64_t end = at + k_page_bytes;
        while (end < pages.end() && committed_.copy(end / k_page_bytes) == nullptr)
            end += k_page_bytes;
        if (from_file) {
            REM_TRY(os::drop_pages(base() + at, end - at));
        } else {
            REM_TRY(written_.tracker().declare(at, end - at));
            REM_TRY(committed_.read_image({at, end - at}, nullptr, base() + at));
        }
        at = end;
    }
    return {};
}

result<kept_pages> memory_view::keep_written() {
    REM_TRY(written_.gather(memory_.accessible_bytes()));
    return kept_pages(written_.ranges(), base());
}

// Does not begin a round, so all these pages still count as written: the next commit compares them with the committed
// content.
result<void> memory_view::restore(const kept_pages& kept) {
    REM_TRY(written_.gather(memory_.accessible_bytes()));
    for (const heap_range& pages : written_.ranges()) {
        REM_TRY(written_.tracker().declare(pages.offset, pages.bytes));
        for (std::uint64_t page = pages.offset / k_page_bytes; page < pages.end() / k_page_bytes; ++page)
            REM_TRY(restore(page, kept));
    }
    return {};
}

// A page that is not in `kept` was not written at that time, so it held its committed content.
result<void> memory_view::restore(std::uint64_t page, const kept_pages& kept) {
    std::byte* const memory = base() + page * k_page_bytes;
    const std::byte* content = kept.find(page);
    if (content == nullptr)
        content = committed_.copy(page);
    if (content != nullptr) {
        if (std::memcmp(memory, content, k_page_bytes) != 0)
            std::memcpy(memory, content, k_page_bytes);
        return {};
    }
    if (image_.is_stored(page * k_page_bytes / image_.chunk_bytes()))
        return committed_.read_image({page * k_page_bytes, k_page_bytes}, nullptr, memory);
    std::memset(memory, 0, k_page_bytes);
    return {};
}

result<void> memory_view::for_each_changed_since(const kept_pages& kept, const page_visitor& visit) {
    REM_TRY(written_.gather(memory_.accessible_bytes()));
    std::vector<std::byte> read(static_cast<std::size_t>(k_page_bytes));
    for (const heap_range& pages : written_.ranges()) {
        for (std::uint64_t page = pages.offset / k_page_bytes; page < pages.end() / k_page_bytes; ++page) {
            const std::byte* was = kept.find(page);
            if (was == nullptr)
                was = committed_.copy(page);
            if (was == nullptr) {
                std::ranges::fill(read, std::byte{});
                if (image_.is_stored(page * k_page_bytes / image_.chunk_bytes()))
                    REM_TRY(committed_.read_image({page * k_page_bytes, k_page_bytes}, nullptr, read.data()));
                was = read.data();
            }
            if (std::memcmp(base() + page * k_page_bytes, was, static_cast<std::size_t>(k_page_bytes)) != 0)
                visit(page, was);
        }
    }
    return {};
}

result<void> memory_view::forget(heap_range chunks) {
    REM_CHECK(!committed_.has_frozen());
    for (std::uint64_t chunk = chunks.offset / image_.chunk_bytes(); chunk < chunks.end() / image_.chunk_bytes();
         ++chunk)
        committed_.forget(chunk);
    return memory_.forget(chunks);
}

// Copies the before-image from the file, not from memory: otherwise a stray write in memory would never be found.
result<void> memory_view::make_private(std::span<const heap_range> pages) {
    for (const heap_range& run : pages) {
        for (std::uint64_t page = run.offset / k_page_bytes; page < run.end() / k_page_bytes; ++page) {
            if (committed_.copy(page) != nullptr)
                continue;
            std::byte* const before_image = committed_.allocate_before_images(1);
            if (auto read = image_.read_unverified(page, {before_image, k_page_bytes}); !read) {
                committed_.discard_before_image(before_image);
                return read;
            }
            committed_.add_before_image(page, before_image);
        }
        REM_TRY(written_.tracker().make_private(run));
    }
    return {};
}

result<void> memory_view::follow_chunk(std::uint64_t chunk) {
    const heap_range all = memory_.range_of(chunk);
    REM_TRY(memory_.make_accessible(all.end()));
    committed_.forget(chunk);
    return memory_.map_copies(all);
}

result<std::byte*> memory_view::open_to_follow(std::uint64_t page) {
    const std::uint64_t at = page * k_page_bytes;
    REM_TRY(written_.tracker().declare(at, k_page_bytes));
    return base() + at;
}

result<void> memory_view::follow_image() {
    settler_.drop_before_images();
    return memory_.map_image_again(options_);
}

result<void> memory_view::end_following(const std::vector<heap_range>& changed) {
    return written_.settle(changed, memory_.accessible_bytes());
}

result<void> memory_view::end_following() {
    REM_TRY(written_.gather(memory_.accessible_bytes()));
    declared_.clear();
    written_.begin_round();
    return {};
}

} // namespace remanence::view
