// Looks into a B-tree and says what is wrong with it: the rules BN1 to BT2 of include/remanence/containers/detail/btree*.hpp.
#pragma once

#include "support/trusting_survey.hpp"

#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/btree_set.hpp>

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

    /// Empty when all is well. What verify() finds in a heap, and the ways through the elements.
    template <class Container>
    static std::string fault(const Container& container) {
        trusting_survey survey;
        const structure_result found = btree_structure<Container>::check(container, survey);
        return found ? found->what : order_fault(container);
    }

    /// Where a node lies.
    struct node_place {
        std::byte* first;
        std::size_t bytes;
        std::size_t links_offset; // of the children; all of `bytes` in a leaf
    };
    template <class Container>
    static std::vector<node_place> nodes_of(const Container& container) {
        std::vector<node_place> all;
        if (btree_node* const root = container.tree_.root_.get())
            add_places<typename std::remove_cvref_t<decltype(container.tree_)>::nodes>(root, all);
        return all;
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
    static void add_places(btree_node* n, std::vector<node_place>& all) {
        all.push_back({reinterpret_cast<std::byte*>(n), Nodes::bytes_of(n),
                       n->height == 0 ? Nodes::bytes_of(n) : Nodes::k_children_offset});
        for (std::size_t i = 0; n->height != 0 && i <= n->count; ++i)
            add_places<Nodes>(Nodes::child(n, i), all);
    }
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
