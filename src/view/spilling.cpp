// Chunks that no commit has stored are written to their homes early, and mapped from there: to which nothing durable points
// yet (I1), so that a crash leaves bytes there that mean nothing.
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

constexpr std::uint64_t k_mapped_with_newer_max = 4096; // of the 65,530 mappings that a process may have

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
        auto copies = os::private_copies::create(base());
        if (!copies)
            return copies.error();
        copies_.emplace(std::move(*copies));
    }
    std::vector<os::page_run> runs;
    const auto look_at = [&](std::uint64_t from, std::uint64_t to) -> result<void> {
        return from < to ? copies_->append({from, to - from}, runs) : result<void>();
    };
    for (const store::extent& e : store_.extents()) {
        if (!e.stored)
            REM_TRY(look_at(e.heap.offset, e.heap.end()));
    }
    REM_TRY(look_at(store_.image_bytes(), accessible_));

    spillable found;
    std::unordered_set<std::uint64_t> are_written;
    std::vector<std::uint64_t> in_order;
    for (const os::page_run& run : runs) {
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

    std::vector<os::page_run> stays = kept_in_memory_.runs();
    stays.push_back({align_down(handed_out.offset, k_page_bytes), handed_out.bytes + k_page_bytes});
    sort_and_merge(stays);
    std::erase_if(in_turn, [&](std::uint64_t chunk) {
        const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
        const auto first_behind = std::ranges::upper_bound(stays, all.offset, {}, &byte_range::end);
        return all.end() > accessible_ || !kept_in_memory_.is_complete() ||
               (first_behind != stays.end() && first_behind->offset < all.end());
    });
    found.chunks = std::move(in_turn);
    return found;
}

// Pages that are to be written, of memory as it is, which may go on changing: copied to staged_, with checksums.
result<void> memory_view::stage(std::uint64_t chunk, std::vector<std::uint32_t>& checksums,
                                std::vector<os::page_run>& pages) {
    const std::uint64_t begin = chunk * store_.chunk_bytes();
    private_.clear();
    REM_TRY(copies_->append({begin, store_.chunk_bytes()}, private_));
    for (const os::page_run& run : private_) {
        for (std::uint64_t at = run.offset; at < run.end(); at += k_page_bytes) {
            std::byte* const copy = staged_.data() + (at - begin);
            copy_page(copy, base() + at);
            std::uint32_t& checksum = checksums[static_cast<std::size_t>((at - begin) / k_page_bytes)];
            if (checksum == 0 && is_all_zeros({copy, k_page_bytes}))
                continue; // its home is a hole
            checksum = page_checksum({copy, k_page_bytes});
            os::append_run(pages, at, k_page_bytes);
        }
    }
    return {};
}

result<std::vector<os::page_run>> memory_view::pages_to_spill(std::uint64_t chunk) {
    staged_.resize(static_cast<std::size_t>(store_.chunk_bytes()));
    std::vector<std::uint32_t> checksums = as_spilled(chunk).checksums;
    std::vector<os::page_run> pages;
    REM_TRY(stage(chunk, checksums, pages));
    return pages;
}

result<std::uint64_t> memory_view::spill(std::uint64_t chunk, const std::vector<os::page_run>& pages) {
    // All memory that is needed comes first.
    const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
    const bool was_spilled = spilled_.find(chunk) != nullptr;
    std::vector<std::uint32_t> checksums = as_spilled(chunk).checksums;
    auto aside = os::moving_mapping::create(all.bytes);
    if (!aside)
        return cannot_map(aside.why());
    for (auto* runs : {&private_, &staged_runs_})
        runs->reserve(static_cast<std::size_t>(store_.chunk_pages()));
    if (mappings_.size() <= chunk)
        mappings_.resize(static_cast<std::size_t>(chunk) + 1);
    store_.hold_early(chunk);
    if (!was_spilled) {
        try {
            spilled_.insert(chunk, checksums);
        } catch (...) {
            store_.release_early(chunk);
            throw;
        }
    }

    auto replaced = [&]() -> result<bool> {
        const os::blocked_signals none; // a handler that writes here would wait for itself
        if (auto paused = scanner_->pause_writes(all); !paused)
            return cannot_map(paused.why());
        auto done = replace_by_file(chunk, pages, *aside, checksums);
        REM_TRY(scanner_->let_writes_go_on());
        return done;
    }();
    if (!replaced || !*replaced) {
        if (!was_spilled) {
            spilled_.erase(chunk);
            store_.release_early(chunk);
        }
        if (!replaced)
            return replaced.error();
        return std::uint64_t{0};
    }
    spilled_.replace(chunk, std::move(checksums));
    mappings_[static_cast<std::size_t>(chunk)] = mapping::home;
    std::uint64_t bytes = 0;
    for (const os::page_run& run : pages)
        bytes += run.bytes;
    written_ = without(written_, {all});
    return bytes;
}

