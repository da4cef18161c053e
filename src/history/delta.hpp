// One side of a commit: the bytes that the commit changed, as they were before or after it. Instead of many bytes, a
// delta can be the procedure call that made the commit.
#pragma once

#include "base/range.hpp"
#include "base/units.hpp"
#include "format/history_event.hpp"
#include "history/event.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::history {

/// A procedure that changed memory, and that has an inverse.
struct procedure_call {
    std::string name;
    std::vector<std::byte> parameters;

    [[nodiscard]] std::uint64_t bytes() const { return name.size() + parameters.size() + 2 * sizeof(std::uint64_t); }
};

/// A set of ranges that do not overlap, each within one page; or a call.
class delta {
public:
    delta() = default;
    /// Throws std::bad_alloc.
    explicit delta(procedure_call call) : call_(std::make_shared<const procedure_call>(std::move(call))) {}
    /// Returns the call; null if this delta has bytes. The functions below are for deltas with bytes, unless their
    /// comments mention calls.
    [[nodiscard]] const procedure_call* call() const { return call_.get(); }

    // If these throw std::bad_alloc, the delta is unusable.
    void add(heap_range range, const std::byte* content) {
        content_.insert(content_.end(), content, content + range.bytes);
        pieces_.emplace_back(range, false);
        spanned_bytes_ += range.bytes;
    }
    /// Adds zeros, which take no memory.
    void add_zeros(heap_range range) {
        pieces_.emplace_back(range, true);
        spanned_bytes_ += range.bytes;
    }

    [[nodiscard]] bool is_empty() const { return pieces_.empty() && call_ == nullptr; }
    /// Returns how much memory this delta, or the call, may need. Zeros count like other bytes, since the other side
    /// of the commit may have any bytes there.
    [[nodiscard]] std::uint64_t bytes() const {
        return call_ != nullptr ? call_->bytes() : spanned_bytes_ + pieces_.size() * sizeof(piece);
    }
    /// Returns the pages that the ranges lie in. Adjacent pages are one range.
    [[nodiscard]] std::vector<heap_range> pages() const;

    /// Calls f(heap_range, content) for each range, in no particular order. `content` is null for zeros.
    template <class F>
    void for_each(const F& f) const {
        const std::byte* content = content_.data();
        for (const piece& each : pieces_) {
            f(heap_range{each.offset(), each.bytes()}, each.is_zeros() ? nullptr : content);
            if (!each.is_zeros())
                content += each.bytes();
        }
    }

    /// Returns one delta with the same effect as applying these in order: where they overlap, the last one counts.
    /// Throws std::bad_alloc. O(n log n) in the number of ranges.
    [[nodiscard]] static delta merged(std::span<const delta* const> in_order);
    /// Returns deltas with the same effect as these. Merges all deltas before the first call into one, all between two
    /// calls, and all after the last call.
    [[nodiscard]] static std::list<delta> joined(std::span<const delta* const> in_order);
    /// Returns a delta with the bytes that memory at `base` holds in these ranges. For a call, returns the same call,
    /// since its inverse leads back.
    [[nodiscard]] delta other_side(const std::byte* base) const;
    /// Writes the bytes to memory at `base`.
    void apply(std::byte* base) const noexcept;

    /// Appends the delta, or the call, as a format::history_delta. Throws std::bad_alloc.
    void append_to(event_writer& event) const;
    [[nodiscard]] std::size_t appended_bytes() const {
        return sizeof(format::history_delta) + (call_ != nullptr ? call_->name.size() + call_->parameters.size()
                                                                 : pieces_.size() * sizeof(piece) + content_.size());
    }
    /// Reads the next delta. If that is not valid in a heap of this size, calls from.fail(). Throws std::bad_alloc.
    static delta read(event_reader& from, std::uint64_t heap_bytes);

private:
    /// Packed in eight bytes, since most commits change few words in many places.
    class piece {
    public:
        piece() = default;
        piece(heap_range range, bool is_zeros)
            : packed_(range.offset << k_offset_shift | (is_zeros ? k_is_zeros : 0) | range.bytes) {}
        [[nodiscard]] std::uint64_t offset() const { return packed_ >> k_offset_shift; }
        [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(packed_ & (k_is_zeros - 1)); }
        [[nodiscard]] bool is_zeros() const { return (packed_ & k_is_zeros) != 0; }
        [[nodiscard]] bool is_sound(std::uint64_t heap_bytes) const {
            return bytes() != 0 && offset() % k_page_bytes + bytes() <= k_page_bytes &&
                   offset() + bytes() <= heap_bytes;
        }

    private:
        static constexpr int k_offset_shift = format::k_piece_offset_shift; // addresses have 47 bits
        static constexpr std::uint64_t k_is_zeros = format::k_piece_is_zeros;
        static_assert(k_page_bytes < k_is_zeros);
        std::uint64_t packed_ = 0;
    };

    std::vector<piece> pieces_;
    std::vector<std::byte> content_; // of all pieces that are not zeros, in their order
    std::uint64_t spanned_bytes_ = 0;
    std::shared_ptr<const procedure_call> call_;
};

} // namespace remanence::history
