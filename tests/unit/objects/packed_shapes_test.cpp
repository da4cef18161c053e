// What is packed: the bits of vector<bool>, the records of packed maps, bit-fields. They are looked at, and go from memory to text and to CBOR
// and back, through files of containers and through migrations.
#include "support/temp_dir.hpp"

#include <remanence/containers/packed_map.hpp>
#include <remanence/look_inside.hpp>
#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace packed_shapes {

enum class colour : unsigned char { red, green, blue };

struct flags { // NOLINT(clang-analyzer-optin.performance.Padding)
    std::uint8_t before;
    unsigned low : 3;
    int small : 5;
    colour which : 2;
    bool is_set : 1;
    std::uint64_t wide : 40;
    double after;
    REM_REFLECT((), before, low, small, which, is_set, wide, after);
    friend bool operator==(const flags&, const flags&) = default;
};
flags made(unsigned number, int small, std::uint64_t wide) {
    flags all{};
    all.before = static_cast<std::uint8_t>(number);
    all.low = number & 7U;
    for (all.small = -16; all.small != small; ++all.small) { // which no compiler takes for a value that does not fit
    }
    all.which = colour(number % 3);
    all.is_set = number % 2 == 1;
    all.wide = wide & ((std::uint64_t{1} << 40) - 1);
    all.after = number / 2.0;
    return all;
}
class closed {
public:
    explicit closed(unsigned value = 0) : value_(value & 127U), unnamed_(value & 1U) {}
    friend bool operator==(const closed&, const closed&) = default;

private:
    unsigned value_ : 7;
    unsigned unnamed_ : 9; // which is left out
    REM_REFLECT((), value_);
};

} // namespace packed_shapes

namespace remanence {
namespace {

using namespace packed_shapes;

class packed_shapes_test : public testing::Test {
protected:
    /// Calls `expect` with the root as each way of writing and reading leaves it.
    template <class Root>
    void through_all(const std::function<void(Root&)>& fill, const std::function<void(Root&)>& expect) {
        heap from = heap::create(directory_ / "from");
        from.write([&] { fill(from.root<Root>("root")); });
        expect(from.root<Root>("root"));
        EXPECT_TRUE(from.verify().clean());
        for (const bool is_binary : {false, true}) {
            for (const bool is_named : {false, true}) {
                std::string text;
                const std::function<void(std::string_view)> put = [&](std::string_view piece) { text += piece; };
                save(from, is_binary ? as_binary(put) : put);
                heap into = heap::create(directory_ / ("into " + std::to_string(2 * is_binary + is_named)));
                std::istringstream in(text);
                ASSERT_EQ(is_named ? load<Root>(into, in) : load<>(into, in), 1U);
                expect(into.root<Root>("root"));
                EXPECT_TRUE(into.verify().clean());
                into.write([&] { fill(into.root<Root>("root")); }); // it can be changed
                expect(into.root<Root>("root"));
                into.commit();
                into.close();
            }
        }
        for (const file_form form : {file_form::memory, file_form::portable, file_form::binary}) {
            const auto path = directory_ / "file";
            {
                file_backed<Root> file(path, {.form = form});
                fill(*file);
                file.close();
            }
            {
                file_backed<Root> file(path, {.form = form});
                expect(*file);
            }
            std::filesystem::remove(path);
        }
    }
    std::string got(std::string_view path) { return inspect::get(directory_ / "h", path); }

