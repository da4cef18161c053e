#include "support/migration_fixture.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

// Releases of a program, one after the other.
namespace release_1 {
namespace rem = remanence;
enum class kind : unsigned char { novel, textbook };
struct book {
    rem::string title;
    int pages = 0;
    kind what = kind::novel;
    const book* next = nullptr;
};
using shelf = rem::map<rem::string, book>;
} // namespace release_1
namespace release_2 { // a member is new, one is wider, an enumerator is new
namespace rem = remanence;
enum class kind : unsigned char { novel, poem, textbook };
struct book {
    rem::string title;
    long pages = 0;
    kind what = kind::novel;
    const book* next = nullptr;
    rem::string publisher = "a publisher whose name is too long for the string itself";
    int stock = 1;
};
using shelf = rem::map<rem::string, book>;
} // namespace release_2
namespace release_3 { // members moved, one is gone, one may be missing, another kind of map
namespace rem = remanence;
enum class kind : unsigned { novel, poem, textbook };
struct book {
    int stock = 1;
    const book* next = nullptr;
    rem::string_pi title;
    std::optional<long> pages;
    kind what = kind::novel;
};
using shelf = rem::btree_map<rem::string, book>;
} // namespace release_3
namespace release_4 { // a member has another name, another one a struct
namespace rem = remanence;
using release_3::kind;
struct price {
    double amount = 9.5;
    char currency[4] = "EUR";
};
struct book {
    rem::string_pi title;
    std::optional<long> page_count;
    kind what = kind::novel;
    const book* next = nullptr;
    int stock = 1;
    price costs;
    rem::vector<rem::string> authors = {"nobody"};
};
using shelf = rem::hash_map<rem::string, book>;
} // namespace release_4
namespace release_5 { // private members
namespace rem = remanence;
using release_4::price;
class book {
public:
    [[nodiscard]] const rem::string_pi& title() const { return title_; }
    [[nodiscard]] std::optional<long> pages() const { return page_count; }
    [[nodiscard]] long stock() const { return stock_; }
    [[nodiscard]] const book* next() const { return next_; }

private:
    rem::string_pi title_;
    std::optional<long> page_count;
    long stock_ = 5;
    const book* next_ = nullptr;
    rem::btree_set<rem::string> authors;
    REM_REFLECT((), title_, page_count, stock_, next_, authors);
};
using shelf = rem::btree_map<rem::string, book>;
} // namespace release_5
template <>
inline constexpr bool remanence::enable_persistable<release_5::book> = true;

namespace changes {
namespace rem = remanence;
enum class small : unsigned char { a, b, c = 9 };
enum class large : unsigned short { z, a, b, c };
struct inner_old {
    int x = 3;
    rem::string text = "inner";
};
struct inner_new {
    rem::string text;
    long long x = 0;
    bool is_new = true;
};
template <class T>
struct holder {
    char before = 'b';
    T value{};
    rem::string behind = "behind";
};
struct thrower {
    int old = 0;
    int added = make();
    static int make() {
        if (throws)
            throw std::runtime_error("no default");
        return 7;
    }
    static inline bool throws = false;
};
struct without_it {
    int old = 0;
};
struct node_old {
    int number = 0;
    node_old* left = nullptr;
    node_old* right = nullptr;
    const int* into = nullptr;
};
struct node_new {
    const int* into = nullptr;
    node_new* right = nullptr;
    node_new* left = nullptr;
    int number = 0;
    double weight = 1.5;
};
} // namespace changes

