#include "log/replay.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <unordered_set>

namespace remanence::log {

namespace {

struct placed_chunk {
    std::uint64_t chunk;
    std::vector<std::uint32_t> checksums;
};

} // namespace

std::uint32_t changed_page::apply(std::span<std::byte> page, std::uint32_t before) const {
    std::uint32_t checksum = before;
    for (const page_reference& change : changes) {
        if (birth && change.version <= *birth)
            continue; // R3
        apply_ranges(change.entry, page.data());
        checksum = change.entry.checksum;
    }
    return checksum;
}

result<void> replay::add(const scanned_record& record, const contents_query& has_contents) {
    auto unfit = [&] { return damaged_log(log_path_, record.offset, "its contents do not fit the heap"); };
    if (record.image_bytes > store_.region_bytes() || !is_aligned(record.image_bytes, store_.chunk_bytes()))
        return unfit();
    std::vector<placed_chunk> fresh;
    std::vector<page_reference> changes;
    const auto place = [&](std::uint64_t chunk, std::vector<std::uint32_t> checksums) {
        fresh.push_back({chunk, std::move(checksums)});
    };
    const auto note = [&](const page_entry& entry) { changes.push_back({record.version, entry, 0}); };
    if (!for_each_part(record.bytes, store_.chunk_pages(), place, note))
        return unfit();
    std::uint64_t image_bytes = store_.image_bytes();
    std::unordered_set<std::uint64_t> placed;
    for (const placed_chunk& each : fresh) {
        const auto taken = has_contents(each.chunk);
        if (!taken)
            return unexpected(taken.why());
        if (*taken || !placed.insert(each.chunk).second)
            return unfit();
        image_bytes = std::max(image_bytes, (each.chunk + 1) * store_.chunk_bytes());
    }
    if (image_bytes != record.image_bytes)
        return unfit();
    for (placed_chunk& each : fresh) {
        store_.accept_fresh(each.chunk, std::move(each.checksums), record.version);
        births_[each.chunk] = record.version;
    }
    for (page_reference& change : changes) {
        std::size_t& newest = newest_[change.entry.page];
        change.before = newest;
        changes_.push_back(change);
        newest = changes_.size();
    }
    return {};
}

result<void> replay::leave_out_what_has_no_place() {
    const auto has_no_place = [&](const auto& page) { return !store_.is_stored(page.first / store_.chunk_pages()); };
    if (std::erase_if(newest_, has_no_place) == 0)
        return {};
    return damaged_log(log_path_, 0, "it changes a page that does not exist");
}

result<void> replay::fold(const page_maker& make, const page_sink& sink, const progress_callback& progress) {
    std::vector<std::pair<std::uint64_t, std::size_t>> pages(newest_.begin(), newest_.end());
    std::sort(pages.begin(), pages.end());
    constexpr std::size_t k_batch_pages = 256;
    std::vector<std::byte> bytes(std::min(k_batch_pages, pages.size()) * k_page_bytes);
    std::vector<store::folded_page> batch;
    std::vector<page_reference> changes; // of one page
    std::size_t done = 0;
    for (const auto& [index, newest] : pages) {
        changes.clear();
        for (std::size_t number = newest; number != 0; number = changes.back().before)
            changes.push_back(changes_[number - 1]);
        std::reverse(changes.begin(), changes.end());
        changed_page page{index, changes, {}};
        if (const auto birth = births_.find(index / store_.chunk_pages()); birth != births_.end())
            page.birth = birth->second;
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

} // namespace remanence::log
