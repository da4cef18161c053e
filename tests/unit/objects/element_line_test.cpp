// Lines of elements that are written as a dump writes them are read straight into their places, others as JSON. Both
// ways must make the same objects, and refuse the same lines with the same words.
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>
#include <remanence/types/reflect.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

namespace line_types {

struct address {
    remanence::string street;
    remanence::string_pi city;
};
struct person {
    remanence::string name;
    address home;
    std::int64_t number = 0;
    std::int8_t small = 0;
    std::uint8_t byte = 0;
    bool is_old = false;
    float height = 0;
    double weight = 0;
    std::array<std::uint16_t, 3> three{};
    char code[6] = "";
    std::chrono::seconds age{};
};
struct nothing {};
struct long_one { // has more parts than are read straight into their places
    std::array<std::int16_t, 300> numbers{};
    std::array<nothing, 300> nothings{};
};
struct pair_of_numbers {
    std::int32_t a = 0, b = 0;
};

} // namespace line_types

namespace remanence {
namespace {

using line_types::address;
using line_types::person;

class element_lines : public testing::Test {
protected:
    element_lines() : from_(heap::create(directory_ / "from")) {}

    static std::string saved(const heap& from) {
        std::ostringstream out;
        save(from, out);
        return out.str();
    }
    /// Puts spaces into the lines of elements, which no dump has there.
    static std::string with_spaces(const std::string& text) {
        std::istringstream lines(text);
        std::string out;
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("{\"v\":") || line.starts_with("{\"k\":"))
                line.insert(5, 1, ' ');
            out += line + '\n';
        }
        return out;
    }
    static std::string as_items(const heap& from) {
        std::string all;
        save(from, as_binary([&](std::string_view piece) { all += piece; }));
        return all;
    }
    heap loaded(const std::string& text, const std::string& name) {
        heap into = heap::create(directory_ / name);
        std::istringstream in(text);
        load<>(into, in);
        return into;
    }
    std::string refused(const std::string& text) {
        try {
            (void)loaded(text, "refused " + std::to_string(++count_));
        } catch (const error& stop) {
            return stop.what();
        }
        return "loaded";
    }
    /// Returns the part of a message that does not name the heap.
    static std::string behind_path(const std::string& message) { return message.substr(message.find("loaded: ") + 1); }
    static std::string replaced(std::string text, const std::string& old, const std::string& by) {
        const std::size_t at = text.find(old);
        EXPECT_NE(at, std::string::npos) << old;
        return at == std::string::npos ? text : text.replace(at, old.size(), by);
    }

    test::temp_dir directory_ = test::temp_dir::in_memory();
    heap from_;
    int count_ = 0;
};

person some_person(int i) {
    using limits = std::numeric_limits<std::int64_t>;
    constexpr std::array<const char*, 5> k_texts = {"", "plain", "a text that is too long to be short",
                                                    "quoted \" \\ \n \x01 \x7f", "M\xc3\xbcnchen, \xf0\x9f\x8c\x8d"};
    const auto text = [&](int j) { return k_texts[static_cast<std::size_t>(i + j) % k_texts.size()]; };
    person made{text(0), {text(1), text(2)}, 0, 0, 0, i % 2 == 0, 0, 0, {}, "", {}};
    constexpr std::array<std::int64_t, 5> k_numbers = {0, -1, limits::max(), limits::min(), 1'000'000'000'000'000'000};
    made.number = k_numbers[static_cast<std::size_t>(i) % k_numbers.size()];
    made.small = static_cast<std::int8_t>(i % 2 == 0 ? -128 : 127);
    made.byte = static_cast<std::uint8_t>(i % 3 == 0 ? 255 : i);
    made.height = 1.0F / static_cast<float>(i + 1);
    made.weight = i == 3   ? std::numeric_limits<double>::infinity()
                  : i == 4 ? std::numeric_limits<double>::denorm_min()
                           : -1e300 / (i + 1);
    made.three = {1, 65535, static_cast<std::uint16_t>(i)};
    for (std::size_t j = 0; j != static_cast<std::size_t>(i) % 6; ++j)
        made.code[j] = 'x';
    made.age = std::chrono::seconds(-i);
    return made;
}

