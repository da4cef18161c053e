// Containers that are given what is theirs: themselves, their elements, and what these own. Each operation, in a section of a heap,
// must have what a container of values would have; also after reopening.

#include "unit/api/fixture.hpp"

#include <remanence/containers/packed_map.hpp>
#include <remanence/file_backed.hpp>
#include <remanence/types/fragile.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::test {

// The types of roots need names.
namespace own_descendants {

// The containers come last: an assignment goes on to read its source when a member before has destroyed what that lies in.

struct vector_node {
    string_pi name;
    vector_pi<vector_node> below;
};
struct btree_node {
    string_pi name;
    btree_map<string_pi, btree_node> below;
};
struct btree_multi_node {
    string_pi name;
    btree_multimap<string_pi, btree_multi_node> below;
};
struct hash_node {
    string_pi name;
    hash_map<string_pi, hash_node> below;
};
/// Too large for a slot, so that elements have blocks of their own.
struct large_btree_node {
    string_pi name;
    std::array<std::uint64_t, 64> more{};
    btree_map<string_pi, large_btree_node> below;
};
struct large_hash_node {
    string_pi name;
    std::array<std::uint64_t, 64> more{};
    hash_map<string_pi, large_hash_node> below;
};
/// One in the other.
struct inner_node;
struct mixed_node {
    string_pi name;
    vector_pi<inner_node> other;
    btree_map<string_pi, mixed_node> below;
};
struct inner_node {
    hash_map<std::uint64_t, mixed_node> all;
};

/// What is below, in order where there is one.
using texts = std::vector<std::string>;

template <class Node>
std::string text_of(const Node& node);
template <class Container>
texts texts_of(const Container& below) {
    texts all;
    for (const auto& each : below) {
        if constexpr (requires { each.second; })
            all.push_back(std::string(each.first) + '=' + text_of(each.second));
        else
            all.push_back(text_of(each));
    }
    if constexpr (requires { typename Container::key_type; })
        std::ranges::sort(all);
    return all;
}
template <class Node>
std::string text_of(const Node& node) {
    std::string text = std::string(node.name) + '(';
    for (const std::string& each : texts_of(node.below))
        text += each + ',';
    return text + ')';
}
inline texts sorted(texts all) {
    std::ranges::sort(all);
    return all;
}
inline texts operator+(texts a, const texts& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

inline std::string name_of(std::size_t number) {
    return "a name that lies in a block of its own, number " + std::to_string(1000 + number);
}

/// The child of that number.
template <class Node>
Node& child(Node& of, std::size_t number) {
    if constexpr (requires { of.below[number]; })
        return of.below[number];
    else
        return of.below.find(name_of(number))->second;
}
template <class Node>
auto where_of(Node& of, std::size_t number) {
    if constexpr (requires { of.below[number]; })
        return of.below.begin() + static_cast<std::ptrdiff_t>(number);
    else
        return of.below.find(name_of(number));
}

/// `wide` children below the root, of which each third has three, of which each has one.
template <class Node>
void fill(Node& node, std::size_t wide, const std::string& prefix = "root") {
    node.name = prefix;
    for (std::size_t i = 0; i != wide; ++i) {
        if constexpr (requires { node.below.emplace_back(); })
            node.below.emplace_back();
        else
            node.below.emplace(name_of(i), Node());
        const std::size_t below = prefix == "root" ? (i % 3 == 0 ? 3 : 0) : prefix.size() < 40 ? 1 : 0;
        fill(child(node, i), below, prefix + " " + std::to_string(i) + std::string(prefix.size(), '.'));
    }
}

/// Changes the tree; returns what must be below the root then.
template <class Node>
struct operation {
    const char* name;
    std::function<texts(Node&)> apply;
};

/// Those of all containers.
template <class Node>
std::vector<operation<Node>> common_operations() {
    using below = decltype(Node::below);
    return {
        {"copy itself",
         [](Node& root) {
             texts expected = texts_of(root.below);
             root.below = std::as_const(root.below);
             return expected;
         }},
        {"move itself",
         [](Node& root) {
             texts expected = texts_of(root.below);
             below& self = root.below;
             root.below = std::move(self);
             return expected;
         }},
        {"swap itself",
         [](Node& root) {
             texts expected = texts_of(root.below);
             root.below.swap(root.below);
             return expected;
         }},
        {"copy a child's",
         [](Node& root) {
             texts expected = texts_of(child(root, 0).below);
             root.below = std::as_const(child(root, 0).below);
             return expected;
         }},
        {"move a child's",
         [](Node& root) {
             texts expected = texts_of(child(root, 0).below);
             root.below = std::move(child(root, 0).below);
             return expected;
         }},
        {"copy a grandchild's",
         [](Node& root) {
             texts expected = texts_of(child(child(root, 0), 2).below);
             root.below = std::as_const(child(child(root, 0), 2).below);
             return expected;
         }},
        {"move a grandchild's",
         [](Node& root) {
             texts expected = texts_of(child(child(root, 0), 2).below);
             root.below = std::move(child(child(root, 0), 2).below);
             return expected;
         }},
        {"copy a child",
         [](Node& root) {
             texts expected = texts_of(child(root, 0).below);
             root = std::as_const(child(root, 0));
             return expected;
         }},
        {"move a child",
         [](Node& root) {
             texts expected = texts_of(child(root, 0).below);
             root = std::move(child(root, 0));
             return expected;
         }},
        {"move a grandchild",
         [](Node& root) {
             texts expected = texts_of(child(child(root, 0), 1).below);
             root = std::move(child(child(root, 0), 1));
             return expected;
         }},
        {"move a child to where its parent is",
         [](Node& root) {
             child(root, 0) = std::move(child(child(root, 0), 1));
             texts expected = texts_of(root.below);
             return expected;
         }},
        {"swap with a child's twice",
         [](Node& root) {
             texts expected = texts_of(root.below);
             const texts of_child = texts_of(child(root, 0).below);
             below& other = child(root, 0).below;
             root.below.swap(other);
             EXPECT_EQ(texts_of(root.below), of_child);
             root.below.swap(other); // which is still there, in memory that it owned meanwhile
             return expected;
         }},
        {"swap children's",
         [](Node& root) {
             const texts of_first = texts_of(child(root, 0).below);
             const texts of_second = texts_of(child(root, 1).below);
             swap(child(root, 0).below, child(root, 1).below);
             EXPECT_EQ(texts_of(child(root, 0).below), of_second);
             EXPECT_EQ(texts_of(child(root, 1).below), of_first);
             return texts_of(root.below);
         }},
        {"become a list of own elements",
         [](Node& root) {
             if constexpr (requires { root.below.emplace_back(); }) {
                 texts expected{text_of(child(root, 2)), text_of(child(child(root, 0), 1))};
                 root.below = {child(root, 2), child(child(root, 0), 1)};
                 return expected;
             } else {
                 texts expected{name_of(0) + '=' + text_of(child(child(root, 0), 1)),
                                name_of(2) + '=' + text_of(child(root, 2))};
                 root.below = {{string_pi(name_of(2)), child(root, 2)},
                               {string_pi(name_of(0)), child(child(root, 0), 1)}};
                 return expected;
             }
         }},
        {"take its own parent's copy",
         [](Node& root) {
             const std::string whole = text_of(root);
             if constexpr (requires { root.below.emplace_back(); }) {
                 texts expected = texts_of(root.below) + texts{whole};
                 root.below.push_back(root);
                 return expected;
             } else {
                 texts expected = sorted(texts_of(root.below) + texts{"key=" + whole});
                 root.below.emplace("key", root);
                 return expected;
             }
         }},
    };
}

inline void insert_at(texts& all, std::size_t at, const texts& added) {
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), added.begin(), added.end());
}

