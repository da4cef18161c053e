// Containers whose order, or whose places, functions of the program make: what migration keeps of them, and what it refuses.
#include "objects/conversion.hpp"
#include "objects/conversion_steps.hpp"
#include "support/migration_fixture.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace own_order {
namespace rem = remanence;

struct by_size {
    bool operator()(const rem::string& a, const rem::string& b) const {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
};
struct backwards {
    bool operator()(const rem::string& a, const rem::string& b) const { return b < a; }
};
template <int Modulus>
struct by_remainder {
    bool operator()(int a, int b) const { return a % Modulus < b % Modulus; }
};
template <int Modulus>
struct same_remainder {
    bool operator()(int a, int b) const { return a % Modulus == b % Modulus; }
};
template <int Modulus>
struct hash_of_remainder {
    std::uint64_t operator()(int a) const { return static_cast<std::uint64_t>(a % Modulus); }
};
struct point {
    int a = 0;
    int b = 0;
    friend auto operator<=>(const point&, const point&) = default;
};
struct small_value {
    int number = 0;
};
struct large_value {
    long number = 0;
    int added = 4;
};
struct has_vector {
    int number = 0;
    rem::vector<point> points;
};
struct has_set {
    int number = 0;
    rem::set<point> points;
};
} // namespace own_order

// Two releases of a key's class. The tests give the first the name of the second, as the older release has it.
namespace own_order_was {
enum class color : unsigned char { red, green };
enum class more_colors : unsigned char { red, green };
struct same {
    int a = 0;
    int b = 0;
    color paint = color::red;
};
struct moved {
    int a = 0;
    int b = 0;
};
struct loses {
    int a = 0;
    int b = 0;
};
struct gains {
    int a = 0;
};
struct widens {
    int a = 0;
};
struct renumbers {
    more_colors paint = more_colors::red;
};
} // namespace own_order_was
namespace own_order_is {
enum class color : unsigned char { red, green, blue };
enum class more_colors : unsigned char { green, red };
struct same {
    int a = 0;
    int b = 0;
    color paint = color::red;
    friend auto operator<=>(const same&, const same&) = default;
};
struct moved {
    int b = 0;
    int a = 0;
};
struct loses {
    int a = 0;
};
struct gains {
    int z = 0;
    int a = 0;
};
struct widens {
    long a = 0;
};
struct renumbers {
    more_colors paint = more_colors::red;
};
} // namespace own_order_is

