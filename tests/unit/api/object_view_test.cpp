// Views of objects by the schema that the heap stores. A view of each container is compared with the JSON of the whole,
// which is made by other code.
#include "unit/api/fixture.hpp"

#include "api/heap_impl.hpp"
#include "api/heap_reading.hpp"
#include "support/seed.hpp"

#include <remanence/object_view.hpp>
#include <remanence/types/reflect.hpp>
#include <remanence/versions.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace object_view_test {

namespace rem = remanence;

enum class colour : short { red = -1, green, blue = 5 };
enum class size : unsigned char { small, large };

struct place {
    rem::string street, city;
    int zip = 0;
};
class account {
public:
    [[nodiscard]] int sum() const { return number_ + static_cast<int>(level_) + balance_; }

private:
    int number_ = 5;
    unsigned level_ : 3 = 6;
    int balance_ : 5 = -7;
    REM_REFLECT((), number_, level_, balance_);
};
class secret {
public:
    int visible_to_nobody() const { return number_; }

private:
    int number_ = 7;
};
class tower : public place {
    int floors_ = 3;
    REM_REFLECT((place), floors_);
};

struct values {
    bool yes = true;
    char letter = 'q';
    signed char small = -128;
    std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    float third = 1.0F / 3;
    double tenth = 0.1;
    long double exact = 0.1L;
    colour paint = colour::blue;
    colour nameless = static_cast<colour>(3);
    rem::string name;
    rem::string_pi other_name;
    char code[8] = "abc";
    std::array<int, 3> three{1, 2, 3};
    int grid[2][2] = {{1, 2}, {3, 4}};
    std::pair<int, rem::string> both;
    std::tuple<int, double, rem::string> all_three;
    std::optional<rem::string> nothing, something;
    std::variant<int, rem::string> chosen;
    std::atomic<int> count = 11;
    std::chrono::seconds pause{12};
    int* null = nullptr;
    place* home = nullptr;
    rem::fragile<int> delicate;
    account money;
    secret hidden;
    object_view_test::tower tower;
    rem::vector<bool> bits;
};

struct reversed {
    bool operator()(int a, int b) const { return b < a; }
};
struct odd_hash {
    std::size_t operator()(int key) const { return static_cast<std::size_t>(key) * 3; }
};
using text_pair = std::pair<int, rem::string>;

struct sequences {
    rem::vector<int> vector;
    rem::vector_pi<rem::string_pi> vector_pi;
    rem::deque<rem::string> deque;
    rem::list<int> list;
    rem::forward_list<int> forward_list;
    rem::vector<bool> bits;
    rem::vector<rem::vector<int>> nested;
};
struct ordered {
    rem::set<int> set;
    rem::multiset<rem::string> multiset;
    rem::map<rem::string, int> map;
    rem::multimap<int, rem::string> multimap;
    rem::map<int, int, std::greater<>> downwards;
    rem::map<int, int, reversed> own_order;
    rem::btree_set<std::uint64_t> btree_set;
    rem::btree_map<rem::string, place> btree_map;
    rem::btree_multimap<int, int> btree_multimap;
    rem::btree_map<double, int, std::greater<>> btree_downwards;
    rem::btree_map<int, std::array<char, 600>> large_elements;
    rem::packed_map packed;
    rem::packed_multimap packed_multimap;
    rem::map<colour, int> by_colour;
    rem::map<char, int> by_letter;
    rem::map<std::chrono::seconds, int> by_time;
};
struct hashed {
    rem::unordered_map<int, rem::string> unordered_map;
    rem::unordered_set<rem::string> unordered_set;
    rem::unordered_multimap<int, int> unordered_multimap;
    rem::unordered_map<double, int> by_real;
    rem::unordered_map<int, int, odd_hash> own_hash;
    rem::hash_map<rem::string, int> hash_map;
    rem::hash_map<int, place> hash_map_of_places;
    rem::hash_set<std::int64_t> hash_set;
    rem::hash_map<float, int> hash_by_real;
    rem::hash_map<size, int> by_size;
    rem::hash_map<int, int, odd_hash> hash_own;
    rem::hash_map<int, std::array<char, 600>> hash_of_large_elements;
};

struct node {
    int number = 0;
    node* next = nullptr;
};

class figure {
public:
    figure() = default;
    figure(const figure&) = default;
    figure& operator=(const figure&) = default;
    virtual ~figure() = default;
    [[nodiscard]] virtual int area() const { return number_; }

private:
    int number_ = 1;
    REM_REFLECT((), number_);
};
class square : public figure {
public:
    [[nodiscard]] int area() const override { return side_ * side_; }

private:
    int side_ = 4;
    REM_REFLECT((figure), side_);
};
using figures = rem::vector<figure*>;

} // namespace object_view_test

template <>
inline constexpr bool remanence::enable_persistable<object_view_test::account> = true;
template <>
inline constexpr bool remanence::enable_persistable<object_view_test::secret> = true;
template <>
inline constexpr bool remanence::enable_persistable<object_view_test::tower> = true;
template <>
inline constexpr bool remanence::enable_persistable<object_view_test::figure> = true;
template <>
inline constexpr bool remanence::enable_persistable<object_view_test::square> = true;

namespace remanence::test {
namespace {
namespace viewed_objects {

namespace seen = object_view_test;
using inspect::object_cursor;
using inspect::object_element;
using inspect::object_key;
using inspect::object_kind;
using inspect::object_view;
using inspect::view_root;

class object_views : public testing::Test {
protected:
    heap create() { return heap::create(file_, small_heap()); }

