// The place of an element in a B-tree, and steps to its neighbours. Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/btree_node.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>

namespace remanence::detail {

/// A slot of a node. The end of a tree is behind the last slot of its last leaf; the end of an empty tree is {null, 0}.
/// During a search or a change, a place may also be behind the last slot of another leaf.
struct btree_place {
    btree_node* node = nullptr;
    std::size_t index = 0;

    friend bool operator==(const btree_place&, const btree_place&) = default;
};

template <class Nodes>
struct btree_steps {
    /// Returns the first element in the subtree of `n`.
    [[nodiscard]] static btree_place first(btree_node* n) noexcept {
        while (n->height != 0)
            n = Nodes::child(n, 0);
        return {n, 0};
    }
    /// Returns the place behind the last element in the subtree of `n`.
    [[nodiscard]] static btree_place behind(btree_node* n) noexcept {
        while (n->height != 0)
            n = Nodes::child(n, n->count);
        return {n, n->count};
    }
    /// Returns the element at `at` or, if `at` is behind the last slot of a leaf, the next one; or the end.
    [[nodiscard]] static btree_place settled(btree_place at) noexcept {
        btree_place up = at;
        while (up.node != nullptr && up.index == up.node->count) {
            btree_node* const parent = up.node->parent.get();
            if (parent == nullptr)
                return at;
            up = {parent, Nodes::index_of(parent, up.node)};
        }
        return up;
    }
    [[nodiscard]] static btree_place next(btree_place at) noexcept {
        if (at.node->height != 0)
            return first(Nodes::child(at.node, at.index + 1));
        ++at.index;
        return at.index != at.node->count ? at : settled(at);
    }
    [[nodiscard]] static btree_place previous(btree_place at) noexcept {
        if (at.node->height != 0) {
            at = behind(Nodes::child(at.node, at.index));
        } else {
            while (at.index == 0) {
                btree_node* const parent = at.node->parent.get();
                at = {parent, Nodes::index_of(parent, at.node)};
            }
        }
        --at.index;
        return at;
    }
    /// Returns the place in a leaf for an element that is to come before the one at `at`.
    [[nodiscard]] static btree_place leaf_before(btree_place at) noexcept {
        if (at.node == nullptr || at.node->height == 0)
            return at;
        return behind(Nodes::child(at.node, at.index));
    }
};

/// A bidirectional iterator. It holds native pointers: do not store it in a heap that may be mapped elsewhere.
template <class Value, std::size_t NodeBytes, bool IsConst>
class btree_iterator {
    using nodes = btree_nodes<Value, NodeBytes>;

public:
    using iterator_category = std::bidirectional_iterator_tag;
    using iterator_concept = std::bidirectional_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<IsConst, const Value&, Value&>;
    using pointer = std::conditional_t<IsConst, const Value*, Value*>;

    btree_iterator() = default;
    explicit btree_iterator(btree_place at) noexcept : at_(at) {}
    template <bool IsOtherConst>
        requires(IsConst && !IsOtherConst)
    // NOLINTNEXTLINE(google-explicit-constructor)
    btree_iterator(const btree_iterator<Value, NodeBytes, IsOtherConst>& other) noexcept : at_(other.place()) {}

    [[nodiscard]] reference operator*() const noexcept { return nodes::value(at_.node, at_.index); }
    [[nodiscard]] pointer operator->() const noexcept { return std::addressof(**this); }
    btree_iterator& operator++() noexcept {
        if (at_.index + 1 < leaf_count_) [[likely]] {
            ++at_.index;
        } else {
            at_ = btree_steps<nodes>::next(at_);
            leaf_count_ = at_.node->height == 0 ? at_.node->count : 0;
        }
        return *this;
    }
    btree_iterator operator++(int) noexcept {
        const btree_iterator before = *this;
        ++*this;
        return before;
    }
    btree_iterator& operator--() noexcept {
        at_ = btree_steps<nodes>::previous(at_);
        leaf_count_ = 0;
        return *this;
    }
    btree_iterator operator--(int) noexcept {
        const btree_iterator before = *this;
        --*this;
        return before;
    }
    friend bool operator==(const btree_iterator& a, const btree_iterator& b) noexcept { return a.at_ == b.at_; }

    /// For use by the container.
    [[nodiscard]] btree_place place() const noexcept { return at_; }

private:
    btree_place at_;
    std::size_t leaf_count_ = 0; // number of elements of the current leaf if ++ led to it; else 0
};

} // namespace remanence::detail
