#include "view/mapped_memory.hpp"

#include "base/assert.hpp"
#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace remanence::view {

namespace {

constexpr std::uint64_t k_growth_step = 2 * MiB;
constexpr std::uint64_t k_huge_pages_from = 2 * MiB; // below this size, a heap should not use a huge page

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

// Makes few system calls, which dominate the time of opening a heap with many extents.
result<void> mapped_memory::map_image(const view_options& options) {
    const auto protection = options.read_only ? os::access::read_only : os::access::read_write;
    accessible_ = image_.bytes();
    if (accessible_ == 0) {
        advise(base(), place_.bytes());
        return {};
    }
    REM_TRY(os::map_anonymous(base(), accessible_));
    if (protection == os::access::read_only)
        REM_TRY(os::protect_read_only(base(), accessible_));
    const std::vector<store::extent> extents = image_.extents();
    auto gaps = gaps_to_map(extents, options.stretches_max);
    if (!gaps)
        return gaps.error();
    const std::uint64_t chunk = image_.chunk_bytes();
    std::vector<chunk_range> in_copy;
    auto gap = gaps->begin();
    for (auto e = extents.begin(); e != extents.end(); ++e) {
        if (!e->stored) {
            REM_TRY(tell_tracker(e->heap, track::page_contents::zeros));
            continue;
        }
        heap_range heap = e->heap;
        const std::uint64_t file_offset = e->file_offset;
        in_copy.push_back(to_chunks(e->heap, chunk));
        for (; gap != gaps->end() && gap->heap.offset == heap.end(); ++gap) {
            std::advance(e, 2); // the gap, and the stored extent behind it
            heap.bytes = e->heap.end() - heap.offset;
            in_copy.push_back(to_chunks(e->heap, chunk));
        }
        REM_TRY(image_.file().map_private(base() + heap.offset, heap.bytes, file_offset, protection));
        if (!read_ahead_)
            os::read_no_more_than_asked(base() + heap.offset, heap.bytes); // set before a tracker reads the first page
        REM_TRY(tell_tracker(heap, track::page_contents::file));
    }
    places_.begin_with(std::move(in_copy));
    for (const store::extent& each : *gaps)
        file_holes_.push_back(each.heap);
    advise(base(), place_.bytes());
    return {};
}

result<void> mapped_memory::map_image_again(const view_options& options) {
    REM_TRY(make_accessible(image_.bytes()));
    const std::uint64_t accessible = accessible_;
    places_ = {};
    file_holes_.clear();
    moved_in_.clear();
    scattered_chunks_ = 0;
    REM_TRY(map_image(options));
    if (accessible > accessible_) {
        REM_TRY(map_zeros(accessible_, accessible));
        accessible_ = accessible;
    }
    return {};
}

// With many stored extents, a mapping for each would dominate the time of opening. So the smallest gaps between them
// are mapped together with the extents: a gap is mapped from the hole of the file at which its copy would lie. The
// first write to a page of such a gap costs five times as much as in anonymous memory.
//
// The file system is asked whether these are holes, since a crash or a copy may have left bytes there. On tmpfs no gap
// is mapped in this way, since reading a hole allocates memory there.
//
// Only a commit that makes the chunk fresh, a checkpoint and a spill write to a gap's place in the file. A failed spill
// may leave bytes there, so its chunk becomes anonymous. A stored chunk follows each gap, so the file extends beyond
// the gap. When that chunk is given back, the gap becomes anonymous before the file is cut.
result<std::vector<store::extent>> mapped_memory::gaps_to_map(std::span<const store::extent> extents,
                                                              std::size_t stretches_max) {
    std::vector<store::extent> gaps;
    std::size_t stretches = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        if (extents[i].stored)
            ++stretches;
        if (extents[i].stored || i == 0 || i + 1 == extents.size() || !extents[i - 1].stored || !extents[i + 1].stored)
            continue;
        const std::uint64_t copy = extents[i - 1].file_offset + extents[i - 1].heap.bytes;
        if (copy == image_.copy_of(extents[i].heap.offset) &&
            copy + extents[i].heap.bytes == extents[i + 1].file_offset)
            gaps.push_back({extents[i].heap, false, copy});
    }
    if (stretches <= stretches_max || gaps.empty() || image_.file().fills_holes_when_read())
        return std::vector<store::extent>();
    if (const std::size_t count = stretches - stretches_max; count < gaps.size()) {
        std::ranges::nth_element(gaps, gaps.begin() + static_cast<std::ptrdiff_t>(count), {},
                                 [](const store::extent& gap) { return gap.heap.bytes; });
        gaps.resize(count);
        std::ranges::sort(gaps, {}, [](const store::extent& gap) { return gap.heap.offset; });
    }
    std::vector<store::extent> holes;
    for (const store::extent& gap : gaps) {
        auto is_hole = image_.file().is_hole({gap.file_offset, gap.heap.bytes});
        if (!is_hole)
            return is_hole.error();
        if (*is_hole)
            holes.push_back(gap);
    }
    return holes;
}

