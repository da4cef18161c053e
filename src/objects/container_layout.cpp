#include "objects/container_layout.hpp"

#include "base/units.hpp"

#include <remanence/containers/detail/hash_group.hpp>

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace remanence::objects {

using detail::shape_kind;
using types::type_row;

block_layout node_layout(object_builder& builder, const type_row& container) {
    const bool has_pairs = container.shape == shape_kind::tree;
    const block_layout element = builder.element_of(container, has_pairs ? container.numbers[2] : 0);
    const std::uint64_t alignment = std::max(element.alignment, k_word);
    return {align_up(container.numbers[1] + element.bytes, alignment), alignment};
}

hash_node_layout hash_node_layout_of(object_builder& builder, const type_row& container,
                                     std::optional<bool> keeps_hash) {
    const block_layout element = builder.element_of(container, container.numbers[2]);
    const type_row& key = builder.row(container.parts[0].type);
    const std::size_t function = inspect::is_map(container) ? 2 : 1;
    hash_node_layout node{};
    // Nodes store the hash unless the hash function is declared noexcept.
    node.keeps_hash =
        keeps_hash.value_or((key.shape == shape_kind::text || key.shape == shape_kind::text_by_link) &&
                            builder.schema().name_of(container.parts[function].type).starts_with("rem::hash<"));
    node.hash_at = container.numbers[1] + align_up(element.bytes, k_word);
    node.alignment = std::max(element.alignment, k_word);
    node.bytes =
        align_up(node.keeps_hash ? node.hash_at + k_word : container.numbers[1] + element.bytes, node.alignment);
    return node;
}

std::uint64_t buckets_of_hash_chain(std::uint64_t count) {
    if (count == 0)
        return 1;
    std::unordered_set<int> model; // libstdc++ chooses the number of buckets in this model
    model.rehash(count);
    return model.bucket_count();
}

deque_layout deque_layout_of(const type_row& container, std::uint64_t count) {
    constexpr std::uint64_t k_map_least = 8;
    const std::uint64_t blocks = count / container.numbers[2] + 1;
    return {blocks, std::max(k_map_least, blocks + 2)};
}

std::uint64_t elements_of_buckets(std::uint64_t buckets) { return buckets / 16 * 13 + buckets % 16 * 13 / 16; }

hash_table_layout hash_table_layout_of(const type_row& container, std::uint64_t count) {
    constexpr std::uint64_t k_buckets_least = 4;
    hash_table_layout table{};
    table.alignment = std::max<std::uint64_t>(container.numbers[2], detail::k_hash_group);
    table.buckets = std::max(std::bit_ceil(count), k_buckets_least);
    if (elements_of_buckets(table.buckets) < count)
        table.buckets *= 2;
    table.controls = std::max<std::uint64_t>(table.buckets, detail::k_hash_group);
    table.slots_at = align_up(table.controls, table.alignment);
    const std::uint64_t slots = table.buckets - table.buckets / detail::k_hash_group - 1;
    table.bytes = align_up(table.slots_at + slots * container.numbers[0], table.alignment);
    return table;
}

btree_layout::btree_layout(object_builder& builder, const type_row& container)
    : is_(container),
      element_(builder.element_of(container, container.numbers[5])),
      alignment_(std::max(k_word, is_inline() ? element_.alignment : k_word)),
      elements_max_{container.numbers[0]} {}

bool btree_layout::is_sound() const {
    constexpr std::uint64_t k_capacity_max = 65535;
    constexpr std::uint64_t k_slot_bytes_max = std::uint64_t{1} << 20;
    const auto& n = is_.numbers;
    const std::uint64_t slot = is_inline() ? element_.bytes : k_word;
    return capacity() >= 2 && capacity() <= k_capacity_max && n[3] >= slot && n[2] % alignment_ == 0 &&
           n[3] <= k_slot_bytes_max && n[2] <= k_slot_bytes_max && n[4] % k_word == 0 &&
           n[4] >= n[2] + capacity() * n[3] && n[4] <= 2 * k_capacity_max * k_slot_bytes_max &&
           (!is_inline() || n[3] % element_.alignment == 0);
}

block_layout btree_layout::node(std::size_t height, std::uint64_t count, bool is_root) const {
    const auto& n = is_.numbers;
    const std::uint64_t bytes =
        height == 0 ? n[2] + capacity(height, count, is_root) * n[3] : n[4] + (capacity() + 1) * k_word;
    return {align_up(bytes, alignment_), alignment_};
}

std::size_t btree_layout::height_for(std::uint64_t count) {
    while (elements_max_.back() < count)
        elements_max_.push_back(capacity() + (capacity() + 1) * elements_max_.back());
    return elements_max_.size() - 1;
}

std::uint64_t btree_layout::own_elements(std::size_t height, std::uint64_t count) const {
    if (height == 0)
        return count;
    const std::uint64_t below = elements_max_[height - 1];
    return std::max<std::uint64_t>(count / (below + 1), 1);
}

} // namespace remanence::objects
