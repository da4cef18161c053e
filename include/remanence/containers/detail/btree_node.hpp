// The nodes of our B-trees, which are part of the file format. Depends on the standard library only.
//
//  BN1  A node is a header and `capacity` slots, of which the first `count` hold elements. An inner node, whose height
//       is not 0, also has the distances to count + 1 children. Nothing in a node depends on its address: its parent is
//       a link, and a child is a distance from the node.
//  BN2  A slot holds the element itself if the element is_self_contained() and has at most k_btree_inline_bytes.
//       Otherwise the slot is a link to a block with the element, and the element never moves.
//  BN3  Moving elements between slots never throws and writes nothing outside the slots (element_slot.hpp). So an
//       insertion cannot fail after it has allocated memory and constructed the element.
#pragma once

#include <remanence/containers/detail/element_slot.hpp>
#include <remanence/containers/detail/link.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace remanence::detail {

/// The number of this layout, in the fingerprint of each type that has such a container. A change of nodes or of the
/// members of `btree` needs a new number. The number of slots, and whether they hold elements or links, are in the
/// fingerprint, too.
inline constexpr unsigned k_btree_layout = 2;

/// Chosen by measurements with bench/btree: see bench/results/design-choices.md.
inline constexpr std::size_t k_btree_node_bytes = 512;
inline constexpr std::size_t k_btree_slots_least = 8; // a node has at least so many if `NodeBytes` is 0
inline constexpr std::size_t k_btree_inline_bytes = 256;

struct btree_node {
    link<btree_node> parent;    // null in the root
    std::uint16_t count = 0;    // elements
    std::uint16_t capacity = 0; // slots; only a root that is a leaf may have fewer than other nodes
    std::uint16_t height = 0;   // 0 in a leaf
    std::uint16_t reserved = 0;
};
static_assert(sizeof(btree_node) == 16 && offsetof(btree_node, count) == 8 && offsetof(btree_node, height) == 12);

/// The properties of a tree's nodes that depend on the element type. `NodeBytes` is the size of a leaf; 0 chooses it
/// here.
template <class Value, std::size_t NodeBytes>
struct btree_nodes : element_slot<Value, k_btree_inline_bytes> {
    using slots = element_slot<Value, k_btree_inline_bytes>;
    using node = btree_node;
    using slots::at;
    using slots::k_is_inline;
    using slots::k_slot_bytes;
    using slots::move;
    using typename slots::slot_type;

    static constexpr std::size_t k_alignment = std::max(alignof(btree_node), alignof(slot_type));
    static constexpr std::size_t k_slots_offset =
        (sizeof(btree_node) + alignof(slot_type) - 1) / alignof(slot_type) * alignof(slot_type);

    static constexpr std::size_t k_capacity =
        NodeBytes != 0
            ? std::clamp<std::size_t>((std::max(NodeBytes, k_slots_offset) - k_slots_offset) / k_slot_bytes, 4, 32'000)
            : std::max((k_btree_node_bytes - k_slots_offset) / k_slot_bytes, k_btree_slots_least);
    /// A node with fewer elements receives some from a neighbour, or is joined with it.
    static constexpr std::size_t k_count_least = k_capacity / 2;
    /// The capacity of a tree's first leaf. A root that is a leaf grows by doubling its capacity.
    static constexpr std::size_t k_capacity_first = std::clamp<std::size_t>(48 / k_slot_bytes, 1, k_capacity);

    /// The unit in which nodes are allocated.
    struct alignas(k_alignment) unit {
        std::byte bytes[k_alignment];
    };
    static constexpr std::size_t units(std::size_t bytes) { return (bytes + sizeof(unit) - 1) / sizeof(unit); }
    static constexpr std::size_t leaf_units(std::size_t capacity) {
        return units(k_slots_offset + capacity * k_slot_bytes);
    }
    static constexpr std::size_t k_children_offset =
        (k_slots_offset + k_capacity * k_slot_bytes + alignof(std::int64_t) - 1) / alignof(std::int64_t) *
        alignof(std::int64_t);
    static constexpr std::size_t k_inner_units = units(k_children_offset + (k_capacity + 1) * sizeof(std::int64_t));

    [[nodiscard]] static std::size_t units_of(const node* n) noexcept {
        return n->height == 0 ? leaf_units(n->capacity) : k_inner_units;
    }
    [[nodiscard]] static std::size_t bytes_of(const node* n) noexcept { return units_of(n) * sizeof(unit); }

    [[nodiscard]] static void* slot(node* n, std::size_t index) noexcept {
        return reinterpret_cast<std::byte*>(n) + k_slots_offset + index * k_slot_bytes;
    }
    [[nodiscard]] static Value& value(node* n, std::size_t index) noexcept { return *at(slot(n, index)); }

    [[nodiscard]] static std::int64_t* children(node* n) noexcept {
        return reinterpret_cast<std::int64_t*>(reinterpret_cast<std::byte*>(n) + k_children_offset);
    }
    [[nodiscard]] static node* child(node* n, std::size_t index) noexcept {
        return reinterpret_cast<node*>(reinterpret_cast<std::uintptr_t>(n) +
                                       static_cast<std::uintptr_t>(children(n)[index]));
    }
    /// Sets the links in both directions; so it writes to `c`, too.
    static void set_child(node* n, std::size_t index, node* c) noexcept {
        children(n)[index] =
            static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(c) - reinterpret_cast<std::uintptr_t>(n));
        c->parent.set(n);
    }
    [[nodiscard]] static std::size_t index_of(node* n, const node* c) noexcept {
        const auto distance =
            static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(c) - reinterpret_cast<std::uintptr_t>(n));
        const std::int64_t* const all = children(n);
        std::size_t index = 0;
        while (all[index] != distance)
            ++index;
        return index;
    }

    /// Moves `count` elements between two nodes or within one, where the ranges may overlap.
    static void move(node* from, std::size_t first, node* to, std::size_t target, std::size_t count) noexcept {
        if constexpr (k_is_inline && slot_value<Value>::k_is_bytes) {
            std::memmove(slot(to, target), slot(from, first), count * k_slot_bytes);
        } else if (from == to && target > first) {
            for (std::size_t i = count; i != 0; --i)
                move(slot(from, first + i - 1), slot(to, target + i - 1));
        } else {
            for (std::size_t i = 0; i != count; ++i)
                move(slot(from, first + i), slot(to, target + i));
        }
    }
};

} // namespace remanence::detail