result<void> mapped_memory::make_accessible(std::uint64_t bytes) {
    if (bytes <= accessible_)
        return {};
    std::uint64_t wanted =
        align_up(std::max(bytes, accessible_ + accessible_ / 4), std::max(k_growth_step, image_.chunk_bytes()));
    if (wanted > place_.bytes()) {
        if (bytes <= place_.bytes()) {
            wanted = place_.bytes();
        } else if (!place_.extend(align_up(wanted, GiB))) {
            // The addresses behind the reservation are in use, but `bytes` alone may still fit before them.
            wanted = align_up(bytes, std::max(k_growth_step, image_.chunk_bytes()));
            if (auto extended = place_.extend(wanted); !extended)
                return exhausted(image_.path(), place_, extended.why());
        }
    }
    reserved_ = place_.bytes();
    REM_TRY(map_zeros(accessible_, wanted));
    accessible_ = wanted;
    return {};
}

result<void> mapped_memory::map_zeros(std::uint64_t from, std::uint64_t to) {
    note_new_mapping({from, to - from});
    REM_TRY(os::map_anonymous(base() + from, to - from));
    if (!core_dump_)
        os::exclude_from_core(base() + from, to - from);
    if (to > k_huge_pages_from)
        os::prefer_huge_pages(base() + from, to - from);
    return tell_tracker({from, to - from}, track::page_contents::zeros);
}

result<void> mapped_memory::map_copies(heap_range chunks) {
    const std::uint64_t chunk = image_.chunk_bytes();
    note_new_mapping(chunks);
    REM_TRY(image_.file().map_private(base() + chunks.offset, chunks.bytes, image_.copy_of(chunks.offset),
                                      os::access::read_write));
    for (std::uint64_t each = chunks.offset / chunk; each < chunks.end() / chunk; ++each) {
        if (places_.map(each) == place::chunk_state::moved)
            retired_.note_unmapped(each);
    }
    advise(base() + chunks.offset, chunks.bytes);
    return tell_tracker(chunks, track::page_contents::file);
}

result<bool> mapped_memory::make_zeros(std::uint64_t chunk) {
    const std::uint64_t from = chunk * image_.chunk_bytes();
    const std::uint64_t to = std::min(from + image_.chunk_bytes(), accessible_);
    if (!is_in_file_hole(chunk)) {
        const bool was_moved_in = std::ranges::any_of(
            moved_in_, [&](const heap_range& each) { return each.offset < to && from < each.end(); });
        // Memory that was moved here joins the mappings around it when it is mapped anew.
        REM_TRY(was_moved_in ? map_zeros(from, to) : os::drop_pages(base() + from, to - from));
        return true;
    }
    if (!may_scatter())
        return false;
    note_scattered();
    REM_TRY(map_zeros(from, to));
    file_holes_ = without(file_holes_, {{from, image_.chunk_bytes()}});
    return true;
}

result<void> mapped_memory::forget(heap_range chunks) {
    const std::uint64_t chunk_bytes = image_.chunk_bytes();
    for (std::uint64_t chunk = chunks.offset / chunk_bytes; chunk < chunks.end() / chunk_bytes; ++chunk)
        places_.forget(chunk);
    // A hole of the file before these chunks becomes anonymous, too, since the file may now end before the hole.
    std::uint64_t first = chunks.offset / chunk_bytes;
    while (first > 0 && is_in_file_hole(first - 1) && !image_.is_stored(first - 1))
        --first;
    const std::uint64_t end = std::min(chunks.end(), accessible_);
    REM_TRY(map_zeros(first * chunk_bytes, end));
    file_holes_ = without(file_holes_, {{first * chunk_bytes, chunks.end() - first * chunk_bytes}});
    return {};
}

bool mapped_memory::is_in_file_hole(std::uint64_t chunk) const {
    const std::uint64_t at = chunk * image_.chunk_bytes();
    const auto behind = std::ranges::upper_bound(file_holes_, at, {}, &heap_range::end);
    return behind != file_holes_.end() && behind->offset <= at;
}

void mapped_memory::note_new_mapping(heap_range where) {
    if (!moved_in_.empty())
        moved_in_ = without(moved_in_, {where});
}

result<void> mapped_memory::move_pages(heap_range from, std::uint64_t to) {
    const heap_range target{to, from.bytes};
    note_new_mapping(target);
    if (moved_in_.size() >= k_scattered_chunks_max)
        return fail(errc::exhausted, "too many blocks of this heap were moved.");
    moved_in_.reserve(moved_in_.size() + 1);
    REM_TRY(written_.tracker().move_pages(from, to));
    moved_in_.insert(std::ranges::lower_bound(moved_in_, to, {}, &heap_range::offset), target);
    return {};
}

result<void> mapped_memory::map_aside(os::moving_mapping& aside, std::uint64_t file_offset) {
    REM_TRY(image_.file().map_private(aside.base(), aside.bytes(), file_offset, os::access::read_write));
    advise(aside.base(), aside.bytes());
    return {};
}

result<void> mapped_memory::replace_by_copy(std::uint64_t chunk, os::moving_mapping& aside) {
    const heap_range all = range_of(chunk);
    places_.reserve(chunk);
    note_new_mapping(all);
    REM_TRY(aside.move_to(base() + all.offset));
    (void)places_.map(chunk);
    return tell_tracker(all, track::page_contents::file);
}

void mapped_memory::advise(std::byte* where, std::uint64_t bytes) const {
    if (!core_dump_)
        os::exclude_from_core(where, bytes);
    if (!read_ahead_)
        os::read_no_more_than_asked(where, bytes);
}

} // namespace remanence::view
