#include "view/memory_settler.hpp"

#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"
#include "os/memory.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace remanence::view {

using change::commit_scope;

namespace {

constexpr std::uint64_t k_chunks_looked_at = 16384; // per commit, to find those that must be mapped

result<void> drop(std::byte* base, std::vector<heap_range>& pages) {
    sort_and_merge(pages);
    for (const heap_range& range : pages)
        REM_TRY(os::drop_pages(base + range.offset, range.bytes));
    return {};
}

} // namespace

result<std::span<const store::applied_page>> memory_settler::freeze() {
    REM_TRY(settle_rest());
    committed_.freeze();
    settled_ = 0;
    return committed_.frozen();
}

void memory_settler::thaw() noexcept {
    mapped_with_newer_ = 0;
    committed_.thaw();
    chunk_to_map_ = 0;
    has_left_chunks_ = false;
}

result<void> memory_settler::settle_some(commit_scope committed, std::uint64_t pages) {
    if (committed_.has_thawed())
        REM_TRY(settle_pages(pages));
    return committed == commit_scope::everything && chunk_to_map_ != k_no_chunk ? map_some_chunks(pages)
                                                                                : result<void>();
}

result<void> memory_settler::settle_rest() {
    return committed_.has_thawed() ? settle_pages(committed_.frozen().size()) : result<void>();
}

// A page that equals the image may be read from the file, even if other pages have uncommitted changes. But if a commit
// without a record has a copy of the page, the next checkpoint may write another content of it first.
result<void> memory_settler::settle_pages(std::uint64_t pages) {
    std::vector<heap_range> copies;
    const auto all = committed_.frozen();
    const std::size_t end = std::min(all.size(), settled_ + static_cast<std::size_t>(pages));
    for (; settled_ < end; ++settled_) {
        const store::applied_page& frozen = all[settled_];
        const std::uint64_t at = frozen.page * k_page_bytes;
        if (committed_.is_frozen_copy(frozen.page) && memory_.maps_copy(frozen.page / image_.chunk_pages()) &&
            std::memcmp(memory_.base() + at, frozen.bytes, k_page_bytes) == 0 && !committed_.is_copied(frozen.page))
            copies.push_back({at, k_page_bytes});
    }
    REM_TRY(drop(memory_.base(), copies));
    if (settled_ == all.size()) {
        settled_ = 0;
        committed_.drop_frozen();
    }
    return {};
}

// Precondition: the view holds exactly the committed content. Skips chunks with before-images, whose pages would have
// to be changed while others may be reading.
result<void> memory_settler::map_some_chunks(std::uint64_t pages) {
    const std::uint64_t chunk_bytes = image_.chunk_bytes();
    const std::uint64_t end = image_.bytes() / chunk_bytes;
    const std::uint64_t chunks_max = divide_up(pages, image_.chunk_pages());
    std::uint64_t mapped = 0;
    for (std::uint64_t looked = 0; chunk_to_map_ < end && mapped < chunks_max && looked < k_chunks_looked_at;
         ++looked) {
        const std::uint64_t first = chunk_to_map_++;
        if (!is_to_be_mapped(first))
            continue;
        if (committed_.has_newer_in(first)) { // left unmapped between mapped chunks, it adds mappings
            has_left_chunks_ = true;
            memory_.note_scattered();
            if (!memory_.may_scatter())
                chunk_to_map_ = end;
            continue;
        }
        const std::uint64_t copy = image_.copy_of(first * chunk_bytes);
        std::uint64_t count = 1;
        for (; count < chunks_max && chunk_to_map_ < end; ++count, ++chunk_to_map_) {
            const std::uint64_t next = chunk_to_map_;
            if (!is_to_be_mapped(next) || committed_.has_newer_in(next) ||
                image_.copy_of(next * chunk_bytes) != copy + count * chunk_bytes)
                break;
        }
        REM_TRY(memory_.map_copies({first * chunk_bytes, count * chunk_bytes}));
        mapped += count;
    }
    if (chunk_to_map_ < end)
        return {};
    if (!has_left_chunks_)
        memory_.note_none_scattered();
    chunk_to_map_ = k_no_chunk;
    return {};
}

