#include "history/delta.hpp"

#include "base/checksum.hpp"

#include <cstring>

namespace remanence::history {

std::vector<heap_range> delta::pages() const {
    std::vector<heap_range> found;
    for (const piece& each : pieces_) {
        const std::uint64_t page = align_down(each.offset(), k_page_bytes);
        if (!found.empty() && page < found.back().end() && page >= found.back().offset)
            continue;
        if (!found.empty() && page == found.back().end())
            found.back().bytes += k_page_bytes;
        else
            found.push_back({page, k_page_bytes});
    }
    return found;
}

delta delta::other_side(const std::byte* base) const {
    delta other;
    std::size_t contents = 0;
    for (const piece& each : pieces_)
        contents += is_all_zeros({base + each.offset(), each.bytes()}) ? 0 : each.bytes();
    other.pieces_.reserve(pieces_.size());
    other.content_.reserve(contents);
    for (const piece& each : pieces_) {
        const heap_range range{each.offset(), each.bytes()};
        if (is_all_zeros({base + range.offset, each.bytes()}))
            other.add_zeros(range);
        else
            other.add(range, base + range.offset);
    }
    return other;
}

void delta::apply(std::byte* base) const noexcept {
    const std::byte* content = content_.data();
    for (const piece& each : pieces_) {
        if (each.is_zeros()) {
            std::memset(base + each.offset(), 0, each.bytes());
            continue;
        }
        std::memcpy(base + each.offset(), content, each.bytes());
        content += each.bytes();
    }
}

} // namespace remanence::history
