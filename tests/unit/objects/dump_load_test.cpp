#include "support/temp_dir.hpp"

#include <remanence/arena.hpp>
#include <remanence/look_inside.hpp>
#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>
#include <remanence/types/reflect.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace dump_test {

namespace rem = remanence;

enum class colour : unsigned char { red, green = 5, blue };
enum signed_kind : short { k_minus = -3, k_plus = 7 };

struct address {
    rem::string street;
    rem::string_pi city;
    int zip = 0;
    friend bool operator==(const address&, const address&) = default;
};
struct base {
    int of_base = 11;
};
class account : public base {
public:
    explicit account(int number = 7) : number_(number) {}
    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] rem::vector<address>& at() { return at_; }

private:
    int number_;
    double balance_ = 2.5;
    rem::vector<address> at_;
    REM_REFLECT((base), number_, balance_, at_);
};
struct numbers {
    bool yes = true;
    char letter = 'x';
    char odd = '\xe4';
    signed char small = -5;
    unsigned char byte = 200;
    std::uint64_t large = std::numeric_limits<std::uint64_t>::max();
    std::int64_t negative = std::numeric_limits<std::int64_t>::min();
    float third = 1.0F / 3;
    double tenth = 0.1;
    double infinite = -std::numeric_limits<double>::infinity();
    long double precise = 0.1L;
    colour known = colour::blue;
    colour unknown = static_cast<colour>(77);
    signed_kind minus = k_minus;
    char name[8] = "ann";
    int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
    std::atomic<int> atomic{42};
    std::chrono::seconds seconds{90};
};
struct node {
    int value = 0;
    node* next = nullptr;
    const address* home = nullptr;
};
struct tree_node {
    int value = 0;
    rem::vector<tree_node> children;
    friend bool operator==(const tree_node&, const tree_node&) = default;
};
struct longer_first {
    bool operator()(const rem::string& a, const rem::string& b) const { return a.size() > b.size(); }
};
struct length_hash {
    std::uint64_t operator()(const rem::string& text) const { return text.size(); }
};
class closed_class {
public:
    double number() const { return number_; }

private:
    double number_ = 3; // might be an address, for who sees no members
};
class small_closed_class { // has no room for one
public:
    small_closed_class() = default;
    small_closed_class(short a, int b) : a_(a), b_(b) {}
    friend bool operator==(const small_closed_class&, const small_closed_class&) = default;

private:
    short a_ = 1;
    int b_ = 2;
};
struct nothing {
    friend bool operator==(const nothing&, const nothing&) = default;
};
struct closed_parts {
    small_closed_class closed;
    nothing empty;
    std::optional<nothing> maybe;
    rem::map<int, small_closed_class> by_number;
    rem::vector<nothing> several;
    friend bool operator==(const closed_parts&, const closed_parts&) = default;
};
struct with_bits {
    int before = 1;
    unsigned a : 3 = 0;
    unsigned b : 13 = 0;
    unsigned : 0;
    int c : 20 = 0;
    nothing empty;
    rem::string text;
    bool d : 1 = false;
    friend bool operator==(const with_bits&, const with_bits&) = default;
};
struct old_bits {
    unsigned a : 3 = 0;
    int behind = 1;
};
struct new_bits {
    unsigned a : 3 = 0;
    long behind = 1;
};
struct bits_within {
    with_bits bits;
    int number = 0;
};
struct bits_within_long {
    long number = 0;
    with_bits bits;
};

struct book_old {
    rem::string title;
    int pages = 0;
    colour shade = colour::red;
};
struct book_new {
    colour shade = colour::red;
    std::optional<long> pages;
    rem::string_pi title;
};

} // namespace dump_test

template <>
inline constexpr bool remanence::enable_persistable<dump_test::account> = true;
template <>
inline constexpr bool remanence::enable_persistable<dump_test::closed_class> = true;
template <>
inline constexpr bool remanence::enable_persistable<dump_test::small_closed_class> = true;

namespace remanence {
namespace {

using namespace dump_test;

class dump_load : public testing::Test {
protected:
    dump_load() : from_(heap::create(directory_ / "from")), into_(heap::create(directory_ / "into")) {}

