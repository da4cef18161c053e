// Visits the elements of a container one at a time: a caller can stop and go on later, skip elements, and search for a
// key. Each call takes a limited number of steps. (object_reader::for_each_element() is faster for whole containers.)
//
//  EP1  A position is as little trusted as the container. If the container has changed, a cursor meets other elements, or
//       fails with errc::corrupt, but reads nothing outside of the heap.
//  EP2  Each step examines a bounded number of bytes: an element, a node, or a group of slots.
#pragma once

#include "base/result.hpp"
#include "inspect/object_reader.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace remanence::inspect {

/// A place between two elements of a container. The meaning of the words depends on the container's shape.
struct element_position {
    bool has_begun = false;
    std::uint64_t index = 0; // how many elements were passed
    /// For lists, the last node. For binary trees, the address of the subtree that comes next; 0 for none. For hash
    /// tables, the next slot or bucket. For packed maps, the next record of the leaf.
    std::uint64_t next = 0;
    std::uint64_t inside = 0; // the leaf of a packed map, or a link in a chain of a bucket; 0: none
    /// For binary trees, the nodes that follow. For B-trees, the nodes that lead to the next element, each followed by
    /// twice the index of its next element, minus 1 if the child before that element comes first.
    std::vector<std::uint64_t> open = {};
};

/// A key to search for.
struct wanted_key {
    virtual ~wanted_key() = default;
    /// True if an element's key comes before the wanted one in the container's order.
    virtual result<bool> is_before(object_place key) const = 0;
    virtual result<bool> is_equal(object_place key) const = 0;
    /// Returns the wanted key's hash, or that of an element's key.
    [[nodiscard]] virtual std::uint64_t hash(std::uint64_t seed) const = 0;
    virtual result<std::uint64_t> hash_of(object_place key) const = 0;
};

class element_cursor {
public:
    /// `steps` counts down to 0; then the functions return errc::limit_reached, and `at` is where the walk got to. All
    /// arguments must outlive this object. Precondition: reader.is_container(container.row).
    element_cursor(object_reader& reader, object_place container, element_position& at, std::uint64_t& steps)
        : reader_(reader), of_(container), row_(reader.row(container.row)), at_(at), steps_(steps) {}

    /// Returns the next element and passes it; nothing at the end. O(1), amortized.
    result<std::optional<element_place>> next();
    /// Passes so many elements. Returns how many it passed: fewer at the end, or if the steps ended behind the first
    /// element. O(1) for containers with random access; else O(elements), but a leaf of a B-tree is one step.
    result<std::uint64_t> skip(std::uint64_t count);
    /// Returns the number of elements. O(1); O(elements) for containers that keep no count. Does not use the position.
    result<std::uint64_t> count();

    /// True if the container is a search tree of a known kind; then seek() can be used.
    [[nodiscard]] bool is_tree() const;
    /// Moves to the first element whose key is not before the wanted one. Precondition: is_tree(). O(log elements).
    result<void> seek(const wanted_key& key);
    /// True if the container is a hash table of a known kind.
    [[nodiscard]] bool is_hash_table() const;
    /// Returns the first element with that key; nothing if there is none. Precondition: is_hash_table(). O(1) on
    /// average.
    result<std::optional<element_place>> find_hashed(const wanted_key& key);

private:
    using maybe_element = result<std::optional<element_place>>;

    result<void> step();
    [[nodiscard]] static object_place key_of(const element_place& of) { return of.has_key ? of.key : of.value; }

    // Containers with random access.
    [[nodiscard]] bool has_random_access() const;
    result<std::uint64_t> length();
    result<element_place> element(std::uint64_t index);
    struct deque_words {
        std::uint64_t first, block, before, count, size, in_block;
    };
    result<deque_words> deque();
    [[nodiscard]] bool is_foreign_way(detail::foreign_way way) const;

    maybe_element next_of_shape();
    maybe_element next_in_list(std::uint64_t sentinel, std::uint64_t link, std::uint64_t end, std::uint64_t element,
                               std::uint64_t mapped);
    maybe_element next_in_foreign_ring();
    maybe_element next_in_slots();
    maybe_element next_in_buckets();

    struct tree_words {
        std::uint64_t root, left, right, element, mapped;
    };
    result<tree_words> binary_tree();
    maybe_element next_in_binary_tree();
    result<void> seek_in_binary_tree(const wanted_key& key);

    using is_before_key = std::function<result<bool>(const element_place&)>;
    struct btree_head {
        std::uint64_t parent;
        std::uint16_t count, capacity, height, reserved;
    };
    static_assert(sizeof(btree_head) == 16);
    result<btree_head> head_of(std::uint64_t node, const types::type_row& tree);
    result<void> enter(std::uint64_t node, const types::type_row& tree);
    result<void> enter_child(const types::type_row& tree);
    result<element_place> btree_element(object_place tree, std::uint64_t node, std::uint64_t index);
    maybe_element next_in_btree(object_place tree);
    result<void> seek_in_btree(object_place tree, const is_before_key& is_before);
    void go_back_in_btree();

    [[nodiscard]] object_place tree_of_packed() const { return {row_.parts[0].type, of_.at}; }
    struct packed_leaf_words {
        std::uint64_t first, bytes, count;
    };
    result<packed_leaf_words> leaf();
    result<element_place> record(const packed_leaf_words& leaf, std::uint64_t index);
    maybe_element next_in_packed();
    result<void> seek_in_packed(const wanted_key& key);

    /// If a leaf of a tree comes next, passes as many of its elements as it has, at most `most`. Returns how many.
    result<std::uint64_t> pass_in_leaf(std::uint64_t most);

    struct slot_words {
        std::uint64_t block, buckets, controls, slots;
    };
    result<slot_words> slots();
    result<std::optional<std::uint64_t>> slot_element(const slot_words& slots, std::uint64_t slot);
    maybe_element find_in_slots(const wanted_key& key);
    maybe_element find_in_chains(const wanted_key& key);

    object_reader& reader_;
    object_place of_;
    const types::type_row& row_;
    element_position& at_;
    std::uint64_t& steps_;
};

} // namespace remanence::inspect