TEST_F(element_lines, make_the_same_objects_however_they_are_written) {
    from_.write([&] {
        for (int i = 0; i != 40; ++i) {
            const person each = some_person(i);
            from_.root<vector<person>>("vector").push_back(each);
            from_.root<deque<person>>("deque").push_back(each);
            from_.root<multimap<string, person>>("multimap").emplace(each.name, each);
            from_.root<btree_map<std::int64_t, address>>("tree").emplace(each.number, each.home);
            from_.root<set<double>>("set").insert(each.weight);
            from_.root<btree_set<std::pair<int, string>>>("pairs").emplace(i % 7, each.name);
            from_.root<vector<line_types::long_one>>("long").emplace_back().numbers.fill(static_cast<std::int16_t>(i));
            from_.root<vector<bool>>("bits").push_back(each.is_old);
            from_.root<vector<std::uint64_t>>("numbers").push_back(~std::uint64_t{0} / (1U + static_cast<unsigned>(i)));
        }
    });
    const std::string text = saved(from_);
    EXPECT_EQ(saved(loaded(text, "straight")), text);
    EXPECT_EQ(saved(loaded(with_spaces(text), "as JSON")), text);
    EXPECT_EQ(saved(loaded(as_items(from_), "as items")), text);
}

TEST_F(element_lines, of_the_binary_form_are_refused_with_the_same_words) {
    from_.write([&] {
        from_.root<map<string, line_types::pair_of_numbers>>("map") = {{"a", {1, 2}}, {"b", {3, 70'000}}};
        from_.root<vector<std::uint8_t>>("vector") = {1, 254};
        from_.root<vector<double>>("reals") = {1.5, 1e300};
        from_.root<vector<bool>>("bits") = {true, false};
    });
    const std::string items = as_items(from_);
    const auto expect = [&](std::string_view old, std::string_view by, const std::string& wanted) {
        const std::string said = refused(replaced(items, std::string(old), std::string(by)));
        EXPECT_NE(said.find(wanted), std::string::npos) << said;
    };
    using namespace std::string_view_literals;
    constexpr auto k_number = "ab\x1a\x00\x01\x11\x70"sv; // the name b as a text of one byte, and 70,000
    expect(k_number, "ab\x1a\xff\xff\xff\xff"sv, "4294967295 is out of the range of int, in map[1].b");
    expect(k_number, "ab\x3b\xff\xff\xff\xff\xff\xff\xff\xff"sv, "a number has more than 64 bits");
    expect(k_number, "ac\x1a\x00\x01\x11\x70"sv, "has no member \"c\"");
    expect("\x18\xfe"sv, "\x19\x01\x00"sv, "256 is out of the range of unsigned char, in vector[1]");
    expect("\xa1\x61v\xf5"sv, "\xa1\x61v\xf6"sv, "null is no bool: that is true or false, in bits[0]");
    expect("\xa1\x61v\xf5"sv, "\xa1\x61v\xf7"sv, "an item is of a kind that this form does not have");
    expect("\xa1\x61v\xf5"sv, "\xa1\x61v\x9f"sv, "an item has no length");
    expect("\xa1\x61v\xf5"sv, "\xa1\x61v\xa0"sv, "an object is no bool: that is true or false, in bits[0]");
}

TEST_F(element_lines, find_the_place_of_a_key_by_its_hash) {
    from_.write([&] {
        for (int i = 0; i != 300; ++i) {
            from_.root<hash_map<string, int>>("texts").emplace(std::to_string(i), i);
            from_.root<hash_set<std::int16_t>>("numbers").insert(static_cast<std::int16_t>(i - 150));
            from_.root<hash_map<std::pair<int, string>, bool>>("pairs").emplace(std::pair(i, std::to_string(-i)), true);
            from_.root<hash_map<double, int>>("reals").emplace(i / 8.0, i);
            from_.root<unordered_map<string, int>>("chains").emplace(std::to_string(i), i);
            from_.root<unordered_multiset<int>>("equal").insert(i % 10);
        }
    });
    const std::string text = saved(from_);
    for (const bool is_straight : {true, false}) {
        heap into = loaded(is_straight ? text : with_spaces(text), is_straight ? "straight" : "as JSON");
        for (int i = 0; i != 300; ++i) {
            EXPECT_EQ((into.root<hash_map<string, int>>("texts").at(std::to_string(i).c_str())), i);
            EXPECT_TRUE(into.root<hash_set<std::int16_t>>("numbers").contains(static_cast<std::int16_t>(i - 150)));
            EXPECT_TRUE((into.root<hash_map<std::pair<int, string>, bool>>("pairs").contains(
                std::pair(i, string(std::to_string(-i))))));
            EXPECT_EQ((into.root<hash_map<double, int>>("reals").at(i / 8.0)), i);
            EXPECT_EQ((into.root<unordered_map<string, int>>("chains").at(std::to_string(i).c_str())), i);
            EXPECT_EQ(into.root<unordered_multiset<int>>("equal").count(i % 10), 30U);
        }
    }
}

TEST_F(element_lines, are_refused_with_the_same_words_however_they_are_written) {
    from_.write([&] {
        from_.root<map<string, line_types::pair_of_numbers>>("map") = {{"a", {1, 2}}, {"b", {3, 4}}};
        from_.root<vector<std::uint8_t>>("vector") = {1, 254};
        from_.root<vector<float>>("reals") = {1.5F};
        from_.root<hash_set<string>>("set") = {"twice"};
    });
    const std::string text = saved(from_);
    const auto expect = [&](const std::string& old, const std::string& by, const std::string& wanted) {
        const std::string changed = replaced(text, old, by);
        const std::string straight = refused(changed);
        EXPECT_NE(straight.find(wanted), std::string::npos) << straight;
        EXPECT_EQ(behind_path(refused(with_spaces(changed))), behind_path(straight));
    };
    expect("\"b\":4}", "\"b\":2147483648}", "2147483648 is out of the range of int, in map[1].b");
    expect("\"b\":4}", "\"b\":-2147483649}", "-2147483649 is out of the range of int, in map[1].b");
    expect("{\"v\":254}", "{\"v\":256}", "256 is out of the range of unsigned char, in vector[1]");
    expect("{\"v\":254}", "{\"v\":-1}", "-1 is out of the range of unsigned char, in vector[1]");
    expect("{\"v\":254}", "{\"v\":20000000000000000000000}",
           "is no whole number, or out of the range of unsigned char");
    expect("{\"v\":1.5}", "{\"v\":1e39}", "1e39 is out of the range of float, in reals[0]");
    expect("\"a\":3", "\"a\":\"3\"", "\"3\" is no int: that is a number, in map[1].a");
    expect("{\"k\":\"b\"", "{\"k\":\"a\"", "a key that is there already, in map[1]");
    expect("{\"k\":\"a\"", "{\"k\":\"c\"", "a key that does not come behind the one before it, in map[1]");
    expect("{\"v\":\"twice\"}", "{\"v\":\"twice\"}\n{\"v\":\"twice\"}", "a key that is there already, in set[1]");
    for (const std::string number : {"04", "1.", "-", "+4", "4x"}) { // the byte is another one behind a space
        EXPECT_NE(refused(replaced(text, "\"b\":4}", "\"b\":" + number + '}')).find(": at its byte "),
                  std::string::npos)
            << number;
        EXPECT_NE(refused(replaced(text, "{\"v\":1.5}", "{\"v\":" + number + '}')).find(": at its byte "),
                  std::string::npos)
            << number;
    }
    EXPECT_NE(refused(replaced(text, "twice", "\xc3(")).find("it is not UTF-8"), std::string::npos);
    EXPECT_NE(refused(replaced(text, "{\"v\":254}", "\xa1\x61v\x01")).find("it is not UTF-8"), std::string::npos);
    EXPECT_EQ(refused(replaced(text, "\"b\":4}", "\"b\":2147483647}")), "loaded");
    EXPECT_EQ(refused(replaced(text, "\"b\":4}", "\"b\":-2147483648}")), "loaded");
    EXPECT_EQ(refused(replaced(text, "{\"v\":254}", "{\"v\":-0}")), "loaded");
}

} // namespace
} // namespace remanence