    std::string saved() {
        std::ostringstream out;
        save(from_, out);
        return out.str();
    }
    template <class... Types>
    std::size_t load_into(const std::string& text) {
        std::istringstream in(text);
        return load<Types...>(into_, in);
    }
    /// What is said of a dump that cannot be loaded; the heap is then as before.
    template <class... Types>
    std::string refused(const std::string& text, errc* code = nullptr) {
        const auto version = into_.version();
        const auto allocated = into_.stats().allocated_bytes;
        try {
            (void)load_into<Types...>(text);
        } catch (const error& stop) {
            EXPECT_EQ(into_.version(), version);
            EXPECT_TRUE(into_.roots().empty());
            EXPECT_EQ(into_.stats().allocated_bytes, allocated);
            if (code != nullptr)
                *code = stop.reason();
            return stop.what();
        }
        return "loaded";
    }
    static std::string replaced(std::string text, const std::string& old, const std::string& by) {
        const std::size_t at = text.find(old);
        EXPECT_NE(at, std::string::npos) << old;
        return at == std::string::npos ? text : text.replace(at, old.size(), by);
    }
    static std::string replaced_everywhere(std::string text, const std::string& old, const std::string& by) {
        for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + by.size()))
            text.replace(at, old.size(), by);
        return text;
    }
    static std::string hex(std::string_view text) {
        std::string out;
        for (const char c : text) {
            out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
            out += "0123456789abcdef"[c & 15];
        }
        return out;
    }

    test::temp_dir directory_ = test::temp_dir::in_memory();
    heap from_;
    heap into_;
};

TEST_F(dump_load, carries_every_number) {
    auto& was = from_.root<numbers>("numbers");
    from_.write([&] { was.letter = '"'; });
    EXPECT_EQ(load_into<>(saved()), 1U);
    const auto& is = into_.root<numbers>("numbers");
    EXPECT_EQ(is.letter, '"');
    EXPECT_EQ(is.odd, was.odd);
    EXPECT_EQ(is.small, -5);
    EXPECT_EQ(is.byte, 200);
    EXPECT_EQ(is.large, was.large);
    EXPECT_EQ(is.negative, was.negative);
    EXPECT_EQ(is.third, was.third);
    EXPECT_EQ(is.tenth, was.tenth);
    EXPECT_EQ(is.infinite, was.infinite);
    EXPECT_EQ(is.precise, was.precise);
    EXPECT_EQ(is.known, colour::blue);
    EXPECT_EQ(is.unknown, was.unknown);
    EXPECT_EQ(is.minus, k_minus);
    EXPECT_STREQ(is.name, "ann");
    EXPECT_EQ(is.grid[1][2], 6);
    EXPECT_EQ(is.atomic, 42);
    EXPECT_EQ(is.seconds.count(), 90);
    into_.close();
    into_ = heap::open_existing(directory_ / "into");
    EXPECT_EQ(into_.root<numbers>("numbers").precise, was.precise);
}

// Nobody ever wrote to their chunks, which are behind the end of what the file has.
TEST_F(dump_load, carries_zeros_that_were_allocated_last) {
    constexpr std::size_t k_count = 200'000;
    std::string dump;
    {
        rem::heap made = rem::heap::create(directory_ / "zeros", {.memory = {.chunk_bytes = 64 << 10}});
        made.root<rem::vector<std::uint64_t>>("numbers", k_count);
        made.commit();
        made.close();
        rem::inspect::dump(directory_ / "zeros", {}, [&](std::string_view piece) { dump += piece; });
        EXPECT_EQ(rem::inspect::get(directory_ / "zeros", "numbers[199999]"), "0");
    }
    {
        rem::heap again = rem::heap::open(directory_ / "zeros");
        auto in = rem::arena::open(again, "arena", {.room_bytes = 4 << 20});
        in.root<rem::vector<std::uint64_t>>("in_an_arena", k_count);
        again.commit();
        again.close();
        EXPECT_EQ(rem::inspect::get(directory_ / "zeros", "in_an_arena[199999]"), "0");
    }
    rem::heap loaded = rem::heap::create(directory_ / "loaded");
    std::istringstream text(dump);
    EXPECT_EQ(rem::load(loaded, text), 1U);
    EXPECT_EQ(loaded.find_root<rem::vector<std::uint64_t>>("numbers")->size(), k_count);
}