    static void fill(heap& h, int count) {
        h.write([&] {
            auto& s = h.root<seen::sequences>("sequences");
            auto& o = h.root<seen::ordered>("ordered");
            auto& t = h.root<seen::hashed>("hashed");
            for (int i = 0; i != count; ++i) {
                const std::string text =
                    "key " + std::to_string(i * 7 % 1000) + std::string(static_cast<std::size_t>(i % 40), 'x');
                const std::string once = text + std::to_string(i);
                s.vector.push_back(i);
                s.vector_pi.emplace_back(text);
                s.deque.emplace_back(text);
                s.list.push_back(i * i);
                s.forward_list.push_front(i);
                s.bits.push_back(i % 3 == 0);
                s.nested.emplace_back(static_cast<std::size_t>(i % 3), i);
                o.set.insert(i * 3);
                o.multiset.emplace(text);
                o.map[string(once)] = i;
                o.multimap.emplace(i % 17, text);
                o.downwards[i - 5] = i;
                o.own_order[i] = i;
                o.btree_set.insert(static_cast<std::uint64_t>(i) << 40U);
                o.btree_map[string(once)] = {string(text), "Bern", i};
                o.btree_multimap.emplace(i % 13, i);
                o.btree_downwards[i / 4.0] = i;
                o.large_elements[i];
                o.packed.emplace(once, text);
                o.packed_multimap.emplace(i % 5 == 0 ? "same" : once, once);
                o.by_time[std::chrono::seconds(i)] = i;
                t.unordered_map.emplace(-i, text);
                t.unordered_set.emplace(once);
                t.unordered_multimap.emplace(i % 11, i);
                t.by_real[i / 4.0] = i;
                t.own_hash[i] = i;
                t.hash_map[string(once)] = i;
                t.hash_map_of_places[i * 2] = {string(text), "Köln", i};
                t.hash_set.insert(std::int64_t{i} - 50);
                t.hash_by_real[static_cast<float>(i) / 8] = i;
                t.hash_own[i] = i;
                t.hash_of_large_elements[i];
            }
            if (count == 0)
                return;
            o.by_colour[seen::colour::red] = 1;
            o.by_colour[seen::colour::blue] = 2;
            o.by_letter['a'] = 1;
            o.by_letter['\xff'] = 2;
            t.by_size[seen::size::large] = 3;
        });
    }

    static std::string json_of(const object_element& of) {
        return of.key ? '[' + of.key->json() + ',' + of.value.json() + ']' : of.value.json();
    }
    static std::string joined(const std::vector<std::string>& all) {
        std::string text = "[";
        for (const std::string& each : all)
            text += (text.size() == 1 ? "" : ",") + each;
        return text + ']';
    }
    /// Calls `f` again until it has not run out of steps.
    template <class F>
    static auto at_last(F&& f, int most = 100'000) {
        for (;; --most) {
            try {
                return f();
            } catch (const error& e) {
                if (e.reason() != errc::limit_reached || most == 0)
                    throw;
            }
        }
    }
    static std::vector<std::string> all_elements(const object_view& of, inspect::object_limits limits = {}) {
        std::vector<std::string> all;
        object_cursor each = of.elements();
        while (const auto element = at_last([&] { return each.next(limits); }))
            all.push_back(json_of(*element));
        EXPECT_FALSE(at_last([&] { return each.next(limits); })) << "the end stays the end";
        return all;
    }
    /// All ways to the elements of a container must lead to the same ones.
    static void expect_same_elements(const object_view& of) {
        const std::vector<std::string> all = all_elements(of);
        EXPECT_EQ(joined(all), of.json({.steps = 1'000'000, .bytes = 1U << 30U}));
        EXPECT_EQ(all_elements(of, {.steps = 1}), all) << "step by step";
        EXPECT_EQ(of.size(), all.size());
        for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 50)
            EXPECT_EQ(json_of(of.element(i)), all[i]) << i;
        EXPECT_EQ(reason_of([&] { (void)of.element(all.size()); }), errc::not_found);
        for (std::size_t page = 1; page < all.size(); page = page * 3 + 1) {
            object_cursor at = of.elements();
            std::size_t index = 0;
            while (const std::uint64_t passed = at_last([&] { return at.skip(page, {.steps = 5}); })) {
                EXPECT_LE(passed, page);
                index += passed;
                const auto next = at.next();
                ASSERT_EQ(next.has_value(), index < all.size());
                if (next) {
                    EXPECT_EQ(json_of(*next), all[index++]) << page;
                }
            }
            EXPECT_EQ(index, all.size());
            std::vector<std::string> in_pages;
            for (object_cursor each = of.elements();;) {
                const auto found = at_last([&] { return each.next_page(page, {.steps = 7}); });
                EXPECT_LE(found.size(), page);
                for (const object_element& one : found)
                    in_pages.push_back(json_of(one));
                if (found.empty())
                    break;
            }
            EXPECT_EQ(in_pages, all);
        }
    }
    static object_key key_of(const object_view& key, std::string& text) {
        switch (key.kind()) {
        case object_kind::text:
            return text = key.text();
        case object_kind::real:
            return key.to_double();
        case object_kind::unsigned_number:
            return key.to_uint64();
        default:
            return key.to_int64();
        }
    }
    /// Each key must be found, as the first element that has it.
    static void expect_keys_found(const object_view& of, inspect::object_limits limits) {
        std::optional<std::string> before;
        object_cursor each = of.elements();
        std::vector<std::string> seen;
        while (const auto element = each.next()) {
            const object_view key = element->key.value_or(element->value);
            if (std::find(seen.begin(), seen.end(), key.json()) != seen.end())
                continue;
            seen.push_back(key.json());
            std::string text;
            const auto found = of.find(key_of(key, text), limits);
            ASSERT_TRUE(found) << key.json();
            EXPECT_EQ(found->key.has_value(), element->key.has_value());
            EXPECT_EQ(json_of(*found), json_of(*element));
            EXPECT_EQ(found->value.bytes().data(), element->value.bytes().data());
        }
    }

