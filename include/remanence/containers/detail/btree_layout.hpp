// class_traits of containers that are B-trees. They describe the nodes, so that a program whose nodes are laid out
// otherwise refuses such a container. Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/btree_node.hpp>
#include <remanence/containers/detail/btree_structure.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/detail/position_independent.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace remanence::detail {

template <class Container, class Allocator, std::size_t NodeBytes, class Value, class... Parts>
struct btree_class_traits : btree_structure<Container> {
    using parts = type_list<Parts...>;
    static constexpr bool k_is_position_independent = is_kept_by_distance_v<Allocator>;
    static constexpr bool k_is_self_contained = true;
    static std::string layout() {
        using nodes = btree_nodes<Value, NodeBytes>;
        return " b-tree " + std::to_string(k_btree_layout) + ": " + std::to_string(nodes::k_capacity) +
               (nodes::k_is_inline ? " slots" : " links");
    }
};

/// `Mapped` is the offset of the mapped value in an element; 0 stands for a set.
template <class Value, std::size_t NodeBytes, std::uint64_t Mapped>
using btree_shape =
    shape_with<shape_kind::btree, btree_nodes<Value, NodeBytes>::k_capacity, btree_nodes<Value, NodeBytes>::k_is_inline,
               btree_nodes<Value, NodeBytes>::k_slots_offset, btree_nodes<Value, NodeBytes>::k_slot_bytes,
               btree_nodes<Value, NodeBytes>::k_children_offset, Mapped>;

template <class Container, class Key, class Value, class Compare, class Allocator, std::size_t NodeBytes>
struct btree_map_class_traits
    : btree_class_traits<Container, Allocator, NodeBytes, std::pair<const Key, Value>, Key, Value, Compare> {
    struct shape : btree_shape<std::pair<const Key, Value>, NodeBytes, mapped_offset_v<Key, Value>> {};
};
template <class Container, class Key, class Compare, class Allocator, std::size_t NodeBytes>
struct btree_set_class_traits : btree_class_traits<Container, Allocator, NodeBytes, Key, Key, Compare> {
    struct shape : btree_shape<Key, NodeBytes, 0> {};
};

} // namespace remanence::detail