namespace remanence {
namespace {

using namespace changes;

class migration : public test::migrated_heap {
protected:
    static std::string all(const migration_report& report) {
        std::string text;
        for (const migration_change& each : report.changes)
            text += each.what + (each.is_automatic ? "\n" : " (not automatic)\n");
        return text;
    }
};

TEST_F(migration, takes_a_root_through_five_releases) {
    {
        auto& shelf = heap_.root<release_1::shelf>("shelf");
        heap_.write([&] {
            for (int i = 0; i != 100; ++i)
                shelf.emplace("book " + std::to_string(i),
                              release_1::book{string("title " + std::string(40, 'x')), i, release_1::kind::textbook});
            shelf.at("book 7").next = &shelf.at("book 9");
            shelf.at("book 9").next = &shelf.at("book 7");
            shelf.at("book 8").next = heap_.make<release_1::book>("alone", 3);
        });
        reopen();
    }
    EXPECT_THROW((void)heap_.root<release_2::shelf>("shelf"), error);
    const auto first = heap_.stats().allocated_bytes;
    {
        const auto report = migrate<release_2::shelf>(heap_, "shelf");
        EXPECT_TRUE(report.is_needed);
        EXPECT_NE(all(report).find("release_2::book.pages was int, is long\n"), std::string::npos) << all(report);
        EXPECT_NE(all(report).find("release_2::book.stock is new\n"), std::string::npos) << all(report);
        EXPECT_NE(all(report).find("release_2::kind has more enumerators\n"), std::string::npos) << all(report);
        const auto& shelf = heap_.root<release_2::shelf>("shelf");
        ASSERT_EQ(shelf.size(), 100U);
        EXPECT_EQ(shelf.at("book 42").pages, 42);
        EXPECT_EQ(shelf.at("book 42").what, release_2::kind::textbook);
        EXPECT_EQ(shelf.at("book 42").stock, 1);
        EXPECT_EQ(shelf.at("book 42").publisher, "a publisher whose name is too long for the string itself");
        EXPECT_EQ(shelf.at("book 7").next, &shelf.at("book 9"));
        EXPECT_EQ(shelf.at("book 9").next, &shelf.at("book 7"));
        EXPECT_EQ(shelf.at("book 8").next->title, "alone");
        EXPECT_EQ(shelf.at("book 8").next->publisher.size(), 56U);
        EXPECT_FALSE(migrate<release_2::shelf>(heap_, "shelf").is_needed);
        EXPECT_TRUE(heap_.check_pointers().clean());
        EXPECT_TRUE(heap_.verify().clean());
        EXPECT_LT(heap_.stats().allocated_bytes, 2 * first) << "the old objects are gone";
        reopen();
    }
    // An older release opens it.
    const std::string said = refused<release_1::shelf>("shelf", errc::type_mismatch);
    EXPECT_NE(said.find("release_1::book.pages was long, is int, which does not have all of its values"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("which has no poem"), std::string::npos) << said;
    EXPECT_NE(said.find("release_2::book.stock is gone (automatic)"), std::string::npos) << said;
    {
        EXPECT_NE(
            refused<release_3::shelf>("shelf", errc::type_mismatch).find("release_2::book.publisher is gone, and "),
            std::string::npos);
        EXPECT_TRUE(migrate<release_3::shelf>(heap_, "shelf", {.dropped = {"publisher"}}).is_needed);
        const auto& shelf = heap_.root<release_3::shelf>("shelf");
        EXPECT_EQ(shelf.at("book 42").pages, 42);
        EXPECT_EQ(shelf.at("book 42").what, release_3::kind::textbook);
        EXPECT_EQ(shelf.at("book 7").next, &shelf.at("book 9"));
        EXPECT_EQ(shelf.at("book 8").next->title, "alone");
        EXPECT_TRUE(heap_.verify().clean());
        reopen();
    }
    {
        const migration_options how{.dry_run = false,
                                    .renamed = {renamed<"pages", "page_count">::of<release_4::book>()}};
        migration_options dry = how;
        dry.dry_run = true;
        const auto version = heap_.version();
        EXPECT_NE(
            all(migrate<release_4::shelf>(heap_, "shelf", dry)).find("release_4::book.page_count was named pages\n"),
            std::string::npos);
        EXPECT_EQ(heap_.version(), version);
        EXPECT_TRUE(migrate<release_4::shelf>(heap_, "shelf", how).is_needed);
        const auto& shelf = heap_.root<release_4::shelf>("shelf");
        EXPECT_EQ(shelf.at("book 42").page_count, 42);
        EXPECT_EQ(shelf.at("book 42").costs.amount, 9.5);
        EXPECT_STREQ(shelf.at("book 42").costs.currency, "EUR");
        EXPECT_EQ(shelf.at("book 42").authors.at(0), "nobody");
        EXPECT_EQ(shelf.at("book 7").next, &shelf.at("book 9"));
        EXPECT_TRUE(heap_.verify().clean());
        reopen();
    }
    {
        const migration_options how{.dry_run = false,
                                    .renamed = {renamed<"title", "title_">::of<release_5::book>(),
                                                renamed<"stock", "stock_">::of<release_5::book>(),
                                                renamed<"next", "next_">::of<release_5::book>()},
                                    .dropped = {"what", "release_4::book.costs"}};
        EXPECT_TRUE(migrate<release_5::shelf>(heap_, "shelf", how).is_needed);
        const auto& shelf = heap_.root<release_5::shelf>("shelf");
        EXPECT_EQ(shelf.at("book 42").pages(), 42);
        EXPECT_EQ(shelf.at("book 42").stock(), 1);
        EXPECT_EQ(shelf.at("book 8").next()->title(), "alone");
        EXPECT_TRUE(heap_.verify().clean());
        EXPECT_TRUE(heap_.check_pointers().clean());
        reopen();
    }
    EXPECT_TRUE(heap_.remove_root<release_5::shelf>("shelf"));
}

/// One change by itself, at the root and deep in other objects; only deep in others by make test.
template <class Old, class New, class Check>
void change(heap& of, const Old& old, const Check& check) {
    const auto run = [&]<class From, class To>(std::type_identity<From>, std::type_identity<To>, const auto& put,
                                               const auto& get) {
        of.write([&] { put(of.root<From>("root")); });
        const auto before = of.stats().allocated_bytes;
        const migration_report report = migrate<To>(of, "root");
        EXPECT_TRUE(report.is_needed && report.is_possible);
        EXPECT_FALSE(report.changes.empty()) << detail::fingerprint_of<To>().name;
        EXPECT_TRUE(check(get(of.root<To>("root")))) << detail::fingerprint_of<To>().name;
        EXPECT_TRUE(of.verify().clean());
        EXPECT_LT(of.stats().allocated_bytes, before + 4096);
        of.remove_root<To>("root");
    };
#if defined(REMANENCE_ALL_TESTS)
    run(
        std::type_identity<holder<Old>>(), std::type_identity<holder<New>>(), [&](auto& root) { root.value = old; },
        [](auto& root) -> auto& { return root.value; });
    run(
        std::type_identity<vector<holder<Old>>>(), std::type_identity<list<holder<New>>>(),
        [&](auto& root) {
            root.resize(3);
            for (auto& each : root)
                each.value = old;
        },
        [](auto& root) -> auto& { return root.back().value; });
#endif
    run(
        std::type_identity<map<string, std::optional<holder<Old>>>>(),
        std::type_identity<hash_map<string, std::optional<holder<New>>>>(),
        [&](auto& root) { root["key"].emplace().value = old; },
        [](auto& root) -> auto& { return root.at("key")->value; });
}

TEST_F(migration, widens_numbers) {
    change<short, int>(heap_, -5, [](auto& now) { return now == -5; });
    change<int, long long>(heap_, -5, [](auto& now) { return now == -5; });
    change<unsigned char, long>(heap_, 200, [](auto& now) { return now == 200; });
    change<std::uint32_t, std::uint64_t>(heap_, 4'000'000'000U, [](auto& now) { return now == 4'000'000'000U; });
    change<float, double>(heap_, 0.5F, [](auto& now) { return now == 0.5; });
    change<int, double>(heap_, -7, [](auto& now) { return now == -7; });
    change<bool, int>(heap_, true, [](auto& now) { return now == 1; });
    change<int, std::atomic<long>>(heap_, 3, [](auto& now) { return now == 3; });
}

TEST_F(migration, extends_enumerations_by_name) {
    change<small, large>(heap_, small::c, [](auto& now) { return now == large::c; });
}

TEST_F(migration, makes_values_optional) {
    change<int, std::optional<int>>(heap_, 3, [](auto& now) { return now == 3; });
    change<string, std::optional<string>>(heap_, "text", [](auto& now) { return *now == "text"; });
    change<int, std::optional<long>>(heap_, 3, [](auto& now) { return now == 3; });
    static const std::optional<int>
        k_none; // all of its bytes are zeros, so that the checking library takes none for a pointer
    change<std::optional<int>, std::optional<long>>(heap_, k_none, [](auto& now) { return !now; });
}

TEST_F(migration, changes_members_of_members) {
    change<inner_old, inner_new>(heap_, inner_old{4, "four"},
                                 [](auto& now) { return now.x == 4 && now.text == "four" && now.is_new; });
    change<std::array<inner_old, 2>, std::array<inner_new, 2>>(heap_, {{{1, "a"}, {2, "b"}}},
                                                               [](auto& now) { return now[1].x == 2; });
    change<std::pair<int, inner_old>, std::pair<long, inner_new>>(heap_, {1, {2, "b"}},
                                                                  [](auto& now) { return now.second.x == 2; });
    change<std::variant<int, inner_old>, std::variant<inner_old, double, int>>(
        heap_, 3, [](auto& now) { return std::get<int>(now) == 3; });
}

/// A class of another name in a variant: only if the program says so.
template <class Old, class New>
void expect_renamed_in_variant(heap& in, const Old& was, const std::vector<class_with_other_name>& renamed,
                               const std::function<bool(const New&)>& is_right) {
    const std::string name = "variant" + std::to_string(in.roots().size());
    in.write([&] { in.root<Old>(name) = was; });
    const auto says = [&](std::vector<class_with_other_name> names) {
        migration_options how;
        how.dry_run = true;
        how.renamed_classes = std::move(names);
        return migrate<New>(in, name, how);
    };
    const migration_report not_said = says({});
    EXPECT_FALSE(not_said.is_possible);
    EXPECT_NE(not_said.changes.front().what.find("rem::renamed_class"), std::string::npos);
    EXPECT_FALSE(says({renamed_class<"changes::another">::of<inner_new>()}).is_possible);
    EXPECT_TRUE(says(renamed).is_possible);
    migrations how;
    how.to<New>(name);
    for (const class_with_other_name& each : renamed)
        how.rename(each);
    (void)how(in);
    EXPECT_TRUE(is_right(in.root<New>(name)));
    EXPECT_TRUE(in.verify().clean());
}

TEST_F(migration, follows_a_renamed_class_in_a_variant) {
    using a_variant = std::variant<int, inner_old>;
    const std::vector<class_with_other_name> renamed{renamed_class<"changes::inner_old">::of<inner_new>()};
    expect_renamed_in_variant<a_variant, std::variant<inner_new, double, int>>(
        heap_, inner_old{4, "a text that is too long for the object itself"}, renamed, [](const auto& now) {
            const auto* const held = std::get_if<inner_new>(&now);
            return held != nullptr && held->x == 4 && held->text.size() == 45 && held->is_new;
        });
    expect_renamed_in_variant<a_variant, std::variant<int, inner_new>>(
        heap_, 3, renamed, [](const auto& now) { return std::get<int>(now) == 3; });
    expect_renamed_in_variant<std::variant<int, vector<inner_old>>, std::variant<vector<inner_new>, int>>(
        heap_, vector<inner_old>{{1, "a"}, {2, "b"}}, renamed,
        [](const auto& now) { return std::get<vector<inner_new>>(now).at(1).x == 2; });
    // Of two releases: what is stored has the name of the first.
    const std::vector<class_with_other_name> twice{renamed_class<"changes::between">::of<inner_new>(),
                                                   renamed_class<"changes::inner_old">::of<inner_new>()};
    expect_renamed_in_variant<a_variant, std::variant<int, inner_new>>(
        heap_, inner_old{4, "four"}, twice, [](const auto& now) { return std::get<inner_new>(now).text == "four"; });
}

TEST_F(migration, follows_in_a_variant_a_class_that_a_function_makes_another_one) {
    heap_.write([&] { heap_.root<std::variant<int, inner_old>>("root") = inner_old{4, "four"}; });
    (void)migrations().to<std::variant<inner_new, int>>("root").migrate<inner_old, inner_new>(
        [](const inner_old& was, inner_new& now) { now.x = was.x * 10; })(heap_);
    const auto& now = std::get<inner_new>(heap_.root<std::variant<inner_new, int>>("root"));
    EXPECT_EQ(now.x, 40);
    EXPECT_EQ(now.text, "four");
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(migration, turns_one_kind_of_container_into_another) {
    const auto has_numbers = [](auto& now) {
        int sum = 0;
        for (const auto& each : now)
            sum = sum * 10 + static_cast<int>(each);
        return sum == 123;
    };
    change<vector<int>, vector_pi<int>>(heap_, {1, 2, 3}, has_numbers);
    change<vector<int>, deque<long>>(heap_, {1, 2, 3}, has_numbers);
    change<deque<int>, list<int>>(heap_, {1, 2, 3}, has_numbers);
    change<list<int>, forward_list<int>>(heap_, {1, 2, 3}, has_numbers);
    change<forward_list<int>, vector<int>>(heap_, {1, 2, 3}, has_numbers);
    change<vector<int>, set<int>>(heap_, {3, 1, 2}, has_numbers);
    change<vector<int>, btree_multiset<int>>(heap_, {2, 3, 1}, has_numbers);
    change<set<int>, vector<int>>(heap_, {3, 1, 2}, has_numbers);
    change<hash_set<int>, btree_set<long>>(heap_, {3, 1, 2}, has_numbers);
    change<unordered_set<int>, set<int>>(heap_, {3, 1, 2}, has_numbers);
    change<std::array<int, 3>, vector<int>>(heap_, {1, 2, 3}, has_numbers);
    const auto has_texts = [](auto& now) { return now.size() == 2 && now.find("b")->second == 2; };
    change<map<string, int>, btree_map<string, int>>(heap_, {{"a", 1}, {"b", 2}}, has_texts);
    change<btree_map<string, int>, hash_map<string_pi, long>>(heap_, {{"a", 1}, {"b", 2}}, has_texts);
    change<hash_map<string, int>, unordered_map<string, int>>(heap_, {{"a", 1}, {"b", 2}}, has_texts);
    change<unordered_map<string, int>, multimap<string, int>>(heap_, {{"a", 1}, {"b", 2}}, has_texts);
    change<unordered_multimap<string, int>, btree_multimap<string, int>>(heap_, {{"a", 1}, {"b", 2}}, has_texts);
    change<string, string_pi>(heap_, "a text that is too long for the object itself",
                              [](auto& now) { return now.size() == 45; });
    change<string_pi, string>(heap_, "a text", [](auto& now) { return now == "a text"; });
    change<map<int, int>, map<int, int, std::greater<>>>(heap_, {}, [](auto& now) { return now.empty(); });
}

TEST_F(migration, pointers_follow_in_circles_and_into_objects) {
    heap_.write([&] {
        auto& root = heap_.root<vector<node_old>>("nodes");
        root.resize(50);
        auto* const alone = heap_.make<node_old>();
        alone->number = 99;
        for (int i = 0; i != 50; ++i) {
            auto& each = root[static_cast<std::size_t>(i)];
            each.number = i;
            each.left = &root[static_cast<std::size_t>((i * 7 + 3) % 50)];
            each.right = i % 2 == 0 ? alone : nullptr;
            each.into = &root[static_cast<std::size_t>((i + 1) % 50)].number;
        }
        alone->left = &root[5];
        alone->into = &alone->number;
    });
    (void)migrate<deque<node_new>>(heap_, "nodes");
    const auto& nodes = heap_.root<deque<node_new>>("nodes");
    ASSERT_EQ(nodes.size(), 50U);
    for (int i = 0; i != 50; ++i) {
        const auto& each = nodes[static_cast<std::size_t>(i)];
        EXPECT_EQ(each.number, i);
        EXPECT_EQ(each.weight, 1.5);
        EXPECT_EQ(each.left, &nodes[static_cast<std::size_t>((i * 7 + 3) % 50)]);
        EXPECT_EQ(each.right == nullptr, i % 2 != 0);
        EXPECT_EQ(each.into, &nodes[static_cast<std::size_t>((i + 1) % 50)].number);
    }
    EXPECT_EQ(nodes[0].right->number, 99);
    EXPECT_EQ(nodes[0].right->left, &nodes[5]);
    EXPECT_EQ(nodes[0].right->into, &nodes[0].right->number);
    EXPECT_TRUE(heap_.check_pointers().clean());
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(migration, refuses_what_would_lose_values_and_says_all_changes) {
    heap_.root<holder<long>>("number");
    EXPECT_NE(refused<holder<int>>("number", errc::type_mismatch).find("which does not have all of its values"),
              std::string::npos);
    EXPECT_NE(refused<holder<unsigned long>>("number", errc::type_mismatch).find("does not have all"),
              std::string::npos);
    EXPECT_NE(refused<holder<string>>("number", errc::type_mismatch).find(".value was long, is rem::string"),
              std::string::npos);
    EXPECT_NE(refused<vector<long>>("number", errc::type_mismatch).find("it was "), std::string::npos);
    EXPECT_NE(refused<holder<char>>("number", errc::type_mismatch)
                  .find("was long, is char: a char is a character, and is not converted to or from numbers"),
              std::string::npos);
    heap_.write([&] { // an empty optional has unset bytes, which the checking library may take for a pointer
        auto& maybe = heap_.root<holder<std::optional<int>>>("maybe");
        std::memset(static_cast<void*>(&maybe), 0, sizeof maybe);
    });
    EXPECT_NE(refused<holder<int>>("maybe", errc::type_mismatch).find("was std::optional<int>, is int"),
              std::string::npos);
    heap_.root<holder<std::array<int, 3>>>("array");
    using longer = holder<std::array<int, 4>>;
    EXPECT_NE(refused<longer>("array", errc::type_mismatch).find("another number of elements"), std::string::npos);
    heap_.write([&] { heap_.root<multiset<int>>("numbers") = {1, 1}; });
    EXPECT_NE(refused<set<int>>("numbers", errc::type_mismatch).find("a key that is there already"), std::string::npos);
    EXPECT_FALSE(migrate<holder<int>>(heap_, "nobody").is_needed);
}

TEST_F(migration, refuses_pointers_between_roots_and_names_both) {
    heap_.write([&] {
        auto& nodes = heap_.root<list<node_old>>("nodes");
        nodes.resize(2);
        heap_.root<vector<node_old*>>("order").push_back(&nodes.front());
    });
    const std::string both = "\"order\" have objects in common, or one points at objects of the other";
    EXPECT_NE((refused<list<node_new>>("nodes", errc::type_mismatch).find("the roots \"nodes\" and " + both)),
              std::string::npos);
    const migration_report said = migrate<list<node_new>>(heap_, "nodes", {.dry_run = true});
    EXPECT_FALSE(said.is_possible);
    EXPECT_NE(all(said).find(both), std::string::npos);
    heap_.write([&] { heap_.root<vector<node_old*>>("order").clear(); });
    (void)migrate<list<node_new>>(heap_, "nodes");
    EXPECT_EQ(heap_.root<list<node_new>>("nodes").front().weight, 1.5);
}

TEST_F(migration, refuses_pointers_to_numbers_and_texts_of_other_roots) {
    const int* number = nullptr;
    heap_.write([&] {
        auto& numbers = heap_.root<vector<int>>("numbers");
        numbers = {5, 6};
        number = &numbers[0]; // where its block begins: what frees the old objects must not take it
        heap_.root<node_old>("node").into = number;
        auto& texts = heap_.root<vector<string>>("texts");
        texts.emplace_back("a text that is too long for the object itself");
        heap_.root<std::pair<int, const string*>>("pair").second = &texts[0];
    });
    EXPECT_NE(refused<node_new>("node", errc::type_mismatch)
                  .find("the roots \"node\" and \"numbers\" have objects in common"),
              std::string::npos);
    using wider = std::pair<long, const string*>;
    EXPECT_NE(refused<wider>("pair", errc::type_mismatch).find("\"pair\" and \"texts\" have objects in common"),
              std::string::npos);
    EXPECT_EQ(heap_.root<vector<string>>("texts").at(0).size(), 45U);
    EXPECT_EQ(heap_.root<node_old>("node").into, number);
}

TEST_F(migration, converts_one_of_several_roots_that_have_a_class_in_common_but_no_objects) {
    for (const char* const name : {"first", "second"}) {
        heap_.write([&] {
            auto& nodes = heap_.root<vector<node_old>>(name);
            nodes.resize(3);
            nodes[0] = {1, &nodes[1], heap_.make<node_old>(), &nodes[2].number};
        });
    }
    const auto* const second = &heap_.root<vector<node_old>>("second");
    const node_old* const alone = second->at(0).right;
    (void)migrate<vector<node_new>>(heap_, "first");
    const auto& first = heap_.root<vector<node_new>>("first");
    EXPECT_EQ(first.at(0).left, &first.at(1));
    EXPECT_EQ(first.at(0).into, &first.at(2).number);
    EXPECT_EQ(first.at(0).right->weight, 1.5);
    EXPECT_EQ(&heap_.root<vector<node_old>>("second"), second);
    EXPECT_EQ(second->at(0).left, &second->at(1));
    EXPECT_EQ(second->at(0).right, alone);
    (void)migrations().to<vector<node_new>>("first").to<vector<node_new>>("second")(heap_);
    EXPECT_EQ(heap_.root<vector<node_new>>("second").at(0).number, 1);
    EXPECT_TRUE(heap_.check_pointers().clean());
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(migration, refuses_roots_that_point_at_the_same_object) {
    heap_.write([&] {
        auto* const both = heap_.make<node_old>();
        heap_.root<node_old*>("a") = both;
        heap_.root<vector<node_old*>>("b").push_back(both);
    });
    EXPECT_NE(refused<node_new*>("a", errc::type_mismatch).find("\"a\" and \"b\" have objects in common"),
              std::string::npos);
}

TEST_F(migration, that_throws_half_way_leaves_the_heap_as_it_was) {
    heap_.write([&] { heap_.root<vector<without_it>>("all").resize(20); });
    thrower::throws = true;
    const auto version = heap_.version();
    const auto allocated = heap_.stats().allocated_bytes;
    EXPECT_THROW((void)migrate<vector<thrower>>(heap_, "all"), std::runtime_error);
    EXPECT_EQ(heap_.version(), version);
    EXPECT_EQ(heap_.stats().allocated_bytes, allocated);
    EXPECT_EQ(heap_.root<vector<without_it>>("all").size(), 20U);
    thrower::throws = false;
    (void)migrate<vector<thrower>>(heap_, "all");
    EXPECT_EQ(heap_.root<vector<thrower>>("all").at(19).added, 7);
}

TEST_F(migration, within_a_section_is_undone_with_it) {
    heap_.write([&] { heap_.root<vector<without_it>>("all").resize(20); });
    EXPECT_THROW(heap_.write([&] {
        (void)migrate<vector<thrower>>(heap_, "all");
        EXPECT_EQ(heap_.find_root<vector<thrower>>("all")->size(), 20U);
        throw std::runtime_error("undone");
    }),
                 std::runtime_error);
    EXPECT_EQ(heap_.root<vector<without_it>>("all").size(), 20U);
}

} // namespace
} // namespace remanence
