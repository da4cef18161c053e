// Containers that exchange elements and belong to different heaps, or one of which belongs to none: elements are copied, or
// the process ends with a message; neither owns memory of the other's.

#include "fixture.hpp"
#include "types/pointer_check.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <forward_list>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace remanence::test::between_heaps {
namespace {

std::string text_of(int i) { return "a text too long for the buffer inside a string, number " + std::to_string(i); }

template <class Element>
Element element_of(int i) {
    if constexpr (std::is_same_v<Element, char>)
        return char('a' + i % 26);
    else if constexpr (std::is_arithmetic_v<Element>)
        return Element(i);
    else if constexpr (std::is_constructible_v<Element, std::string>)
        return Element(text_of(i));
    else // of a map
        return Element(element_of<std::remove_const_t<typename Element::first_type>>(i),
                       element_of<typename Element::second_type>(i));
}

/// The elements from `begin` on.
template <class Container>
void fill(Container& all, int begin, int count) {
    for (int i = begin; i < begin + count; ++i) {
        using element = typename Container::value_type;
        if constexpr (requires { all.push_back(element_of<element>(i)); })
            all.push_back(element_of<element>(i));
        else if constexpr (requires { all.push_front(element_of<element>(i)); })
            all.push_front(element_of<element>(i));
        else
            all.insert(element_of<element>(i));
    }
}

template <class Container>
class swap_between_heaps : public testing::Test {
protected:
    temp_dir dir_;
    heap heap_ = heap::create(dir_ / "a.rem", small_heap());
};

#if defined(REMANENCE_ALL_TESTS)
using containers =
    testing::Types<string, vector<int>, vector<bool>, vector<string>, deque<string>, list<string>, forward_list<string>,
                   set<string>, multiset<int>, map<int, string>, multimap<string, int>, unordered_set<string>,
                   unordered_multiset<int>, unordered_map<int, string>, unordered_multimap<string, string>, string_pi,
                   vector_pi<string_pi>, vector_pi<int>, btree_set<string_pi>, btree_map<int, string>,
                   hash_set<string_pi>, hash_map<int, string>>;
#else
using containers = testing::Types<string, vector<bool>, deque<string>, list<string>, map<int, string>,
                                  unordered_multimap<string, string>, vector_pi<string_pi>, btree_map<int, string>,
                                  hash_set<string_pi>>;
#endif
TYPED_TEST_SUITE(swap_between_heaps, containers);

TYPED_TEST(swap_between_heaps, exchanges_elements_and_leaves_each_with_memory_of_its_own) {
    if (std::is_same_v<TypeParam, vector<bool>> && types::checks_pointers())
        GTEST_SKIP()
            << "this build checks every commit, and takes what lies in the padding of a vector<bool> for a pointer";
    static_assert(std::is_swappable_v<TypeParam>);
    (void)this->heap_.template root<int>("another"); // makes the root directory
    const auto bytes = this->heap_.stats().allocated_bytes;
    auto& stored = this->heap_.template root<TypeParam>("stored");
    this->heap_.write([&] { fill(stored, 0, 40); });
    const TypeParam stored_before = stored;
    {
        TypeParam mine;
        fill(mine, 100, 20);
        const TypeParam mine_before = mine;
        this->heap_.write([&] {
            using std::swap;
            swap(stored, mine);
        });
        EXPECT_EQ(stored, mine_before);
        EXPECT_EQ(mine, stored_before);
        EXPECT_EQ(mine.get_allocator().heap(), nullptr);
        EXPECT_EQ(stored.get_allocator(), this->heap_.get_allocator());
        EXPECT_TRUE(this->heap_.check_pointers().clean());
        this->heap_.write([&] { swap(mine, stored); });
        EXPECT_EQ(stored, stored_before);
        EXPECT_EQ(mine, mine_before);
        swap(mine, mine);
        EXPECT_EQ(mine, mine_before);
        TypeParam third = mine;
        third.clear();
        swap(mine, third); // within one heap, or none
        EXPECT_EQ(third, mine_before);
        EXPECT_TRUE(mine.empty());
    }
    EXPECT_TRUE(this->heap_.verify().clean());
    EXPECT_TRUE(this->heap_.check_pointers().clean());
    this->heap_.template remove_root<TypeParam>("stored");
    EXPECT_EQ(this->heap_.stats().allocated_bytes, bytes);
}

struct throwing {
    throwing() = default;
    throwing(const throwing& other) : text(other.text) {
        if (--copies_left == 0)
            throw std::runtime_error("no copy");
    }
    throwing& operator=(const throwing&) = default;
    ~throwing() = default;
    friend bool operator==(const throwing& a, const throwing& b) { return a.text == b.text; }