TEST_F(dump_load, containers_can_be_changed_and_destroyed_as_if_the_program_had_made_them) {
    using everything =
        std::tuple<vector<int>, deque<string>, list<int>, forward_list<string>, map<int, string>, multimap<string, int>,
                   set<int>, unordered_map<string, int>, unordered_multimap<int, int>, unordered_set<double>,
                   btree_map<string_pi, vector_pi<int>>, btree_set<int>, hash_map<int, string>, hash_set<string_pi>,
                   vector_pi<double>, std::optional<string>, std::variant<int, string>>;
    for (const int size : {0, 1, 2, 3, 7, 16, 100, 1000, 3000}) {
        from_.remove_root<everything>("all");
        from_.write([&] {
            auto& [vector_, deque_, list_, forward, map_, multi, set_, unordered, unordered_multi, doubles, tree,
                   tree_set, table, texts, linked, maybe, either] = from_.root<everything>("all");
            for (int i = 0; i != size; ++i) {
                const std::string text(static_cast<std::size_t>(i % 40), static_cast<char>('a' + i % 26));
                vector_.push_back(i);
                deque_.emplace_back(text);
                list_.push_back(i);
                forward.emplace_front(text);
                map_.emplace(i, text);
                multi.emplace(text, i);
                set_.insert(-i);
                unordered.emplace(text + std::to_string(i), i);
                unordered_multi.emplace(i % 7, i);
                doubles.insert(i / 3.0);
                tree.emplace(std::to_string(i), vector_pi<int>{i, i + 1});
                tree_set.insert(i);
                table.emplace(i, text);
                texts.emplace(std::to_string(i));
                linked.push_back(i / 7.0);
            }
            if (size != 0)
                maybe = "a text that is too long for the object itself";
            either = string("text");
        });
        const auto before = into_.stats().allocated_bytes;
        ASSERT_EQ(load_into<>(saved()), 1U);
        auto& was = from_.root<everything>("all");
        auto& is = into_.root<everything>("all");
        EXPECT_TRUE(was == is) << size;
        EXPECT_TRUE(into_.verify().clean()) << size;
        into_.write([&] {
            auto& [vector_, deque_, list_, forward, map_, multi, set_, unordered, unordered_multi, doubles, tree,
                   tree_set, table, texts, linked, maybe, either] = is;
            for (int i = 0; i != size + 100; ++i) {
                const std::string text = "new " + std::to_string(i);
                vector_.push_back(i);
                deque_.emplace_back(text);
                deque_.emplace_front(text);
                list_.push_back(i);
                forward.emplace_front(text);
                map_.emplace(i, text);
                multi.emplace(text, i);
                set_.insert(i);
                unordered.emplace(text, i);
                unordered_multi.emplace(i, i);
                doubles.insert(i / 5.0);
                tree.emplace(text, vector_pi<int>{i});
                tree_set.insert(-i);
                table.emplace(-i, text);
                texts.emplace(text);
                linked.push_back(i);
            }
            for (int i = 0; i < size; i += 3) {
                EXPECT_EQ(map_.erase(i), 1U);
                EXPECT_EQ(set_.erase(-i), 1U);
                EXPECT_EQ(tree.erase(std::to_string(i)), 1U);
                EXPECT_EQ(tree_set.erase(i), 1U);
                EXPECT_EQ(table.erase(i), 1U);
                EXPECT_EQ(texts.erase(std::to_string(i)), 1U);
                EXPECT_EQ(doubles.erase(i / 3.0), 1U);
            }
            if (maybe)
                *maybe += " and more";
        });
        EXPECT_TRUE(into_.verify().clean()) << size;
        into_.remove_root<everything>("all");
        // The root directory keeps its first table.
        EXPECT_LE(into_.stats().allocated_bytes, before + 200) << size;
        EXPECT_TRUE(into_.verify().clean()) << size;
    }
}

