// Containers whose order, or whose places, functions of the program make: load<Types...>() calls these. And what edited dumps say twice.
#include "support/temp_dir.hpp"

#include <remanence/file_backed.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <gtest/gtest.h>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace loaded {
namespace rem = remanence;

struct point {
    int x = 0;
    int y = 0;
    friend auto operator<=>(const point&, const point&) = default;
};
struct by_size {
    bool operator()(const rem::string& a, const rem::string& b) const { return a.size() < b.size(); }
};
struct person {
    rem::string name;
};
struct by_name {
    bool operator()(const person* a, const person* b) const { return a->name < b->name; }
};
struct index_of_people {
    rem::vector<person> all;
    rem::set<person*, by_name> sorted;
    rem::btree_map<person*, int, by_name> years;
};
struct point_hash {
    std::size_t operator()(const point& of) const noexcept { return static_cast<std::size_t>(of.x); }
};
struct slow_point_hash { // which nodes keep
    std::size_t operator()(const point& of) const { return static_cast<std::size_t>(of.x + of.y) * 7919; }
};
struct same_x {
    bool operator()(const point& a, const point& b) const { return a.x == b.x; }
};
struct text_hash {
    std::uint64_t operator()(const rem::string& of, std::uint64_t seed) const { return of.size() * 31 + seed; }
};
struct failing_hash {
    static inline bool fails = false;
    std::size_t operator()(int of) const {
        return fails ? throw std::runtime_error("no hash") : static_cast<std::size_t>(of);
    }
};
struct hashed {
    rem::unordered_map<point, rem::string, point_hash> fast;
    rem::unordered_multimap<point, int, slow_point_hash> slow;
    rem::unordered_set<point, point_hash, same_x> by_x;
    rem::hash_map<point, rem::vector<int>, point_hash> table;
    rem::hash_set<rem::string, text_hash> texts;
    std::optional<rem::vector<rem::hash_set<point, slow_point_hash>>> deep;
};
struct places {
    rem::hash_map<rem::string, int> table;
    rem::unordered_map<int, int> chain;
    int* to[40] = {};
};
class closed {
public:
    [[nodiscard]] short number() const { return number_; }

private:
    short number_ = 1;
};
struct has_closed {
    closed hidden;
    std::optional<rem::fragile<int>> none;
};
} // namespace loaded

template <>
inline constexpr bool remanence::enable_persistable<loaded::closed> = true;

namespace remanence {
namespace {

using namespace loaded;

class loaded_keys : public testing::Test {
protected:
    test::temp_dir directory_ = test::temp_dir::in_memory();
    heap from_ = heap::create(directory_ / "from");
    heap into_ = heap::create(directory_ / "into");

