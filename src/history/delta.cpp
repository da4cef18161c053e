#include "history/delta.hpp"

#include "base/checksum.hpp"
#include "history/painted_page.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

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
    if (call_ != nullptr)
        return *this;
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

delta delta::merged(std::span<const delta* const> in_order) {
    struct part {
        heap_range range;
        const std::byte* content;
        std::size_t order;
        [[nodiscard]] std::uint64_t page() const { return range.offset / k_page_bytes; }
    };
    std::vector<part> parts;
    std::size_t pieces = 0;
    for (const delta* each : in_order)
        pieces += each->pieces_.size();
    parts.reserve(pieces);
    for (std::size_t order = 0; order != in_order.size(); ++order)
        in_order[order]->for_each(
            [&](heap_range range, const std::byte* content) { parts.push_back({range, content, order}); });
    std::ranges::sort(parts, {},
                      [](const part& each) { return std::tuple(each.page(), each.order, each.range.offset); });

    delta all;
    const auto add = [&](heap_range range, const std::byte* content) {
        if (content == nullptr || is_all_zeros({content, static_cast<std::size_t>(range.bytes)}))
            all.add_zeros(range);
        else
            all.add(range, content);
    };
    painted_page painted;
    for (auto first = parts.begin(); first != parts.end();) {
        const auto end =
            std::find_if(first, parts.end(), [&](const part& each) { return each.page() != first->page(); });
        if (first->order == std::prev(end)->order) { // ranges of one delta do not overlap
            for (; first != end; ++first)
                add(first->range, first->content);
            continue;
        }
        painted.clear();
        const std::uint64_t page = align_down(first->range.offset, k_page_bytes);
        for (; first != end; ++first)
            painted.paint({first->range.offset - page, first->range.bytes}, first->content);
        painted.for_each_run(
            [&](heap_range run, const std::byte* content) { add({page + run.offset, run.bytes}, content); });
    }
    return all;
}

std::list<delta> delta::joined(std::span<const delta* const> in_order) {
    std::list<delta> all;
    for (auto first = in_order.begin(); first != in_order.end();) {
        if ((*first)->call() != nullptr) {
            all.push_back(**first++);
            continue;
        }
        const auto end = std::find_if(first, in_order.end(), [](const delta* each) { return each->call() != nullptr; });
        all.push_back(merged({first, end}));
        first = end;
    }
    return all;
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

void delta::append_to(event_writer& event) const {
    if (call_ != nullptr) {
        event.add(format::history_delta{call_->name.size() | format::k_is_call, call_->parameters.size()});
        event.add_text(call_->name);
        event.add(call_->parameters.data(), call_->parameters.size());
        return;
    }
    event.add(format::history_delta{pieces_.size(), content_.size()});
    event.add(pieces_.data(), pieces_.size() * sizeof(piece));
    event.add(content_.data(), content_.size());
}

namespace {

delta read_call(event_reader& from, const format::history_delta& counts) {
    procedure_call call;
    call.name = from.take_text(counts.piece_count & ~format::k_is_call);
    const auto parameters = from.take(counts.content_bytes);
    call.parameters.assign(parameters.begin(), parameters.end());
    if (call.name.empty())
        from.fail();
    return delta(std::move(call));
}

} // namespace

// I7: checks that each piece lies within a page of the heap, and that its bytes are in the event. Before memory is
// allocated, the counts are checked against the number of bytes left in the event.
delta delta::read(event_reader& from, std::uint64_t heap_bytes) {
    delta found;
    const auto counts = from.take<format::history_delta>();
    if ((counts.piece_count & format::k_is_call) != 0)
        return read_call(from, counts);
    if (counts.piece_count > from.bytes_left() / sizeof(piece) || counts.content_bytes > from.bytes_left()) {
        from.fail();
        return found;
    }
    const auto pieces = from.take(counts.piece_count * sizeof(piece));
    const auto content = from.take(counts.content_bytes);
    if (from.has_failed())
        return found;
    found.pieces_.resize(static_cast<std::size_t>(counts.piece_count));
    if (!pieces.empty())
        std::memcpy(found.pieces_.data(), pieces.data(), pieces.size());
    found.content_.assign(content.begin(), content.end());
    std::uint64_t content_bytes = 0;
    for (const piece& each : found.pieces_) {
        if (!each.is_sound(heap_bytes))
            from.fail();
        found.spanned_bytes_ += each.bytes();
        content_bytes += each.is_zeros() ? 0 : each.bytes();
    }
    if (content_bytes != content.size())
        from.fail();
    return found;
}

} // namespace remanence::history
