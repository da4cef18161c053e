// Migration of objects that keep their sizes: they are changed where they are.
#include "support/migration_fixture.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace in_place {
namespace rem = remanence;

constexpr const char* k_long_text = "a text that is too long for the object itself";

enum class color : std::uint8_t { red, green };
enum class more_colors : std::uint8_t { blue, green, red };

struct old_mixed {
    int number = 0;
    color paint = color::red;
    rem::string text;
    rem::string_pi other_text;
    rem::vector<int> numbers;
    rem::vector_pi<int> other_numbers;
    std::optional<rem::string> maybe;
    std::variant<int, rem::string> either;
    std::array<rem::string, 2> pair;
    char letters[8] = "abc";
    old_mixed* next = nullptr;
    const rem::string* into = nullptr;
    rem::map<int, int> stays;
};
struct new_mixed { // all but the last have moved
    new_mixed* next = nullptr;
    const rem::string* into = nullptr;
    char letters[8] = "";
    std::array<rem::string, 2> pair;
    std::variant<int, rem::string> either;
    std::optional<rem::string> maybe;
    rem::vector_pi<int> other_numbers;
    rem::vector<int> numbers;
    rem::string_pi other_text;
    rem::string text;
    more_colors paint = more_colors::blue;
    int number = 0;
    rem::map<int, int> stays;
};
static_assert(sizeof(old_mixed) == sizeof(new_mixed));

struct old_atomic {
    std::array<std::atomic<color>, 2> elements{};
    std::atomic<color> paint{};
    int number = 7;
};
struct new_atomic {
    std::array<std::atomic<more_colors>, 2> elements{};
    std::atomic<more_colors> paint{};
    int number = 0;
};

struct old_gone {
    int is_wider_of_a = 0;
    rem::string gone;
    short a = 7;
    long last = 1;
};
struct new_gone { // one in place of another, a wider number where there was padding
    float added = 0.5F;
    rem::string also_added = k_long_text;
    int a = 0;
    long last = 0;
};
static_assert(sizeof(old_gone) == sizeof(new_gone));

struct old_branch {
    short weight = 0;
    short height = 0;
    rem::vector<old_branch> branches;
    rem::string name;
};
struct new_branch {
    short height = 0;
    short weight = 0;
    rem::vector<new_branch> branches;
    rem::string name;
};
struct old_tree {
    old_branch trunk;
    rem::btree_map<rem::string, std::pair<int, old_branch>> others;
};
struct new_tree {
    new_branch trunk;
    rem::btree_map<rem::string, std::pair<int, new_branch>> others;
};

struct old_with_list {
    int a = 1;
    int b = 2;
    rem::list<int> numbers;
    long c = 3;
};
struct list_stays {
    int b = 0;
    int a = 0;
    rem::list<int> numbers;
    long c = 0;
};
struct list_moves {
    long c = 0;
    int b = 0;
    int a = 0;
    rem::list<int> numbers;
};

struct old_pointed {
    rem::string gone = "gone";
    const rem::string* into = nullptr;
};
struct new_pointed {
    rem::string added = "added";
    const rem::string* into = nullptr;
};

struct something {
    int value = 5;
};
struct old_pointing {
    long a = 1;
    something* gone = nullptr;
};
struct new_pointing_in_place {
    long added = 2;
    long a = 0;
};
struct new_pointing {
    long a = 0;
};

struct thrower_in_place {
    int a = 0;
    int added = make();
    static int make() {
        if (throws)
            throw std::runtime_error("no default");
        return 7;
    }
    static inline bool throws = false;
};
struct no_thrower {
    int gone = 0;
    int a = 0;
};

