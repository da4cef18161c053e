// Fills containers whose elements are sorted by their keys.
#include "objects/container_layout.hpp"
#include "objects/shaped_filler.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace remanence::objects {

using detail::shape_kind;

namespace {

/// Checks that a key is not less than the previous key, nor equal to it unless the container allows equal keys. Used
/// for both kinds of ordered containers.
class order_check {
public:
    order_check(object_builder& to, object_place container)
        : to_(to),
          container_(container),
          function_(to.function_of(container.row)),
          by_(to.functions_of(container.row)),
          is_checked_here_(function_ != key_function::own ||
                           (by_ != nullptr && !to.has_pointers_in_keys(container.row))),
          has_several_(has_several_of_a_key(to.row(container.row))) {}

    void trust() { is_checked_here_ = false; }
    void next(const element_place& element) { next_ = key_of(element); }
    result<void> made() {
        if (!is_checked_here_)
            return {};
        if (const auto before = std::exchange(before_, next_)) {
            if (by_ != nullptr) {
                const auto fault = fault_of_order(*by_, has_several_, to_.at(before->at), to_.at(next_.at));
                return fault.empty() ? result<void>() : wrong(std::string(fault));
            }
            auto order = compare(to_.built(), *before, next_);
            if (!order)
                return order.error();
            if (*order && **order == 0 && !has_several_)
                return wrong("a key that is there already");
            if (!*order || (function_ == key_function::greater ? **order < 0 : **order > 0))
                return wrong("a key that does not come behind the one before it");
        }
        return {};
    }

private:
    [[nodiscard]] unexpected wrong(const std::string& what) const {
        return fail(errc::invalid_argument, "a " + to_.schema().name_of(container_.row) + " gets " + what);
    }

    object_builder& to_;
    object_place container_;
    key_function function_;
    const detail::key_functions* by_; // the program's functions
    bool is_checked_here_;
    bool has_several_;
    std::optional<object_place> before_;
    object_place next_;
};

/// Fills std::map and its relatives: a red-black tree of minimal height, whose last level is red unless it is full.
class filler_of_tree final : public shaped_filler {
public:
    filler_of_tree(object_builder& to, object_place container) : shaped_filler(to, container), check_(to, container) {}

    result<void> begin(std::uint64_t count) {
        node_ = node_layout(to_, is_);
        const std::uint64_t header = container_.at + is_.numbers[0];
        to_.put_word(container_.at, to_.base());
        to_.put_address(header + k_left, header);
        to_.put_address(header + k_right, header);
        to_.put_word(header + 4 * k_word, count);
        // limited, because the number comes from the input
        nodes_.reserve(std::min<std::uint64_t>(count, std::uint64_t{1} << 20));
        return {};
    }
    void trust_order() override { check_.trust(); }
    result<element_place> add(std::uint64_t /*hash*/) override {
        auto node = to_.allocate(node_.bytes, node_.alignment);
        if (!node)
            return node.error();
        nodes_.push_back(*node);
        const element_place element = to_.element_at(is_, *node + is_.numbers[1], is_.numbers[2]);
        check_.next(element);
        return element;
    }
    result<void> made() override { return check_.made(); }
    result<void> finish() override {
        if (nodes_.empty())
            return {};
        const std::uint64_t header = container_.at + is_.numbers[0];
        // All levels above this one are full; the last one may not be.
        const auto full_levels = static_cast<unsigned>(std::bit_width(nodes_.size() + 1) - 1);
        to_.put_address(header + k_parent, link(0, nodes_.size(), header, 0, full_levels));
        to_.put_address(header + k_left, nodes_.front());
        to_.put_address(header + k_right, nodes_.back());
        return {};
    }

private:
    static constexpr std::uint64_t k_parent = 8;
    static constexpr std::uint64_t k_left = 16;
    static constexpr std::uint64_t k_right = 24;

    /// Links the nodes [first, last) into a tree. Returns the tree's root, or 0 if there are no nodes.
    // NOLINTNEXTLINE(misc-no-recursion): by height
    std::uint64_t link(std::size_t first, std::size_t last, std::uint64_t parent, unsigned level,
                       unsigned full_levels) {
        if (first == last)
            return 0;
        const std::size_t middle = first + (last - first) / 2;
        const std::uint64_t node = nodes_[middle];
        to_.put_word(node, level == full_levels ? 0 : 1); // 0 is red, 1 is black
        to_.put_address(node + k_parent, parent);
        to_.put_address(node + k_left, link(first, middle, node, level + 1, full_levels));
        to_.put_address(node + k_right, link(middle + 1, last, node, level + 1, full_levels));
        return node;
    }