template <class Node>
std::vector<operation<Node>> sequence_operations() {
    std::vector<operation<Node>> all{
        {"assign a child's range",
         [](Node& root) {
             texts expected = texts_of(child(root, 0).below);
             root.below.assign(child(root, 0).below.begin(), child(root, 0).below.end());
             return expected;
         }},
        {"assign a child's range as one",
         [](Node& root) {
             texts expected = texts_of(child(root, 0).below);
             root.below.assign_range(std::views::all(child(root, 0).below));
             return expected;
         }},
        {"assign its own range",
         [](Node& root) {
             texts expected = texts_of(root.below);
             expected.erase(expected.begin());
             root.below.assign(root.below.begin() + 1, root.below.end());
             return expected;
         }},
        {"assign an element",
         [](Node& root) {
             texts expected(3, text_of(child(root, 1)));
             root.below.assign(3, child(root, 1));
             return expected;
         }},
        {"assign a child's element",
         [](Node& root) {
             texts expected(2, text_of(child(child(root, 0), 1)));
             root.below.assign(2, child(child(root, 0), 1));
             return expected;
         }},
        {"insert an element first",
         [](Node& root) {
             texts expected = texts_of(root.below);
             insert_at(expected, 0, {text_of(child(root, 1))});
             root.below.insert(root.below.begin(), child(root, 1));
             return expected;
         }},
        {"insert an element that is moved",
         [](Node& root) {
             texts expected = texts_of(root.below);
             insert_at(expected, 1, {text_of(child(root, 0))});
             expected[0] = "()";
             root.below.insert(root.below.begin() + 1, std::move(child(root, 0)));
             return expected;
         }},
        {"insert copies of an element",
         [](Node& root) {
             texts expected = texts_of(root.below);
             insert_at(expected, 1, texts(4, text_of(child(root, 1))));
             root.below.insert(root.below.begin() + 1, 4, child(root, 1));
             return expected;
         }},
        {"insert its own range",
         [](Node& root) {
             texts expected = texts_of(root.below);
             insert_at(expected, 1, texts_of(root.below));
             root.below.insert(root.below.begin() + 1, root.below.begin(), root.below.end());
             return expected;
         }},
        {"insert its own range backwards",
         [](Node& root) {
             texts expected = texts_of(root.below);
             texts added = expected;
             std::ranges::reverse(added);
             insert_at(expected, 2, added);
             root.below.insert_range(root.below.begin() + 2, root.below | std::views::reverse);
             return expected;
         }},
        {"insert a child's range",
         [](Node& root) {
             texts expected = texts_of(root.below);
             insert_at(expected, 0, texts_of(child(root, 0).below));
             root.below.insert(root.below.begin(), child(root, 0).below.begin(), child(root, 0).below.end());
             return expected;
         }},
        {"insert a child's elements, moved",
         [](Node& root) {
             texts expected = texts_of(root.below);
             const texts added = texts_of(child(root, 0).below);
             expected[0] = std::string(child(root, 0).name) + "((),(),(),)";
             insert_at(expected, 1, added);
             auto& from = child(root, 0).below;
             root.below.insert(root.below.begin() + 1, std::move_iterator(from.begin()),
                               std::move_iterator(from.end()));
             return expected;
         }},
        {"append a child's range",
         [](Node& root) {
             texts expected = texts_of(root.below) + texts_of(child(root, 0).below);
             root.below.append_range(child(root, 0).below);
             return expected;
         }},
        {"append itself",
         [](Node& root) {
             texts expected = texts_of(root.below) + texts_of(root.below);
             root.below.append_range(root.below);
             return expected;
         }},
        {"push an element",
         [](Node& root) {
             texts expected = texts_of(root.below) + texts{text_of(child(root, 0))};
             root.below.push_back(child(root, 0));
             return expected;
         }},
        {"push an element that is moved",
         [](Node& root) {
             texts expected = texts_of(root.below) + texts{text_of(child(root, 0))};
             expected[0] = "()";
             root.below.push_back(std::move(child(root, 0)));
             return expected;
         }},
        {"push a child's element that is moved",
         [](Node& root) {
             texts expected = texts_of(root.below) + texts{text_of(child(child(root, 0), 2))};
             child(child(root, 0), 2).name = name_of(1);
             expected.back().replace(0, expected.back().find('('), name_of(1));
             root.below.emplace_back(std::move(child(child(root, 0), 2)));
             expected[0] = text_of(child(root, 0));
             return expected;
         }},
        {"emplace an element",
         [](Node& root) {
             texts expected = texts_of(root.below);
             insert_at(expected, 1, {text_of(child(root, 2))});
             root.below.emplace(root.below.begin() + 1, child(root, 2));
             return expected;
         }},
        {"grow to copies of an element",
         [](Node& root) {
             texts expected = texts_of(root.below) + texts(3, text_of(child(root, 1)));
             root.below.resize(root.below.size() + 3, child(root, 1));
             return expected;
         }},
        {"lose those that equal an element",
         [](Node& root) {
             texts expected = texts_of(root.below);
             root.below.push_back(child(root, 1));
             expected.erase(expected.begin() + 1);
             EXPECT_EQ(erase_if(root.below, [&, wanted = text_of(child(root, 1))](
                                                const Node& each) { return text_of(each) == wanted; }),
                       2U);
             return expected;
         }},
    };
    // Each once more where there is room for all that comes.
    const std::size_t without_room = all.size();
    for (std::size_t i = 0; i != without_room; ++i)
        all.push_back({all[i].name, [apply = all[i].apply](Node& root) {
                           root.below.reserve(4 * root.below.size() + 20);
                           return apply(root);
                       }});
    return all;
}