TEST_F(dump_load, of_what_was_loaded_gives_the_same_dump) {
    auto& people = from_.root<btree_multimap<string, address>>("people");
    from_.root<account>("account", 8);
    auto& tree = from_.root<tree_node>("tree");
    from_.write([&] {
        for (int i = 0; i != 500; ++i)
            people.emplace("person " + std::to_string(i % 77),
                           address{string("street\n\"" + std::to_string(i)), "M\xc3\xbcnchen", i});
        people.emplace("\xff\x01", address{});
        from_.find_root<account>("account")->at().push_back({"a", "b", 3});
        tree.children.resize(3);
        tree.children[1].children.resize(2);
        tree.children[1].children[1].value = 9;
    });
    const std::string first = saved();
    load_into<>(first);
    std::ostringstream again;
    save(into_, again);
    EXPECT_EQ(first.substr(first.find('\n')), again.str().substr(again.str().find('\n')));
    EXPECT_EQ(into_.root<account>("account").at()[0].zip, 3);
    EXPECT_EQ(into_.root<account>("account").of_base, 11);
    EXPECT_EQ(into_.root<tree_node>("tree"), tree);
}

TEST_F(dump_load, pointers_lead_where_they_led) {
    auto& ring = from_.root<node>("ring");
    auto& places = from_.root<list<address>>("places");
    auto& by_name = from_.root<map<string, address>>("by name");
    auto& ways = from_.root<vector<const address*>>("ways");
    from_.write([&] {
        auto* const second = from_.make<node>();
        auto* const third = from_.make<node>();
        ring.next = second;
        second->next = third;
        third->next = &ring;
        third->value = 3;
        for (int i = 0; i != 20; ++i)
            places.push_back({"street", "city", i});
        by_name.emplace("ada", address{"St James's Square", "London", 7});
        third->home = &*std::next(places.begin(), 13);
        second->home = from_.make<address>();
        for (const address& each : places)
            ways.push_back(&each);
        ways.push_back(nullptr);
        ways.push_back(&by_name.at("ada"));
        ways.push_back(second->home);
    });
    load_into<>(saved());
    const auto& loaded = into_.root<node>("ring");
    const auto& loaded_places = into_.root<list<address>>("places");
    const auto& loaded_paths = into_.root<vector<const address*>>("ways");
    EXPECT_EQ(loaded.next->next->value, 3);
    EXPECT_EQ(loaded.next->next->next, &loaded);
    EXPECT_EQ(loaded.next->next->home, &*std::next(loaded_places.begin(), 13)) << "a root of another schema";
    ASSERT_EQ(loaded_paths.size(), 23U);
    std::size_t index = 0;
    for (const address& each : loaded_places)
        EXPECT_EQ(loaded_paths[index++], &each);
    EXPECT_EQ(loaded_paths[20], nullptr);
    EXPECT_EQ(loaded_paths[21], (&into_.root<map<string, address>>("by name").at("ada")));
    EXPECT_EQ(loaded_paths[22], loaded.next->home);
    EXPECT_TRUE(into_.check_pointers().clean());
}

TEST_F(dump_load, makes_objects_as_the_program_has_them) {
    auto& books = from_.root<btree_map<string, book_old>>("books");
    from_.write([&] {
        books.emplace("emma", book_old{"Emma", 474, colour::green});
        books.emplace("taocp", book_old{"Fundamental Algorithms", 650, colour::blue});
    });
    // The same type a release later. The names are of the same length, since they lie in the dump's description, too.
    std::string text = replaced_everywhere(saved(), "book_old", "book_new");
    text = replaced_everywhere(text, hex("book_old"), hex("book_new"));
    EXPECT_EQ((load_into<btree_map<string, book_new>>(text)), 1U);
    const auto& loaded = into_.root<btree_map<string, book_new>>("books");
    EXPECT_EQ(loaded.at("emma").pages, 474);
    EXPECT_EQ(loaded.at("taocp").title, "Fundamental Algorithms");
    EXPECT_EQ(loaded.at("taocp").shade, colour::blue);
}

