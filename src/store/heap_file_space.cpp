// Space that nothing needs any more goes back to the file system, and what is not stored reads as zeros.

#include "store/heap_file.hpp"

#include <algorithm>

namespace remanence::store {

using format::region;

namespace {

constexpr std::size_t k_exceptions_to_forget = 4096; // two mappings each at worst; a process has 65,530

} // namespace

result<std::vector<byte_range>> heap_file::forget(byte_range stretch, std::uint64_t version) {
    const std::uint64_t chunk_bytes = super_.chunk_bytes;
    const std::uint64_t end = stretch.end() / chunk_bytes;
    std::vector<byte_range> forgotten;
    for (std::uint64_t chunk = stretch.offset / chunk_bytes; chunk < end;) {
        if (!is_stored(chunk)) {
            ++chunk;
            continue;
        }
        const std::uint64_t first = chunk;
        while (chunk < end && is_stored(chunk))
            ++chunk;
        auto reserved = reserve_to_forget(first, chunk);
        if (!reserved && reserved.why().code == errc::io)
            return reserved.error();
        if (!reserved || map_.exceptions().size() >= k_exceptions_to_forget ||
            !map_.add_zero_run(first, chunk - first, version))
            break; // I8
        for (std::uint64_t each = first; each < chunk; ++each) {
            fresh_.erase(each);
            retired_.erase(each); // both its homes are given back
            REM_TRY(clear_checksums(each));
        }
        forgotten.push_back({first * chunk_bytes, (chunk - first) * chunk_bytes});
    }
    image_bytes_ = map_.without_zeros_at_end(image_bytes_ / chunk_bytes) * chunk_bytes;
    map_with_early_.reset();
    return forgotten;
}

result<void> heap_file::reserve_to_forget(std::uint64_t first, std::uint64_t end) {
    REM_TRY(reserve_map(2)); // in the middle of a run one becomes three
    for (std::uint64_t chunk = first; chunk < end; ++chunk)
        REM_TRY(reserve_checksums(chunk * chunk_pages())); // one node has those of all its pages
    return {};
}

// In the table, which must know nothing of pages that are zeros when the chunk is stored again.
result<void> heap_file::clear_checksums(std::uint64_t chunk) {
    const std::size_t index = region_index(chunk * super_.chunk_bytes);
    const std::uint64_t first = chunk * chunk_pages() - super_.regions[index].heap_offset / k_page_bytes;
    for (std::uint64_t page = first; page < first + chunk_pages(); ++page) {
        auto checksum = tables_[index].get(page);
        if (!checksum)
            return checksum.error();
        if (*checksum != 0)
            REM_TRY(tables_[index].set(page, 0));
    }
    return {};
}

result<void> heap_file::discard_unstored() {
    has_new_holes_ = true;
    REM_TRY(discard_retired());
    // I5: also since a longer file may be so in the page cache only, when the sync after an extension failed. A commit
    // that relied on it would be lost.
    if (const std::uint64_t end = needed_end(); file_bytes_ > end) {
        REM_TRY(file_->resize("store: cut off unstored", end));
        file_bytes_ = end;
    }
    REM_TRY(discard_dead_homes());
    for (const extent& e : extents()) {
        if (!e.stored)
            REM_TRY(discard_first_homes(e.heap));
    }
    return discard_first_homes({image_bytes_, region_bytes() - image_bytes_});
}

// Fresh chunks rely on zeros there.
result<void> heap_file::discard_first_homes(byte_range heap) {
    for (const byte_range& unused : without_early(heap)) {
        for (std::uint64_t from = unused.offset; from < unused.end();) {
            const region& r = region_of(from);
            const std::uint64_t end = std::min(unused.end(), r.heap_offset + r.bytes);
            const std::uint64_t home = home_in(chunk_place::first_home, from);
            if (home < file_bytes_)
                REM_TRY(file_->punch("store: punch unstored", home, std::min(end - from, file_bytes_ - home)));
            from = end;
        }
    }
    return {};
}

// Homes in which a chunk is not, of regions that have two. What moves there is written whole.
result<void> heap_file::discard_dead_homes() {
    if (!has_second_homes())
        return {};
    for (const extent& e : extents()) {
        const bool is_at_first = e.stored && e.file_offset == home_in(chunk_place::first_home, e.heap.offset);
        REM_TRY(discard_homes(e.stored && !is_at_first ? chunk_place::first_home : chunk_place::second_home, e.heap));
    }
    return discard_homes(chunk_place::second_home, {image_bytes_, region_bytes() - image_bytes_});
}

// But for those that chunks left, and that something durable may name, and those that chunks will take.
result<void> heap_file::discard_homes(chunk_place place, byte_range heap) {
    for (const byte_range& unused : without_early(heap))
        REM_TRY(discard_homes_but_retired(place, unused));
    return {};
}

result<void> heap_file::discard_homes_but_retired(chunk_place place, byte_range heap) {
    const std::uint64_t chunk_bytes = super_.chunk_bytes;
    for (std::uint64_t from = heap.offset; from < heap.end();) {
        const region& r = region_of(from);
        std::uint64_t end = std::min(heap.end(), r.heap_offset + r.bytes);
        const auto left = retired_.lower_bound(from / chunk_bytes);
        std::uint64_t next = end;
        if (left != retired_.end() && left->first * chunk_bytes < end) {
            end = left->first * chunk_bytes;
            next = end + chunk_bytes;
        }
        if (from < end && has_second_home(from / chunk_bytes))
            REM_TRY(punch_homes(home_in(place, from), end - from));
        from = next;
    }
    return {};
}

result<void> heap_file::punch_homes(std::uint64_t home, std::uint64_t bytes) {
    if (home >= file_bytes_)
        return {};
    return file_->punch("store: punch former homes", home, std::min(bytes, file_bytes_ - home), os::unpunchable::stays);
}

void heap_file::left_former_home(std::uint64_t chunk) {
    if (const auto left = retired_.find(chunk); left != retired_.end())
        left->second.is_mapped = false;
}

void heap_file::left_all_former_homes() {
    for (auto& [chunk, home] : retired_)
        home.is_mapped = false;
}

result<void> heap_file::discard_retired() {
    const auto is_free = [&](const auto& each) {
        return !each.second.is_mapped && each.second.version <= super_.checkpoint_version;
    };
    for (auto first = retired_.begin(); first != retired_.end();) {
        if (!is_free(*first)) {
            ++first;
            continue;
        }
        const std::uint64_t home = other_home_of(first->first);
        std::uint64_t count = 1;
        auto end = std::next(first);
        while (end != retired_.end() && is_free(*end) &&
               other_home_of(end->first) == home + count * super_.chunk_bytes) {
            ++count;
            ++end;
        }
        REM_TRY(punch_homes(home, count * super_.chunk_bytes));
        first = retired_.erase(first, end);
    }
    return {};
}

} // namespace remanence::store