template <class Node>
std::vector<operation<Node>> map_operations() {
    using map = decltype(Node::below);
    constexpr bool is_multi = !requires(map& m, typename map::value_type v) { m.insert(v).second; };
    static const auto element = [](std::size_t key, const Node& value) { return name_of(key) + '=' + text_of(value); };
    return {
        {"insert an element",
         [](Node& root) {
             texts expected = texts_of(root.below) + (is_multi ? texts{element(1, child(root, 1))} : texts());
             root.below.insert(*where_of(root, 1));
             return sorted(expected);
         }},
        {"insert an element near another",
         [](Node& root) {
             texts expected = texts_of(root.below) + (is_multi ? texts{element(1, child(root, 1))} : texts());
             root.below.insert(where_of(root, 0), *where_of(root, 1));
             return sorted(expected);
         }},
        {"insert a child's range",
         [](Node& root) {
             texts expected = texts_of(root.below);
             auto& from = child(root, 0).below;
             from.emplace("another", child(root, 1));
             expected =
                 texts_of(root.below) + (is_multi ? texts_of(from) : texts{"another=" + text_of(child(root, 1))});
             root.below.insert(from.begin(), from.end());
             return sorted(expected);
         }},
        {"emplace an element's value",
         [](Node& root) {
             texts expected = texts_of(root.below) + texts{"key=" + text_of(child(root, 0))};
             root.below.emplace("key", child(root, 0));
             return sorted(expected);
         }},
        {"emplace an element's value, moved",
         [](Node& root) {
             texts expected = texts_of(root.below) + texts{"key=" + text_of(child(root, 0))};
             std::replace(expected.begin(), expected.end(), element(0, child(root, 0)), name_of(0) + "=()");
             root.below.emplace("key", std::move(child(root, 0)));
             return sorted(expected);
         }},
        {"emplace with an element's key and value",
         [](Node& root) {
             texts expected = texts_of(root.below) + (is_multi ? texts{element(2, child(root, 0))} : texts());
             root.below.emplace(where_of(root, 2)->first, child(root, 0));
             return sorted(expected);
         }},
        {"emplace near, what a child has",
         [](Node& root) {
             texts expected = texts_of(root.below) + texts{"key=" + text_of(child(child(root, 0), 1))};
             root.below.emplace_hint(root.below.begin(), "key", child(child(root, 0), 1));
             return sorted(expected);
         }},
        {"erase by an element's key",
         [](Node& root) {
             texts expected = texts_of(root.below);
             std::erase(expected, element(2, child(root, 2)));
             EXPECT_EQ(root.below.erase(where_of(root, 2)->first), 1U);
             return expected;
         }},
        {"try to emplace an element's value",
         [](Node& root) {
             texts expected = texts_of(root.below);
             if constexpr (!is_multi) {
                 expected.push_back("key=" + text_of(child(root, 0)));
                 root.below.try_emplace("key", child(root, 0));
                 root.below.try_emplace(where_of(root, 1)->first, child(root, 0));
             }
             return sorted(expected);
         }},
        {"insert or assign an element's value",
         [](Node& root) {
             texts expected = texts_of(root.below);
             if constexpr (!is_multi) {
                 expected.push_back("key=" + text_of(child(root, 0)));
                 std::replace(expected.begin(), expected.end(), element(1, child(root, 1)), element(1, child(root, 0)));
                 root.below.insert_or_assign("key", child(root, 0));
                 root.below.insert_or_assign(where_of(root, 1)->first, child(root, 0));
             }
             return sorted(expected);
         }},
        {"assign to an element what it has below",
         [](Node& root) {
             texts expected = texts_of(root.below);
             if constexpr (!is_multi) {
                 std::replace(expected.begin(), expected.end(), element(0, child(root, 0)),
                              element(0, child(child(root, 0), 1)));
                 root.below.insert_or_assign(string_pi(name_of(0)), std::move(child(child(root, 0), 1)));
             }
             return sorted(expected);
         }},
        {"insert what is extracted from a child",
         [](Node& root) {
             child(root, 0).below.emplace("key", child(root, 1));
             const std::string taken = "key=" + text_of(child(root, 1));
             auto handle = child(root, 0).below.extract("key");
             texts expected = texts_of(root.below) + texts{taken};
             root.below.insert(std::move(handle));
             return sorted(expected);
         }},
        {"merge itself",
         [](Node& root) {
             texts expected = texts_of(root.below);
             root.below.merge(root.below);
             return expected;
         }},
        {"merge a grandchild's",
         [](Node& root) {
             auto& from = child(child(root, 0), 1).below;
             from.emplace("key", child(root, 1));
             const std::string added = "key=" + text_of(child(root, 1));
             from.erase(string_pi(name_of(0)));
             texts expected = texts_of(root.below);
             root.below.merge(from);
             const std::string before = element(0, child(root, 0));
             std::erase_if(expected, [&](const std::string& each) { return each.starts_with(name_of(0)); });
             return sorted(expected + texts{added, before});
         }},
        {"merge a child's",
         [](Node& root) {
             auto& from = child(root, 0).below;
             from.emplace("key", child(root, 1));
             texts expected = texts_of(root.below);
             if (sizeof(Node) > 256) { // elements stay where they are
                 const texts added = is_multi ? texts_of(from) : texts{"key=" + text_of(child(root, 1))};
                 root.below.merge(from);
                 std::erase_if(expected, [&](const std::string& each) { return each.starts_with(name_of(0)); });
                 expected.push_back(element(0, child(root, 0)));
                 expected = expected + added;
             } else {
                 EXPECT_THROW(root.below.merge(from), std::invalid_argument);
             }
             return sorted(expected);
         }},
    };
}