TEST_F(dump_load, takes_an_order_of_the_programs_own_only_from_the_program) {
    using own_tree = btree_map<string, int, longer_first>;
    auto& tree = from_.root<own_tree>("tree");
    from_.write([&] {
        for (const char* text : {"a", "bbb", "cc", "dddd"})
            tree.emplace(text, 1);
    });
    errc code{};
    const std::string text = saved();
    EXPECT_NE(refused(text, &code).find("rem::load()"), std::string::npos);
    EXPECT_EQ(code, errc::not_supported);
    EXPECT_EQ(load_into<own_tree>(text), 1U);
    EXPECT_EQ(into_.root<own_tree>("tree"), tree);
    EXPECT_EQ(into_.root<own_tree>("tree").count("cc"), 1U);
}

TEST_F(dump_load, refuses_what_cannot_be_made_without_the_program) {
    errc code{};
    from_.root<hash_map<string, int, length_hash>>("table");
    EXPECT_NE(refused(saved(), &code).find("function of the program's"), std::string::npos);
    EXPECT_EQ(code, errc::not_supported);
    from_.remove_root<hash_map<string, int, length_hash>>("table");
    from_.root<vector<closed_class>>("closed");
    EXPECT_THROW(saved(), error);
    from_.close();
    std::string text; // as an older release wrote it
    inspect::salvage((directory_ / "from").string(), {}, [&](std::string_view piece) { text += piece; },
                     [](std::string_view, bool) {});
    EXPECT_NE(refused(text, &code).find("REM_REFLECT"), std::string::npos);
    EXPECT_EQ(code, errc::not_supported);
}

TEST_F(dump_load, carries_hidden_members_without_room_for_an_address_and_empty_classes) {
    closed_parts all;
    all.closed = small_closed_class(5, -6);
    all.maybe.emplace();
    all.by_number[3] = small_closed_class(7, 8);
    all.several.resize(3);
    from_.write([&] { from_.root<closed_parts>("parts") = all; });
    const std::string text = saved();
    EXPECT_EQ(load_into<>(text), 1U);
    EXPECT_EQ(into_.root<closed_parts>("parts"), all);
    into_.remove_root<closed_parts>("parts");
    EXPECT_EQ(load_into<closed_parts>(text), 1U);
    EXPECT_EQ(into_.root<closed_parts>("parts"), all);
    into_.remove_root<closed_parts>("parts");
    EXPECT_NE(text.find("\"empty\":{}"), std::string::npos) << text;
    errc code{};
    const std::string mark = R"(small_closed_class","bytes":")";
    std::string cut = text;
    cut.erase(cut.find(mark) + mark.size(), 2);
    EXPECT_NE(refused(cut, &code).find("has 8 bytes, not 7"), std::string::npos);
    EXPECT_EQ(code, errc::invalid_argument);
    std::string gone = text;
    gone.replace(gone.find(mark) + mark.size() - 8, 5, "bites");
    EXPECT_NE(refused(gone, &code).find("lacks its bytes"), std::string::npos);
}

