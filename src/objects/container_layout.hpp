// The layout of the blocks that a container of each shape needs for a number of elements. Used by the code that fills
// containers (shaped_filler.hpp), and by the code that computes their size in advance (conversion_size.hpp).
#pragma once

#include "objects/object_builder.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace remanence::objects {

using block_layout = object_builder::layout;

/// Returns the layout of a node of a list, a tree or a chain.
[[nodiscard]] block_layout node_layout(object_builder& builder, const types::type_row& container);

struct hash_node_layout : block_layout {
    bool keeps_hash;
    std::uint64_t hash_at;
};
/// Returns the layout of a node of std::unordered_map and its relatives. `keeps_hash` says whether nodes store the
/// hash; it must be given if the hash is a function of the program.
[[nodiscard]] hash_node_layout hash_node_layout_of(object_builder& builder, const types::type_row& container,
                                                   std::optional<bool> keeps_hash = {});
/// Returns the number of buckets; 1 means that the bucket lies in the container itself.
[[nodiscard]] std::uint64_t buckets_of_hash_chain(std::uint64_t count);

struct deque_layout {
    std::uint64_t blocks, words_of_map;
};
[[nodiscard]] deque_layout deque_layout_of(const types::type_row& container, std::uint64_t count);

/// The block of a hash_map or hash_set. Its slots begin at offset `slots_at`.
struct hash_table_layout : block_layout {
    std::uint64_t buckets, controls, slots_at;
};
/// Precondition: count is not 0.
[[nodiscard]] hash_table_layout hash_table_layout_of(const types::type_row& container, std::uint64_t count);
/// Returns the most elements that a table of so many buckets can hold.
[[nodiscard]] std::uint64_t elements_of_buckets(std::uint64_t buckets);

/// Computes the shape of our B-trees in advance: the number of elements in each node is known before the first node is
/// made. Every node but the root is at least half full.
class btree_layout {
public:
    btree_layout(object_builder& builder, const types::type_row& container);

    /// True if the schema's numbers, which describe a node's layout, fit the node's parts (OB1).
    [[nodiscard]] bool is_sound() const;
    [[nodiscard]] block_layout element() const { return element_; }
    [[nodiscard]] bool is_inline() const { return is_.numbers[1] != 0; }
    [[nodiscard]] std::uint64_t capacity() const { return is_.numbers[0]; }
    /// Returns the layout of a node at this height with `count` elements of its own.
    [[nodiscard]] block_layout node(std::size_t height, std::uint64_t count, bool is_root) const;
    /// Returns how many elements such a node can have.
    [[nodiscard]] std::uint64_t capacity(std::size_t height, std::uint64_t count, bool is_root) const {
        return height == 0 && is_root ? count : capacity();
    }
    /// Returns the height of a tree with so many elements; 0 means that its root is a leaf.
    [[nodiscard]] std::size_t height_for(std::uint64_t count);
    /// Returns how many elements the root of a subtree should have itself: the fewest possible.
    [[nodiscard]] std::uint64_t own_elements(std::size_t height, std::uint64_t count) const;
    /// Returns how many of the `below` elements go to this child of a node that has `own` elements.
    [[nodiscard]] static std::uint64_t share(std::uint64_t own, std::uint64_t below, std::uint64_t child) {
        const std::uint64_t children = own + 1;
        return below / children + (child < below % children ? 1 : 0);
    }

private:
    const types::type_row& is_;
    block_layout element_;
    std::uint64_t alignment_;
    std::vector<std::uint64_t> elements_max_; // for each height, the most elements of a tree
};

} // namespace remanence::objects