result<void> memory_settler::settle(commit_scope committed) {
    if (committed == commit_scope::everything)
        REM_TRY(map_stored_chunks());
    std::vector<heap_range> copies;
    for (const store::applied_page& before_image : committed_.before_image_pages()) {
        const std::uint64_t at = before_image.page * k_page_bytes;
        if (committed == commit_scope::everything ||
            (memory_.maps_copy(before_image.page / image_.chunk_pages()) &&
             std::memcmp(memory_.base() + at, before_image.bytes, k_page_bytes) == 0))
            copies.push_back({at, k_page_bytes});
    }
    return drop(memory_.base(), copies);
}

// Maps chunks that were stored since they were mapped as anonymous memory.
result<void> memory_settler::map_stored_chunks() {
    const std::uint64_t chunk = image_.chunk_bytes();
    for (const store::extent& e : image_.extents()) {
        if (!e.stored)
            continue;
        for (std::uint64_t from = e.heap.offset; from < e.heap.end();) {
            std::uint64_t to = from + chunk;
            const bool mapped = memory_.maps_copy(from / chunk);
            while (to < e.heap.end() && memory_.maps_copy(to / chunk) == mapped)
                to += chunk;
            if (!mapped)
                REM_TRY(memory_.map_copies({from, to - from}));
            from = to;
        }
    }
    memory_.note_none_scattered();
    chunk_to_map_ = k_no_chunk;
    return {};
}

result<void> memory_settler::settle_all_but(std::span<const std::uint64_t> newer) {
    REM_TRY(settle_rest());
    std::vector<heap_range> copies;
    for (const store::applied_page& before_image : committed_.before_image_pages()) {
        if (memory_.maps_copy(before_image.page / image_.chunk_pages()) &&
            !std::ranges::binary_search(newer, before_image.page))
            copies.push_back({before_image.page * k_page_bytes, k_page_bytes});
    }
    REM_TRY(drop(memory_.base(), copies));
    committed_.drop_all_but(newer);
    mapped_with_newer_ = 0;
    chunk_to_map_ = 0;
    has_left_chunks_ = false;
    return {};
}

void memory_settler::drop_before_images() {
    committed_.drop_all();
    settled_ = 0;
    mapped_with_newer_ = 0;
    chunk_to_map_ = 0;
    has_left_chunks_ = false;
}

result<void> memory_settler::map_unmapped() {
    chunk_to_map_ = 0;
    while (chunk_to_map_ != k_no_chunk)
        REM_TRY(map_some_chunks(~std::uint64_t{0} - image_.chunk_pages()));
    for (const store::extent& e : image_.extents()) {
        if (!e.stored || memory_.unmapped_bytes() == 0)
            continue;
        for (std::uint64_t chunk = e.heap.offset / image_.chunk_bytes(); chunk < e.heap.end() / image_.chunk_bytes();
             ++chunk) {
            if (!memory_.places().is_anonymous(chunk))
                continue;
            if (mapped_with_newer_ == k_chunks_mapped_with_newer_max)
                return {};
            REM_TRY(map_with_newer_pages(chunk));
        }
    }
    return {};
}

// Replaces the chunk in one step, since other threads may be reading.
result<void> memory_settler::map_with_newer_pages(std::uint64_t chunk) {
    auto aside = os::moving_mapping::create(image_.chunk_bytes());
    if (!aside)
        return aside.error();
    REM_TRY(memory_.map_aside(*aside, image_.copy_of(chunk * image_.chunk_bytes())));
    const std::uint64_t first = chunk * image_.chunk_pages();
    for (std::uint64_t page = first; page < first + image_.chunk_pages(); ++page) {
        if (const std::byte* const newer = committed_.copy(page); newer != nullptr)
            std::memcpy(aside->base() + (page - first) * k_page_bytes, newer, k_page_bytes);
    }
    REM_TRY(memory_.replace_by_copy(chunk, *aside));
    ++mapped_with_newer_;
    return {};
}

} // namespace remanence::view