    std::string saved() {
        std::ostringstream out;
        save(from_, out);
        return out.str();
    }
    template <class... Types>
    std::size_t load_text(const std::string& text) {
        std::istringstream in(text);
        return load<Types...>(into_, in);
    }
    /// What is said of a dump that cannot be loaded; the heap is then as before.
    template <class... Types>
    std::string refused(const std::string& text) {
        const auto version = into_.version();
        const auto allocated = into_.stats().allocated_bytes;
        std::string why = "loaded";
        try {
            (void)load_text<Types...>(text);
        } catch (const error& stop) {
            why = stop.what();
        }
        EXPECT_EQ(into_.version(), version);
        EXPECT_TRUE(into_.roots().empty());
        EXPECT_EQ(into_.stats().allocated_bytes, allocated);
        return why;
    }
    static std::string changed(std::string text, const std::string& old, const std::string& by) {
        const std::size_t at = text.find(old);
        EXPECT_NE(at, std::string::npos) << old << " in " << text;
        return at == std::string::npos ? text : text.replace(at, old.size(), by);
    }
};

void expect_says(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(loaded_keys, are_refused_out_of_the_order_of_the_program) {
    auto& points = from_.root<set<point>>("points");
    auto& texts = from_.root<std::pair<btree_multimap<string, int, by_size>, int>>("texts");
    from_.write([&] {
        points = {{1, 1}, {2, 5}, {2, 6}};
        texts.first = {{"a", 1}, {"b", 2}, {"ccc", 3}};
    });
    const std::string text = saved();
    using of_texts = std::pair<btree_multimap<string, int, by_size>, int>;
    const auto expect = [&](const std::string& old, const std::string& by, const std::string& why) {
        const std::string said = refused<set<point>, of_texts>(changed(text, old, by));
        expect_says(said, why);
        expect_says(said, "line ");
    };
    expect(R"({"x":2,"y":6})", R"({"x":2,"y":5})", "a key that is there already, in points[2]");
    expect(R"({"x":2,"y":6})", R"({"x":0,"y":6})", "a key that does not come behind the one before it, in points[2]");
    expect(R"(["ccc",3])", R"(["",3])", "a key that does not come behind the one before it, in texts.first[2]");
    EXPECT_EQ((load_text<set<point>, of_texts>(text)), 2U);
    EXPECT_EQ(into_.root<set<point>>("points"), points);
    EXPECT_EQ(into_.root<of_texts>("texts").first.count("x"), 2U);
}

TEST_F(loaded_keys, are_compared_where_they_have_pointers_when_these_lead_somewhere) {
    from_.write([&] {
        auto& people = from_.root<index_of_people>("people");
        people.all = {{"KNUTH"}, {"ADA"}, {"HOARE"}};
        for (person& each : people.all) {
            people.sorted.insert(&each);
            people.years.emplace(&each, 1);
        }
    });
    const std::string text = saved();
    const std::string ada = R"({"$ref":["people","all",1]})";
    const std::string hoare = R"({"$ref":["people","all",2]})";
    expect_says(refused<index_of_people>(changed(text, ada + ',' + hoare, hoare + ',' + ada)),
                "a key that does not come behind the one before it, in people.sorted");
    expect_says(refused<index_of_people>(changed(text, ada + ',' + hoare, ada + ',' + ada)),
                "a key that is there already, in people.sorted");
    expect_says(refused<index_of_people>(changed(text, '[' + ada, '[' + hoare)), "people.sorted");
    EXPECT_EQ(load_text<index_of_people>(text), 1U);
    auto& made = into_.root<index_of_people>("people");
    EXPECT_EQ(made.sorted.count(&made.all[2]), 1U);
    EXPECT_EQ(made.years.count(&made.all[0]), 1U);
    EXPECT_EQ((*made.sorted.begin())->name, "ADA");
}

TEST_F(loaded_keys, find_the_places_that_the_program_gives_them) {
    auto& was = from_.root<hashed>("hashed");
    from_.write([&] {
        for (int i = 0; i != 300; ++i) {
            was.fast.emplace(point{i, 1}, "a text that is too long for its object");
            was.slow.emplace(point{i, i % 2}, i);
            was.slow.emplace(point{i, i % 2}, -i);
            was.by_x.insert({i, i});
            was.table[{i, 2}].push_back(i);
            was.texts.insert(string(static_cast<std::size_t>(i), 'x'));
        }
        was.deep.emplace(2).at(1).insert({7, 8});
    });
    const std::string text = saved();
    expect_says(refused<>(text), "by rem::load()");
    EXPECT_EQ(load_text<hashed>(text), 1U);
    auto& made = into_.root<hashed>("hashed");
    into_.write([&] {
        EXPECT_EQ(made.fast, was.fast);
        EXPECT_EQ(made.slow, was.slow);
        EXPECT_EQ(made.by_x.size(), 300U);
        EXPECT_EQ(made.table, was.table);
        EXPECT_EQ(made.texts, was.texts);
        EXPECT_EQ(made.deep->at(1).count({7, 8}), 1U);
        for (int i = 0; i != 600; ++i) { // and it can be changed
            EXPECT_EQ(made.fast.count({i, 1}), i < 300 ? 1U : 0U);
            EXPECT_EQ(made.slow.count({i, i % 2}), i < 300 ? 2U : 0U);
            made.fast[{i, 1}] = "x";
            made.slow.emplace(point{i, 5}, i);
            made.by_x.insert({i, 9});
            made.table.erase({i, 2});
        }
        made.slow.erase({5, 1});
    });
    EXPECT_EQ(made.by_x.size(), 600U);
    EXPECT_TRUE(made.table.empty());
    EXPECT_TRUE(into_.verify().clean());
    into_.write([&] { into_.remove_root<hashed>("hashed"); });
    expect_says(refused<hashed>(changed(text, R"([{"x":7,"y":2},[7]])", R"([{"x":8,"y":2},[7]])")),
                "a key that is there already, in hashed.table");
    expect_says(refused<hashed>(changed(text, R"({"x":7,"y":7})", R"({"x":8,"y":7})")),
                "a key that is there already, in hashed.by_x");
}

TEST_F(loaded_keys, whose_function_throws_leave_the_heap_as_it_was) {
    from_.write([&] { from_.root<hash_set<int, failing_hash>>("set") = {1, 2}; });
    const std::string text = saved();
    failing_hash::fails = true;
    using failing = hash_set<int, failing_hash>;
    EXPECT_THROW((void)refused<failing>(text), std::runtime_error);
    failing_hash::fails = false;
    EXPECT_TRUE(into_.roots().empty());
    EXPECT_EQ(load_text<failing>(text), 1U);
}

TEST_F(loaded_keys, are_checked_in_the_file_of_one_container) {
    const auto open = [&] { return file_backed<set<point>>(directory_ / "points", {.form = file_form::portable}); };
    {
        auto points = open();
        points->insert({{1, 1}, {2, 5}});
        points.commit();
    }
    std::stringstream text;
    text << std::ifstream(directory_ / "points").rdbuf();
    std::ofstream(directory_ / "points") << changed(text.str(), R"({"x":2,"y":5})", R"({"x":1,"y":1})");
    try {
        (void)open();
        ADD_FAILURE() << "a key is there twice";
    } catch (const error& stop) {
        expect_says(std::string(stop.what()), "a key that is there already");
    }
}

TEST_F(loaded_keys, of_hash_containers_keep_the_pointers_that_lead_to_them) {
    from_.write([&] {
        auto& all = from_.root<places>("places");
        for (int i = 0; i != 20; ++i) {
            all.table.emplace(std::to_string(i), i);
            all.chain.emplace(i * 1009, i);
        }
        for (int i = 0; i != 20; ++i) {
            all.to[i] = &all.table.at(string(std::to_string(i)));
            all.to[20 + i] = &all.chain.at(i * 1009);
        }
        all.chain.rehash(1000);
    });
    const std::string text = saved();
    const auto expect = [](const places& made) {
        for (int i = 0; i != 40; ++i)
            EXPECT_EQ(*made.to[i], i % 20) << i;
    };
    EXPECT_EQ(load_text<places>(text), 1U);
    expect(into_.root<places>("places"));
    into_.write([&] { into_.remove_root<places>("places"); });
    EXPECT_EQ(load_text<>(text), 1U);
    expect(into_.root<places>("places"));
}

TEST_F(loaded_keys, of_a_line_may_not_be_there_twice) {
    from_.root<has_closed>("root");
    from_.root<vector<int>>("list").push_back(5);
    from_.commit();
    const std::string text = saved();
    const auto expect = [&](const std::string& old, const std::string& by, const std::string& why) {
        expect_says(refused<>(changed(text, old, by)), why);
    };
    expect(R"("value":)", R"("value":null,"value":)", R"(line 6: it has "value" twice)");
    expect(R"("root":"root")", R"("root":"root","root":"other")", R"(it has "root" twice)");
    expect(R"("schema":0)", R"("schema":0,"schema":1)", R"(it has "schema" twice)");
    expect(R"({"v":5})", R"({"v":5,"v":6})", R"(an element is {"v":...})");
    expect(R"("end":true)", R"("end":true,"end":true)", R"(it has "end" twice)");
    expect(R"({"$hidden":"loaded::closed",)", R"({"$hidden":"loaded::other",)", R"({"$hidden":"loaded::closed",)");
    expect(R"({"$hidden":"loaded::closed",)", R"({)", R"({"$hidden":"loaded::closed",)");
    expect(R"("bytes":"0100")", R"("bytes":"0100","bytes":"0200")", R"(has "bytes" twice)");
    EXPECT_EQ(load_text<>(text), 2U);
}

/// The dump's layout, with one digit changed: what is loaded all the same can be read again.
TEST_F(loaded_keys, of_a_forged_layout_lie_in_no_other_members) {
    from_.write([&] {
        auto& all = from_.root<places>("places");
        all.table.emplace("a", 1);
        all.chain.emplace(1, 2);
    });
    const std::string text = saved();
    const std::size_t begin = text.find(R"("layout":")") + 10;
    int refusals = 0;
    for (std::size_t i = begin; text[i] != '"'; ++i) {
        for (const char digit : {'0', '1', '2', '3', '4', '8'}) {
            std::string forged = text;
            forged[i] = digit;
            heap into = heap::create(directory_ / "forged");
            bool is_loaded = false;
            try {
                std::istringstream in(forged);
                (void)load<>(into, in);
                is_loaded = true;
            } catch (const error& stop) {
                refusals +=
                    std::string(stop.what()).find("the layout of its types is damaged") != std::string::npos ? 1 : 0;
            }
            std::ostringstream out;
            if (is_loaded) {
                EXPECT_NO_THROW(save(into, out)) << i - begin << ' ' << digit;
            }
            into.close();
            std::filesystem::remove(directory_ / "forged");
        }
    }
    EXPECT_GT(refusals, 10);
}

} // namespace
} // namespace remanence