    test::temp_dir directory_ = test::temp_dir::in_memory();
};

TEST_F(packed_shapes_test, bits_survive_each_way) {
    for (const std::size_t count : {0U, 1U, 7U, 63U, 64U, 65U, 128U, 1000U}) {
        const auto is_one = [](std::size_t i) { return (i * 7 + i / 5) % 3 == 0; };
        through_all<vector<bool>>(
            [&](vector<bool>& all) {
                all.clear();
                for (std::size_t i = 0; i != count; ++i)
                    all.push_back(is_one(i));
            },
            [&](vector<bool>& all) {
                ASSERT_EQ(all.size(), count);
                for (std::size_t i = 0; i != count; ++i)
                    EXPECT_EQ(all[i], is_one(i)) << i;
            });
        std::filesystem::remove_all(directory_.path());
        std::filesystem::create_directory(directory_.path());
    }
}

TEST_F(packed_shapes_test, bits_are_looked_at_and_become_another_container) {
    {
        heap from = heap::create(directory_ / "h");
        from.write([&] { from.root<vector<bool>>("bits") = {true, false, true}; });
        from.close();
    }
    EXPECT_EQ(got("bits"), "[true,false,true]");
    EXPECT_EQ(got("bits[1]"), "false");
    heap into = heap::open(directory_ / "h", {.migrate = migrations().to<deque<bool>>("bits")});
    EXPECT_EQ(into.root<deque<bool>>("bits"), deque<bool>({true, false, true}));
    into.close();
    heap back = heap::open(directory_ / "h", {.migrate = migrations().to<vector<bool>>("bits")});
    EXPECT_EQ(back.root<vector<bool>>("bits"), vector<bool>({true, false, true}));
    EXPECT_TRUE(back.verify().clean());
}

template <class Map>
void fill_records(Map& all, std::size_t count, bool with_large) {
    std::mt19937_64 random(4711);
    all.clear();
    std::vector<std::pair<std::string, std::string>> records;
    for (std::size_t i = 0; i != count; ++i) {
        std::string key = std::to_string(random() % (2 * count));
        key.append(random() % 40, static_cast<char>(random()));
        records.emplace_back(std::move(key), std::string(random() % 200, static_cast<char>(random())));
    }
    if (with_large) {
        records.emplace_back(std::string(1500, 'k'), "v");
        records.emplace_back("large", std::string(100'000, 'v'));
        records.emplace_back("", "");
    }
    for (const auto& [key, value] : records)
        all.insert({key, value});
}

template <class Map>
std::vector<std::pair<std::string, std::string>> records_of(const Map& all) {
    std::vector<std::pair<std::string, std::string>> records;
    for (const auto& [key, value] : all)
        records.emplace_back(key, value);
    return records;
}

TEST_F(packed_shapes_test, packed_maps_survive_each_way) {
    for (const std::size_t count : {0U, 1U, 30U, 3000U}) {
        std::vector<std::pair<std::string, std::string>> expected;
        through_all<packed_map>(
            [&](packed_map& all) {
                fill_records(all, count, count == 3000);
                expected = records_of(all);
            },
            [&](packed_map& all) {
                EXPECT_EQ(all.size(), expected.size());
                EXPECT_EQ(records_of(all), expected);
                for (const auto& [key, value] : expected)
                    ASSERT_EQ(all.at(key), value);
            });
        std::filesystem::remove_all(directory_.path());
        std::filesystem::create_directory(directory_.path());
    }
}

TEST_F(packed_shapes_test, packed_multimaps_keep_the_order_of_equal_keys) {
    std::vector<std::pair<std::string, std::string>> expected;
    through_all<packed_multimap>(
        [&](packed_multimap& all) {
            all.clear();
            for (int i = 0; i != 2000; ++i)
                all.insert({i % 3 == 0 ? "many" : std::to_string(i % 50), std::to_string(i)});
            expected = records_of(all);
        },
        [&](packed_multimap& all) { EXPECT_EQ(records_of(all), expected); });
}

TEST_F(packed_shapes_test, packed_maps_are_looked_at) {
    heap from = heap::create(directory_ / "h");
    from.write([&] {
        auto& all = from.root<packed_map>("all");
        all.insert({"b", "2"});
        all.insert({"a", "1"});
        all.insert({std::string_view("\xff\0", 2), "bytes"});
    });
    from.close();
    EXPECT_EQ(got("all"), R"([["a","1"],["b","2"],[{"$bytes":"ff00"},"bytes"]])");
    EXPECT_EQ(got("all[\"b\"]"), "\"2\"");
    EXPECT_EQ(got("all[{\"$bytes\":\"ff00\"}]"), "\"bytes\"");
}

TEST_F(packed_shapes_test, records_out_of_order_are_refused) {
    heap from = heap::create(directory_ / "h");
    from.write([&] { from.root<packed_map>("all").insert({{"a", "1"}, {"b", "2"}}); });
    std::string text;
    save(from, [&](std::string_view piece) { text += piece; });
    text.replace(text.find(R"("k":"b")"), 7, R"("k":"A")");
    heap into = heap::create(directory_ / "into");
    std::istringstream in(text);
    try {
        load<>(into, in);
        ADD_FAILURE() << "it was taken";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::invalid_argument);
        EXPECT_NE(std::string(e.what()).find("gets a key that does not come behind the one before it"),
                  std::string::npos)
            << e.what();
    }
}

TEST_F(packed_shapes_test, bit_fields_survive_each_way) {
    std::vector<flags> expected;
    for (unsigned i = 0; i != 32; ++i)
        expected.push_back(made(i, static_cast<int>(i) - 16, (std::uint64_t{1} << 39) + i));
    through_all<vector<flags>>(
        [&](vector<flags>& all) { all.assign(expected.begin(), expected.end()); },
        [&](vector<flags>& all) { EXPECT_TRUE(std::equal(all.begin(), all.end(), expected.begin(), expected.end())); });
}

TEST_F(packed_shapes_test, bit_fields_of_classes_that_leave_some_out_survive_each_way) {
    through_all<vector<closed>>(
        [&](vector<closed>& all) {
            all.clear();
            for (unsigned i = 0; i != 100; ++i)
                all.emplace_back(i);
        },
        [&](vector<closed>& all) {
            ASSERT_EQ(all.size(), 100U);
            for (unsigned i = 0; i != 100; ++i)
                EXPECT_TRUE(all[i] == closed(i)) << i;
        });
}

TEST_F(packed_shapes_test, bit_fields_are_looked_at) {
    heap from = heap::create(directory_ / "h");
    from.write([&] { from.root<flags>("f") = made(5, -3, 135'056'262'027); });
    from.close();
    EXPECT_EQ(got("f"),
              R"({"before":5,"low":5,"small":-3,"which":"blue","is_set":true,"wide":135056262027,"after":2.5})");
    EXPECT_EQ(got("f.small"), "-3");
    EXPECT_EQ(got("f.which"), "\"blue\"");
    const std::string header = inspect::schema(directory_ / "h", inspect::schema_form::cpp);
    EXPECT_NE(header.find("    unsigned int low : 3;\n    int small : 5;\n"), std::string::npos) << header;
}

TEST_F(packed_shapes_test, a_value_that_does_not_fit_its_bits_is_refused) {
    heap from = heap::create(directory_ / "h");
    from.write([&] { from.root<flags>("f") = made(5, -3, 9); });
    std::string text;
    save(from, [&](std::string_view piece) { text += piece; });
    const auto loaded = [&](const std::string& was, const std::string& is) {
        std::string changed = text;
        changed.replace(changed.find(was), was.size(), is);
        heap into = heap::create(directory_ / ("into " + is));
        std::istringstream in(changed);
        try {
            load<>(into, in);
            return std::string("taken: ") + std::to_string(into.root<flags>("f").small) + ' ' +
                   std::to_string(into.root<flags>("f").low);
        } catch (const error& e) {
            return std::string(e.what());
        }
    };
    EXPECT_EQ(loaded(R"("small":-3)", R"("small":-16)"), "taken: -16 5");
    EXPECT_EQ(loaded(R"("low":5)", R"("low":7)"), "taken: -3 7");
    EXPECT_NE(loaded(R"("small":-3)", R"("small":16)").find("16 does not fit into the 5 bits of small"),
              std::string::npos);
    EXPECT_NE(loaded(R"("small":-3)", R"("small":-17)").find("does not fit"), std::string::npos);
    EXPECT_NE(loaded(R"("low":5)", R"("low":8)").find("does not fit"), std::string::npos);
    EXPECT_NE(loaded(R"("low":5,)", "").find("lacks its member low"), std::string::npos);
}

} // namespace
} // namespace remanence