    static std::vector<object_view> all_containers(const heap& h) {
        std::vector<object_view> found;
        for (const char* const root : {"sequences", "ordered", "hashed"}) {
            const object_view all = view_root(h, root);
            for (std::size_t i = 0; i != all.member_count(); ++i)
                found.push_back(all.member(i));
        }
        return found;
    }
    static std::array<std::uint64_t, 7> wrong_words(const heap& h) {
        const auto base = reinterpret_cast<std::uint64_t>(h.base());
        return {0, 1, ~std::uint64_t{0}, base, base + 4096, 4096, std::uint64_t{1} << 40U};
    }
    /// Reads a container by all calls, each of which must end. Returns how many of them failed.
    static std::uint64_t errors_of_reading(const object_view& of) {
        constexpr inspect::object_limits k_few{.steps = 3000, .bytes = 100'000};
        std::uint64_t errors = 0;
        const auto attempt = [&](auto&& f) {
            try {
                f();
            } catch (const error& e) {
                EXPECT_TRUE(e.reason() == errc::corrupt || e.reason() == errc::limit_reached ||
                            e.reason() == errc::not_found || e.reason() == errc::not_supported)
                    << e.what();
                ++errors;
            }
        };
        attempt([&] { (void)of.json(k_few); });
        attempt([&] { (void)of.size(k_few); });
        attempt([&] { (void)of.element(30, k_few); });
        attempt([&] { (void)of.elements().skip(100, k_few); });
        attempt([&] {
            object_cursor each = of.elements();
            for (int i = 0; i != 200 && each.next(k_few); ++i)
                ;
        });
        if (of.kind() == object_kind::sequence)
            return errors;
        attempt([&] {
            try {
                (void)of.find(7, k_few);
            } catch (const error& e) {
                if (e.reason() != errc::invalid_argument)
                    throw;
                (void)of.find("key 7", k_few);
            }
        });
        return errors;
    }

    temp_dir dir_;
    const fs::path file_ = dir_ / "h";
};

TEST_F(object_views, show_values_of_every_kind) {
    heap h = create();
    h.write([&] {
        auto& all = h.root<seen::values>("values");
        all.name = "a name that is too long for the small string buffer";
        all.other_name = "π";
        all.both = {1, "one"};
        all.all_three = {2, 0.5, "two"};
        all.something = "there";
        all.chosen = string("text");
        all.home = h.make<seen::place>(seen::place{"Main Street", "Springfield", 49007});
        all.bits = {true, false, true};
    });
    const object_view all = view_root(h, "values");
    EXPECT_EQ(all.kind(), object_kind::members);
    EXPECT_EQ(all.type(), "object_view_test::values");
    EXPECT_EQ(all.bits(), 8 * sizeof(seen::values));
    EXPECT_EQ(all.bytes().data(), reinterpret_cast<const std::byte*>(h.find_root<seen::values>("values")));
    const auto of = [&](std::string_view name) { return all.member(name); };

    EXPECT_EQ(of("yes").kind(), object_kind::boolean);
    EXPECT_EQ(of("yes").to_int64(), 1);
    EXPECT_EQ(of("letter").kind(), object_kind::character);
    EXPECT_EQ(of("letter").to_int64(), 'q');
    EXPECT_EQ(of("small").kind(), object_kind::signed_number);
    EXPECT_EQ(of("small").to_int64(), -128);
    EXPECT_EQ(of("small").bits(), 8U);
    EXPECT_EQ(of("small").to_double(), -128.0);
    EXPECT_EQ(of("largest").kind(), object_kind::unsigned_number);
    EXPECT_EQ(of("largest").to_uint64(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(of("least").to_int64(), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(of("least").to_double(), -0x1p63);
    EXPECT_EQ(of("third").kind(), object_kind::real);
    EXPECT_EQ(of("third").to_double(), static_cast<double>(1.0F / 3));
    EXPECT_EQ(of("tenth").to_double(), 0.1);
    EXPECT_EQ(of("paint").kind(), object_kind::enumeration);
    EXPECT_EQ(of("paint").enumerator(), "blue");
    EXPECT_EQ(of("paint").to_int64(), 5);
    EXPECT_EQ(of("nameless").enumerator(), "");
    EXPECT_EQ(of("nameless").to_int64(), 3);
    EXPECT_EQ(of("name").kind(), object_kind::text);
    EXPECT_EQ(of("name").type(), "rem::string");
    EXPECT_EQ(of("name").text(), "a name that is too long for the small string buffer");
    EXPECT_EQ(of("other_name").text(), "π");
    EXPECT_EQ(of("code").kind(), object_kind::text);
    EXPECT_EQ(of("code").text(), "abc");
    EXPECT_EQ(of("three").kind(), object_kind::sequence);
    EXPECT_EQ(of("three").element(2).value.to_int64(), 3);
    EXPECT_EQ(of("grid").element(1).value.element(0).value.to_int64(), 3);
    EXPECT_EQ(of("both").kind(), object_kind::tuple);
    EXPECT_EQ(of("both").member("second").text(), "one");
    EXPECT_EQ(of("all_three").kind(), object_kind::tuple);
    EXPECT_EQ(of("all_three").member_count(), 3U);
    EXPECT_EQ(of("all_three").member(1).to_double(), 0.5);
    EXPECT_EQ(of("nothing").kind(), object_kind::optional);
    EXPECT_FALSE(of("nothing").value());
    EXPECT_EQ(of("something").value()->text(), "there");
    EXPECT_EQ(of("chosen").kind(), object_kind::variant);
    EXPECT_EQ(of("chosen").value()->text(), "text");
    EXPECT_EQ(of("chosen").alternative(), 1U);
    EXPECT_EQ(of("count").kind(), object_kind::signed_number);
    EXPECT_EQ(of("count").type(), "std::atomic<int>");
    EXPECT_EQ(of("count").to_int64(), 11);
    EXPECT_EQ(of("pause").to_int64(), 12);
    EXPECT_EQ(of("null").kind(), object_kind::pointer);
    EXPECT_FALSE(of("null").target());
    EXPECT_EQ(of("home").target()->member("zip").to_int64(), 49007);
    EXPECT_EQ(of("home").target()->bytes().data(),
              reinterpret_cast<const std::byte*>(h.find_root<seen::values>("values")->home));
    EXPECT_EQ(of("delicate").kind(), object_kind::serialised);
    EXPECT_EQ(of("hidden").kind(), object_kind::opaque);
    EXPECT_EQ(of("hidden").bytes().size(), sizeof(seen::secret));
    EXPECT_EQ(of("tower").member(0).member("zip").to_int64(), 0) << "of a base";
    EXPECT_EQ(of("tower").member_name(1), "floors_");
    expect_same_elements(of("bits"));
    EXPECT_EQ(of("bits").element(2).value.to_int64(), 1);
    EXPECT_EQ(of("bits").element(1).value.kind(), object_kind::boolean);
}

TEST_F(object_views, show_members_in_their_order_with_bit_fields) {
    heap h = create();
    h.root<seen::account>("account");
    const object_view all = view_root(h, "account");
    ASSERT_EQ(all.member_count(), 3U);
    EXPECT_EQ(all.member_name(0), "number_");
    EXPECT_EQ(all.member_name(1), "level_");
    EXPECT_EQ(all.member(0).to_int64(), 5);
    EXPECT_EQ(all.member(1).to_uint64(), 6U);
    EXPECT_EQ(all.member(1).bits(), 3U);
    EXPECT_TRUE(all.member(1).bytes().empty());
    EXPECT_EQ(all.member("balance_").to_int64(), -7);
    EXPECT_EQ(all.member("balance_").json(), "-7");
    EXPECT_TRUE(is_error(error_of([&] { (void)all.member("level"); }), errc::not_found, file_,
                         "no member level; its members are number_, level_, balance_"));
    EXPECT_EQ(reason_of([&] { (void)all.member(3); }), errc::not_found);
    EXPECT_EQ(reason_of([&] { (void)all.member_name(3); }), errc::not_found);
}

TEST_F(object_views, show_targets_as_objects_of_their_own_class) {
    heap h = create();
    h.write([&] {
        auto& all = h.root<seen::figures>("figures");
        all = {h.make<seen::square>(), h.make<seen::figure>(), nullptr};
    });
    const object_view all = view_root(h, "figures");
    const auto first = all.element(0).value.target();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->type(), "object_view_test::square");
    EXPECT_EQ(first->member("side_").to_int64(), 4);
    EXPECT_EQ(first->member(0).member("number_").to_int64(), 1);
    EXPECT_EQ(all.element(1).value.target()->type(), "object_view_test::figure");
    EXPECT_FALSE(all.element(2).value.target());
}

TEST_F(object_views, refuse_numbers_that_would_lose_something) {
    heap h = create();
    h.root<seen::values>("values");
    const object_view all = view_root(h, "values");
    EXPECT_EQ(reason_of([&] { (void)all.member("largest").to_int64(); }), errc::not_supported);
    EXPECT_EQ(reason_of([&] { (void)all.member("largest").to_double(); }), errc::not_supported);
    EXPECT_EQ(reason_of([&] { (void)all.member("small").to_uint64(); }), errc::not_supported);
    EXPECT_EQ(reason_of([&] { (void)all.member("exact").to_double(); }), errc::not_supported);
    h.write([&] {
        h.find_root<seen::values>("values")->exact = 0.5L;
        h.find_root<seen::values>("values")->tenth = std::nan("");
    });
    EXPECT_EQ(all.member("exact").to_double(), 0.5);
    EXPECT_TRUE(std::isnan(all.member("tenth").to_double()));
}

TEST_F(object_views, refuse_calls_that_have_no_meaning_for_their_kind) {
    heap h = create();
    h.root<seen::values>("values");
    const object_view all = view_root(h, "values");
    const auto expect_refused = [&](auto&& f, const char* what) {
        EXPECT_TRUE(is_error(error_of(f), errc::invalid_argument, file_, what)) << what;
    };
    expect_refused([&] { (void)all.to_int64(); }, "object_view_test::values");
    expect_refused([&] { (void)all.member("tenth").to_int64(); }, "no whole number");
    expect_refused([&] { (void)all.member("name").to_double(); }, "no number");
    expect_refused([&] { (void)all.member("yes").enumerator(); }, "no enumeration");
    expect_refused([&] { (void)all.member("yes").text(); }, "no text");
    expect_refused([&] { (void)all.member("hidden").member(0); }, "no class with members");
    expect_refused([&] { (void)all.member("yes").member_count(); }, "no class with members");
    expect_refused([&] { (void)all.member("yes").target(); }, "no pointer");
    expect_refused([&] { (void)all.member("yes").value(); }, "no optional or variant");
    expect_refused([&] { (void)all.member("something").alternative(); }, "no variant");
    expect_refused([&] { (void)all.size(); }, "no container");
    expect_refused([&] { (void)all.member("name").element(0); }, "no container");
    expect_refused([&] { (void)all.member("code").elements(); }, "no container");
    expect_refused([&] { (void)all.member("three").find(1); }, "no set or map");
    expect_refused([&] { (void)all.member("bits").lower_bound(1); }, "no set or map");
}

TEST_F(object_views, have_the_elements_of_every_container) {
    for (const int count : {0, 1, 5, 700}) {
        SCOPED_TRACE(count);
        fs::remove(file_);
        heap h = create();
        fill(h, count);
        for (const char* const root : {"sequences", "ordered", "hashed"}) {
            const object_view all = view_root(h, root);
            for (std::size_t i = 0; i != all.member_count(); ++i) {
                SCOPED_TRACE(all.member_name(i));
                expect_same_elements(all.member(i));
            }
        }
        h.close();
    }
}

TEST_F(object_views, find_every_key) {
    for (const int count : {1, 5, 700}) {
        SCOPED_TRACE(count);
        fs::remove(file_);
        heap h = create();
        fill(h, count);
        // few steps, where the library knows how the container places its keys
        for (const char* const root : {"ordered", "hashed"}) {
            const object_view all = view_root(h, root);
            for (std::size_t i = 0; i != all.member_count(); ++i) {
                SCOPED_TRACE(all.member_name(i));
                const bool is_linear = all.member_name(i).find("own") == 0 || all.member_name(i) == "own_order" ||
                                       all.member_name(i) == "hash_own" || all.member_name(i) == "by_time";
                const std::uint64_t steps = is_linear ? 10'000 : 60;
                expect_keys_found(all.member(i), {.steps = steps});
                if (count == 700 && is_linear) {
                    EXPECT_EQ(reason_of([&] { (void)all.member(i).find(699'000, {.steps = 60}); }),
                              errc::limit_reached);
                }
            }
        }
        h.close();
    }
}

TEST_F(object_views, do_not_find_keys_that_are_not_there) {
    heap h = create();
    fill(h, 300);
    const object_view ordered = view_root(h, "ordered");
    const object_view hashed = view_root(h, "hashed");
    for (const int key : {-1000, -1, 1, 10'000'000}) {
        EXPECT_FALSE(ordered.member("set").find(key));
        EXPECT_FALSE(ordered.member("own_order").find(key == 1 ? -2 : key));
        EXPECT_FALSE(ordered.member("downwards").find(key < 0 ? key - 10 : key + 1000));
        EXPECT_FALSE(ordered.member("btree_set").find(key));
        EXPECT_FALSE(hashed.member("unordered_map").find(key < 0 ? key - 1000 : key));
        EXPECT_FALSE(hashed.member("hash_map_of_places").find(key));
        EXPECT_FALSE(hashed.member("hash_set").find(key + 100'000));
        EXPECT_FALSE(ordered.member("btree_downwards").find(key + 0.1));
        EXPECT_FALSE(hashed.member("hash_by_real").find(key + 0.1));
        EXPECT_FALSE(hashed.member("by_real").find(key + 0.1));
    }
    for (const char* const key : {"", "a", "key", "key 5", "same ", "z"}) {
        EXPECT_FALSE(ordered.member("multiset").find(key));
        EXPECT_FALSE(ordered.member("map").find(key));
        EXPECT_FALSE(ordered.member("btree_map").find(key));
        EXPECT_FALSE(ordered.member("packed").find(key));
        EXPECT_FALSE(ordered.member("packed_multimap").find(key));
        EXPECT_FALSE(hashed.member("unordered_set").find(key));
        EXPECT_FALSE(hashed.member("hash_map").find(key));
    }
    EXPECT_FALSE(ordered.member("btree_set").find(-1));
    EXPECT_FALSE(ordered.member("downwards").find(std::uint64_t{1} << 63U));
    EXPECT_FALSE(ordered.member("btree_downwards").find(std::nan("")));
    EXPECT_FALSE(hashed.member("hash_by_real").find(std::nan("")));
}

TEST_F(object_views, take_keys_of_several_forms) {
    heap h = create();
    fill(h, 10);
    const object_view ordered = view_root(h, "ordered");
    const object_view hashed = view_root(h, "hashed");
    EXPECT_EQ(ordered.member("by_colour").find("blue")->value.to_int64(), 2);
    EXPECT_EQ(ordered.member("by_colour").find(-1)->value.to_int64(), 1);
    EXPECT_FALSE(ordered.member("by_colour").find("green"));
    EXPECT_EQ(ordered.member("by_letter").find("a")->value.to_int64(), 1);
    EXPECT_EQ(ordered.member("by_letter").find('a')->value.to_int64(), 1);
    EXPECT_EQ(ordered.member("by_letter").find("\xff")->value.to_int64(), 2);
    EXPECT_EQ(hashed.member("by_size").find("large")->value.to_int64(), 3);
    EXPECT_EQ(hashed.member("by_size").find(1U)->value.to_int64(), 3);
    EXPECT_TRUE(ordered.member("set").find(27.0));
    EXPECT_TRUE(ordered.member("set").find(std::uint8_t{27}));
    EXPECT_FALSE(ordered.member("set").find(true));
    EXPECT_TRUE(ordered.member("btree_downwards").find(1));
    EXPECT_TRUE(ordered.member("btree_downwards").find(0.25F));
    EXPECT_TRUE(hashed.member("by_real").find(-0.0));
    EXPECT_TRUE(hashed.member("hash_by_real").find(-0.0));
    EXPECT_TRUE(ordered.member("by_time").find(9));
}

TEST_F(object_views, refuse_keys_of_the_wrong_kind) {
    heap h = create();
    fill(h, 3);
    h.write([&] {
        h.root<map<seen::text_pair, int>>("pairs")[{1, "one"}] = 1;
        h.root<remanence::set<int*>>("pointers").insert(nullptr);
    });
    const object_view ordered = view_root(h, "ordered");
    const auto expect_refused = [&](const object_view& of, const object_key& key, const char* what) {
        const auto got = error_of([&] { (void)of.find(key); });
        ASSERT_TRUE(got) << what;
        EXPECT_EQ(got->code, errc::invalid_argument);
        EXPECT_NE(got->what.find(what), std::string::npos) << got->what;
    };
    expect_refused(ordered.member("map"), 7, "are texts: they are of type rem::string");
    expect_refused(ordered.member("set"), "7", "are numbers: they are of type int");
    expect_refused(ordered.member("set"), 7.5, "are whole numbers");
    expect_refused(ordered.member("set"), std::nan(""), "are whole numbers");
    expect_refused(ordered.member("set"), 1e300, "are whole numbers");
    expect_refused(ordered.member("btree_downwards"), "7", "are numbers");
    expect_refused(ordered.member("by_colour"), "pink", "enumerators, of which none has this name");
    expect_refused(ordered.member("by_letter"), "ab", "single characters");
    expect_refused(view_root(h, "pairs"), 1, "cannot be searched for");
    expect_refused(view_root(h, "pointers"), 0, "cannot be searched for");
    EXPECT_EQ(reason_of([&] { (void)ordered.member("map").lower_bound(7); }), errc::invalid_argument);
}

TEST_F(object_views, find_keys_of_every_kind_by_their_json) {
    heap h = create();
    fill(h, 100);
    h.write([&] {
        auto& pairs = h.root<map<seen::text_pair, int>>("pairs");
        pairs[{1, "one"}] = 1;
        pairs[{1, "zwei\n"}] = 2;
    });
    const object_view pairs = view_root(h, "pairs");
    EXPECT_EQ(pairs.find_json(R"({"first":1,"second":"one"})")->value.to_int64(), 1);
    EXPECT_EQ(pairs.find_json(R"( { "first" : 1, "second" : "\u007awei\n" } )")->value.to_int64(), 2);
    EXPECT_FALSE(pairs.find_json(R"({"first":2,"second":"one"})"));
    EXPECT_FALSE(pairs.find_json("no json {"));
    EXPECT_EQ(view_root(h, "ordered").member("set").find_json("27")->value.to_int64(), 27);
    EXPECT_EQ(view_root(h, "ordered").member("by_colour").find_json("\"blue\"")->value.to_int64(), 2);
    EXPECT_EQ(reason_of([&] { (void)view_root(h, "hashed").member("hash_set").find_json("7000", {.steps = 50}); }),
              errc::limit_reached);
    EXPECT_EQ(reason_of([&] { (void)view_root(h, "sequences").member("vector").find_json("7"); }),
              errc::invalid_argument);
}

TEST_F(object_views, begin_at_a_key_in_ordered_containers) {
    heap h = create();
    fill(h, 700);
    const object_view ordered = view_root(h, "ordered");
    const auto expect_rest = [&](const char* member, const object_key& key, std::size_t passed) {
        SCOPED_TRACE(member);
        const std::vector<std::string> all = all_elements(ordered.member(member));
        object_cursor at = ordered.member(member).lower_bound(key, {.steps = 60});
        std::size_t index = passed;
        while (const auto next = at.next()) {
            ASSERT_LT(index, all.size());
            EXPECT_EQ(json_of(*next), all[index++]);
        }
        EXPECT_EQ(index, all.size());
        object_cursor again = ordered.member(member).lower_bound(key);
        EXPECT_EQ(at_last([&] { return again.skip(all.size(), {.steps = 100'000}); }), all.size() - passed);
    };
    const auto& stored = *h.find_root<seen::ordered>("ordered");
    const auto passed_in = [](const auto& in, const auto& key) {
        return static_cast<std::size_t>(std::distance(in.begin(), in.lower_bound(key)));
    };
    for (const int key : {-7, 0, 1, 299, 300, 2097, 5000}) {
        expect_rest("set", key, passed_in(stored.set, key));
        expect_rest("downwards", key, passed_in(stored.downwards, key));
        expect_rest("multimap", key, passed_in(stored.multimap, key));
        expect_rest("btree_multimap", key, passed_in(stored.btree_multimap, key));
        expect_rest("btree_downwards", key + 0.25, passed_in(stored.btree_downwards, key + 0.25));
        expect_rest("large_elements", key, passed_in(stored.large_elements, key));
    }
    for (const char* const key : {"", "key 1", "key 42", "key 7", "same", "samf", "z"}) {
        expect_rest("multiset", key, passed_in(stored.multiset, key));
        expect_rest("map", key, passed_in(stored.map, key));
        expect_rest("btree_map", key, passed_in(stored.btree_map, key));
        expect_rest("packed", key, passed_in(stored.packed, key));
        expect_rest("packed_multimap", key, passed_in(stored.packed_multimap, key));
    }
    for (const char* const member : {"own_order", "by_time"})
        EXPECT_EQ(reason_of([&] { (void)ordered.member(member).lower_bound(1); }), errc::not_supported);
    EXPECT_EQ(reason_of([&] { (void)view_root(h, "hashed").member("hash_set").lower_bound(1); }), errc::not_supported);
}

TEST_F(object_views, end_after_their_steps_and_go_on) {
    heap h = create();
    h.write([&] {
        auto& all = h.root<list<int>>("list");
        for (int i = 0; i != 5000; ++i)
            all.push_back(i);
        h.root<forward_list<int>>("forward").assign(all.begin(), all.end());
        h.root<hash_set<int>>("sparse").reserve(100'000);
        h.root<hash_set<int>>("sparse").insert(1);
    });
    const object_view list = view_root(h, "list");
    const auto expect_limit = [&](auto&& f) {
        EXPECT_TRUE(is_error(error_of(f), errc::limit_reached, file_, "as many steps as it may"));
    };
    expect_limit([&] { (void)list.element(4999, {.steps = 1000}); });
    expect_limit([&] { (void)list.element(~std::uint64_t{0}, {.steps = 1000}); });
    expect_limit([&] { (void)list.json({.steps = 1000}); });
    expect_limit([&] { (void)view_root(h, "forward").size({.steps = 1000}); });
    expect_limit([&] {
        (void)view_root(h, "sparse").element(0, {.steps = 1}), (void)view_root(h, "sparse").element(1, {.steps = 10});
    });
    expect_limit([&] { (void)view_root(h, "sparse").json({.steps = 10}); });
    EXPECT_EQ(view_root(h, "sparse").json(), "[1]");
    EXPECT_EQ(reason_of([&] { (void)list.json({.bytes = 1000}); }), errc::limit_reached);
    EXPECT_EQ(list.size({.steps = 1}), 5000U);
    EXPECT_EQ(list.element(4999, {.steps = 5000}).value.to_int64(), 4999);
    object_cursor at = list.elements();
    std::uint64_t passed = 0;
    int calls = 0;
    while (const std::uint64_t more = at.skip(4999 - passed, {.steps = 1000})) {
        passed += more;
        ++calls;
    }
    EXPECT_EQ(passed, 4999U);
    EXPECT_EQ(calls, 5);
    EXPECT_EQ(at.next({.steps = 1})->value.to_int64(), 4999);
    EXPECT_FALSE(at.next());
}

TEST_F(object_views, pass_leaves_of_trees_in_few_steps) {
    heap h = create();
    h.write([&] {
        for (int i = 0; i != 10'000; ++i) {
            h.root<btree_set<int>>("tree").insert(i);
            h.root<packed_map>("packed").emplace(std::to_string(100'000 + i), "");
        }
    });
    EXPECT_EQ(view_root(h, "tree").element(9000, {.steps = 2000}).value.to_int64(), 9000);
    EXPECT_EQ(view_root(h, "packed").element(9000, {.steps = 500}).key->text(), "109000");
}

TEST_F(object_views, write_json_up_to_a_length) {
    heap h = create();
    h.write([&] { h.root<vector<string>>("texts").assign(3, string(1000, 'x')); });
    const object_view all = view_root(h, "texts");
    const std::string whole = all.json();
    EXPECT_EQ(whole, all.json({.bytes = whole.size()}));
    for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1500}, whole.size() - 1})
        EXPECT_EQ(reason_of([&] { (void)all.json({.bytes = most}); }), errc::limit_reached) << most;
}

TEST_F(object_views, need_a_root_with_a_stored_type) {
    heap h = create();
    h.root<int>("number");
    EXPECT_TRUE(is_error(error_of([&] { (void)view_root(h, "numbers"); }), errc::not_found, file_, "numbers"));
    EXPECT_EQ(reason_of([&] { (void)view_root(h, ""); }), errc::not_found);
    EXPECT_EQ(view_root(h, "number").to_int64(), 0);
    h.write([&] { detail::impl_of(h).memory().header().type_table = 0; });
    EXPECT_TRUE(is_error(error_of([&] { (void)view_root(h, "number"); }), errc::not_supported, file_, "of type int"));
}

TEST_F(object_views, show_changes_of_the_section_and_of_commits) {
    heap h = create();
    h.write([&] { h.root<numbers>("numbers") = {1, 2, 3}; });
    const object_view all = view_root(h, "numbers");
    h.write([&] {
        h.find_root<numbers>("numbers")->push_back(4);
        EXPECT_EQ(all.json(), "[1,2,3,4]");
    });
    EXPECT_EQ(all.size(), 4U);
    EXPECT_THROW(h.write([&] {
        h.find_root<numbers>("numbers")->clear();
        EXPECT_EQ(all.size(), 0U);
        throw 1;
    }),
                 int);
    EXPECT_EQ(all.json(), "[1,2,3,4]");
    h.read([&] { EXPECT_EQ(all.element(3).value.to_uint64(), 4U); });
}

TEST_F(object_views, of_a_closed_heap_are_refused) {
    std::optional<object_view> all;
    std::optional<object_cursor> at;
    {
        heap h = create();
        h.write([&] { h.root<numbers>("numbers") = {1, 2, 3}; });
        all = view_root(h, "numbers");
        at.emplace(all->elements());
        heap moved = std::move(h);
        EXPECT_EQ(all->size(), 3U);
        moved.close();
        EXPECT_EQ(reason_of([&] { (void)all->size(); }), errc::closed);
    }
    EXPECT_TRUE(is_error(error_of([&] { (void)all->element(0); }), errc::closed, file_, "get views anew"));
    EXPECT_EQ(reason_of([&] { (void)at->next(); }), errc::closed);
    EXPECT_EQ(all->kind(), object_kind::sequence);
    EXPECT_EQ(reason_of([&] { (void)view_root(heap::open(file_, small_heap()), "n"); }), errc::not_found);
}

TEST_F(object_views, read_heaps_that_are_open_read_only_and_old_versions) {
    heap_options with_history = small_heap();
    with_history.history = {.steps_max = 100, .kept_over_sessions = true};
    std::uint64_t then = 0;
    {
        heap h = heap::create(file_, with_history);
        fill(h, 50);
        then = h.version();
        h.write([&] { h.find_root<seen::sequences>("sequences")->vector.clear(); });
        h.close();
    }
    heap_options reading = small_heap();
    reading.read_only = true;
    {
        heap h = heap::open(file_, reading);
        EXPECT_EQ(view_root(h, "sequences").member("vector").size(), 0U);
        expect_same_elements(view_root(h, "ordered").member("btree_map"));
        h.close();
    }
    reading.version = then;
    heap h = heap::open(file_, reading);
    EXPECT_EQ(view_root(h, "sequences").member("vector").element(49).value.to_int64(), 49);
}

TEST_F(object_views, see_what_another_process_has_committed) {
    heap_options shared = small_heap();
    shared.access = sharing::processes;
    heap::create(file_, shared).close();
    int go[2];
    ASSERT_EQ(::pipe(go), 0);
    const pid_t child = ::fork(); // before this process opens the heap
    if (child == 0) {
        char byte = 0;
        ::close(go[1]);
        if (::read(go[0], &byte, 1) != 1)
            ::_exit(1);
        try {
            heap theirs = heap::open(file_, shared);
            theirs.write([&] { theirs.root<names>("names")["two"] = 2; });
            theirs.close();
            ::_exit(0);
        } catch (const std::exception& e) {
            ::_exit(2);
        }
    }
    ::close(go[0]);
    heap h = heap::open(file_, shared);
    h.write([&] { h.root<names>("names")["one"] = 1; });
    h.read([&] {
        const object_view all = view_root(h, "names");
        EXPECT_EQ(::write(go[1], "g", 1), 1);
        ::close(go[1]);
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(all.size(), 1U) << "a section sees one commit";
        EXPECT_FALSE(all.find("two"));
    });
    const auto found = view_root(h, "names").find("two");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->value.to_int64(), 2);
}

TEST_F(object_views, read_a_heap_that_is_mapped_elsewhere) {
    {
        heap h = create();
        fill(h, 200);
        h.write([&] {
            auto& first = h.root<seen::node>("first");
            first.next = h.make<seen::node>(seen::node{2, nullptr});
        });
        h.close();
    }
    const taken_addresses taken(file_);
    heap_options moving = small_heap();
    moving.memory.when_taken = relocation::automatic;
    heap h = heap::open(file_, moving);
    EXPECT_EQ(view_root(h, "first").member("next").target()->member("number").to_int64(), 2);
    expect_same_elements(view_root(h, "ordered").member("map"));
}

TEST_F(object_views, of_damaged_objects_are_errors_and_end) {
    heap h = create();
    fill(h, 40);
    h.write([&] {
        auto& first = h.root<seen::node>("first");
        first = {1, &first};
    });
    object_view at = view_root(h, "first");
    for (int i = 0; i != 100; ++i)
        at = *at.member("next").target(); // a circle of pointers is no error
    EXPECT_EQ(at.member("number").to_int64(), 1);

    // Overwrites the words of each container, one after the other, in a section that is rolled back. Whatever they are
    // then, all calls must end.
    std::uint64_t errors = 0;
    for (const object_view& of : all_containers(h)) {
        const std::size_t words = of.bytes().size() / 8;
        for (std::size_t word = 0; word != words; ++word) {
            for (const std::uint64_t wrong : wrong_words(h)) {
                EXPECT_THROW(h.write([&] {
                    std::memcpy(const_cast<std::byte*>(of.bytes().data()) + 8 * word, &wrong, sizeof wrong);
                    errors += errors_of_reading(of);
                    throw 1;
                }),
                             int);
            }
        }
    }
    EXPECT_GT(errors, 500U) << "so many of these words matter";
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(object_views, of_damaged_blocks_are_errors_and_end) {
    heap h = create();
    fill(h, 60);
    txn::heap_memory& memory = detail::impl_of(h).memory();
    const std::vector<heap_range> blocks = detail::blocks_of(memory);
    const std::vector<object_view> containers = all_containers(h);
    std::mt19937_64 random(random_seed());
    std::uint64_t errors = 0;
    for (int i = 0; i != 60; ++i) {
        EXPECT_THROW(h.write([&] {
            for (int damaged = 0; damaged != 100; ++damaged) {
                const heap_range block = blocks[random() % blocks.size()];
                const auto choices = wrong_words(h);
                const std::uint64_t wrong = choices[random() % choices.size()] + random() % 3;
                if (block.bytes >= 8)
                    std::memcpy(memory.base() + block.offset + random() % (block.bytes / 8) * 8, &wrong, sizeof wrong);
            }
            for (const object_view& of : containers)
                errors += errors_of_reading(of);
            throw 1;
        }),
                     int);
    }
    EXPECT_GT(errors, 20U) << "so much of this damage matters";
    EXPECT_TRUE(h.verify().clean());
}

} // namespace viewed_objects
} // namespace
} // namespace remanence::test