// While writes are paused. What is not replaced is as if nothing had been written: pages of a chunk that was spilled before
// differ from its home where they are private, and are known to the tracker.
result<bool> memory_view::replace_by_file(std::uint64_t chunk, const std::vector<os::page_run>& pages,
                                          os::moving_mapping& by, std::vector<std::uint32_t>& checksums) {
    const byte_range all{chunk * store_.chunk_bytes(), store_.chunk_bytes()};
    staged_runs_.clear();
    if (auto staged = stage(chunk, checksums, staged_runs_); !staged)
        return cannot_map(staged.why());
    if (pages.empty() || staged_runs_ != pages)
        return false;
    has_left_homes_ = true; // until it is replaced
    for (const os::page_run& run : pages) {
        const std::byte* const first = staged_.data() + (run.offset - all.offset);
        REM_TRY(store_.write_fresh(run.offset / k_page_bytes, {first, static_cast<std::size_t>(run.bytes)}));
    }
    auto mapped = store_.file().map_private(by.base(), all.bytes, store_.home_of(all.offset), os::access::read_write);
    if (!mapped)
        return cannot_map(mapped.why());
    if (!core_dump_)
        os::exclude_from_core(by.base(), all.bytes);
    if (auto moved = scanner_->replace_paused(by); !moved)
        return cannot_map(moved.why());
    has_left_homes_ = false;
    return true;
}

whole_chunk memory_view::as_spilled(std::uint64_t chunk) const {
    const spilled_chunks::checksums* const spilled = spilled_.find(chunk);
    if (spilled == nullptr)
        return {chunk, std::vector<std::uint32_t>(static_cast<std::size_t>(store_.chunk_pages())), {}};
    whole_chunk found{chunk, *spilled, std::vector<bool>(spilled->size())};
    for (std::size_t i = 0; i < spilled->size(); ++i)
        found.is_at_home[i] = (*spilled)[i] != 0;
    return found;
}

// Those in which nothing was written since: the others are among the changes already.
void memory_view::add_spilled(change_set& changes) const {
    const auto reported = static_cast<std::ptrdiff_t>(changes.fresh.size());
    for (const auto& [chunk, checksums] : spilled_.all()) {
        const auto end = changes.fresh.begin() + reported;
        const auto found = std::ranges::lower_bound(changes.fresh.begin(), end, chunk, {}, &whole_chunk::chunk);
        if (found == end || found->chunk != chunk)
            changes.fresh.push_back(as_spilled(chunk));
    }
    std::ranges::sort(changes.fresh, {}, &whole_chunk::chunk);
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

// They become zeros, and must not be spilled again, or stored, before their homes are holes.
result<void> memory_view::unspill(const std::vector<std::uint64_t>& chunks) {
    for (std::size_t i = 0; i < chunks.size();) {
        std::size_t end = i + 1;
        while (end < chunks.size() && chunks[end] == chunks[i] + (end - i))
            ++end;
        has_left_homes_ = true;
        REM_TRY(map_zeros(chunks[i] * store_.chunk_bytes(),
                          std::min((chunks[end - 1] + 1) * store_.chunk_bytes(), accessible_)));
        for (; i < end; ++i) {
            mappings_[static_cast<std::size_t>(chunks[i])] = mapping::anonymous;
            spilled_.erase(chunks[i]);
            store_.release_early(chunks[i]);
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
            const bool is_anonymous =
                chunk >= mappings_.size() || mappings_[static_cast<std::size_t>(chunk)] == mapping::anonymous;
            if (!is_anonymous)
                continue;
            if (mapped_with_newer_ == k_mapped_with_newer_max)
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
    if (!core_dump_)
        os::exclude_from_core(aside->base(), all.bytes);
    const std::uint64_t first = chunk * store_.chunk_pages();
    for (std::uint64_t page = first; page < first + store_.chunk_pages(); ++page) {
        if (const std::byte* const newer = committed_copy(page); newer != nullptr)
            std::memcpy(aside->base() + (page - first) * k_page_bytes, newer, k_page_bytes);
    }
    if (mappings_.size() <= chunk)
        mappings_.resize(static_cast<std::size_t>(chunk) + 1);
    REM_TRY(aside->move_to(base() + all.offset));
    mappings_[static_cast<std::size_t>(chunk)] = mapping::home;
    ++mapped_with_newer_;
    note_mapped(1);
    return scanner_->mapped(all.offset, all.bytes, os::page_contents::file);
}

} // namespace remanence::view
