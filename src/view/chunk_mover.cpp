#include "view/chunk_mover.hpp"

#include "base/checksum.hpp"
#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"
#include "os/memory.hpp"
#include "view/page_comparer.hpp"

#include <algorithm>
#include <utility>

namespace remanence::view {

using change::change_set;
using change::whole_chunk;

namespace {

constexpr std::uint64_t k_pages_sampled = 4;               // per chunk, to decide whether it moves
constexpr std::size_t k_chunks_sampled = 16;               // to guess whether some would move
constexpr std::uint64_t k_bytes_back_to_copy_a = 16 * MiB; // per commit

} // namespace

result<void> chunk_mover::find(std::span<const heap_range> written, std::uint64_t held_back_max, change_set& changes) {
    auto to_move = chunks_to_move(written, changes);
    if (!to_move)
        return to_move.error();
    if (changes.held_back_bytes > held_back_max)
        return {};
    auto next = to_move->begin();
    for (std::size_t i = 0; i < written.size() && next != to_move->end();) {
        const auto of_chunk = in_same_chunk(written, &written[i], copies_.where().chunk_bytes());
        i += of_chunk.size();
        if (of_chunk[0].offset / copies_.where().chunk_bytes() == *next)
            REM_TRY(add(*next++, of_chunk, changes));
    }
    if (changes.relocated.empty())
        return {};
    REM_TRY(add_scattered(written, changes));
    std::vector<std::uint64_t> chunks;
    for (const whole_chunk& moved : changes.relocated)
        chunks.push_back(moved.chunk);
    if (chunks != *to_move) { // not the list for which room was tested
        const auto room = static_cast<std::ptrdiff_t>(copies_.room_to_move(chunks));
        changes.relocated.erase(changes.relocated.begin() + room, changes.relocated.end());
    }
    std::ranges::sort(changes.relocated, {}, &whole_chunk::chunk);
    return {};
}

// A sample that is not in memory is read from the device while the program waits, so there are few of them.
result<bool> chunk_mover::is_likely_to_find(std::span<const heap_range> written, std::uint64_t held_back_max) {
    const auto mostly_written = chunks_mostly_written(written);
    if (mostly_written.size() < k_chunks_min)
        return false;
    const std::size_t step = divide_up(mostly_written.size(), k_chunks_sampled);
    std::size_t sampled = 0;
    std::size_t found = 0;
    std::size_t held_back = 0;
    for (std::size_t i = 0; i < mostly_written.size(); i += step, ++sampled) {
        auto is_cheaper = is_cheaper_whole(mostly_written[i], 1);
        if (!is_cheaper)
            return is_cheaper.error();
        if (*is_cheaper)
            ++(may_move_now(mostly_written[i][0].offset / copies_.where().chunk_bytes()) ? found : held_back);
    }
    return 2 * found > sampled || held_back * step * copies_.where().chunk_bytes() > held_back_max;
}

// Returns the written pages of chunks that may move and of which at least half was written.
std::vector<std::span<const heap_range>> chunk_mover::chunks_mostly_written(std::span<const heap_range> written) const {
    std::vector<std::span<const heap_range>> chunks;
    const std::uint64_t chunk_bytes = copies_.where().chunk_bytes();
    for (std::size_t i = 0; i < written.size();) {
        const auto of_chunk = in_same_chunk(written, &written[i], chunk_bytes);
        i += of_chunk.size();
        const std::uint64_t chunk = of_chunk[0].offset / chunk_bytes;
        if (2 * bytes_of(of_chunk) >= chunk_bytes && copies_.may_move_after_checkpoint(chunk) &&
            !spilled_.contains(chunk))
            chunks.push_back(of_chunk);
    }
    return chunks;
}

// Returns the chunks sorted; none if there are fewer than k_chunks_min, which are not worth the sync that they need.
result<std::vector<std::uint64_t>> chunk_mover::chunks_to_move(std::span<const heap_range> written,
                                                               change_set& changes) {
    std::vector<std::uint64_t> found;
    std::vector<std::uint64_t> held_back;
    const std::uint64_t chunk_bytes = copies_.where().chunk_bytes();
    for (const std::span<const heap_range> of_chunk : chunks_mostly_written(written)) {
        const std::uint64_t chunk = of_chunk[0].offset / chunk_bytes;
        auto is_cheaper = is_cheaper_whole(of_chunk, k_pages_sampled);
        if (!is_cheaper)
            return is_cheaper.error();
        if (*is_cheaper)
            (may_move_now(chunk) ? found : held_back).push_back(chunk);
    }
    if (held_back.size() >= k_chunks_min)
        changes.held_back_bytes = copies_.room_to_move(held_back) * chunk_bytes;
    if (found.size() >= k_chunks_min)
        found.resize(copies_.room_to_move(found));
    if (found.size() < k_chunks_min)
        found.clear();
    return found;
}

// True if the log would need half of the chunk's bytes, judging by a sample of its written pages. The checkpoint would
// write the bytes in the log a second time, but nobody waits for that, and one checkpoint serves many commits.
result<bool> chunk_mover::is_cheaper_whole(std::span<const heap_range> written, std::uint64_t pages_sampled) {
    change_set sample;
    std::vector<std::byte> image(static_cast<std::size_t>(k_page_bytes));
    const std::uint64_t step =
        bytes_of(written) / k_page_bytes / pages_sampled | 1; // odd, since "every other page" is a common pattern
    std::uint64_t pages = 0;
    std::uint64_t sampled = 0;
    for (const heap_range& range : written) {
        for (std::uint64_t at = range.offset; at < range.end(); at += k_page_bytes) {
            if (pages++ % step != 0)
                continue;
            ++sampled;
            const std::byte* committed = committed_.newest(at / k_page_bytes);
            if (committed == nullptr) {
                REM_TRY(committed_.read_image({at, k_page_bytes}, nullptr, image.data()));
                committed = image.data();
            }
            add_if_changed(at / k_page_bytes, committed, memory_.base() + at, sample);
        }
    }
    const std::uint64_t bytes = sample.changed_bytes() + sample.ranges.size() * sizeof(format::change_range) +
                                sample.pages.size() * sizeof(format::page_change);
    return 2 * bytes * pages / sampled > copies_.where().chunk_bytes();
}

result<void> chunk_mover::add_scattered(std::span<const heap_range> written, change_set& changes) {
    const std::uint64_t chunk_bytes = copies_.where().chunk_bytes();
    const std::size_t moved = changes.relocated.size();
    for (const std::uint64_t chunk : copies_.scattered(scattered_max_, k_bytes_back_to_copy_a / chunk_bytes)) {
        const auto known = std::span(changes.relocated).first(moved);
        if (!may_move_now(chunk) || spilled_.contains(chunk) ||
            std::ranges::binary_search(known, chunk, {}, &whole_chunk::chunk))
            continue;
        const auto first = std::ranges::lower_bound(written, chunk * chunk_bytes, {}, &heap_range::offset);
        const auto end = std::ranges::lower_bound(written, (chunk + 1) * chunk_bytes, {}, &heap_range::offset);
        REM_TRY(add(chunk, std::span(first, end), changes));
    }
    return {};
}

// A chunk with bit rot is not relocated. Its changes are logged instead.
result<void> chunk_mover::add(std::uint64_t chunk, std::span<const heap_range> written, change_set& changes) {
    auto checksums = checksums_to_move(chunk, written);
    if (!checksums)
        return checksums.error();
    if (!checksums->empty())
        changes.relocated.push_back({chunk, std::move(*checksums)});
    return {};
}

// Reads pages that were not written from the file. Returns an empty list if one of them does not have its committed
// content.
result<std::vector<std::uint32_t>> chunk_mover::checksums_to_move(std::uint64_t chunk,
                                                                  std::span<const heap_range> written) {
    std::vector<std::uint32_t> checksums;
    os::will_read(memory_.base() + chunk * copies_.where().chunk_bytes(), copies_.where().chunk_bytes());
    auto range = written.begin();
    for (std::uint64_t page = chunk * copies_.where().chunk_pages(); page < (chunk + 1) * copies_.where().chunk_pages();
         ++page) {
        const std::uint64_t at = page * k_page_bytes;
        while (range != written.end() && range->end() <= at)
            ++range;
        if ((range != written.end() && range->offset <= at) || committed_.is_newer_than_image(page)) {
            checksums.push_back(whole_chunk::k_to_be_made);
            continue;
        }
        const std::span<const std::byte> bytes(memory_.base() + at, k_page_bytes);
        checksums.push_back(page_checksum_or_zero(bytes));
        auto is_sound = committed_.is_as_in_image(page, bytes, checksums.back());
        if (!is_sound)
            return is_sound.error();
        if (!*is_sound)
            return std::vector<std::uint32_t>();
    }
    return checksums;
}

} // namespace remanence::view