template <class Node>
std::vector<operation<Node>> operations() {
    std::vector<operation<Node>> all = common_operations<Node>();
    if constexpr (requires(Node& node) { node.below.emplace_back(); })
        std::ranges::move(sequence_operations<Node>(), std::back_inserter(all));
    else
        std::ranges::move(map_operations<Node>(), std::back_inserter(all));
    return all;
}

} // namespace own_descendants

namespace {

template <class Node>
class own_descendants_of : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using all_nodes =
    testing::Types<own_descendants::vector_node, own_descendants::btree_node, own_descendants::btree_multi_node,
                   own_descendants::hash_node, own_descendants::large_btree_node, own_descendants::large_hash_node>;
#else
using all_nodes = testing::Types<own_descendants::vector_node, own_descendants::large_btree_node>;
#endif
TYPED_TEST_SUITE(own_descendants_of, all_nodes);

/// Each operation in a tree of its own, so that nothing else is amiss when it begins.
template <class Node, class Write>
void expect_all_in_sections(std::size_t wide, const Write& write) {
    const temp_dir dir;
    const auto operations = own_descendants::operations<Node>();
    std::vector<own_descendants::texts> expected(operations.size());
    const auto name_of_root = [](std::size_t i) { return "root " + std::to_string(i); };
    {
        heap_options not_synced = small_heap();
        not_synced.commits = durability::none;
        heap h = heap::create(dir / "h", not_synced);
        for (std::size_t i = 0; i != operations.size(); ++i) {
            Node& root = h.root<Node>(name_of_root(i));
            h.write([&] { own_descendants::fill(root, wide); });
            write(h, [&] { expected[i] = operations[i].apply(root); });
            EXPECT_EQ(own_descendants::texts_of(root.below), expected[i]) << operations[i].name;
        }
        EXPECT_TRUE(h.verify().clean());
        h.close();
    }
    heap h = heap::open_existing(dir / "h", small_heap());
    for (std::size_t i = 0; i != operations.size(); ++i) {
        Node& root = h.root<Node>(name_of_root(i));
        EXPECT_EQ(own_descendants::texts_of(root.below), expected[i]) << operations[i].name;
    }
    h.write([&] { // everything can be freed
        for (std::size_t i = 0; i != operations.size(); ++i)
            h.root<Node>(name_of_root(i)) = Node();
    });
    EXPECT_TRUE(h.verify().clean());
}

TYPED_TEST(own_descendants_of, few_are_taken_before_anything_is_destroyed) {
    expect_all_in_sections<TypeParam>(3, [](heap& h, const auto& change) { h.write(change); });
}
TYPED_TEST(own_descendants_of, many_are_taken_before_anything_is_destroyed) {
    expect_all_in_sections<TypeParam>(60, [](heap& h, const auto& change) { h.write(change); });
}
TYPED_TEST(own_descendants_of, are_declared_when_they_are_taken) {
    expect_all_in_sections<TypeParam>(20, [](heap& h, const auto& change) {
        h.write(declared, change); // builds with assertions refuse what was not declared
        h.rollback();              // takes back what was not in the commit
    });
}

/// In memory that sanitizers know better than a heap's.
TYPED_TEST(own_descendants_of, are_taken_outside_of_heaps_too) {
    for (const auto& each : own_descendants::operations<TypeParam>()) {
        TypeParam root;
        own_descendants::fill(root, 30);
        const own_descendants::texts expected = each.apply(root);
        EXPECT_EQ(own_descendants::texts_of(root.below), expected) << each.name;
    }
}

TEST(own_descendants_of_mixed, containers_are_taken_before_anything_is_destroyed) {
    using own_descendants::inner_node;
    using own_descendants::mixed_node;
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& root = h.root<mixed_node>("root");
    h.write([&] {
        mixed_node& deep = root.below["first"].other.emplace_back().all[7].below["second"];
        deep.name = own_descendants::name_of(1);
        deep.below["third"].name = own_descendants::name_of(2);
        deep.other.emplace_back().all[8].name = own_descendants::name_of(3);
    });
    h.write([&] { root = std::move(root.below["first"].other[0].all[7].below["second"]); });
    EXPECT_EQ(root.name, own_descendants::name_of(1));
    h.write([&] { root.below = std::as_const(root.below); });
    EXPECT_EQ(root.below["third"].name, own_descendants::name_of(2));
    EXPECT_TRUE(h.verify().clean());
}

/// `Text` may be read as its own while it changes.
TEST(own_characters, are_taken_before_anything_is_written) {
    const auto expect = [](const std::string& begin, auto&& change) {
        string_pi text(begin);
        change(text, text);
        std::string model(begin);
        change(model, std::string(begin)); // a copy
        EXPECT_EQ(text, model) << begin;
        string_pi roomy(begin);
        roomy.reserve(10 * begin.size() + 50);
        change(roomy, roomy);
        EXPECT_EQ(roomy, model) << begin;
    };
    for (const std::string begin : {"", "abc", "of twenty-three letters", "a text that lies in a block of its own"}) {
        const auto middle = begin.size() / 2;
        expect(begin, [](auto& text, const auto& own) { text = own; });
        expect(begin, [](auto& text, const auto& own) { text.assign(own); });
        expect(begin, [&](auto& text, const auto& own) { text.assign(own, middle, 2); });
        expect(begin, [&](auto& text, const auto& own) {
            text.assign(own.begin() + static_cast<std::ptrdiff_t>(middle), own.end());
        });
        expect(begin, [&](auto& text, const auto& own) { text = std::string_view(own).substr(middle); });
        expect(begin, [](auto& text, const auto& own) { text.append(own); });
        expect(begin, [](auto& text, const auto& own) { text += own; });
        expect(begin, [](auto& text, const auto& own) { text.append(own.begin(), own.end()); });
        expect(begin, [&](auto& text, const auto& own) { text.insert(middle, own); });
        expect(begin, [&](auto& text, const auto& own) { text.insert(middle, own.c_str()); });
        expect(begin, [&](auto& text, const auto& own) { text.insert(middle / 2, own, middle / 3, middle); });
        expect(begin, [&](auto& text, const auto& own) { text.replace(middle / 2, 2, own); });
        expect(begin, [&](auto& text, const auto& own) { text.replace(0, middle, own, middle, 1); });
        expect(begin, [](auto& text, const auto& own) {
            text.swap(const_cast<std::remove_cvref_t<decltype(own)>&>(own));
        }); // NOLINT
        if (!begin.empty()) {
            expect(begin, [&](auto& text, const auto& own) { text.push_back(own[middle]); });
            expect(begin, [&](auto& text, const auto& own) { text.resize(text.size() + 9, own.back()); });
            expect(begin, [&](auto& text, const auto& own) { text.assign(40, own.front()); });
            expect(begin, [&](auto& text, const auto& own) { text.insert(middle, 30, own.front()); });
        }
    }
    string_pi text("a text that lies in a block of its own");
    string_pi& self = text;
    text = std::move(self);
    EXPECT_EQ(text, "a text that lies in a block of its own");
}

/// Views into leaves that divide, unite and move.
TEST(own_records, are_taken_before_a_packed_map_changes) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<packed_map>("all");
    std::map<std::string, std::string, std::less<>> model;
    const auto key_of = [](std::size_t i) { return "key " + std::to_string(1000 + i); };
    h.write([&] {
        for (std::size_t i = 0; i != 500; ++i) {
            const std::string value(i % 50, static_cast<char>('a' + i % 26));
            all.emplace(key_of(i), value);
            model.emplace(key_of(i), value);
        }
    });
    h.write(declared, [&] {
        for (std::size_t i = 0; i != 500; ++i) {
            const auto from = all.find(key_of(i * 7 % 500));
            const std::string key(from->first);
            const std::string value(from->second);
            switch (i % 5) {
            case 0:
                all.insert({from->second, from->first});
                model.emplace(value, key);
                break;
            case 1:
                all.insert_or_assign(from->second, from->first);
                model.insert_or_assign(value, key);
                break;
            case 2:
                all.assign(all.find(key_of(i)), from->first);
                model[key_of(i)] = key;
                break;
            case 3:
                all.assign(from, from->second.substr(from->second.size() / 2));
                model[key] = value.substr(value.size() / 2);
                break;
            default:
                all.insert_or_assign(from->first, from->first);
                model[key] = key;
                break;
            }
        }
        all.insert(all.begin(), all.end());
        packed_map& self = all;
        all = std::as_const(self);
        all = std::move(self);
        all.swap(self);
    });
    h.rollback();
    EXPECT_TRUE(std::equal(all.begin(), all.end(), model.begin(), model.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
    h.write(declared, [&] { all = {*std::next(all.begin()), *std::prev(all.end())}; });
    h.rollback();
    EXPECT_EQ(all.size(), 2U);
    EXPECT_EQ(all.begin()->first, std::next(model.begin())->first);
    EXPECT_TRUE(h.verify().clean());
}

TEST(own_values, of_fragile_elements_are_taken_before_anything_is_written) {
    using element = fragile<std::vector<std::string>>;
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<vector_pi<element>>("all");
    const std::vector<std::string> value(5, "a text");
    h.write([&] {
        all.emplace_back(value);
        all.push_back(all[0]);
        all.insert(all.begin(), all[1]);
        element& self = all[0];
        all[0] = std::as_const(self);
        all[0] = std::move(self);
        swap(all[0], self);
        all[1] = *std::as_const(all)[1];
        all.append_range(all);
        all.assign(all.begin() + 1, all.end());
    });
    ASSERT_EQ(all.size(), 5U);
    for (const element& each : all)
        EXPECT_EQ(each.value(), value);
    EXPECT_TRUE(h.verify().clean());
}

TEST(own_file, of_a_container_that_is_moved_to_itself_stays_open) {
    const temp_dir dir;
    file_backed<vector_pi<int>> all(dir / "all");
    all->assign(3, 7);
    file_backed<vector_pi<int>>& self = all;
    all = std::move(self);
    ASSERT_TRUE(all.is_open());
    EXPECT_EQ(all->size(), 3U);
    all.close();
}

} // namespace
} // namespace remanence::test
