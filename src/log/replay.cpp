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
    const auto note = [&](const page_entry& entry) { changes.push_back({record.version, entry}); };
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
    changes_.insert(changes_.end(), changes.begin(), changes.end());
    return {};
}

result<void> replay::leave_out_what_has_no_place() {
    const auto has_no_place = [&](const page_reference& change) {
        return !store_.is_stored(change.entry.page / store_.chunk_pages());
    };
    if (std::erase_if(changes_, has_no_place) == 0)
        return {};
    return damaged_log(log_path_, 0, "it changes a page that does not exist");
}

result<void> replay::fold(const page_maker& make, const page_sink& sink, const progress_callback& progress) {
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const page_reference& a, const page_reference& b) { return a.entry.page < b.entry.page; });
    constexpr std::size_t k_batch_pages = 256;
    std::vector<std::byte> bytes(std::min(k_batch_pages, changes_.size()) * k_page_bytes);
    std::vector<store::folded_page> batch;
    for (std::size_t i = 0; i < changes_.size();) {
        const std::uint64_t index = changes_[i].entry.page;
        std::size_t end = i;
        while (end < changes_.size() && changes_[end].entry.page == index)
            ++end;
        changed_page page{index, std::span(changes_).subspan(i, end - i), {}};
        if (const auto birth = births_.find(index / store_.chunk_pages()); birth != births_.end())
            page.birth = birth->second;
        i = end;

        const auto made = std::span(bytes).subspan(batch.size() * k_page_bytes, k_page_bytes);
        std::fill(made.begin(), made.end(), std::byte{0});
        auto checksum = make(page, made);
        if (!checksum)
            return checksum.error();
        batch.push_back({index, made.data(), *checksum});
        if (batch.size() == k_batch_pages || i == changes_.size()) {
            REM_TRY(sink(batch));
            batch.clear();
            if (progress)
                progress(i * k_page_bytes, changes_.size() * k_page_bytes);
        }
    }
    return {};
}

} // namespace remanence::log
