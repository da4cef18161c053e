// What the fingerprint of a type says of the B-trees in it: what would make another program read their nodes wrongly.
// Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/btree_node.hpp>
#include <remanence/types/detail/fingerprint.hpp>

#include <cstddef>
#include <string>

namespace remanence::detail {

template <class Value, std::size_t NodeBytes, class... Arguments>
struct btree_fingerprint {
    static void write(structure_writer& out) {
        using nodes = btree_nodes<Value, NodeBytes>;
        write_list<Arguments...>(out, " <", ">");
        out.text(" b-tree " + std::to_string(k_btree_layout) + ": " + std::to_string(nodes::k_capacity) +
                 (nodes::k_is_inline ? " slots" : " links"));
    }
};

/// `Mapped`: where the mapped value lies in an element; 0: it is a set.
template <class Value, std::size_t NodeBytes, std::uint64_t Mapped>
struct btree_shape
    : shape_with<shape_kind::btree, btree_nodes<Value, NodeBytes>::k_capacity,
                 btree_nodes<Value, NodeBytes>::k_is_inline, btree_nodes<Value, NodeBytes>::k_slots_offset,
                 btree_nodes<Value, NodeBytes>::k_slot_bytes, btree_nodes<Value, NodeBytes>::k_children_offset,
                 Mapped> {};

} // namespace remanence::detail
