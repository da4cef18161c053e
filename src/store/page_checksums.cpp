#include "store/page_checksums.hpp"

#include "base/assert.hpp"
#include "base/range.hpp"

#include <utility>

namespace remanence::store {

page_checksums::page_checksums(os::file& file, const format::superblock& current, const chunk_copies& copies)
    : file_(file), current_(current), layout_(current), copies_(copies) {
    for (std::size_t i = 0; i < current.region_count; ++i)
        tables_.emplace_back(file, current.regions[i]);
}

result<std::uint32_t> page_checksums::of(std::uint64_t page) {
    const std::uint64_t chunk = page / layout_.chunk_pages();
    if (!copies_.is_stored(chunk))
        return std::uint32_t{0};
    if (auto found = unpublished_.find(chunk); found != unpublished_.end())
        return found->second[page % layout_.chunk_pages()];
    const std::size_t region = layout_.region_index(page * k_page_bytes);
    return tables_[region].get(layout_.page_in_region(page, region));
}

result<bool> page_checksums::has_contents(std::uint64_t chunk) {
    if (!copies_.is_stored(chunk))
        return false;
    const page_range pages = layout_.pages_of_chunk(chunk);
    for (std::uint64_t page = pages.first; page < pages.end(); ++page) {
        auto checksum = of(page);
        if (!checksum)
            return checksum.error();
        if (*checksum != 0)
            return true;
    }
    return false;
}

result<void> page_checksums::set(std::uint64_t page, std::uint32_t checksum) {
    if (auto found = unpublished_.find(page / layout_.chunk_pages()); found != unpublished_.end()) {
        found->second[page % layout_.chunk_pages()] = checksum;
        return {};
    }
    const std::size_t region = layout_.region_index(page * k_page_bytes);
    return tables_[region].set(layout_.page_in_region(page, region), checksum);
}

void page_checksums::add_fresh(std::uint64_t chunk, std::vector<std::uint32_t> checksums) {
    REM_CHECK(checksums.size() == layout_.chunk_pages());
    unpublished_.emplace(chunk, std::move(checksums));
}

void page_checksums::replace(std::uint64_t chunk, std::vector<std::uint32_t> checksums) {
    REM_CHECK(checksums.size() == layout_.chunk_pages());
    unpublished_.insert_or_assign(chunk, std::move(checksums));
}

result<void> page_checksums::reserve(std::uint64_t page) {
    const std::size_t region = layout_.region_index(page * k_page_bytes);
    return tables_[region].reserve(layout_.page_in_region(page, region));
}

void page_checksums::add_region() { tables_.emplace_back(file_, current_.regions[current_.region_count - 1]); }

result<void> page_checksums::publish_chunks() {
    for (const auto& [chunk, checksums] : unpublished_) {
        const std::uint64_t first = layout_.pages_of_chunk(chunk).first;
        const std::size_t region = layout_.region_index(first * k_page_bytes);
        const std::uint64_t in_region = layout_.page_in_region(first, region);
        for (std::size_t i = 0; i < checksums.size(); ++i) {
            auto before = tables_[region].get(in_region + i);
            if (!before)
                return before.error();
            if (checksums[i] != *before)
                REM_TRY(tables_[region].set(in_region + i, checksums[i]));
        }
    }
    unpublished_.clear();
    return {};
}

result<void> page_checksums::take_changed(std::vector<planned_write>& writes, format::superblock& next) {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        auto root = tables_[i].take_changed(writes);
        if (!root)
            return root.error();
        next.regions[i].root = *root;
    }
    return {};
}

result<void> page_checksums::take_over() {
    for (checksum_table& table : tables_)
        REM_TRY(table.take_over());
    return {};
}

} // namespace remanence::store