    std::string text = text_of(0);
    static int copies_left;
};
int throwing::copies_left = 0;

TEST(swap_of_elements, that_fails_has_no_effect) {
    const temp_dir dir;
    heap h = heap::create(dir / "a.rem", small_heap());
    for (int fail_at = 1;; ++fail_at) {
        throwing::copies_left = 0;
        vector<throwing> stored(std::size_t{5}, throwing(), h.get_allocator<throwing>());
        vector<throwing> mine(3);
        throwing::copies_left = fail_at;
        try {
            swap(stored, mine);
        } catch (const std::runtime_error&) {
            EXPECT_EQ(stored.size(), 5U);
            EXPECT_EQ(mine.size(), 3U);
            continue;
        }
        EXPECT_EQ(stored.size(), 3U);
        EXPECT_EQ(mine.size(), 5U);
        break;
    }
}

TEST(swap_of_elements, moves_what_cannot_be_copied) {
    const temp_dir dir;
    heap h = heap::create(dir / "a.rem", small_heap());
    vector<std::unique_ptr<int>> stored(h.get_allocator<std::unique_ptr<int>>());
    stored.push_back(std::make_unique<int>(5));
    vector<std::unique_ptr<int>> mine;
    swap(stored, mine);
    EXPECT_TRUE(stored.empty());
    EXPECT_EQ(*mine.at(0), 5);
}

class between_heaps_DeathTest : public testing::Test {
protected:
    temp_dir dir_;
    heap heap_ = heap::create(dir_ / "a.rem", small_heap());
    list<string>& stored_list_ = heap_.root<list<string>>("list");
    map<int, string>& stored_map_ = heap_.root<map<int, string>>("map");
    forward_list<string>& stored_forward_ = heap_.root<forward_list<string>>("forward");
};

TEST_F(between_heaps_DeathTest, the_member_swap_of_the_standards_containers_ends_the_process) {
    vector<int>& stored = heap_.root<vector<int>>("vector");
    string& text = heap_.root<string>("text");
    vector<int> mine(5);
    string my_text(text_of(1));
    list<string> my_list(3);
    map<int, string> my_map;
    my_map[1] = text_of(1);
    unordered_map<int, int>& hashed = heap_.root<unordered_map<int, int>>("hashed");
    unordered_map<int, int> my_hashed;
    deque<int>& queue = heap_.root<deque<int>>("queue");
    deque<int> my_queue;
    forward_list<string> my_forward(3);
    constexpr const char* k_message = "belong to different heaps";
    EXPECT_DEATH(stored.swap(mine), k_message);
    EXPECT_DEATH(text.swap(my_text), k_message);
    EXPECT_DEATH(stored_list_.swap(my_list), k_message);
    EXPECT_DEATH(stored_map_.swap(my_map), k_message);
    EXPECT_DEATH(hashed.swap(my_hashed), k_message);
    EXPECT_DEATH(queue.swap(my_queue), k_message);
    EXPECT_DEATH(stored_forward_.swap(my_forward), k_message);
    EXPECT_DEATH(std::swap(stored, mine), k_message);
}

// std::list asks whether the allocators are equal, and would end the process without a word.
TEST_F(between_heaps_DeathTest, splice_and_merge_of_lists_end_the_process_with_a_message) {
    constexpr const char* k_message = "of two lists that belong to different heaps, or one to none";
    list<string> mine(3);
    EXPECT_DEATH(stored_list_.splice(stored_list_.end(), mine), k_message);
    EXPECT_DEATH(stored_list_.splice(stored_list_.end(), mine, mine.begin()), k_message);
    EXPECT_DEATH(stored_list_.merge(mine), k_message);
    heap other = heap::create(dir_ / "other", small_heap());
    auto& there = other.root<list<string>>("list");
    heap_.write([&] { stored_list_.emplace_back(text_of(1)); });
    EXPECT_DEATH(there.splice(there.end(), stored_list_), k_message);
    list<string> more(2, there.get_allocator());
    there.splice(there.end(), more);
    EXPECT_EQ(there.size(), 2U);
    EXPECT_TRUE(stored_list_.get_allocator() != there.get_allocator());
}

// Where nothing in between can see it. (A heap refuses blocks from elsewhere likewise: tests/unit/alloc.)
TEST_F(between_heaps_DeathTest, nodes_of_a_heap_in_a_container_of_none_are_refused_when_they_are_freed) {
    map<int, string> mine;
    heap_.write([&] { stored_map_[2] = text_of(2); });
    mine.merge(stored_map_);
    EXPECT_DEATH(mine.clear(), "not a block that an allocator of no heap gave out");
    stored_map_.merge(mine);
    EXPECT_EQ(stored_map_.at(2), text_of(2));
}

TEST(merge_between_heaps, of_our_own_containers_copies) {
    const temp_dir dir;
    heap h = heap::create(dir / "a.rem", small_heap());
    auto& tree = h.root<btree_map<int, string>>("tree");
    auto& table = h.root<hash_map<string_pi, string_pi>>("table");
    {
        btree_map<int, string> my_tree;
        hash_map<string_pi, string_pi> my_table;
        fill(my_tree, 0, 50);
        fill(my_table, 0, 50);
        h.write([&] {
            fill(tree, 40, 20);
            fill(table, 40, 20);
            tree.merge(my_tree);
            table.merge(my_table);
            tree.insert(my_tree.extract(45));
        });
        EXPECT_EQ(my_tree.size(), 9U);
        EXPECT_EQ(my_table.size(), 10U);
    }
    EXPECT_EQ(tree.size(), 60U);
    EXPECT_EQ(table.size(), 60U);
    EXPECT_EQ(tree.at(7), text_of(7));
    EXPECT_TRUE(h.check_pointers().clean());
    EXPECT_TRUE(h.verify().clean());
}

} // namespace
} // namespace remanence::test::between_heaps
