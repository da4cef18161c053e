// The tree above the leaves of packed maps. Its keys separate the leaves (PK1 in packed_container.hpp). Depends on the
// standard library only.
#pragma once

#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/detail/packed_leaf.hpp>
#include <remanence/containers/detail/text_keys.hpp>
#include <remanence/containers/string_pi.hpp>
#include <remanence/containers/vector_pi.hpp>
#include <remanence/types/class_traits.hpp>
#include <remanence/types/detail/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace remanence::detail {

inline constexpr std::size_t k_packed_node_bytes = 2048; // size of a node of the tree above the leaves

/// A key of the tree above the leaves. The first key is empty. Any other is the shortest text that is not less than the
/// keys before it, and not greater than those that follow. Searches of the tree pass a packed_key.
template <class Text>
struct packed_separator {
    std::uint64_t head = 0; ///< the first eight bytes of the text, padded with zeros, as a big-endian number
    Text text;
};
struct packed_key {
    explicit packed_key(std::string_view key) noexcept : head(text_head(key)), text(key) {}
    std::uint64_t head;
    std::string_view text;
};
struct packed_order {
    using is_transparent = void;
    template <class A, class B>
    [[nodiscard]] bool operator()(const A& a, const B& b) const noexcept {
        return a.head != b.head ? a.head < b.head : std::string_view(a.text) < std::string_view(b.text);
    }
};

template <class Alloc>
struct packed_tree {
    template <class T>
    using rebound = typename std::allocator_traits<Alloc>::template rebind_alloc<T>;
    using separator = packed_separator<basic_string_pi<rebound<char>>>;
    using block = vector_pi<std::byte, rebound<std::byte>>;
    using type =
        btree_multimap<separator, block, packed_order, rebound<std::pair<const separator, block>>, k_packed_node_bytes>;

    [[nodiscard]] static packed_leaf leaf(const block& of) noexcept { return {of.data(), of.size()}; }
};

// These types stand for the texts of a record in a schema (shape.hpp).
struct packed_key_text {};
struct packed_value_text {};

/// The shape of a packed map: first this tree, then the number of elements.
template <class Tree>
struct shape_of_packed {
    static constexpr packed_names<2, 8> k_names{"keyvalue", {3, 8}};
    static constexpr write_type k_types[] = {&write_structure<packed_key_text>, &write_structure<packed_value_text>};
    static constexpr member_table k_table{k_types, k_names.text, k_names.ends, nullptr, 2};
    static constexpr std::uint64_t k_numbers[] = {sizeof(Tree)};
    static constexpr type_shape k_shape{
        .kind = shape_kind::packed, .numbers = k_numbers, .count = 1, .members = &k_table};
};

} // namespace remanence::detail

namespace remanence {

template <>
struct class_traits<detail::packed_key_text> {
    struct shape : detail::shape_with<detail::shape_kind::packed_text, 0> {};
};
template <>
struct class_traits<detail::packed_value_text> {
    struct shape : detail::shape_with<detail::shape_kind::packed_text, 1> {};
};

} // namespace remanence
