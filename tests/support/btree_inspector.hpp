// Looks into a B-tree and says what is wrong with it: the rules B1 to T2 of include/remanence/detail/btree*.hpp.
#pragma once

#include <remanence/btree_map.hpp>
#include <remanence/btree_set.hpp>

#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::detail {

struct btree_inspector {
    /// Of one tree, by height: 0 are the leaves.
    struct shape {
        std::vector<std::size_t> nodes;
        std::size_t elements = 0;
        std::size_t bytes = 0;
    };

    /// Empty when all is well.
    template <class Container>
    static std::string fault(const Container& container) {
        const auto& tree = container.tree_;
        using tree_type = std::remove_cvref_t<decltype(tree)>;
        using nodes = typename tree_type::nodes;
        btree_node* const root = tree.root_.get();
        if (root == nullptr) {
            const bool is_empty = tree.size_ == 0 && tree.first_.get() == nullptr && tree.last_.get() == nullptr;
            return is_empty ? "" : "there is no root, and not nothing";
        }
        if (root->parent.get() != nullptr)
            return "the root has a parent";
        if (root->count == 0)
            return "the root has no element";
        if (root->height != 0 && root->capacity != nodes::k_capacity)
            return "an inner root is small";
        walk<tree_type> all{tree};
        all.visit(root);
        if (all.fault.empty() && all.elements != tree.size_)
            all.fault =
                "there are " + std::to_string(all.elements) + " elements, said to be " + std::to_string(tree.size_);
        if (all.fault.empty() && (all.first_leaf != tree.first_.get() || all.last_leaf != tree.last_.get()))
            all.fault = "first or last leaf is another one";
        if (all.fault.empty())
            all.fault = order_fault(container);
        return all.fault;
    }

    template <class Container>
    static shape shape_of(const Container& container) {
        shape found;
        if (btree_node* const root = container.tree_.root_.get())
            add<typename std::remove_cvref_t<decltype(container.tree_)>::nodes>(root, found);
        return found;
    }

private:
    template <class Container> // insertion says whether it happened
    static constexpr bool is_unique_v =
        requires(Container& c, const typename Container::value_type& value) { c.insert(value).second; };

    template <class Nodes>
    static void add(btree_node* n, shape& found) {
        if (found.nodes.size() <= n->height)
            found.nodes.resize(n->height + std::size_t{1});
        ++found.nodes[n->height];
        found.elements += n->count;
        found.bytes += Nodes::bytes_of(n);
        for (std::size_t i = 0; n->height != 0 && i <= n->count; ++i)
            add<Nodes>(Nodes::child(n, i), found);
    }

    template <class Tree>
    struct walk {
        using nodes = typename Tree::nodes;
        const Tree& tree;
        std::string fault{};
        std::size_t elements = 0;
        const btree_node* first_leaf = nullptr;
        const btree_node* last_leaf = nullptr;

        void visit(btree_node* n) {
            elements += n->count;
            const bool is_root = n == tree.root_.get();
            if (n->count > n->capacity)
                return say("a node has more elements than slots");
            if (n->capacity > nodes::k_capacity || (!is_root && n->capacity != nodes::k_capacity))
                return say("a node has another capacity");
            if (n->count == 0)
                return say("a node has no element");
            if (n->reserved != 0)
                return say("what is reserved is not 0");
            if (n->height == 0) {
                first_leaf = first_leaf == nullptr ? n : first_leaf;
                last_leaf = n;
                return;
            }
            for (std::size_t i = 0; i <= n->count && fault.empty(); ++i) {
                btree_node* const child = nodes::child(n, i);
                if (child->parent.get() != n)
                    return say("a child has another parent");
                if (child->height + 1 != n->height)
                    return say("a child has another height");
                visit(child);
            }
        }
        void say(const std::string& what) { fault = what; }
    };

    /// Order, forwards and backwards.
    template <class Container>
    static std::string order_fault(const Container& container) {
        const auto compare = container.value_comp();
        std::size_t count = 0;
        std::vector<const void*> there;
        for (auto each = container.begin(); each != container.end(); ++each) {
            there.push_back(&*each);
            if (++count == 1)
                continue;
            const auto before = std::prev(each);
            const bool is_wrong = is_unique_v<Container> ? !compare(*before, *each) : compare(*each, *before);
            if (is_wrong)
                return "element " + std::to_string(count) + " is not behind the one before it";
        }
        if (count != container.size())
            return "an iteration meets " + std::to_string(count) + " elements";
        for (auto each = container.rbegin(); each != container.rend(); ++each) {
            if (there.empty() || there.back() != &*each)
                return "backwards is not the way back";
            there.pop_back();
        }
        return there.empty() ? "" : "an iteration backwards meets fewer elements";
    }
};

} // namespace remanence::detail
