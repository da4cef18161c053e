// The tree behind the ordered containers: a B-tree with elements in all nodes. Depends on the standard library only.
//
//  BT1  All leaves have height 0, and each child is one lower than its parent. Only the root may be without elements,
//       and only during an operation; an empty tree has no node.
//  BT2  A full node is split only if it cannot move elements to a neighbour. A node in which an erasure leaves fewer
//       than half its slots in use is joined with a neighbour if both fit into one. Insertions at either end leave full
//       nodes behind, so that sorted input is packed.
//  BT3  Calls that may throw (comparator, constructor, allocator) come before elements move, and moving never throws
//       (BN3). If an insertion runs out of memory between two splits, the tree has other nodes but the same elements.
//  BT4  Each write to memory that existed before the operation is declared (declarer.hpp), except a user's writes
//       through references. A node does not know its index in its parent, so that a split writes to few other nodes.
#pragma once

#include <remanence/containers/detail/btree_iterator.hpp>
#include <remanence/containers/detail/btree_node.hpp>
#include <remanence/containers/detail/kept_allocator.hpp>
#include <remanence/containers/detail/text_keys.hpp>
#include <remanence/detail/declarer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::detail {

/// Both read a tree's private members: btree_structure for heap::verify(), and btree_inspector, which the tests define.
template <class Container>
struct btree_structure;
struct btree_inspector;

template <class Key, class Value, class Compare, class Alloc, std::size_t NodeBytes>
class btree {
public:
    using nodes = btree_nodes<Value, NodeBytes>;
    using steps = btree_steps<nodes>;
    using node = btree_node;
    using place = btree_place;
    using declare_to = declarer<Alloc>;

    using detached = detached_element<Key, Value, Alloc, element_slot<Value, k_btree_inline_bytes>>;

    btree(const Compare& compare, const Alloc& alloc) : compare_(compare), alloc_(alloc) {}
    btree(const btree&) = delete;
    btree& operator=(const btree&) = delete;
    ~btree() { destroy_all(); }

    [[nodiscard]] static const Key& key_of(const Value& value) noexcept { return key_of_element<Key>(value); }
    [[nodiscard]] static const Key& key_at(const place& at) noexcept { return key_of(nodes::value(at.node, at.index)); }