TEST_F(dump_load, carries_bit_fields) {
    with_bits one;
    one.a = 5;
    one.b = 4097;
    one.c = -3;
    one.d = true;
    one.text = "a text that is too long for the object itself";
    from_.write([&] {
        auto& all = from_.root<vector<with_bits>>("bits");
        all.resize(3);
        all[1] = one;
    });
    std::string text = saved();
    for (const bool by_program : {false, true}) {
        EXPECT_EQ(by_program ? load_into<vector<with_bits>>(text) : load_into<>(text), 1U);
        const auto& all = into_.root<vector<with_bits>>("bits");
        ASSERT_EQ(all.size(), 3U);
        EXPECT_EQ(all[1], one);
        EXPECT_EQ(all[2], with_bits());
        into_.remove_root<vector<with_bits>>("bits");
    }
    text.erase(text.find(R"("$rest":")") + 9, 2);
    EXPECT_NE(refused(text).find("bytes beside its members, not "), std::string::npos);
}

TEST_F(dump_load, refuses_bit_fields_of_a_class_that_has_changed) {
    from_.root<old_bits>("bits");
    std::string text = replaced_everywhere(saved(), "old_bits", "new_bits");
    text = replaced_everywhere(text, hex("old_bits"), hex("new_bits"));
    errc code{};
    EXPECT_NE(refused<new_bits>(text, &code).find("such as bit-fields"), std::string::npos);
    EXPECT_EQ(code, errc::type_mismatch);
    EXPECT_THROW((void)migrate<new_bits>(from_, "bits"), error);
    // Where others have changed, it is as it was.
    from_.write([&] { from_.root<bits_within>("within").bits.c = -7; });
    (void)migrate<bits_within_long>(from_, "within");
    EXPECT_EQ(from_.root<bits_within_long>("within").bits.c, -7);
}

TEST_F(dump_load, refuses_a_root_that_is_there) {
    from_.root<int>("number", 3);
    into_.root<int>("number", 4);
    errc code{};
    try {
        (void)load_into<>(saved());
    } catch (const error& stop) {
        code = stop.reason();
        EXPECT_NE(std::string(stop.what()).find("line 3: the heap has a root \"number\" already"), std::string::npos);
    }
    EXPECT_EQ(code, errc::exists);
    EXPECT_EQ(into_.root<int>("number"), 4);
}

TEST_F(dump_load, names_line_and_way_of_what_is_wrong_and_leaves_the_heap_as_it_was) {
    auto& people = from_.root<btree_map<string, address>>("people");
    auto& tables = from_.root<std::pair<hash_set<int>, unordered_map<string, int>>>("tables");
    auto& shade = from_.root<vector<colour>>("shades");
    auto& place = from_.root<const address*>("way");
    from_.write([&] {
        people.emplace("ADA", address{"St James's", "London", 1});
        people.emplace("KNUTH", address{"Serra Mall", "Stanford", 94305});
        tables.first = {1};
        tables.second.emplace("x", 1);
        shade = {colour::red};
        place = &people.at("ADA");
    });
    const std::string text = saved();
    const auto expect = [&](const std::string& changed, const std::string& wanted) {
        const std::string said = refused(changed);
        EXPECT_NE(said.find(wanted), std::string::npos) << said;
    };
    expect("", "this is no dump");
    expect("[1]\n", "it is no object");
    expect("{\"remanence_dump\":2}\n", "a form that this release does not know");
    expect(replaced(text, "94305", "94305000000"), "94305000000 is out of the range of int, in people[1].zip");
    expect(replaced(text, "94305", "-1.5"), "-1.5 is no whole number");
    expect(replaced(text, "94305", "\"x\""), "\"x\" is no int: that is a number");
    expect(replaced(text, "\"zip\":94305", "\"zap\":94305"), "has no member \"zap\"");
    expect(replaced(text, "\"zip\":94305", "\"zip\":1,\"zip\":94305"), "has its member \"zip\" twice");
    expect(replaced(text, ",\"zip\":94305", ""), "lacks its member zip");
    expect(replaced(text, "{\"k\":\"KNUTH\"", "{\"k\":\"ADA\""), "a key that is there already");
    expect(replaced(text, "{\"k\":\"KNUTH\"", "{\"k\":\"A\""), "does not come behind the one before it");
    expect(replaced(text, "\"first\":[1]", "\"first\":[1,2,1]"), "a key that is there already");
    expect(replaced(text, "[[\"x\",1]]", "[[\"x\",1],[\"y\",1],[\"x\",2]]"), "a key that is there already");
    expect(replaced(text, "[[\"x\",1]]", "[[\"x\",1,2]]"), "a list is no element of a ");
    expect(replaced(text, "{\"v\":\"red\"}", "{\"v\":\"pink\"}"), "\"pink\" is no dump_test::colour");
    expect(replaced(text, "{\"v\":\"red\"}", "{\"v\":256}"),
           "256 is out of the range of dump_test::colour, in shades[0]");
    expect(replaced(text, "{\"v\":\"red\"}", "{\"v\":\"red\""), "the line ends within a value");
    expect(replaced(text, "{\"v\":\"red\"}", "{\"w\":\"red\"}"), "it is none of the lines that a dump has here");
    expect(replaced(text, "Stanford", "Stan\xff"), "it is not UTF-8");
    expect(replaced(text, "Stanford", "Stan\\ud800"), "half a character is alone");
    expect(replaced(text, "Stanford", "Stan\\q"), "an escape that JSON does not have");
    expect(replaced(text, "[\"people\",0,1]", "[\"people\",2,1]"), "an element that a ");
    expect(replaced(text, "[\"people\",0,1]", "[\"people\",0,0]"), "a rem::string, not to a dump_test::address");
    expect(replaced(text, "[\"people\",0,1]", "[\"peoples\",0,1]"), "a root \"peoples\", which is not there");
    expect(replaced(text, "[\"people\",0,1]", "[7]"), "object 7, which is not there");
    expect(replaced(text, "{\"$ref\":", "{\"$raf\":"), "null, or {\"$ref\":[OWNER,STEP,...]}");
    expect(text + "{}\n", "something behind the dump's last line");
    expect(replaced(text, "{\"v\":\"red\"}\n", "{\"v\":\"red\"}\n{\"v\":\"red\"}\n"), "has lines twice");
    const std::string deep(1'000'000, '[');
    expect(replaced(text, "94305", deep), "levels deep in each other");
    // Cut off anywhere but before the last line's end.
    for (std::size_t length = 0; length + 1 < text.size(); length += length % 7 + 1) {
        const std::string said = refused(text.substr(0, length));
        EXPECT_NE(said, "loaded") << length;
    }
    EXPECT_EQ(load_into<>(text), 4U);
}

TEST_F(dump_load, refuses_objects_that_lie_too_deep_in_each_other) {
    from_.root<tree_node>("tree");
    std::string text = saved();
    const auto nested = [](int times) {
        std::string deep;
        for (int i = 0; i != times; ++i)
            deep += "{\"value\":1,\"children\":[";
        deep += "{\"value\":1,\"children\":[]}";
        for (int i = 0; i != times; ++i)
            deep += "]}";
        return deep;
    };
    const std::string innermost = "{\"value\":0,\"children\":[]}";
    errc code{};
    EXPECT_NE(refused(replaced(text, innermost, nested(500)), &code).find("lies more than 1000 levels deep in other"),
              std::string::npos);
    EXPECT_EQ(code, errc::not_supported);
    EXPECT_NE(
        refused(replaced(text, innermost, nested(1000)), &code).find("lie more than 2000 levels deep in each other"),
        std::string::npos);
    EXPECT_EQ(code, errc::not_supported);
    EXPECT_EQ(load_into<>(replaced(text, innermost, nested(499))), 1U);
    // A program makes deeper ones, which are no damage.
    from_.write([&] {
        tree_node* last = &from_.root<tree_node>("tree");
        for (int i = 0; i != 499; ++i)
            last = &last->children.emplace_back();
    });
    EXPECT_NO_THROW((void)saved());
    from_.write([&] {
        tree_node* last = &from_.root<tree_node>("tree");
        while (!last->children.empty())
            last = &last->children.back();
        last->children.emplace_back();
    });
    try {
        (void)saved();
        ADD_FAILURE() << "it was saved";
    } catch (const error& stop) {
        EXPECT_EQ(stop.reason(), errc::not_supported) << stop.what();
        EXPECT_NE(std::string(stop.what()).find("lies more than 1000 levels deep in other"), std::string::npos);
    }
}

TEST_F(dump_load, a_forged_layout_is_refused) {
    from_.root<vector<address>>("places");
    const std::string text = saved();
    const std::size_t at = text.find("\"layout\":\"") + 10;
    const std::size_t end = text.find('"', at);
    errc code{};
    int refusals = 0;
    for (std::size_t i = at; i < end; ++i) {
        std::string forged = text;
        forged[i] = forged[i] == '7' ? 'c' : '7';
        try {
            (void)load_into<>(forged);
            into_.write([&] { into_.remove_root<vector<address>>("places"); });
        } catch (const error& stop) {
            code = stop.reason();
            ++refusals;
            if (!into_.roots().empty()) { // loaded as another type, by its size
                into_.close();
                std::filesystem::remove(directory_ / "into");
                into_ = heap::create(directory_ / "into");
            }
        }
    }
    EXPECT_GT(refusals, 100);
    static_cast<void>(code);
}

} // namespace
} // namespace remanence
