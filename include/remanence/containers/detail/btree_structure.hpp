// The checks of a B-tree by heap::verify(): rule BT1 of btree.hpp, links and counts; and the order of keys, if
// comparing them reads only the keys and what they own. Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/btree.hpp>
#include <remanence/types/detail/structure.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace remanence::detail {

template <class Container>
struct btree_structure {
    static structure_result check(const Container& container, block_survey& survey) {
        const auto& tree = container.tree_;
        using tree_type = std::remove_cvref_t<decltype(tree)>;
        const btree_node* const root = tree.root_.get();
        if (root == nullptr) {
            if (tree.size_ != 0 || tree.first_.get() != nullptr || tree.last_.get() != nullptr)
                return structure_fault{&container, "a B-tree without a root that is said not to be empty"};
            return {};
        }
        walk<tree_type> all{tree, survey};
        all.visit_root(tree.root_.get());
        if (!all.found && (all.elements != tree.size_))
            return structure_fault{&container, "a B-tree whose count of elements is wrong"};
        if (!all.found && (all.first_leaf != tree.first_.get() || all.last_leaf != tree.last_.get()))
            return structure_fault{&container, "a B-tree whose first or last leaf is another one than it says"};
        return std::move(all.found);
    }

private:
    template <class Tree>
    struct walk {
        using nodes = typename Tree::nodes;
        using key_type = typename Container::key_type;
        using value_type = typename Container::value_type;
        static constexpr bool k_is_unique = // only then insert() returns a pair
            requires(Container& c, const value_type& value) { c.insert(value).second; };

        const Tree& tree;
        block_survey& survey;
        structure_result found{};
        std::size_t elements = 0;
        const btree_node* first_leaf = nullptr;
        const btree_node* last_leaf = nullptr;
        const key_type* before = nullptr;

        void visit_root(btree_node* root) {
            if (!is_block(root))
                return;
            if (root->parent.get() != nullptr)
                return say(root, "a B-tree's root that has a parent");
            if (root->height != 0 && root->capacity != nodes::k_capacity)
                return say(root, "a B-tree's inner root with too few slots");
            visit(root);
        }

    private:
        void say(const void* where, const char* what) { found = structure_fault{where, what}; }

        bool is_block(const btree_node* n) {
            if (!survey.is_block(n, sizeof *n))
                say(n, "a link of a B-tree that leads to no node");
            else if (n->capacity > nodes::k_capacity)
                say(n, "a B-tree's node with too many slots");
            else if (!survey.is_block(n, nodes::bytes_of(n)))
                say(n, "a B-tree's node that is larger than its memory");
            return !found;
        }

        void visit(btree_node* n) { // NOLINT(misc-no-recursion): as deep as the tree is high
            if (n->count > n->capacity)
                return say(n, "a B-tree's node with more elements than slots");
            if (n->count == 0)
                return say(n, "a B-tree's node without elements");
            if (n->reserved != 0)
                return say(n, "a B-tree's node whose reserved bytes are not zero");
            if (n->height == 0) {
                first_leaf = first_leaf == nullptr ? n : first_leaf;
                last_leaf = n;
            }
            for (std::size_t i = 0; i <= n->count && !found; ++i) {
                if (n->height != 0)
                    visit_child(n, nodes::child(n, i));
                if (i != n->count && !found)
                    visit_element(n, i);
            }
        }
        void visit_child(btree_node* n, btree_node* child) { // NOLINT(misc-no-recursion): tree's height
            if (!is_block(child))
                return;
            if (child->parent.get() != n)
                return say(child, "a B-tree's node that has another parent");
            if (child->height + 1 != n->height)
                return say(child, "a B-tree's node at another height than its siblings");
            if (child->capacity != nodes::k_capacity)
                return say(child, "a B-tree's node with another number of slots");
            visit(child);
        }
        void visit_element(btree_node* n, std::size_t index) {
            const value_type* const element = nodes::at(nodes::slot(n, index));
            if constexpr (!nodes::k_is_inline) {
                if (!survey.is_block(element, sizeof *element))
                    return say(nodes::slot(n, index), "a link of a B-tree that leads to no element");
            }
            ++elements;
            found = check_structure(*element, survey);
            if constexpr (is_plain_order_v<key_type, typename Container::key_compare>) {
                if (found)
                    return;
                const key_type& key = Tree::key_of(*element);
                if (before != nullptr && (k_is_unique ? !tree.compare()(*before, key) : tree.compare()(key, *before)))
                    return say(n, "a B-tree's node whose keys are not in their order");
                before = &key;
            }
        }
    };
};

} // namespace remanence::detail
