// Containers of Boost, looked at without Boost: each shows what it has, as the one of the standard library does. Only Boost makes them, so a
// dump refuses them by name.
#include "support/temp_dir.hpp"

#include <remanence/boost.hpp>
#include <remanence/look_inside.hpp>
#include <remanence/migrate.hpp>
#include <remanence/object_view.hpp>
#include <remanence/remanence.hpp>

#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace boost_shapes {

struct person {
    remanence::string name;
    int age = 0;
};
namespace by = boost::multi_index;
using age = by::member<person, int, &person::age>;
using by_age = remanence::boost_multi_index<person, by::indexed_by<by::ordered_non_unique<age>, by::sequenced<>>>;
using as_inserted = remanence::boost_multi_index<person, by::indexed_by<by::sequenced<>, by::ordered_unique<age>>>;

struct all {
    remanence::boost_vector<remanence::string> vector;
    remanence::boost_deque<short> deque;
    remanence::boost_stable_vector<remanence::string> stable_vector;
    remanence::boost_list<char> list;
    remanence::boost_slist<long> slist;
    remanence::boost_set<int> set;
    remanence::boost_multiset<remanence::boost_string> multiset;
    remanence::boost_map<char, long double> map;
    remanence::boost_multimap<int, remanence::string> multimap;
    remanence::boost_flat_set<int> flat_set;
    remanence::boost_flat_map<char, double> flat_map;
    remanence::boost_unordered_set<int> unordered_set;
    remanence::boost_unordered_map<remanence::boost_string, int> unordered_map;
    boost_shapes::by_age by_age;
    boost_shapes::as_inserted as_inserted;
};

} // namespace boost_shapes

namespace remanence {
namespace {

using boost_shapes::all;

class boost_shapes_test : public testing::Test {
protected:
    static const std::string& long_text() {
        static const std::string text(60, 'x');
        return text;
    }
    static void fill(all& into, int count) {
        for (int i = 0; i != count; ++i) {
            into.vector.emplace_back("v" + std::to_string(i));
            into.deque.push_back(static_cast<short>(i));
            into.stable_vector.emplace_back(std::to_string(i));
            into.list.push_back(static_cast<char>('a' + i % 26));
            into.slist.push_front(i);
            into.set.insert(count - i);
            into.multiset.emplace(i % 2 == 0 ? "even" : long_text().c_str());
            into.map[static_cast<char>('a' + i % 26)] = i;
            into.multimap.emplace(i % 3, std::to_string(i));
            into.flat_set.insert(-i);
            into.flat_map[static_cast<char>('z' - i % 26)] = i;
            into.unordered_set.insert(i);
            into.unordered_map.emplace(std::to_string(i).c_str(), i);
            const remanence::string name("p" + std::to_string(i));
            into.by_age.insert(boost_shapes::person{name, (i * 7) % count});
            into.as_inserted.push_back(boost_shapes::person{name, (i * 7) % (count + 1)});
        }
    }
    std::string got(const std::string& path) { return inspect::get(directory_ / "h", "all." + path); }
    void make(int count) {
        heap from = heap::create(directory_ / "h");
        from.write([&] { fill(from.root<all>("all"), count); });
        from.close();
    }

