// The nodes of our B-trees, which are part of the layout of what programs store. Depends on the standard library only.
//
//  B1  A node is a header, `capacity` slots of which the first `count` hold elements, and in an inner node, whose height
//      is not 0, the places of count + 1 children. Nothing in it depends on the address it lies at: its parent is a
//      link, a child a distance from the node.
//  B2  A slot is the element itself where that is_self_contained() and of at most k_btree_inline_bytes; else it is a link
//      to a block with the element, which then never moves.
//  B3  Moving elements from slot to slot never throws and writes nothing outside the slots (is_self_contained.hpp). So
//      an insertion that has its memory, and its element made, cannot fail any more.
#pragma once

#include <remanence/detail/link.hpp>
#include <remanence/detail/self_contained.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

namespace remanence::detail {

/// The number of this layout; in the fingerprint of each type that has such a container.
inline constexpr unsigned k_btree_layout = 1;

/// Measured by bench/btree, see docs/containers.md.
inline constexpr std::size_t k_btree_node_bytes = 512;
inline constexpr std::size_t k_btree_slots_least = 8; // of a node of chosen size
inline constexpr std::size_t k_btree_inline_bytes = 256;

struct btree_node {
    link<btree_node> parent;    // null: the root
    std::uint16_t count = 0;    // elements
    std::uint16_t capacity = 0; // slots; less than that of all others only in a root that is a leaf
    std::uint16_t height = 0;   // 0: a leaf
    std::uint16_t reserved = 0;
};
static_assert(sizeof(btree_node) == 16 && offsetof(btree_node, count) == 8 && offsetof(btree_node, height) == 12);

/// How a value moves from one slot to another.
template <class Value>
struct btree_value {
    static constexpr bool k_is_bytes = is_plain_bytes_v<Value>;
    static constexpr bool k_is_self_contained = is_self_contained<Value>();
    static void move(Value* from, void* to) noexcept {
        ::new (to) Value(std::move(*from));
        std::destroy_at(from);
    }
};
/// The element of a map: its key is const to users, but not when it moves.
template <class Key, class Mapped>
struct btree_value<std::pair<const Key, Mapped>> {
    using value = std::pair<const Key, Mapped>;
    static constexpr bool k_is_bytes = is_plain_bytes_v<Key> && is_plain_bytes_v<Mapped>;
    static constexpr bool k_is_self_contained = is_self_contained<Key>() && is_self_contained<Mapped>();
    static void move(value* from, void* to) noexcept {
        ::new (to)
            value(std::piecewise_construct, std::forward_as_tuple(std::move(const_cast<Key&>(from->first))), // NOLINT
                  std::forward_as_tuple(std::move(from->second)));
        std::destroy_at(from);
    }
};

/// Everything about a tree's nodes that depends on the element. `NodeBytes`: of a leaf; 0: chosen.
template <class Value, std::size_t NodeBytes>
struct btree_nodes {
    using node = btree_node;

    static constexpr bool k_is_inline =
        btree_value<Value>::k_is_self_contained && sizeof(Value) <= k_btree_inline_bytes;
    using slot_type = std::conditional_t<k_is_inline, Value, link<Value>>; // for size and alignment
    static constexpr std::size_t k_slot_bytes = sizeof(slot_type);
    static constexpr std::size_t k_alignment = std::max(alignof(btree_node), alignof(slot_type));
    static constexpr std::size_t k_slots_offset =
        (sizeof(btree_node) + alignof(slot_type) - 1) / alignof(slot_type) * alignof(slot_type);

    static constexpr std::size_t k_capacity =
        NodeBytes != 0
            ? std::clamp<std::size_t>((std::max(NodeBytes, k_slots_offset) - k_slots_offset) / k_slot_bytes, 4, 32'000)
            : std::max((k_btree_node_bytes - k_slots_offset) / k_slot_bytes, k_btree_slots_least);
    /// A node that falls below it gets elements from a neighbour, or joins it.
    static constexpr std::size_t k_count_least = k_capacity / 2;
    /// The first leaf of a tree has so many, and grows by doubling them.
    static constexpr std::size_t k_capacity_first = std::clamp<std::size_t>(48 / k_slot_bytes, 1, k_capacity);

    /// What nodes are allocated in.
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
    [[nodiscard]] static Value* at(void* slot) noexcept {
        if constexpr (k_is_inline)
            return std::launder(static_cast<Value*>(slot));
        else
            return static_cast<link<Value>*>(slot)->get();
    }
    [[nodiscard]] static Value& value(node* n, std::size_t index) noexcept { return *at(slot(n, index)); }

    [[nodiscard]] static std::int64_t* children(node* n) noexcept {
        return reinterpret_cast<std::int64_t*>(reinterpret_cast<std::byte*>(n) + k_children_offset);
    }
    [[nodiscard]] static node* child(node* n, std::size_t index) noexcept {
        return reinterpret_cast<node*>(reinterpret_cast<std::uintptr_t>(n) +
                                       static_cast<std::uintptr_t>(children(n)[index]));
    }
    /// Both ways. Writes to `c`, too.
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

    /// Constructs an element in a raw slot. When it throws, nothing is left behind.
    template <class Alloc, class... Args>
    static void construct(Alloc& alloc, void* where, Args&&... args) {
        using traits = std::allocator_traits<Alloc>;
        if constexpr (k_is_inline) {
            traits::construct(alloc, static_cast<Value*>(where), std::forward<Args>(args)...);
        } else {
            Value* const block = traits::allocate(alloc, 1);
            try {
                traits::construct(alloc, block, std::forward<Args>(args)...);
            } catch (...) {
                traits::deallocate(alloc, block, 1);
                throw;
            }
            (::new (where) link<Value>)->set(block);
        }
    }
    template <class Alloc>
    static void destroy(Alloc& alloc, void* where) noexcept {
        using traits = std::allocator_traits<Alloc>;
        Value* const one = at(where);
        traits::destroy(alloc, one);
        if constexpr (!k_is_inline)
            traits::deallocate(alloc, one, 1);
    }
    /// Whether destroying an element does anything.
    static constexpr bool k_is_destroyed = !k_is_inline || !std::is_trivially_destructible_v<Value>;

    /// From a slot to a raw one. The first is raw then. B3
    static void move(void* from, void* to) noexcept {
        if constexpr (!k_is_inline) {
            (::new (to) link<Value>)->set(static_cast<link<Value>*>(from)->get());
        } else if constexpr (btree_value<Value>::k_is_bytes) {
            std::memcpy(to, from, k_slot_bytes);
        } else {
            btree_value<Value>::move(at(from), to);
        }
    }
    /// `count` of them, between two nodes or within one, where the ranges may overlap.
    static void move(node* from, std::size_t first, node* to, std::size_t target, std::size_t count) noexcept {
        if constexpr (k_is_inline && btree_value<Value>::k_is_bytes) {
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