struct old_base {
    long a = 1;
    char letter = 'a';
};
struct old_derived : old_base { // the library's own layout puts a member behind the letter
    char behind = 'b';
    int number = 2;
    REM_REFLECT((old_base), behind, number);
};
struct new_base {
    long a = 0;
    char letter = 0;
};
struct new_derived : new_base {
    char added = 'c';
    int number = 0;
    REM_REFLECT((new_base), added, number);
};
static_assert(sizeof(old_derived) == sizeof(new_derived));
} // namespace in_place
template <>
inline constexpr bool remanence::enable_persistable<in_place::old_derived> = true;
template <>
inline constexpr bool remanence::enable_persistable<in_place::new_derived> = true;

namespace remanence {
namespace {

using namespace in_place;

class migration_in_place : public test::migrated_heap {
protected:
    /// Says what a dry run says, and what it needs.
    template <class T>
    migration_report migrate_root(bool is_in_place, const migration_options& how = {}) {
        migration_options dry = how;
        dry.dry_run = true;
        const auto version = heap_.version();
        const migration_report said = migrate<T>(heap_, "root", dry);
        EXPECT_EQ(heap_.version(), version);
        EXPECT_TRUE(said.is_needed && said.is_possible);
        EXPECT_EQ(said.is_in_place, is_in_place);
        EXPECT_EQ(said.peak_bytes == 0, is_in_place);
        const migration_report report = migrate<T>(heap_, "root", how);
        EXPECT_EQ(report.is_in_place, is_in_place);
        EXPECT_EQ(heap_.version(), version + 1);
        EXPECT_TRUE(heap_.check_pointers().clean());
        reopen();
        (void)heap_.find_root<T>("root");
        const verify_report found = heap_.verify();
        EXPECT_TRUE(found.clean()) << found.problems.front().what;
        return said;
    }
};

void fill(old_mixed& one, int number) {
    const bool is_long = number % 2 != 0;
    const string text = (is_long ? k_long_text : "t") + string(std::to_string(number));
    one.number = number;
    one.paint = number % 3 == 0 ? color::green : color::red;
    one.text = text;
    one.other_text = text;
    one.numbers = {number, 2};
    one.other_numbers = {number, 3};
    if (number % 5 != 0)
        one.maybe = text;
    if (number % 7 != 0)
        one.either = text;
    else
        one.either = number;
    one.pair = {text, "b"};
    one.stays[number] = 4;
}

void expect_filled(const new_mixed& one, int number) {
    const bool is_long = number % 2 != 0;
    const string text = (is_long ? k_long_text : "t") + string(std::to_string(number));
    EXPECT_EQ(one.number, number);
    EXPECT_EQ(one.paint, number % 3 == 0 ? more_colors::green : more_colors::red);
    EXPECT_EQ(one.text, text);
    EXPECT_EQ(one.other_text, std::string_view(text));
    EXPECT_EQ(one.numbers, (vector<int>{number, 2}));
    EXPECT_EQ(one.other_numbers.size(), 2U);
    EXPECT_EQ(one.other_numbers[0], number);
    EXPECT_EQ(one.maybe.has_value(), number % 5 != 0);
    EXPECT_EQ(one.maybe.value_or(text), text);
    if (number % 7 != 0) {
        EXPECT_EQ(std::get<string>(one.either), text);
    } else {
        EXPECT_EQ(std::get<int>(one.either), number);
    }
    EXPECT_EQ(one.pair, (std::array<string, 2>{text, "b"}));
    EXPECT_EQ(std::string(one.letters), "abc");
    EXPECT_EQ(one.stays.at(number), 4);
}

TEST_F(migration_in_place, moves_members_within_their_objects_and_pointers_into_these_follow) {
    constexpr int k_count = 70;
    heap_.write([&] {
        auto& all = heap_.root<map<int, old_mixed>>("root");
        auto* const alone = heap_.make<old_mixed>();
        fill(*alone, 1000);
        for (int i = 0; i != k_count; ++i)
            fill(all[i], i);
        for (auto& [key, each] : all) {
            each.next = key % 4 == 0 ? alone : &all.at((key * 3 + 1) % k_count);
            each.into = key % 2 == 0 ? &each.next->text : &each.next->pair[1];
        }
        alone->next = &all.at(6);
        alone->into = &*all.at(6).maybe;
    });
    std::array<const void*, k_count> were{};
    for (const auto& [key, each] : heap_.root<map<int, old_mixed>>("root"))
        were[static_cast<std::size_t>(key)] = &each;
    const auto allocated = heap_.stats().allocated_bytes;
    (void)migrate_root<map<int, new_mixed>>(true);
    EXPECT_LT(heap_.stats().allocated_bytes, allocated + 4096) << "the schema";
    const auto& all = heap_.root<map<int, new_mixed>>("root");
    const new_mixed* const alone = all.at(0).next;
    for (const auto& [key, each] : all) {
        EXPECT_EQ(static_cast<const void*>(&each), were[static_cast<std::size_t>(key)]);
        ASSERT_NO_FATAL_FAILURE(expect_filled(each, key));
        EXPECT_EQ(each.next, key % 4 == 0 ? alone : &all.at((key * 3 + 1) % k_count));
        EXPECT_EQ(each.into, key % 2 == 0 ? &each.next->text : &each.next->pair[1]);
    }
    ASSERT_NO_FATAL_FAILURE(expect_filled(*alone, 1000));
    EXPECT_EQ(alone->next, &all.at(6));
    EXPECT_EQ(alone->into, &*all.at(6).maybe);
}

TEST_F(migration_in_place, puts_new_members_where_others_were_and_frees_what_these_held) {
    constexpr int k_count = 100;
    heap_.write([&] {
        for (int i = 0; i != k_count; ++i)
            heap_.root<vector<std::array<old_gone, 2>>>("root").push_back(
                {{{1, k_long_text, static_cast<short>(-i), i}, {2, "short", 3, 4}}});
    });
    const auto allocated = heap_.stats().allocated_bytes;
    (void)migrate_root<vector<std::array<new_gone, 2>>>(true, {.dropped = {"gone", "is_wider_of_a"}});
    const auto& all = heap_.root<vector<std::array<new_gone, 2>>>("root");
    for (int i = 0; i != k_count; ++i) {
        const new_gone& each = all.at(static_cast<std::size_t>(i))[0];
        EXPECT_EQ(each.added, 0.5F);
        EXPECT_EQ(each.also_added, k_long_text);
        EXPECT_EQ(each.a, -i);
        EXPECT_EQ(each.last, i);
        EXPECT_EQ(all.at(static_cast<std::size_t>(i))[1].also_added, k_long_text);
    }
    // Half of them had no block for their text before.
    EXPECT_LT(heap_.stats().allocated_bytes, allocated + k_count * 80 + 4096);
}

TEST_F(migration_in_place, goes_through_classes_that_hold_their_own) {
    heap_.write([&] {
        auto& tree = heap_.root<old_tree>("root");
        old_branch twig{1, 10, {}, k_long_text};
        tree.trunk = {3, 30, {{2, 20, {twig, twig}, "bough"}, twig}, "trunk"};
        tree.others["other"] = {7, tree.trunk};
    });
    (void)migrate_root<new_tree>(true);
    const auto& tree = heap_.root<new_tree>("root");
    for (const new_branch* const trunk : {&tree.trunk, &tree.others.at("other").second}) {
        EXPECT_EQ(trunk->weight, 3);
        EXPECT_EQ(trunk->height, 30);
        EXPECT_EQ(trunk->branches.at(0).height, 20);
        EXPECT_EQ(trunk->branches.at(0).branches.at(1).weight, 1);
        EXPECT_EQ(trunk->branches.at(1).height, 10);
        EXPECT_EQ(trunk->branches.at(1).name, k_long_text);
    }
    EXPECT_EQ(tree.others.at("other").first, 7);
}

TEST_F(migration_in_place, gives_enumerators_their_new_values) {
    heap_.write([&] { heap_.root<vector<color>>("root") = {color::red, color::green, color::red}; });
    (void)migrate_root<vector<more_colors>>(true);
    EXPECT_EQ(heap_.root<vector<more_colors>>("root"),
              (vector<more_colors>{more_colors::red, more_colors::green, more_colors::red}));
}

TEST_F(migration_in_place, gives_enumerators_in_atomic_objects_their_new_values) {
    heap_.write([&] {
        heap_.root<old_atomic>("root").elements[1] = color::green;
        heap_.root<old_atomic>("root").paint = color::green;
    });
    (void)migrate_root<new_atomic>(true);
    const auto& changed = heap_.root<new_atomic>("root");
    EXPECT_EQ(changed.elements[0], more_colors::red);
    EXPECT_EQ(changed.elements[1], more_colors::green);
    EXPECT_EQ(changed.paint, more_colors::green);
    EXPECT_EQ(changed.number, 7);
}

TEST_F(migration_in_place, keeps_members_that_lie_in_the_padding_of_a_base) {
    heap_.write([&] { heap_.root<vector<old_derived>>("root").resize(3); });
    // A base is found by its name: without it, it is a new one, which must not take the members in its padding along.
    (void)migrate_root<vector<new_derived>>(true, {.dropped = {"behind", "in_place::old_base"}});
    const new_derived& changed = heap_.root<vector<new_derived>>("root").at(2);
    EXPECT_EQ(changed.a, 0);
    EXPECT_EQ(changed.added, 'c');
    EXPECT_EQ(changed.number, 2);
    (void)migrate_root<vector<old_derived>>(
        true,
        {.renamed = {renamed<"in_place::new_base", "in_place::old_base">::of<old_derived>()}, .dropped = {"added"}});
    const old_derived& again = heap_.root<vector<old_derived>>("root").at(1);
    EXPECT_EQ(again.letter, 0);
    EXPECT_EQ(again.behind, 'b');
    EXPECT_EQ(again.number, 2);
}

TEST_F(migration_in_place, is_not_done_to_keys) {
    heap_.write([&] { heap_.root<set<color>>("root") = {color::red, color::green}; });
    EXPECT_FALSE((migrate<set<more_colors>>(heap_, "root", {.dry_run = true}).is_in_place));
    EXPECT_THROW((void)migrate<set<more_colors>>(heap_, "root"), error); // they come in another order now
    EXPECT_EQ(heap_.root<set<color>>("root"), (set<color>{color::red, color::green}));
    heap_.remove_root<set<color>>("root");
    heap_.write([&] { heap_.root<hash_set<color>>("root") = {color::red, color::green}; });
    (void)migrate_root<hash_set<more_colors>>(false);
    EXPECT_TRUE(heap_.root<hash_set<more_colors>>("root").contains(more_colors::red));
}

TEST_F(migration_in_place, is_not_done_where_a_container_of_nodes_moves) {
    heap_.write([&] { heap_.root<vector<old_with_list>>("root").push_back({1, 2, {3, 4}, 5}); });
    (void)migrate_root<vector<list_stays>>(true);
    EXPECT_EQ(heap_.root<vector<list_stays>>("root").at(0).a, 1);
    (void)migrate_root<vector<list_moves>>(false);
    const list_moves& last = heap_.root<vector<list_moves>>("root").at(0);
    EXPECT_EQ(last.numbers, (list<int>{3, 4}));
    EXPECT_EQ(last.c, 5);
}

TEST_F(migration_in_place, is_not_done_where_pointers_may_lead_into_what_is_gone) {
    heap_.write([&] {
        auto& all = heap_.root<vector<old_pointed>>("root");
        all.resize(2);
        all[0].into = &all[1].gone;
    });
    (void)migrate_root<vector<new_pointed>>(false, {.dropped = {"gone"}});
    const auto& all = heap_.root<vector<new_pointed>>("root");
    EXPECT_EQ(all.at(1).added, "added");
    EXPECT_EQ(*all.at(0).into, "gone"); // an object of its own now
}

TEST_F(migration_in_place, leaves_alone_what_only_gone_members_point_at) {
    const something* pointed = nullptr;
    heap_.write([&] {
        auto& all = heap_.root<vector<old_pointing>>("root");
        all.resize(2);
        pointed = all[1].gone = heap_.make<something>();
    });
    (void)migrate_root<vector<new_pointing_in_place>>(true, {.dropped = {"gone"}});
    EXPECT_EQ(heap_.root<vector<new_pointing_in_place>>("root").at(1).a, 1);
    EXPECT_EQ(pointed->value, 5);
}

TEST_F(migration_in_place, and_by_objects_that_are_made_anew) {
    const something* pointed = nullptr;
    heap_.write([&] {
        auto& all = heap_.root<vector<old_pointing>>("root");
        all.resize(2);
        pointed = all[1].gone = heap_.make<something>();
    });
    (void)migrate_root<vector<new_pointing>>(false, {.dropped = {"gone"}});
    EXPECT_EQ(heap_.root<vector<new_pointing>>("root").at(1).a, 1);
    EXPECT_EQ(pointed->value, 5);
}

TEST_F(migration_in_place, that_throws_half_way_leaves_the_heap_as_it_was) {
    heap_.write([&] { heap_.root<vector<no_thrower>>("root").assign(20, {1, 2}); });
    thrower_in_place::throws = true;
    const auto version = heap_.version();
    const auto allocated = heap_.stats().allocated_bytes;
    EXPECT_THROW((void)migrate<vector<thrower_in_place>>(heap_, "root", {.dropped = {"gone"}}), std::runtime_error);
    EXPECT_EQ(heap_.version(), version);
    EXPECT_EQ(heap_.stats().allocated_bytes, allocated);
    EXPECT_EQ(heap_.root<vector<no_thrower>>("root").at(19).gone, 1);
    thrower_in_place::throws = false;
    (void)migrate_root<vector<thrower_in_place>>(true, {.dropped = {"gone"}});
    EXPECT_EQ(heap_.root<vector<thrower_in_place>>("root").at(19).added, 7);
    EXPECT_EQ(heap_.root<vector<thrower_in_place>>("root").at(19).a, 2);
}

TEST_F(migration_in_place, refuses_objects_that_lie_too_deep_in_each_other) {
    heap_.write([&] {
        auto* last = &heap_.root<old_branch>("root");
        for (int i = 0; i != 1200; ++i)
            last = &last->branches.emplace_back();
        last->height = 1200;
    });
    const auto version = heap_.version();
    EXPECT_TRUE((migrate<new_branch>(heap_, "root", {.dry_run = true}).is_in_place));
    try {
        (void)migrate<new_branch>(heap_, "root");
        ADD_FAILURE() << "it was migrated";
    } catch (const error& stop) {
        EXPECT_NE(std::string(stop.what()).find("more than 1000 levels deep"), std::string::npos) << stop.what();
    }
    EXPECT_EQ(heap_.version(), version);
    const old_branch* last = &heap_.root<old_branch>("root");
    while (!last->branches.empty())
        last = &last->branches.front();
    EXPECT_EQ(last->height, 1200);
}

TEST_F(migration_in_place, or_not_is_estimated_by_a_dry_run) {
    heap_.write([&] {
        auto& all = heap_.root<vector<old_with_list>>("root");
        all.assign(2000, {1, 2, {3, 4}, 5});
    });
    const auto before = heap_.stats().allocated_bytes;
    const migration_report said = migrate<vector<list_moves>>(heap_, "root", {.dry_run = true});
    EXPECT_FALSE(said.is_in_place);
    EXPECT_GT(said.peak_bytes, before * 9 / 10); // all objects but for what a heap has itself
    EXPECT_LT(said.peak_bytes, before * 11 / 10);
}

} // namespace
} // namespace remanence
