#include "store/checksum_table.hpp"

#include "base/checksum.hpp"

#include <algorithm>
#include <cstring>

namespace remanence::store {

using format::k_inner_children;
using format::k_leaf_pages;
using format::k_node_bytes;
using format::k_node_stride;
using format::node_reference;

namespace {

constexpr std::uint64_t k_node_seed = 0x6e6f6465; // "node"

// Returns the node counts per level, from the leaves up to the single root.
std::vector<std::uint64_t> level_counts(std::uint64_t region_bytes) {
    std::vector<std::uint64_t> counts{divide_up(region_bytes, format::k_leaf_span)};
    while (counts.back() > 1)
        counts.push_back(divide_up(counts.back(), k_inner_children));
    return counts;
}

node_reference child_reference(const std::byte* inner, std::uint64_t child) {
    node_reference reference;
    std::memcpy(&reference, inner + child * sizeof reference, sizeof reference);
    return reference;
}

} // namespace

std::uint64_t node_checksum(std::span<const std::byte> node) {
    std::uint64_t sum = checksum64(node, k_node_seed);
    return sum != 0 ? sum : 1;
}

checksum_table::checksum_table(os::file& file, const format::region& where)
    : file_(file), table_offset_(where.table_offset), root_(where.root) {
    std::uint64_t begin = 0;
    for (std::uint64_t count : level_counts(where.bytes)) {
        level_begin_.push_back(begin);
        begin += count;
    }
    levels_.resize(level_begin_.size());
    leaf_reserved_ = std::vector<bool>(static_cast<std::size_t>(divide_up(where.bytes, format::k_leaf_span)));
}

std::uint64_t checksum_table::file_bytes(std::uint64_t region_bytes) {
    std::uint64_t nodes = 0;
    for (std::uint64_t count : level_counts(region_bytes))
        nodes += count;
    return nodes * k_node_stride;
}

std::uint64_t checksum_table::place(std::size_t level, std::uint64_t index, std::uint32_t slot) const {
    return table_offset_ + (level_begin_[level] + index) * k_node_stride + slot * k_node_bytes;
}

result<node_reference> checksum_table::reference_to(std::size_t level, std::uint64_t index) {
    if (level == top())
        return root_;
    auto parent = load(level + 1, index / k_inner_children);
    if (!parent)
        return parent.error();
    return child_reference((*parent)->bytes.data(), index % k_inner_children);
}

result<checksum_table::node*> checksum_table::load(std::size_t level, std::uint64_t index) {
    if (auto found = levels_[level].find(index); found != levels_[level].end())
        return found->second.get();
    auto reference = reference_to(level, index);
    if (!reference)
        return reference.error();
    auto fresh = std::make_unique_for_overwrite<node>();
    if (reference->checksum == 0) {
        fresh->bytes.fill(std::byte{0});
    } else {
        std::uint64_t at = place(level, index, reference->slot & 1);
        REM_TRY(file_.read(at, fresh->bytes));
        if (reference->slot > 1 || node_checksum(fresh->bytes) != reference->checksum) { // I7
            return fail(errc::corrupt,
                        "the checksum table of " + file_.path() + " is damaged at byte " + std::to_string(at) +
                            ". Restore the heap from a copy.",
                        file_.path(), 0, at);
        }
    }
    return levels_[level].emplace(index, std::move(fresh)).first->second.get();
}

result<std::uint32_t> checksum_table::get(std::uint64_t page) {
    auto leaf = load(0, page / k_leaf_pages);
    if (!leaf)
        return leaf.error();
    std::uint32_t checksum = 0;
    std::memcpy(&checksum, (*leaf)->bytes.data() + page % k_leaf_pages * sizeof checksum, sizeof checksum);
    return checksum;
}

result<void> checksum_table::set(std::uint64_t page, std::uint32_t checksum) {
    auto leaf = load(0, page / k_leaf_pages);
    if (!leaf)
        return leaf.error();
    std::memcpy((*leaf)->bytes.data() + page % k_leaf_pages * sizeof checksum, &checksum, sizeof checksum);
    (*leaf)->changed = true;
    return {};
}

result<void> checksum_table::reserve(std::uint64_t page) {
    std::uint64_t index = page / k_leaf_pages;
    if (leaf_reserved_[index])
        return {};
    for (std::size_t level = 0; level <= top(); ++level, index /= k_inner_children) {
        REM_TRY(file_.reserve("store: reserve checksums", place(level, index, 0), k_node_stride));
    }
    leaf_reserved_[page / k_leaf_pages] = true;
    return {};
}

result<void> checksum_table::take_over() {
    for (std::size_t level = top() + 1; level-- > 0;) {
        const std::uint64_t end = level == top() ? level_begin_[level] + 1 : level_begin_[level + 1];
        for (std::uint64_t index = 0; index < end - level_begin_[level]; ++index) {
            auto reference = reference_to(level, index);
            if (!reference)
                return reference.error();
            if (reference->checksum == 0)
                continue;
            auto loaded = load(level, index);
            if (!loaded)
                return loaded.error();
            (*loaded)->changed = true;
        }
    }
    return {};
}

result<node_reference> checksum_table::take_changed(std::vector<planned_write>& writes) {
    for (std::size_t level = 0; level <= top(); ++level) {
        std::vector<std::uint64_t> changed;
        for (const auto& [index, loaded] : levels_[level]) {
            if (loaded->changed)
                changed.push_back(index);
        }
        std::sort(changed.begin(), changed.end()); // so that the checkpoint writes them in one sweep over the file
        for (std::uint64_t index : changed) {
            node& current = *levels_[level].at(index);
            auto reference = reference_to(level, index);
            if (!reference)
                return reference.error();
            std::uint32_t other = reference->checksum == 0 ? 0 : 1 - reference->slot; // I1
            writes.push_back({place(level, index, other), {current.bytes.begin(), current.bytes.end()}});
            current.changed = false;
            node_reference updated{node_checksum(current.bytes), other, 0};
            if (level == top()) {
                root_ = updated;
                continue;
            }
            auto parent = load(level + 1, index / k_inner_children);
            if (!parent)
                return parent.error();
            std::memcpy((*parent)->bytes.data() + index % k_inner_children * sizeof updated, &updated, sizeof updated);
            (*parent)->changed = true;
        }
    }
    return root_;
}

void checksum_table::walk(const std::function<void(std::uint64_t)>& damaged,
                          const std::function<void(std::uint64_t, std::uint32_t)>& page) const {
    walk_node(top(), 0, root_, damaged, page);
}

void checksum_table::walk_node(std::size_t level, std::uint64_t index, const node_reference& reference,
                               const std::function<void(std::uint64_t)>& damaged,
                               const std::function<void(std::uint64_t, std::uint32_t)>& page) const {
    if (reference.checksum == 0)
        return;
    std::array<std::byte, k_node_bytes> bytes;
    std::uint64_t at = place(level, index, reference.slot & 1);
    auto read = file_.read(at, bytes);
    if (!read || node_checksum(bytes) != reference.checksum)
        return damaged(at);
    if (level > 0) {
        for (std::uint64_t child = 0; child < k_inner_children; ++child) {
            walk_node(level - 1, index * k_inner_children + child, child_reference(bytes.data(), child), damaged, page);
        }
        return;
    }
    for (std::uint64_t i = 0; i < k_leaf_pages; ++i) {
        std::uint32_t checksum = 0;
        std::memcpy(&checksum, bytes.data() + i * sizeof checksum, sizeof checksum);
        if (checksum != 0)
            page(index * k_leaf_pages + i, checksum);
    }
}

} // namespace remanence::store
