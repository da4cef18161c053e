#include "txn/bytes_before.hpp"

#include "base/checksum.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace remanence::txn {

namespace {

void add(heap_range range, const std::byte* content, history::delta& before) {
    if (is_all_zeros({content, static_cast<std::size_t>(range.bytes)}))
        before.add_zeros(range);
    else
        before.add(range, content);
}

bool differ(const std::byte* one, const std::byte* other, std::size_t at) {
    return std::memcmp(one + at, other + at, sizeof(std::uint64_t)) != 0;
}

// R1: the comparison has made a before-image of each of these pages.
void add_pages(view::memory_view& view, const change::change_set& changes, std::uint64_t enough,
               history::delta& before) {
    for (const change::changed_page& page : changes.pages) {
        const std::byte* const committed = view.committed().copy(page.page);
        for (const format::change_range& range : changes.ranges_of(page))
            add({page.page * k_page_bytes + range.offset, range.bytes}, committed + range.offset, before);
        if (before.bytes() > enough)
            return;
    }
}

// Fresh chunks were zeros before. Their pages without a checksum are still zeros, or are among the changed pages.
void add_fresh(const change::change_set& changes, std::uint64_t enough, history::delta& before) {
    for (const change::whole_chunk& chunk : changes.fresh) {
        std::uint64_t page = chunk.chunk * chunk.checksums.size();
        for (const std::uint32_t checksum : chunk.checksums) {
            if (checksum != 0)
                before.add_zeros({page * k_page_bytes, k_page_bytes});
            ++page;
        }
        if (before.bytes() > enough)
            return;
    }
}

// Until the commit is accepted, the image still finds relocated chunks at their former copies.
result<void> add_moved(view::memory_view& view, const change::change_set& changes, std::uint64_t enough,
                       history::delta& before) {
    std::vector<std::byte> read(static_cast<std::size_t>(changes.relocated.empty() ? 0 : k_page_bytes));
    for (const change::whole_chunk& chunk : changes.relocated) {
        const heap_range all = view.memory().range_of(chunk.chunk);
        const std::uint64_t end = std::min(all.end(), view.memory().accessible_bytes());
        for (std::uint64_t at = all.offset; at < end && before.bytes() <= enough; at += k_page_bytes) {
            const std::byte* committed = view.committed().copy(at / k_page_bytes);
            if (committed == nullptr) {
                REM_TRY(view.committed().read_image({at, k_page_bytes}, nullptr, read.data()));
                committed = read.data();
            }
            if (std::memcmp(committed, view.base() + at, static_cast<std::size_t>(k_page_bytes)) != 0)
                add({at, k_page_bytes}, committed, before);
        }
    }
    return {};
}

} // namespace

result<history::delta> bytes_before(view::memory_view& view, const change::change_set& changes, std::uint64_t enough) {
    history::delta before;
    add_pages(view, changes, enough, before);
    add_fresh(changes, enough, before);
    REM_TRY(add_moved(view, changes, enough, before));
    return before;
}

result<history::delta> bytes_before(view::memory_view& view, const view::kept_pages& kept) {
    history::delta before;
    REM_TRY(view.for_each_changed_since(kept, [&](std::uint64_t page, const std::byte* was) {
        const std::byte* const is = view.base() + page * k_page_bytes;
        constexpr auto k_bytes = static_cast<std::size_t>(k_page_bytes);
        for (std::size_t at = 0; at != k_bytes; at += sizeof(std::uint64_t)) {
            const std::size_t first = at;
            while (at != k_bytes && differ(is, was, at))
                at += sizeof(std::uint64_t);
            if (at != first)
                add({page * k_page_bytes + first, at - first}, was + first, before);
            if (at == k_bytes)
                break;
        }
    }));
    return before;
}

} // namespace remanence::txn