    test::temp_dir directory_ = test::temp_dir::in_memory();
};

TEST_F(boost_shapes_test, each_shows_its_elements) {
    make(3);
    EXPECT_EQ(got("vector"), R"(["v0","v1","v2"])");
    EXPECT_EQ(got("vector[1]"), R"("v1")");
    EXPECT_EQ(got("deque"), "[0,1,2]");
    EXPECT_EQ(got("stable_vector"), R"(["0","1","2"])");
    EXPECT_EQ(got("list"), R"(["a","b","c"])");
    EXPECT_EQ(got("slist"), "[2,1,0]");
    EXPECT_EQ(got("set"), "[1,2,3]");
    EXPECT_EQ(got("multiset"), R"(["even","even",")" + long_text() + "\"]");
    EXPECT_EQ(got("map"), R"([["a",0],["b",1],["c",2]])");
    EXPECT_EQ(got("map[\"b\"]"), "1");
    EXPECT_EQ(got("multimap"), R"([[0,"0"],[1,"1"],[2,"2"]])");
    EXPECT_EQ(got("flat_set"), "[-2,-1,0]");
    EXPECT_EQ(got("flat_map"), R"([["x",2],["y",1],["z",0]])");
    EXPECT_EQ(got("unordered_map[\"2\"]"), "2");
    EXPECT_EQ(got("by_age"), R"([{"name":"p0","age":0},{"name":"p1","age":1},{"name":"p2","age":2}])");
    EXPECT_EQ(got("as_inserted"), R"([{"name":"p0","age":0},{"name":"p1","age":3},{"name":"p2","age":2}])");
}

TEST_F(boost_shapes_test, empty_ones_show_nothing) {
    make(0);
    for (const char* member :
         {"vector", "deque", "stable_vector", "list", "slist", "set", "multiset", "map", "multimap", "flat_set",
          "flat_map", "unordered_set", "unordered_map", "by_age", "as_inserted"})
        EXPECT_EQ(got(member), "[]") << member;
}

TEST_F(boost_shapes_test, many_elements_show_each_once) {
    constexpr int k_count = 700;
    make(k_count);
    const auto commas = [&](const std::string& member) {
        const std::string text = got(member);
        return std::count(text.begin(), text.end(), ',');
    };
    for (const char* member :
         {"vector", "deque", "stable_vector", "list", "slist", "set", "multiset", "flat_set", "unordered_set"})
        EXPECT_EQ(commas(member), k_count - 1) << member;
    for (const char* member : {"multimap", "unordered_map", "by_age", "as_inserted"})
        EXPECT_EQ(commas(member), 2 * k_count - 1) << member;
    EXPECT_EQ(got("deque[699]"), "699");
    EXPECT_EQ(got("set[0]"), "1");
    EXPECT_EQ(got("unordered_map[\"517\"]"), "517");
}

TEST_F(boost_shapes_test, views_of_the_open_heap_have_the_same_elements) {
    for (const int count : {0, 1, 700}) {
        SCOPED_TRACE(count);
        heap from = heap::create(directory_ / ("h" + std::to_string(count)));
        from.write([&] { fill(from.root<all>("all"), count); });
        const inspect::object_view whole = inspect::view_root(from, "all");
        for (std::size_t i = 0; i != whole.member_count(); ++i) {
            SCOPED_TRACE(whole.member_name(i));
            const inspect::object_view of = whole.member(i);
            std::string text = "[";
            std::uint64_t index = 0;
            inspect::object_cursor each = of.elements();
            while (const auto element = each.next()) {
                text += (index == 0 ? "" : ",") + (element->key ? '[' + element->key->json() + ',' : std::string()) +
                        element->value.json() + (element->key ? "]" : "");
                if (index++ % 50 == 0) {
                    EXPECT_EQ(of.element(index - 1).value.json(), element->value.json());
                }
            }
            EXPECT_EQ(text + ']', of.json());
            EXPECT_EQ(of.size(), index);
        }
        if (count == 0)
            continue;
        EXPECT_EQ(whole.member("unordered_map").find("0")->value.to_int64(), 0);
        EXPECT_EQ(whole.member("flat_map").find("z")->value.to_double(), count / 26 * 26);
        EXPECT_TRUE(whole.member("set").find(1));
        EXPECT_FALSE(whole.member("multimap").find(3));
    }
}

TEST_F(boost_shapes_test, a_dump_names_what_only_boost_makes) {
    make(1);
    std::string text;
    try {
        inspect::dump(directory_ / "h", {}, [&](std::string_view piece) { text += piece; });
        ADD_FAILURE() << "it was written";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::not_supported);
        EXPECT_NE(std::string(e.what()).find("all.vector is a boost::container::vector<"), std::string::npos)
            << e.what();
        EXPECT_NE(std::string(e.what()).find("which only a program with its library makes"), std::string::npos)
            << e.what();
    }
    EXPECT_EQ(text, "");
}

TEST_F(boost_shapes_test, one_becomes_a_container_that_the_library_makes) {
    {
        heap from = heap::create(directory_ / "h");
        from.write([&] {
            auto& was = from.root<boost_map<int, boost_string>>("map");
            was.emplace(2, "two");
            was.emplace(1, long_text().c_str());
        });
        from.close();
    }
    heap into = heap::open(directory_ / "h", {.migrate = migrations().to<map<int, string>>("map")});
    const auto& is = into.root<map<int, string>>("map");
    ASSERT_EQ(is.size(), 2U);
    EXPECT_EQ(std::string(is.at(1)), long_text());
    EXPECT_EQ(std::string(is.at(2)), "two");
}

} // namespace
} // namespace remanence
