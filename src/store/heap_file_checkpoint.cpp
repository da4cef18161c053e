// A checkpoint: composed, carried out by whoever has time, and adopted.

#include "store/heap_file.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <algorithm>
#include <utility>

namespace remanence::store {

using format::superblock;

result<void> heap_file::fold(std::span<const folded_page> pages) {
    std::vector<placed_page> placed;
    placed.reserve(pages.size());
    for (const folded_page& page : pages) {
        REM_TRY(set_checksum(page.page, page.checksum));
        placed.push_back({home_of(page.page * k_page_bytes), page.bytes});
    }
    std::vector<std::byte> staging;
    for (std::span<const placed_page> rest(placed); !rest.empty();) {
        auto count = write_run(*file_, rest, publication::k_step_bytes, staging);
        if (!count)
            return count.error();
        rest = rest.subspan(*count);
    }
    return {};
}

result<void> heap_file::take_fresh_checksums() {
    for (const auto& [chunk, checksums] : fresh_) {
        std::uint64_t first = chunk * chunk_pages();
        std::size_t index = region_index(first * k_page_bytes);
        std::uint64_t in_region = first - super_.regions[index].heap_offset / k_page_bytes;
        for (std::size_t i = 0; i < checksums.size(); ++i) {
            auto before = tables_[index].get(in_region + i);
            if (!before)
                return before.error();
            if (checksums[i] != *before)
                REM_TRY(tables_[index].set(in_region + i, checksums[i]));
        }
    }
    fresh_.clear();
    return {};
}

result<std::unique_ptr<publication>> heap_file::compose(std::span<const folded_page> pages,
                                                        const published_state& state) {
    REM_CHECK(!state.clean || state.log_begin == format::k_log_header_bytes);
    REM_CHECK(confirmed_ && !is_publishing_);
    is_ahead_of_file_ = true;
    REM_TRY(take_fresh_checksums());
    std::vector<placed_page> placed;
    placed.reserve(pages.size());
    for (const folded_page& page : pages) {
        REM_TRY(set_checksum(page.page, page.checksum));
        placed.push_back({home_of(page.page * k_page_bytes), page.bytes});
    }
    superblock next = super_;
    std::vector<planned_write> nodes;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        auto root = tables_[i].take_changed(nodes);
        if (!root)
            return root.error();
        next.regions[i].root = *root;
    }
    std::optional<planned_write> map_write;
    if (map_.changed()) {
        chunk_map::placed map = map_.place(next_map_area_);
        next.map = map.reference;
        if (!map.write.bytes.empty())
            map_write = std::move(map.write);
    }
    next.checkpoint_version = state.version;
    next.chain = state.chain;
    next.epoch = state.session.epoch;
    next.session = state.session.number;
    next.log_begin = state.log_begin;
    next.image_bytes = image_bytes_;
    next.flags = state.clean ? format::k_flag_clean : 0;
    auto sealed = numbered(next);
    if (!sealed)
        return sealed.error();
    auto composed = std::make_unique<publication>(*file_, syncs_, std::move(placed), std::move(nodes),
                                                  std::move(map_write), *sealed);
    is_publishing_ = true;
    return composed;
}

void heap_file::adopt(const publication& done) {
    REM_CHECK(is_publishing_ && done.is_done());
    is_publishing_ = is_ahead_of_file_ = false;
    // Else reserve_map() has found a larger area meanwhile.
    if (next_map_area_.area_offset == done.next().map.area_offset)
        next_map_area_ = done.next().map;
    super_ = done.next();
    newly_retired_ = static_cast<std::uint64_t>(std::ranges::count_if(
        retired_, [&](const auto& each) { return each.second.version > super_.checkpoint_version; }));
}

result<void> heap_file::publish(std::uint64_t version, std::uint64_t chain, const session_identity& session, bool clean,
                                std::uint64_t log_begin) {
    REM_TRY(confirm());
    auto composed = compose({}, {version, chain, session, clean, log_begin});
    if (!composed)
        return composed.error();
    auto carried = (*composed)->carry_out();
    if (carried)
        adopt(**composed);
    is_publishing_ = false;
    return carried;
}

// What was read when the heap was opened may have been in the page cache only: its writer may have died, or its sync
// may have failed, which leaves pages that count as clean (I5). So it is written again, not just synced.
result<void> heap_file::confirm() {
    if (confirmed_)
        return {};
    REM_TRY(file_->write("store: confirm superblock", super_.sequence % 2 * format::k_superblock_bytes,
                         std::as_bytes(std::span(&super_, 1))));
    REM_TRY(syncs_.sync("store: sync confirmed superblock"));
    confirmed_ = true;
    return {};
}

result<superblock> heap_file::numbered(superblock next) const {
    ++next.sequence;
    const std::uint64_t place = next.sequence % 2;
    if (!has_sound_numbers(next)) {
        return fail(errc::corrupt,
                    "the superblock of " + path() +
                        " has numbers that no use leads to, so that none can follow it. Restore the heap from a copy.",
                    path(), 0, (1 - place) * format::k_superblock_bytes);
    }
    next.checksum = superblock_checksum(next, place);
    return next;
}

result<void> heap_file::take_over_structure() {
    for (checksum_table& table : tables_)
        REM_TRY(table.take_over());
    map_.take_over();
    return {};
}

} // namespace remanence::store