    [[nodiscard]] const Compare& compare() const noexcept { return compare_; }
    [[nodiscard]] Alloc alloc() const noexcept { return alloc_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Calls `read` with the nodes of each level, sorted by address, from the level below the root downwards. This
    /// function touches the nodes of a level only after `read` has returned, so `read` can prefetch them.
    template <class Read>
    void for_each_level(const Read& read) const {
        std::vector<node*> level;
        if (node* const root = root_.get())
            level.push_back(root);
        while (!level.empty() && level.front()->height != 0) { // BT1
            std::vector<node*> below;
            for (node* const n : level) {
                for (std::size_t i = 0; i <= n->count; ++i)
                    below.push_back(nodes::child(n, i));
            }
            std::sort(below.begin(), below.end());
            read(below);
            level = std::move(below);
        }
    }
    [[nodiscard]] place first() const noexcept { return {first_.get(), 0}; }
    [[nodiscard]] place end() const noexcept {
        node* const last = last_.get();
        return {last, last == nullptr ? std::size_t{0} : last->count};
    }

    template <class A, class B>
    [[nodiscard]] bool is_less(const A& a, const B& b) const {
        return less_keys(compare_, a, b);
    }

    /// The result of a search: the place in a leaf where the key would be inserted, and the element at that place or,
    /// if there is none, the next one.
    struct search {
        place leaf;
        place found; ///< or the end
    };
    /// Searches for the first element that is not less than `key`.
    template <class K>
    [[nodiscard]] search lower(const K& key) const {
        return descend([&](const Key& other) { return is_less(other, key); });
    }
    /// Searches for the first element that is greater than `key`.
    template <class K>
    [[nodiscard]] search upper(const K& key) const {
        return descend([&](const Key& other) { return !is_less(key, other); });
    }

    /// Inserts at a place that a search or leaf_before() returned. Returns the element's place. If it throws
    /// std::bad_alloc, nothing has changed.
    place put(place leaf, detached& element) {
        return put_slot(leaf, [&] { return element.release(); });
    }
    /// Like put(), for an element in a slot of the caller. If put_slot() throws, the element is still there; otherwise
    /// the slot is raw afterwards.
    template <class Release>
    place put_slot(place leaf, Release&& release) {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        if (leaf.node == nullptr) {
            leaf = {new_node(0, nodes::k_capacity_first), 0};
            root_.set(leaf.node);
            first_.set(leaf.node);
            last_.set(leaf.node);
        } else if (leaf.node->count == leaf.node->capacity) {
            leaf = make_room(leaf, declare);
        }
        node* const n = leaf.node;
        declare_node(n, declare);
        nodes::move(n, leaf.index, n, leaf.index + 1, n->count - leaf.index);
        nodes::move(release(), nodes::slot(n, leaf.index));
        ++n->count;
        ++size_;
        return leaf;
    }

    /// Destroys an element; returns the place of the next one.
    place erase(place at) noexcept {
        Alloc where = alloc();
        return remove(at, [&](void* slot) { nodes::destroy(where, slot); });
    }
    /// Moves an element into a raw slot; returns the place of the next one.
    place take(place at, void* into) noexcept {
        return remove(at, [&](void* slot) { nodes::move(slot, into); });
    }

    /// True if `address` lies in one of the nodes. O(nodes).
    [[nodiscard]] bool has_in_nodes(const void* address) const noexcept {
        return root_.get() != nullptr && is_below(root_.get(), address);
    }

    void clear() noexcept {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        destroy_all();
        forget();
    }

    /// Takes over all nodes of `other`, which has an equal allocator and is empty afterwards. This tree must be empty.
    void steal(btree& other) noexcept {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        declare(&other, sizeof other);
        root_.set(other.root_.get());
        first_.set(other.first_.get());
        last_.set(other.last_.get());
        size_ = other.size_;
        other.forget();
    }
    /// Swaps everything except comparators and allocators. The allocators must be equal.
    void swap_elements(btree& other) noexcept {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        declare(&other, sizeof other);
        swap_links(root_, other.root_);
        swap_links(first_, other.first_);
        swap_links(last_, other.last_);
        std::swap(size_, other.size_);
    }
    void set_compare(const Compare& compare) {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        compare_ = compare;
    }
    void swap_compare(btree& other) {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        declare(&other, sizeof other);
        using std::swap;
        swap(compare_, other.compare_);
    }
    /// The tree must be empty.
    void set_alloc(const Alloc& alloc) noexcept { alloc_.set(alloc); }
    void swap_alloc(btree& other) noexcept {
        const Alloc kept = alloc();
        alloc_.set(other.alloc());
        other.alloc_.set(kept);
    }

private:
    template <class Container>
    friend struct btree_structure;
    friend btree_inspector;
    template <class Nodes> // a template, since Value may still be incomplete here
    using node_alloc = typename std::allocator_traits<Alloc>::template rebind_alloc<typename Nodes::unit>;

    /// Calls `empty`, which must make the slot raw, and closes the gap; returns the place of the next element.
    template <class Empty>
    place remove(place at, const Empty& empty) noexcept {
        const declare_to declare(alloc());
        declare(this, sizeof *this);
        declare_node(at.node, declare);
        empty(nodes::slot(at.node, at.index));
        const bool is_inner = at.node->height != 0;
        if (is_inner) { // its predecessor, which is in a leaf, moves into the slot
            place before = steps::behind(nodes::child(at.node, at.index));
            --before.index;
            declare_node(before.node, declare);
            nodes::move(nodes::slot(before.node, before.index), nodes::slot(at.node, at.index));
            at = before;
        }
        nodes::move(at.node, at.index + 1, at.node, at.index, at.node->count - at.index - 1);
        --at.node->count;
        --size_;
        at = steps::settled(fill(at, declare));
        return is_inner ? steps::next(at) : at;
    }

    static void swap_links(link<node>& a, link<node>& b) noexcept {
        node* const kept = a.get();
        a.set(b.get());
        b.set(kept);
    }
    void forget() noexcept {
        root_.set(nullptr);
        first_.set(nullptr);
        last_.set(nullptr);
        size_ = 0;
    }

    [[nodiscard]] node* new_node(std::size_t height, std::size_t capacity = nodes::k_capacity) {
        node_alloc<nodes> where(alloc());
        const std::size_t units = height == 0 ? nodes::leaf_units(capacity) : nodes::k_inner_units;
        node* const n = ::new (static_cast<void*>(where.allocate(units))) node;
        n->capacity = static_cast<std::uint16_t>(capacity);
        n->height = static_cast<std::uint16_t>(height);
        return n;
    }
    void free_node(node* n) noexcept {
        node_alloc<nodes> where(alloc());
        where.deallocate(reinterpret_cast<typename nodes::unit*>(n), nodes::units_of(n));
    }
    static void declare_node(const node* n, const declare_to& declare) noexcept { declare(n, nodes::bytes_of(n)); }
    static void adopt(node* parent, std::size_t index, node* child, const declare_to& declare) noexcept {
        declare(child, sizeof *child);
        nodes::set_child(parent, index, child);
    }

    [[nodiscard]] static bool is_below(node* n,
                                       const void* address) noexcept { // NOLINT(misc-no-recursion): tree's height
        const std::less<> before;
        const auto* const begin = reinterpret_cast<const std::byte*>(n);
        if (!before(address, begin) && before(address, begin + nodes::bytes_of(n)))
            return true;
        for (std::size_t i = 0; n->height != 0 && i <= n->count; ++i) {
            if (is_below(nodes::child(n, i), address))
                return true;
        }
        return false;
    }

    void destroy_all() noexcept {
        if (node* const root = root_.get())
            destroy(root);
    }
    void destroy(node* n) noexcept { // NOLINT(misc-no-recursion): as deep as the tree is high
        if constexpr (nodes::template is_destroyed_v<Alloc>) {
            Alloc where = alloc();
            for (std::size_t i = 0; i != n->count; ++i)
                nodes::destroy(where, nodes::slot(n, i));
        }
        for (std::size_t i = 0; n->height != 0 && i <= n->count; ++i)
            destroy(nodes::child(n, i));
        free_node(n);
    }

    /// Returns the first slot of `n` for which `is_before` is false; it must be true for all slots before that one.
    template <class Before>
    [[nodiscard]] static std::size_t first_not(node* n, const Before& is_before) {
        std::size_t from = 0;
        std::size_t left = n->count;
        if constexpr (std::is_arithmetic_v<Key>) { // without a branch that depends on the comparison
            constexpr std::size_t k_counted = 8;
            while (left > k_counted) {
                const std::size_t half = left / 2;
                from = is_before(key_at({n, from + half - 1})) ? from + half : from;
                left -= half;
            }
            if (n->count < k_counted) {
                while (from != n->count && is_before(key_at({n, from})))
                    ++from;
                return from;
            }
            from = std::min(from, n->count - k_counted); // these comparisons do not depend on each other
            std::size_t before = from;
            for (std::size_t i = 0; i != k_counted; ++i)
                before += is_before(key_at({n, from + i})) ? 1U : 0U;
            return before;
        } else { // binary search with the fewest comparisons; the processor speculates on the next one
            while (left != 0) {
                const std::size_t half = left / 2;
                if (is_before(key_at({n, from + half}))) {
                    from += half + 1;
                    left -= half + 1;
                } else {
                    left = half;
                }
            }
            return from;
        }
    }
    template <class Before>
    [[nodiscard]] search descend(const Before& is_before) const {
        search result{{root_.get(), 0}, end()};
        place& at = result.leaf;
        while (at.node != nullptr) {
            at.index = first_not(at.node, is_before);
            if (at.index != at.node->count)
                result.found = at;
            if (at.node->height == 0)
                break;
            at.node = nodes::child(at.node, at.index);
        }
        return result;
    }

    /// Makes room in a full node; returns where the place is afterwards. If the node is an inner one, its child at that
    /// place is about to be split, and this child may have another parent afterwards.
    place make_room(place at, const declare_to& declare) { // NOLINT(misc-no-recursion): to the root
        node* const n = at.node;
        declare_node(n, declare);
        if (n->parent.get() == nullptr)
            return n->capacity < nodes::k_capacity ? grow(at) : split(at, nullptr, declare);
        if (give_left(at, declare) || give_right(at, declare))
            return at;
        node* const parent = n->parent.get();
        if (parent->count == nodes::k_capacity)
            make_room({parent, nodes::index_of(parent, n)}, declare);
        return split(at, n->parent.get(), declare);
    }

    /// Replaces a root that is a leaf by a larger one.
    place grow(place at) {
        node* const small = at.node;
        node* const large = new_node(0, std::min<std::size_t>(std::size_t{2} * small->capacity, nodes::k_capacity));
        nodes::move(small, 0, large, 0, small->count);
        large->count = small->count;
        root_.set(large);
        first_.set(large);
        last_.set(large);
        free_node(small);
        return {large, at.index};
    }

    /// Returns how many elements to move to a neighbour with `room` free slots: as many as fit if the insertion is at
    /// the far end of the node (`is_far`), else half of that, but at least one (BT2).
    static std::size_t share(std::size_t room, bool is_far) noexcept {
        return std::max<std::size_t>(is_far ? room : room / 2, 1);
    }
    bool give_left(place& at, const declare_to& declare) noexcept {
        node* const n = at.node;
        node* const parent = n->parent.get();
        const std::size_t index = nodes::index_of(parent, n);
        if (index == 0)
            return false;
        node* const left = nodes::child(parent, index - 1);
        const std::size_t room = nodes::k_capacity - left->count;
        if (room == 0)
            return false;
        // An inner node must keep an element.
        const std::size_t given = std::min<std::size_t>(share(room, at.index == n->count), n->count - 1U);
        if (at.index < given && left->count + given == nodes::k_capacity)
            return false;
        move_left(parent, index - 1, given, declare);
        at = at.index >= given ? place{n, at.index - given} : place{left, left->count + at.index + 1 - given};
        return true;
    }
    bool give_right(place& at, const declare_to& declare) noexcept {
        node* const n = at.node;
        node* const parent = n->parent.get();
        const std::size_t index = nodes::index_of(parent, n);
        if (index == parent->count)
            return false;
        node* const right = nodes::child(parent, index + 1);
        const std::size_t room = nodes::k_capacity - right->count;
        if (room == 0)
            return false;
        const std::size_t given = std::min<std::size_t>(share(room, at.index == 0), n->count - 1U);
        if (at.index > n->count - given && right->count + given == nodes::k_capacity)
            return false;
        move_right(parent, index, given, declare);
        if (at.index > n->count)
            at = {right, at.index - n->count - 1};
        return true;
    }

    /// Rotates `count` elements to the left through the separator `index`: the separator and the first count - 1
    /// elements of the right child move to the left child; the next element becomes the separator.
    void move_left(node* parent, std::size_t index, std::size_t count, const declare_to& declare) noexcept {
        node* const left = nodes::child(parent, index);
        node* const right = nodes::child(parent, index + 1);
        declare_three(left, parent, right, declare);
        nodes::move(nodes::slot(parent, index), nodes::slot(left, left->count));
        nodes::move(right, 0, left, left->count + 1U, count - 1);
        nodes::move(nodes::slot(right, count - 1), nodes::slot(parent, index));
        nodes::move(right, count, right, 0, right->count - count);
        if (left->height != 0) {
            for (std::size_t i = 0; i != count; ++i)
                adopt(left, left->count + 1U + i, nodes::child(right, i), declare);
            std::int64_t* const all = nodes::children(right);
            std::copy(all + count, all + right->count + 1, all);
        }
        left->count = static_cast<std::uint16_t>(left->count + count);
        right->count = static_cast<std::uint16_t>(right->count - count);
    }
    /// Like move_left(), in the other direction.
    void move_right(node* parent, std::size_t index, std::size_t count, const declare_to& declare) noexcept {
        node* const left = nodes::child(parent, index);
        node* const right = nodes::child(parent, index + 1);
        declare_three(left, parent, right, declare);
        const std::size_t kept = left->count - count;
        nodes::move(right, 0, right, count, right->count);
        nodes::move(nodes::slot(parent, index), nodes::slot(right, count - 1));
        nodes::move(left, kept + 1, right, 0, count - 1);
        nodes::move(nodes::slot(left, kept), nodes::slot(parent, index));
        if (left->height != 0) {
            std::int64_t* const all = nodes::children(right);
            std::copy_backward(all, all + right->count + 1, all + right->count + 1 + count);
            for (std::size_t i = 0; i != count; ++i)
                adopt(right, i, nodes::child(left, kept + 1 + i), declare);
        }
        left->count = static_cast<std::uint16_t>(kept);
        right->count = static_cast<std::uint16_t>(right->count + count);
    }
    static void declare_three(node* left, node* parent, node* right, const declare_to& declare) noexcept {
        declare_node(left, declare);
        declare_node(parent, declare);
        declare_node(right, declare);
    }

    /// Splits a node in two and puts a separator into the parent, which has room. A root (`parent` is null) gets a new
    /// parent.
    place split(place at, node* parent, const declare_to& declare) {
        node* const n = at.node;
        node* above = nullptr;
        if (parent == nullptr)
            above = new_node(n->height + 1U);
        node* right = nullptr;
        try {
            right = new_node(n->height);
        } catch (...) {
            if (above != nullptr)
                free_node(above);
            throw;
        }
        if (above != nullptr) {
            nodes::set_child(above, 0, n);
            root_.set(above);
            parent = above;
        }
        declare_node(parent, declare);
        if (last_.get() == n)
            last_.set(right);

        // The left node keeps `kept` elements; the next one is the separator (BT2). An inner node always keeps an
        // element.
        const std::size_t least = n->height == 0 ? 0 : 1;
        const std::size_t kept = at.index == n->count ? n->count - 1 - least : at.index == 0 ? least : n->count / 2U;
        const std::size_t moved = n->count - kept - 1;
        const std::size_t index = nodes::index_of(parent, n);
        nodes::move(parent, index, parent, index + 1, parent->count - index);
        std::int64_t* const all = nodes::children(parent);
        std::copy_backward(all + index + 1, all + parent->count + 1, all + parent->count + 2);
        nodes::set_child(parent, index + 1, right);
        ++parent->count;
        nodes::move(nodes::slot(n, kept), nodes::slot(parent, index));
        nodes::move(n, kept + 1, right, 0, moved);
        for (std::size_t i = 0; n->height != 0 && i <= moved; ++i)
            adopt(right, i, nodes::child(n, kept + 1 + i), declare);
        n->count = static_cast<std::uint16_t>(kept);
        right->count = static_cast<std::uint16_t>(moved);
        return at.index <= kept ? at : place{right, at.index - kept - 1};
    }

    /// Called after a removal in a leaf. Joins nodes that have too few elements, up to the root. Returns where the
    /// place is afterwards.
    place fill(place at, const declare_to& declare) noexcept {
        for (node* n = at.node;;) {
            node* const parent = n->parent.get();
            if (parent == nullptr) {
                if (n->count == 0)
                    return shrink(at, declare);
                return at;
            }
            if (n->count >= nodes::k_count_least || !join(n, at, declare))
                return at;
            n = parent;
        }
    }
    /// Removes a root that has no element left.
    place shrink(place at, const declare_to& declare) noexcept {
        node* const old = root_.get();
        if (old->height == 0) {
            free_node(old);
            forget();
            return {};
        }
        node* const child = nodes::child(old, 0);
        declare(child, sizeof *child);
        child->parent.set(nullptr);
        root_.set(child);
        free_node(old);
        return at;
    }
    /// Returns true if it has joined `n` with a neighbour; then the parent has one element fewer. If it returns false,
    /// `n` may have received elements from a neighbour.
    bool join(node* n, place& at, const declare_to& declare) noexcept {
        node* const parent = n->parent.get();
        const std::size_t index = nodes::index_of(parent, n);
        node* const left = index != 0 ? nodes::child(parent, index - 1) : nullptr;
        node* const right = index != parent->count ? nodes::child(parent, index + 1) : nullptr;
        if (left != nullptr && left->count + 1U + n->count <= nodes::k_capacity) {
            if (at.node == n)
                at = {left, left->count + 1U + at.index};
            append(parent, index - 1, declare);
            return true;
        }
        if (right != nullptr && right->count + 1U + n->count <= nodes::k_capacity) {
            append(parent, index, declare);
            return true;
        }
        // If elements are erased at one end, as in a queue, the leaf there gets no elements from its neighbour. It
        // shrinks until the two can be joined.
        const bool is_leaf = at.node == n;
        if (right != nullptr && right->count > nodes::k_count_least && (n->count == 0 || !is_leaf || at.index != 0)) {
            move_left(parent, index, (right->count - n->count + 1U) / 2, declare);
        } else if (left != nullptr && left->count > nodes::k_count_least &&
                   (n->count == 0 || !is_leaf || at.index != n->count)) {
            const std::size_t moved = (left->count - n->count + 1U) / 2;
            move_right(parent, index - 1, moved, declare);
            if (is_leaf)
                at.index += moved;
        }
        return false;
    }
    /// Appends a separator, and all elements of the child behind it, to the child before it.
    void append(node* parent, std::size_t index, const declare_to& declare) noexcept {
        node* const left = nodes::child(parent, index);
        node* const right = nodes::child(parent, index + 1);
        declare_node(left, declare);
        declare_node(parent, declare);
        nodes::move(nodes::slot(parent, index), nodes::slot(left, left->count));
        nodes::move(right, 0, left, left->count + 1U, right->count);
        for (std::size_t i = 0; left->height != 0 && i <= right->count; ++i)
            adopt(left, left->count + 1U + i, nodes::child(right, i), declare);
        left->count = static_cast<std::uint16_t>(left->count + 1U + right->count);
        nodes::move(parent, index + 1, parent, index, parent->count - index - 1U);
        std::int64_t* const all = nodes::children(parent);
        std::copy(all + index + 2, all + parent->count + 1, all + index + 1);
        --parent->count;
        if (last_.get() == right)
            last_.set(left);
        free_node(right);
    }

    // Part of the layout (k_btree_layout): 40 bytes with rem::allocator and an empty comparator.
    link<node> root_;
    link<node> first_; // the first leaf
    link<node> last_;  // the last leaf
    std::size_t size_ = 0;
    [[no_unique_address]] Compare compare_;
    [[no_unique_address]] kept_allocator<Alloc> alloc_;
};

} // namespace remanence::detail