    order_check check_;
    block_layout node_{};
    std::vector<std::uint64_t> nodes_;
};

/// Fills our B-trees (containers/detail/btree_node.hpp). The number of elements in each node is known before the first
/// is made, so no element moves.
class filler_of_btree final : public shaped_filler {
public:
    filler_of_btree(object_builder& to, object_place container)
        : shaped_filler(to, container), check_(to, container), layout_(to, is_) {}

    result<void> begin(std::uint64_t count) {
        if (!layout_.is_sound()) // refuses numbers that would lead outside of a block (OB1)
            return fail(errc::invalid_argument,
                        "the schema says of a " + to_.schema().name_of(container_.row) + " what cannot be");
        const std::size_t height = layout_.height_for(count);
        to_.put_word(container_.at + 4 * k_word, 0 - (container_.at + 4 * k_word)); // the allocator's link
        to_.put_word(container_.at + 3 * k_word, count);
        if (count == 0)
            return {};
        auto root = open(height, count, 0);
        if (!root)
            return root.error();
        to_.put_link(container_.at, *root);
        to_.put_link(container_.at + k_word, open_.back().node);
        return {};
    }
    void trust_order() override { check_.trust(); }
    result<element_place> add(std::uint64_t /*hash*/) override {
        while (open_.back().made == open_.back().count)
            open_.pop_back();
        level& last = open_.back();
        std::uint64_t place = last.node + is_.numbers[2] + last.made * is_.numbers[3];
        ++last.made;
        if (!layout_.is_inline()) {
            auto block = to_.allocate(layout_.element().bytes, layout_.element().alignment);
            if (!block)
                return block.error();
            to_.put_link(place, *block);
            place = *block;
        }
        if (last.height != 0)
            REM_TRY(open_child());
        const element_place element = to_.element_at(is_, place, is_.numbers[5]);
        check_.next(element);
        return element;
    }
    result<void> made() override { return check_.made(); }

private:
    struct level {
        std::uint64_t node;
        std::size_t height;
        std::uint64_t count; // elements of the node itself
        std::uint64_t below; // elements of its children and below
        std::uint64_t made;
    };

    /// Makes a node for `count` elements in and below it, and also its first child. Returns the node's place.
    result<std::uint64_t> open(std::size_t height, std::uint64_t count, std::uint64_t parent) {
        std::uint64_t first = 0;
        for (;;) {
            level made{};
            made.height = height;
            made.count = layout_.own_elements(height, count);
            made.below = count - made.count;
            auto node = new_node(made, parent);
            if (!node)
                return node.error();
            made.node = *node;
            if (first == 0)
                first = *node;
            else
                put_child(open_.back().node, 0, *node);
            open_.push_back(made);
            if (height == 0) {
                to_.put_link(container_.at + 2 * k_word, made.node); // the last leaf made so far
                return first;
            }
            count = share(made, 0);
            parent = made.node;
            --height;
        }
    }
    /// Makes the next child of the innermost open node.
    result<void> open_child() {
        const level parent = open_.back();
        auto child = open(parent.height - 1, share(parent, parent.made), parent.node);
        if (!child)
            return child.error();
        put_child(parent.node, parent.made, *child);
        return {};
    }
    static std::uint64_t share(const level& of, std::uint64_t child) {
        return btree_layout::share(of.count, of.below, child);
    }
    result<std::uint64_t> new_node(const level& of, std::uint64_t parent) {
        const block_layout layout = layout_.node(of.height, of.count, parent == 0);
        auto node = to_.allocate(layout.bytes, layout.alignment);
        if (!node)
            return node;
        to_.put_link(*node, parent);
        const auto half = [&](std::uint64_t at, std::uint64_t value) {
            const auto small = static_cast<std::uint16_t>(value);
            std::memcpy(to_.at(*node + at), &small, sizeof small);
        };
        half(8, of.count);
        half(10, layout_.capacity(of.height, of.count, parent == 0));
        half(12, of.height);
        return node;
    }
    void put_child(std::uint64_t node, std::uint64_t index, std::uint64_t child) {
        to_.put_word(node + is_.numbers[4] + index * k_word, child - node);
    }

    order_check check_;
    btree_layout layout_;
    std::vector<level> open_; // from the root to the leaf that is being filled
};

} // namespace

result<std::unique_ptr<container_filler>> make_ordered_filler(object_builder& builder, object_place container,
                                                              std::uint64_t count) {
    if (builder.row(container.row).shape == shape_kind::tree)
        return begun<filler_of_tree>(builder, container, count);
    return begun<filler_of_btree>(builder, container, count);
}

} // namespace remanence::objects
