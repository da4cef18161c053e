#include "view/committed_content.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstring>

namespace remanence::view {

// Joins each chunk's pages, with those between them: the device takes longer for many reads than for long ones.
std::vector<heap_range> committed_content::not_in_memory(std::span<const heap_range> pages) const {
    std::vector<heap_range> asked;
    for (auto first = pages.begin(); first != pages.end();) {
        const std::uint64_t chunk = first->offset / image_.chunk_bytes();
        const auto of_chunk = in_same_chunk(pages, &*first, image_.chunk_bytes());
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        for (const heap_range& range : of_chunk) {
            for (std::uint64_t at = range.offset; at < range.end(); at += k_page_bytes) {
                if (copy(at / k_page_bytes) != nullptr)
                    continue;
                begin = end == 0 ? at : begin;
                end = at + k_page_bytes;
            }
        }
        if (begin != end && image_.is_stored(chunk))
            asked.push_back({begin, end - begin});
        first += static_cast<std::ptrdiff_t>(of_chunk.size());
    }
    return asked;
}

void committed_content::will_read(std::span<const heap_range> pages) {
    constexpr std::uint64_t k_chunks_min = 4;
    const std::vector<heap_range> asked = not_in_memory(pages);
    if (asked.size() < k_chunks_min)
        return;
    for (const heap_range& range : asked)
        image_.will_read(range);
}

std::vector<file_range> committed_content::places_to_read(std::span<const heap_range> pages) const {
    std::vector<file_range> places;
    for (const heap_range& range : not_in_memory(pages))
        places.push_back({image_.copy_of(range.offset), range.bytes});
    return places;
}

bool committed_content::is_copied(std::uint64_t page) const {
    return std::ranges::any_of(copies_, [&](const page_copies* each) { return each->find(page) != nullptr; });
}

bool committed_content::has_copies_in(std::uint64_t chunk) const {
    const heap_range all{chunk * image_.chunk_bytes(), image_.chunk_bytes()};
    return std::ranges::any_of(copies_, [&](const page_copies* each) { return each->has_any_in(all); });
}

const std::byte* committed_content::newest(std::uint64_t page) const {
    for (auto each = copies_.rbegin(); each != copies_.rend(); ++each) {
        if (const std::byte* const copy = (*each)->find(page); copy != nullptr)
            return copy;
    }
    return copy(page);
}

result<void> committed_content::read_image(heap_range pages, const std::byte* kept, std::byte* into) {
    const std::uint64_t page = pages.offset / k_page_bytes;
    if (kept != nullptr) {
        auto checksum = image_.checksum_of(page);
        if (!checksum)
            return checksum.error();
        std::memcpy(into, kept, k_page_bytes);
        if (*checksum != 0 && page_checksum({into, k_page_bytes}) == *checksum)
            return {};
    }
    return image_.read_pages(page, {into, static_cast<std::size_t>(pages.bytes)});
}

// A page of zeros has a checksum in the image if a change in the log wrote the zeros.
result<bool> committed_content::is_as_in_image(std::uint64_t page, std::span<const std::byte> bytes,
                                               std::uint32_t checksum) {
    auto committed = image_.checksum_of(page);
    if (!committed)
        return committed.error();
    return *committed == checksum || (checksum == 0 && *committed == page_checksum(bytes));
}

void committed_content::add_before_image_of_frozen(std::uint64_t page) {
    std::byte* const before_image = before_images_.allocate(1);
    std::memcpy(before_image, frozen_.find(page), k_page_bytes);
    before_images_.insert(page, before_image);
}

void committed_content::renew(const change::change_set& changes, const page_source& from) {
    for (const change::whole_chunk& fresh : changes.fresh) {
        if (fresh.has_contents())
            before_images_.forget(fresh.chunk); // zeros, which a failed commit may have added in order to log changes
    }
    for (const change::changed_page& changed : changes.pages) {
        std::byte* const before_image = before_images_.find(changed.page);
        const std::byte* const now = from.of(changed.page);
        for (const format::change_range& range : changes.ranges_of(changed))
            std::memcpy(before_image + range.offset, now + range.offset, range.bytes);
        before_images_.set_checksum(changed.page, changed.checksum);
    }
}

void committed_content::renew_declared(change::change_set& changes, const std::byte* base) {
    for (change::changed_page& changed : changes.pages) {
        if (changed.checksum != change::changed_page::k_to_be_made)
            continue;
        std::byte* const before_image = before_images_.find(changed.page);
        for (const format::change_range& range : changes.ranges_of(changed))
            std::memcpy(before_image + range.offset, base + changed.page * k_page_bytes + range.offset, range.bytes);
        changed.checksum = page_checksum({before_image, k_page_bytes});
    }
    renew(changes, page_source(base));
}

void committed_content::take(std::uint64_t page, const std::byte* bytes, std::uint32_t checksum) {
    std::byte* before_image = before_images_.find(page);
    if (before_image == nullptr) {
        before_image = before_images_.allocate(1);
        before_images_.insert(page, before_image);
    }
    std::memcpy(before_image, bytes, k_page_bytes);
    before_images_.set_checksum(page, checksum);
}

std::vector<store::applied_page> committed_content::before_image_pages() const {
    REM_CHECK(frozen_is_in_image_ || frozen_.is_empty());
    return before_images_.sorted();
}

void committed_content::freeze() {
    REM_CHECK(frozen_.is_empty());
    ++drops_;
    frozen_.clear(); // frees the memory even if there are no before-images
    before_images_.freeze_into(frozen_);
    frozen_is_in_image_ = false;
    frozen_pages_ = frozen_.sorted(); // computed now, so that no later call allocates
}

void committed_content::drop_frozen() {
    frozen_pages_.clear();
    frozen_.clear();
}

void committed_content::drop_all_but(std::span<const std::uint64_t> newer) {
    REM_CHECK(frozen_.is_empty());
    ++drops_;
    before_images kept(before_image_memory_, image_.chunk_pages());
    for (const store::applied_page& before_image : before_images_.sorted()) {
        if (!std::ranges::binary_search(newer, before_image.page))
            continue;
        std::byte* const copy = kept.allocate(1);
        std::memcpy(copy, before_image.bytes, k_page_bytes);
        kept.insert(before_image.page, copy);
        kept.set_checksum(before_image.page, before_image.checksum);
    }
    before_images_.clear();
    before_images_.take(kept);
}

void committed_content::drop_all() {
    ++drops_;
    drop_frozen();
    before_images_.clear();
    before_image_memory_.trim();
}

} // namespace remanence::view