namespace remanence {
namespace {

using namespace own_order;

constexpr std::string_view k_own_order = "whose order a function of the program's makes";

class order_of_the_program : public test::migrated_heap {
protected:
    template <class Old, class New>
    void expect_refused(const Old& old, std::string_view why = k_own_order) {
        heap_.write([&] { heap_.root<Old>("root") = old; });
        const migration_report said = migrate<New>(heap_, "root", {.dry_run = true});
        EXPECT_FALSE(said.is_possible) << detail::fingerprint_of<New>().name;
        bool is_listed = false;
        for (const migration_change& each : said.changes)
            is_listed = is_listed || (!each.is_automatic && each.what.find(why) != std::string::npos);
        EXPECT_TRUE(is_listed) << detail::fingerprint_of<New>().name;
        const std::string refusal = refused<New>("root", errc::type_mismatch);
        EXPECT_NE(refusal.find(why), std::string::npos) << detail::fingerprint_of<New>().name << ": " << refusal;
        EXPECT_EQ(heap_.root<Old>("root"), old);
        heap_.remove_root<Old>("root");
    }
    template <class Old, class New>
    migration_report migrated(const Old& old) {
        heap_.write([&] { heap_.root<Old>("root") = old; });
        return migrate<New>(heap_, "root");
    }
};

/// All of a container's elements are found, and they come in its order.
template <class Container>
void expect_in_order(const Container& all, std::size_t size) {
    EXPECT_EQ(all.size(), size);
    const auto less = all.value_comp();
    for (auto i = all.begin(); i != all.end(); ++i) {
        EXPECT_TRUE(std::next(i) == all.end() || less(*i, *std::next(i)));
        if constexpr (requires { i->first; })
            EXPECT_EQ(all.count(i->first), 1U);
        else
            EXPECT_EQ(all.count(*i), 1U);
    }
}

using texts_by_size = set<string, by_size>;

TEST_F(order_of_the_program, is_not_made_by_a_migration) {
    const vector<string> texts = {"pear", "fig", "apple", "fig"};
    expect_refused<vector<string>, set<string, backwards>>(texts);
    expect_refused<texts_by_size, set<string, backwards>>({"pear", "fig", "apple"});
    expect_refused<set<string>, btree_set<string, backwards>>({"pear", "fig", "apple"});
    expect_refused<vector<point>, set<point>>({{5, 0}, {3, 0}, {3, 0}});
    expect_refused<vector<point>, btree_multiset<point>>({{5, 0}, {3, 0}, {3, 0}});
    expect_refused<vector<int>, set<std::optional<int>>>({5, 3, 9});
    expect_refused<set<int>, set<std::optional<int>>>({5, 3, 9});
    expect_refused<multiset<string, by_size>, texts_by_size>({"fig", "fig"});
    expect_refused<set<int, by_remainder<7>>, set<int, by_remainder<5>>>({1, 2, 10});
    expect_refused<set<int, by_remainder<7>>, set<long, by_remainder<7>>>({1, 2, 10});
    // Also deep in other objects.
    expect_refused<map<string, vector<vector<int>>>, map<string, vector<set<int, by_remainder<5>>>>>({});
}

TEST_F(order_of_the_program, stays_with_the_same_comparator_and_keys) {
    (void)migrated<texts_by_size, btree_set<string, by_size>>({"pear", "fig", "apple"});
    expect_in_order(heap_.root<btree_set<string, by_size>>("root"), 3);
    heap_.remove_root<btree_set<string, by_size>>("root");

    (void)migrated<map<point, small_value>, btree_map<point, large_value>>({{{2, 1}, {7}}, {{1, 5}, {8}}});
    const auto& points = heap_.root<btree_map<point, large_value>>("root");
    expect_in_order(points, 2);
    EXPECT_EQ(points.at({2, 1}).number, 7);
    EXPECT_EQ(points.at({2, 1}).added, 4);
    heap_.remove_root<btree_map<point, large_value>>("root");

    (void)migrated<set<int, by_remainder<7>>, multiset<int, by_remainder<7>>>({1, 9, 10});
    EXPECT_EQ((heap_.root<multiset<int, by_remainder<7>>>("root").count(2)), 1U);
    heap_.remove_root<multiset<int, by_remainder<7>>>("root");

    (void)migrated<set<string, backwards>, vector<string>>({"a", "b"});
    EXPECT_EQ(heap_.root<vector<string>>("root"), (vector<string>{"b", "a"}));
    heap_.remove_root<vector<string>>("root");

    (void)migrated<set<string, backwards>, set<string>>({"a", "b"}); // whose order is known
    expect_in_order(heap_.root<set<string>>("root"), 2);
}

TEST_F(order_of_the_program, stays_in_place) {
    using wider = btree_map<point, std::pair<long, int>>;
    const auto report = migrated<btree_map<point, std::pair<long, short>>, wider>({{{2, 1}, {7, 6}}, {{1, 5}, {8, 9}}});
    EXPECT_TRUE(report.is_in_place);
    expect_in_order(heap_.root<wider>("root"), 2);
    EXPECT_EQ(heap_.root<wider>("root").at({1, 5}).second, 9);
}

TEST_F(order_of_the_program, is_made_by_a_function_of_the_program) {
    heap_.write([&] {
        heap_.root<vector<point>>("root") = {{5, 0}, {3, 0}, {3, 0}};
        heap_.root<list<has_vector>>("holders").push_back({7, {{5, 0}, {3, 0}}});
    });
    (void)migrations().to<set<point>>("root").migrate<vector<point>, set<point>>(
        [](const vector<point>& was, set<point>& now) { now.insert(was.begin(), was.end()); })(heap_);
    expect_in_order(heap_.root<set<point>>("root"), 2);
    EXPECT_THROW((void)migrate<list<has_set>>(heap_, "holders"), error);
    (void)migrations().to<list<has_set>>("holders").migrate<has_vector, has_set>(
        [](const has_vector& was, has_set& now) { now.points.insert(was.points.begin(), was.points.end()); })(heap_);
    const has_set& made = heap_.root<list<has_set>>("holders").front();
    EXPECT_EQ(made.number, 7);
    expect_in_order(made.points, 2);
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(order_of_the_program, has_places_of_hash_containers_as_well) {
    using by_seven = hash_set<int, hash_of_remainder<7>, same_remainder<7>>;
    constexpr std::string_view places = "are made by a function of the program's";
    expect_refused<vector<int>, by_seven>({1, 2}, places);
    expect_refused<hash_set<int>, by_seven>({1, 2}, places);
    expect_refused<by_seven, hash_set<int, hash_of_remainder<5>, same_remainder<7>>>({1, 2}, places);
    expect_refused<by_seven, hash_set<int, hash_of_remainder<7>, same_remainder<5>>>({1, 2}, places);
}

/// Whether objects of the older type become the newer one's, if the releases' classes have one name.
template <class Old, class New>
bool is_matched() {
    auto was = objects::schema_of_program(detail::fingerprint_of<Old>());
    auto is = objects::schema_of_program(detail::fingerprint_of<New>());
    if (!was || !is)
        return false;
    constexpr std::string_view old_name = "own_order_was";
    for (types::type_row& row : was->rows) {
        for (std::size_t at = 0; (at = row.name.find(old_name, at)) != std::string::npos;)
            row.name.replace(at, old_name.size(), "own_order_is");
    }
    objects::row_matching rows(*was, *is);
    const bool is_possible = rows.match(was->root, is->root);
    const auto is_refused = [](const objects::type_change& each) {
        return each.what.find(k_own_order) != std::string::npos && !each.is_automatic;
    };
    EXPECT_NE(is_possible, std::any_of(rows.changes().begin(), rows.changes().end(), is_refused));
    return is_possible;
}

TEST_F(order_of_the_program, stays_only_while_the_class_of_a_key_has_not_changed) {
    EXPECT_TRUE((is_matched<set<own_order_was::same>, set<own_order_is::same>>())); // an enumerator more
    EXPECT_TRUE((is_matched<map<own_order_was::same, int>, btree_map<own_order_is::same, long>>()));
    EXPECT_TRUE((is_matched<set<vector<own_order_was::color>>, set<vector<own_order_is::color>>>()));
    EXPECT_TRUE((is_matched<set<own_order_was::moved*>, set<own_order_is::moved*>>())); // the order of addresses
    EXPECT_FALSE((is_matched<set<own_order_was::moved>, set<own_order_is::moved>>()));
    EXPECT_FALSE((is_matched<btree_map<own_order_was::moved, int>, btree_map<own_order_is::moved, int>>()));
    EXPECT_FALSE((is_matched<set<own_order_was::loses>, set<own_order_is::loses>>()));
    EXPECT_FALSE((is_matched<map<own_order_was::gains, int>, map<own_order_is::gains, int>>()));
    EXPECT_FALSE((is_matched<set<own_order_was::widens>, set<own_order_is::widens>>()));
    EXPECT_FALSE((is_matched<set<own_order_was::renumbers>, set<own_order_is::renumbers>>()));
    EXPECT_FALSE((is_matched<set<vector<own_order_was::more_colors>>, set<vector<own_order_is::more_colors>>>()));
    EXPECT_FALSE((is_matched<set<std::pair<own_order_was::moved, int>>, set<std::pair<own_order_is::moved, int>>>()));
    EXPECT_FALSE((is_matched<set<own_order_is::same>, set<std::optional<own_order_is::same>>>()));
}

} // namespace
} // namespace remanence
