#include "recover/replay.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <unordered_set>

namespace remanence::recover {

std::uint32_t replayed_page::apply(std::span<std::byte> page, std::uint32_t before) const {
    std::uint32_t checksum = before;
    for (const page_reference& change : changes) {
        if (birth && change.version <= *birth)
            continue; // R3
        const log::page_entry entry = log::page_entry_at(change.entry);
        log::apply_ranges(entry, page.data());
        checksum = entry.checksum;
    }
    return checksum;
}

/// The parts of a record, grouped by how they are applied.
struct replay::parts {
    std::vector<chunk_range> given_back;
    std::vector<log::placed_chunk> chunks;
    std::vector<log::placed_chunk*> relocated; // the ones of `chunks` that move
    std::vector<log::placed_chunk*> fresh;     // the other elements of `chunks`
    std::vector<log::page_entry> changes;
};

result<void> replay::add(const scanned_record& record, const contents_query& has_contents) {
    parts all;
    REM_TRY(sort(record, has_contents, all));
    take(record.version, all);
    return {};
}

result<void> replay::sort(const scanned_record& record, const contents_query& has_contents, parts& all) const {
    auto unfit = [&] { return damaged_log(log_path_, record.offset, "its contents do not fit the heap"); };
    if (record.image_bytes > copies_.where().region_bytes() ||
        !is_aligned(record.image_bytes, copies_.where().chunk_bytes()))
        return unfit();
    const auto place = [&](log::placed_chunk chunk) { all.chunks.push_back(std::move(chunk)); };
    const auto note = [&](const log::page_entry& entry) { all.changes.push_back(entry); };
    const auto leave = [&](chunk_range run) { all.given_back.push_back(run); };
    if (!log::for_each_part(record.bytes, copies_.where().chunk_pages(), place, note, leave))
        return unfit();
    const auto rest = all.given_back.empty() ? copies_.image_bytes() : copies_.image_bytes_without(all.given_back);
    if (!rest)
        return unfit();
    std::uint64_t image_bytes = *rest;
    std::unordered_set<std::uint64_t> placed;
    for (const chunk_range& run : all.given_back) { // R3: not placed again before the next checkpoint
        for (std::uint64_t chunk = run.first; chunk < run.end(); ++chunk)
            placed.insert(chunk);
    }
    std::vector<std::uint64_t> moved;
    for (log::placed_chunk& each : all.chunks) {
        if (!placed.insert(each.chunk).second || copies_.not_yet_free().contains(each.chunk))
            return unfit();
        const auto to = each.in_copy_b ? store::chunk_place::copy_b : store::chunk_place::copy_a;
        if (copies_.can_move(each.chunk, to)) {
            all.relocated.push_back(&each);
            moved.push_back(each.chunk);
            continue;
        }
        const auto taken = has_contents(each.chunk);
        if (!taken)
            return unexpected(taken.why());
        if (*taken || each.in_copy_b)
            return unfit();
        all.fresh.push_back(&each);
        image_bytes = std::max(image_bytes, (each.chunk + 1) * copies_.where().chunk_bytes());
    }
    return image_bytes != record.image_bytes || !copies_.may_all_move(moved) ? unfit() : result<void>();
}

// Chunks must be accepted in the order of their commits, since each may use room in the chunk map.
void replay::take(std::uint64_t version, parts& all) {
    for (const chunk_range& run : all.given_back) {
        for (std::uint64_t chunk = run.first; chunk < run.end(); ++chunk)
            births_[chunk] = version;
    }
    for (const log::placed_chunk* each : all.relocated)
        births_[each->chunk] = version;
    for (const log::placed_chunk* each : all.fresh) {
        if (each->has_contents()) // otherwise the log has their contents, beginning with this record
            births_[each->chunk] = version;
    }
    if (!all.given_back.empty())
        chunks_.accept_given_back(all.given_back, version);
    for (log::placed_chunk* each : all.relocated)
        chunks_.accept_relocated(each->chunk, std::move(each->checksums), version, false);
    for (log::placed_chunk* each : all.fresh)
        chunks_.accept_fresh(each->chunk, std::move(each->checksums), version);
    for (const log::page_entry& change : all.changes) {
        const auto [place_of_page, is_new] = places_.try_emplace(change.page, pages_.size());
        if (is_new)
            pages_.push_back({change.page, 0, 0});
        touched_page& touched = pages_[place_of_page->second];
        ++touched.changes;
        touched.last_version = version;
        changes_.push_back({{version, change.at}, place_of_page->second});
    }
}

result<void> replay::leave_out_what_has_no_place() {
    bool is_all = true;
    for (touched_page& each : pages_) {
        const std::uint64_t chunk = each.index / copies_.where().chunk_pages();
        each.has_place = copies_.is_stored(chunk);
        const auto birth = births_.find(chunk);
        const bool was_given_back = birth != births_.end() && each.last_version <= birth->second;
        is_all = is_all && (each.has_place || was_given_back);
    }
    if (is_all)
        return {};
    return damaged_log(log_path_, 0, "it changes a page that does not exist");
}

result<void> replay::apply(const page_maker& make, const page_sink& sink, const progress_callback& progress) {
    // A counting sort: groups the changes by page without changing their order.
    std::vector<std::size_t> ends;
    std::size_t end = 0;
    for (const touched_page& each : pages_) {
        ends.push_back(end);
        end += each.changes;
    }
    std::vector<page_reference> changes(changes_.size());
    for (const noted_change& each : changes_)
        changes[ends[each.page]++] = each.change;

    const auto birth_of = [&](std::uint64_t page) {
        const auto birth = births_.find(page / copies_.where().chunk_pages());
        return birth != births_.end() ? std::optional(birth->second) : std::nullopt;
    };
    std::vector<std::size_t> pages;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
        const auto birth = birth_of(pages_[i].index);
        if (pages_[i].has_place && (!birth || changes[ends[i] - 1].version > *birth))
            pages.push_back(i);
    }
    std::sort(pages.begin(), pages.end(),
              [&](std::size_t a, std::size_t b) { return pages_[a].index < pages_[b].index; });
    constexpr std::size_t k_batch_pages = 256;
    std::vector<std::byte> bytes(std::min(k_batch_pages, pages.size()) * k_page_bytes);
    std::vector<store::applied_page> batch;
    std::size_t done = 0;
    for (const std::size_t place : pages) {
        const std::uint64_t index = pages_[place].index;
        const std::size_t number = pages_[place].changes;
        const replayed_page page{index, std::span(changes).subspan(ends[place] - number, number), birth_of(index)};
        ++done;

        const auto made = std::span(bytes).subspan(batch.size() * k_page_bytes, k_page_bytes);
        std::fill(made.begin(), made.end(), std::byte{0});
        auto checksum = make(page, made);
        if (!checksum)
            return checksum.error();
        batch.push_back({index, made.data(), *checksum});
        if (batch.size() == k_batch_pages || done == pages.size()) {
            REM_TRY(sink(batch));
            batch.clear();
            if (progress)
                progress(done * k_page_bytes, pages.size() * k_page_bytes);
        }
    }
    return {};
}

} // namespace remanence::recover
