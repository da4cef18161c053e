#include "view/page_comparer.hpp"

#include "base/checksum.hpp"
#include "base/range.hpp"
#include "base/units.hpp"
#include "view/diff.hpp"

#include <algorithm>
#include <cstring>

namespace remanence::view {

namespace {

constexpr std::uint64_t k_read_bytes = 256 * KiB; // the image is read in parts of this size

} // namespace

void add_if_changed(std::uint64_t page, const std::byte* committed, const std::byte* now, change::change_set& changes) {
    const std::size_t first = changes.ranges.size();
    diff_pages(committed, now, changes.ranges);
    const auto count = static_cast<std::uint32_t>(changes.ranges.size() - first);
    if (count != 0)
        changes.pages.push_back({page, page_checksum({now, k_page_bytes}), count, first});
}

result<void> page_comparer::compare(heap_range pages, const std::byte* now, kept_bytes kept,
                                    change::change_set& changes) {
    const auto kept_of = [&](std::uint64_t offset) {
        return kept == kept_bytes::usable ? written_.tracker().old_bytes(offset) : nullptr;
    };
    for (std::uint64_t at = pages.offset; at < pages.end();) {
        const std::uint64_t page = at / k_page_bytes;
        if (committed_.copy(page) != nullptr) {
            compare_with_copy(page, now + (at - pages.offset), changes);
            at += k_page_bytes;
            continue;
        }
        const std::byte* const old = kept_of(at);
        std::uint64_t end = at + k_page_bytes;
        const std::uint64_t limit = old != nullptr ? end : std::min(pages.end(), at + k_read_bytes);
        while (end < limit && committed_.copy(end / k_page_bytes) == nullptr && kept_of(end) == nullptr)
            end += k_page_bytes;
        REM_TRY(compare_with_image({at, end - at}, now + (at - pages.offset), old, changes));
        at = end;
    }
    return {};
}

result<bool> page_comparer::differs(std::uint64_t page, const std::byte* now) {
    std::vector<std::byte> image;
    const std::byte* committed = committed_.copy(page);
    if (committed == nullptr) {
        image.resize(static_cast<std::size_t>(k_page_bytes));
        REM_TRY(committed_.read_image({page * k_page_bytes, k_page_bytes}, nullptr, image.data()));
        committed = image.data();
    }
    return std::memcmp(committed, now, static_cast<std::size_t>(k_page_bytes)) != 0;
}

void page_comparer::compare_with_copy(std::uint64_t page, const std::byte* now, change::change_set& changes) {
    const std::size_t before = changes.pages.size();
    add_if_changed(page, committed_.copy(page), now, changes);
    if (changes.pages.size() != before && committed_.is_frozen_copy(page))
        committed_.add_before_image_of_frozen(page);
}

// The image's pages become before-images where they differ: their content is committed in any case.
result<void> page_comparer::compare_with_image(heap_range pages, const std::byte* now, const std::byte* kept,
                                               change::change_set& changes) {
    std::byte* image = committed_.allocate_before_images(pages.bytes / k_page_bytes);
    auto read = committed_.read_image(pages, kept, image);
    unchanged_.clear();
    for (std::uint64_t at = pages.offset; at < pages.end(); at += k_page_bytes, image += k_page_bytes) {
        const std::size_t before = changes.pages.size();
        if (read)
            add_if_changed(at / k_page_bytes, image, now + (at - pages.offset), changes);
        if (changes.pages.size() != before) {
            committed_.add_before_image(at / k_page_bytes, image);
        } else {
            unchanged_.push_back(image);
        }
    }
    for (auto each = unchanged_.rbegin(); each != unchanged_.rend(); ++each)
        committed_.discard_before_image(*each);
    return read;
}

} // namespace remanence::view
