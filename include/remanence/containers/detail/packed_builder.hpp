// Builds new leaves and separators of packed maps. The leaves from which it copies do not change. Depends on the
// standard library only.
#pragma once

#include <remanence/containers/detail/packed_leaf.hpp>
#include <remanence/containers/detail/packed_tree.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace remanence::detail {

[[nodiscard]] inline std::size_t packed_marked_bytes(const packed_record& one) noexcept {
    return one.bytes() + packed_leaf::k_mark_bytes;
}

/// The records of a leaf and one more, numbered in their final order.
struct packed_leaf_and_one {
    const packed_leaf& leaf;
    std::size_t index;
    const packed_record& added;

    [[nodiscard]] std::size_t count() const noexcept { return leaf.count() + 1; }
    [[nodiscard]] packed_record record(std::size_t i) const noexcept {
        return i < index ? leaf.record(i) : i == index ? added : leaf.record(i - 1);
    }
    [[nodiscard]] std::size_t live_bytes(std::size_t from, std::size_t to) const noexcept {
        std::size_t live = 0;
        for (; from != to; ++from)
            live += packed_marked_bytes(record(from));
        return live;
    }
    /// Returns the index of the first record of the second half, counted in bytes. The second half has at least one
    /// record.
    [[nodiscard]] std::size_t middle() const noexcept {
        const std::size_t half = (leaf.live_bytes() + packed_marked_bytes(added)) / 2;
        std::size_t first = 1;
        for (std::size_t live = packed_marked_bytes(record(0)); live < half && first + 1 != count(); ++first)
            live += packed_marked_bytes(record(first));
        return first;
    }
};

/// Its functions throw std::bad_alloc.
template <class Alloc>
class packed_builder {
    using trees = packed_tree<Alloc>;
    using block = typename trees::block;
    using separator = typename trees::separator;
    using allocator = typename trees::type::allocator_type;

public:
    explicit packed_builder(const allocator& alloc) noexcept : alloc_(alloc) {}

    /// Returns a block for `live_bytes` of records and marks, with up to `spare_bytes` free.
    [[nodiscard]] block block_for(std::size_t live_bytes, std::size_t spare_bytes) const {
        constexpr std::size_t unit = 8; // PL2
        const std::size_t least = packed_leaf::k_header_bytes + live_bytes;
        const std::size_t most = std::max(least, k_packed_leaf_bytes);
        std::size_t bytes = (std::min(least + spare_bytes, most) + unit - 1) / unit * unit;
        if (bytes < k_packed_leaf_bytes && bytes > k_packed_leaf_bytes - k_packed_leaf_bytes / 8)
            bytes = k_packed_leaf_bytes; // the heap allocates a page for a block of this size
        return block(bytes, alloc_);
    }
    /// Returns how many bytes to leave free in a leaf that grows: an eighth. So each record is copied about eight times
    /// while its leaf grows.
    [[nodiscard]] static std::size_t spare(std::size_t live_bytes) noexcept { return live_bytes / 8; }
    [[nodiscard]] block leaf_of(const packed_record& only) const {
        block made = block_for(packed_marked_bytes(only), 0);
        packed_leaf_writer to(made.data(), made.size());
        to.add(only, packed_mark_of(only.key));
        to.finish();
        return made;
    }
    /// Builds a leaf of records [from, to) of `all`, followed by all records of `next`, unless that is null.
    [[nodiscard]] block leaf_of(const packed_leaf& all, std::size_t from, std::size_t to,
                                const packed_leaf* next = nullptr) const {
        std::size_t live = next == nullptr ? 0 : next->live_bytes();
        if (to - from == all.count()) {
            live += all.live_bytes();
        } else {
            for (std::size_t i = from; i != to; ++i)
                live += all.record_bytes(i) + packed_leaf::k_mark_bytes;
        }
        block made = block_for(live, spare(live));
        packed_leaf_writer writer(made.data(), made.size());
        writer.add(all, from, to);
        if (next != nullptr)
            writer.add(*next, 0, next->count());
        writer.finish();
        return made;
    }

    [[nodiscard]] block leaf_of(const packed_leaf_and_one& all, std::size_t from, std::size_t to, std::size_t live,
                                std::size_t spare_bytes) const {
        block made = block_for(live, spare_bytes);
        packed_leaf_writer writer(made.data(), made.size());
        writer.add(all.leaf, from, std::clamp(all.index, from, to));
        if (from <= all.index && all.index < to)
            writer.add(all.added, packed_mark_of(all.added.key));
        if (to > all.index + 1)
            writer.add(all.leaf, std::max(from, all.index + 1) - 1, to - 1);
        writer.finish();
        return made;
    }
    /// Returns the shortest separator that PK1 allows between two keys.
    [[nodiscard]] separator between(std::string_view left, std::string_view right) const {
        const auto common = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first - left.begin();
        return separator_of(right.substr(0, static_cast<std::size_t>(common) + 1));
    }
    [[nodiscard]] separator separator_of(std::string_view text) const {
        return {text_head(text), decltype(separator::text)(text, alloc_)};
    }

private:
    allocator alloc_;
};

} // namespace remanence::detail
