#include "object_heap.hpp"

#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

namespace rem = remanence;

namespace app {

struct address {
    rem::string street;
    rem::string city;
    int zip = 0;
};
enum class colour : unsigned char { red, green = 5, blue };

struct numbers {
    bool yes = true;
    char letter = 'x';
    signed char small = -5;
    unsigned char byte = 200;
    short medium = -30000;
    std::uint64_t large = std::numeric_limits<std::uint64_t>::max();
    std::int64_t negative = std::numeric_limits<std::int64_t>::min();
    float third = 1.0F / 3;
    double tenth = 0.1;
    double infinite = std::numeric_limits<double>::infinity();
    colour known = colour::blue;
    colour unknown = static_cast<colour>(77);
    char name[8] = "ann";
    int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
};
struct flags {
    unsigned level : 3 = 6;
    int after = 7;
};

struct base {
    int of_base = 11;
};
class account : public base {
public:
    explicit account(int number = 7) : number_(number) {}

private:
    int number_;
    double balance_ = 2.5;
    rem::vector<address> at_;
    REM_REFLECT((base), number_, balance_, at_);
};

struct node {
    int value = 0;
    node* next = nullptr;
    const address* home = nullptr;
};

struct all_shapes {
    rem::vector<int> vector{1, 2, 3};
    rem::deque<int> deque;
    rem::list<rem::string> list;
    rem::forward_list<int> forward_list{7, 8};
    rem::map<int, rem::string> map;
    rem::multimap<rem::string, int> multimap;
    rem::set<int> set{3, 1, 2};
    rem::unordered_map<rem::string, int> unordered_map;
    rem::unordered_set<int> unordered_set{4};
    rem::btree_map<rem::string_pi, rem::vector_pi<int>> btree_map;
    rem::btree_set<int> btree_set;
    rem::hash_map<int, rem::string> hash_map;
    rem::hash_set<rem::string_pi> hash_set;
    rem::vector_pi<double> vector_pi{0.5, 1.5};
    rem::string_pi short_text{"short"};
    rem::string_pi long_text{"a text that is too long for the object itself"};
    rem::string bytes{"\xff\x01"};
    std::optional<int> some = 5;
    std::optional<rem::string> none;
    std::variant<int, rem::string> variant{rem::string("text")};
    std::pair<int, rem::string> pair{1, "one"};
    std::tuple<char, double, int> tuple{'t', 2.5, 3};
    std::array<short, 3> array{{7, 8, 9}};
    std::atomic<int> atomic{42};
    std::chrono::seconds seconds{90};
};

} // namespace app

template <>
inline constexpr bool remanence::enable_persistable<app::account> = true;

void add_bit_fields(const char* path) {
    rem::heap heap = rem::heap::open_existing(path);
    heap.root<app::flags>("flags");
    heap.commit();
    heap.close();
}

void add_pointer_to_several(const char* path) {
    rem::heap heap = rem::heap::open_existing(path);
    heap.write(
        [&] { heap.root<rem::map<rem::string, int*>>("scores")["KNUTH"] = heap.get_allocator<int>().allocate(7); });
    heap.close();
}

void make_objects(const char* path) {
    rem::heap heap = rem::heap::create(path, {.memory = {.chunk_bytes = 65536}});
    auto& people = heap.root<rem::btree_multimap<rem::string, app::address>>("people");
    heap.root<app::numbers>("numbers");
    auto& shapes = heap.root<app::all_shapes>("shapes");
    heap.root<app::account>("account", 8);
    auto& ring = heap.root<app::node>("ring");
    heap.root<rem::vector<app::numbers>>("empty");
    heap.root<std::uint64_t>("odd \"name\".[1]", std::uint64_t{3});
    heap.write([&] {
        people.emplace("KNUTH", app::address{"Serra Mall 353", "Stanford", 94305});
        people.emplace("KNUTH", app::address{"\"Quoted\" \\ street\n", "M\xc3\xbcnchen", 80331});
        people.emplace("ADA", app::address{"St James's Square 12", "London", 0});
        for (int i = 0; i < 1000; ++i) {
            shapes.deque.push_back(i);
            shapes.btree_set.insert(i);
        }
        for (int i = 0; i < 300; ++i)
            shapes.deque.pop_front();
        shapes.list.emplace_back("first");
        shapes.list.emplace_back("a text that is too long for the object itself");
        shapes.map.emplace(2, "two");
        shapes.map.emplace(1, "one");
        shapes.multimap.emplace("k", 1);
        shapes.multimap.emplace("k", 2);
        shapes.unordered_map.emplace("x", 10);
        for (int i = 0; i < 100; ++i) {
            shapes.hash_map.emplace(i, std::to_string(i));
            shapes.btree_map.emplace("key " + std::to_string(i), rem::vector_pi<int>{i, i + 1});
        }
        shapes.hash_set.emplace("member");
        auto* second = heap.make<app::node>();
        auto* third = heap.make<app::node>();
        ring.value = 1;
        ring.next = second;
        second->value = 2;
        second->next = third;
        third->value = 3;
        third->next = &ring;
        third->home = heap.make<app::address>("alone", "Bonn", 53111);
        second->home = third->home;
        auto& inside = heap.root<rem::vector<app::address>>("places");
        inside.push_back({"a", "b", 1});
        inside.push_back({"c", "d", 2});
    });
    heap.close();
}

void make_forged_object(const char* path) {
    rem::heap heap = rem::heap::create(path, {.memory = {.chunk_bytes = 65536}});
    auto& text = heap.root<rem::string>("text", "a text that is too long for the object itself");
    heap.write([&] {
        const std::uint64_t nowhere = 16;
        std::memcpy(reinterpret_cast<char*>(&text) + sizeof(rem::allocator<char>), &nowhere, sizeof nowhere);
    });
    heap.commit();
    std::_Exit(0);
}

std::uint64_t make_forged_schema(const char* path, bool whole_table) {
    // Of docs/format.md: the heap header, the type table, a member's offset in a schema.
    constexpr std::size_t k_type_table = 48;
    constexpr std::size_t k_table_head = 24;
    constexpr std::size_t k_entry_bytes = 24;
    constexpr std::size_t k_schema_bytes_in_entry = 20;
    constexpr char k_offset_of_city = sizeof(rem::string) + 2; // one as it may be missing, one as no byte is 0
    rem::heap heap = rem::heap::create(path, {.memory = {.chunk_bytes = 65536}});
    heap.root<app::address>("place");
    heap.write([] {}); // stores the schema
    auto* const base = static_cast<char*>(heap.base());
    std::uint64_t table = 0;
    std::memcpy(&table, base + k_type_table, sizeof table);
    const std::uint64_t schema = table + k_table_head + k_entry_bytes; // of the only entry
    heap.write([&] {
        if (whole_table) {
            const std::uint32_t too_much = 1 << 19;
            std::memcpy(base + table + k_table_head + k_schema_bytes_in_entry, &too_much, sizeof too_much);
            return;
        }
        std::uint32_t bytes = 0;
        std::memcpy(&bytes, base + table + k_table_head + k_schema_bytes_in_entry, sizeof bytes);
        const std::string_view encoded(base + schema, bytes);
        const std::size_t city = encoded.find("city") + 4;
        if (encoded.at(city) != k_offset_of_city)
            throw std::runtime_error("the offset of address::city is not where it is expected");
        base[schema + city] = 8 + 2;
    });
    return whole_table ? table : schema;
}

namespace app {

class secret { // NOLINT(cppcoreguidelines-special-member-functions)
public:
    [[nodiscard]] int value() const { return number_ + small_; }

private:
    int number_ = 7;
    short small_ = 1;
};
class alignas(32) wide_secret {
public:
    [[nodiscard]] int value() const { return number_; }

private:
    int number_ = 7;
};
template <class T>
struct box {
    T inside;
};
struct nothing {};
struct with_secrets {
    secret first;
    wide_secret wide;
    rem::vector<secret> several;
    rem::map<int, box<secret>> boxes;
    box<int> small;
    secret* alone = nullptr;
    rem::string text;
    [[no_unique_address]] nothing empty;
    secret grid[2][3];
};

} // namespace app

template <>
inline constexpr bool remanence::enable_persistable<app::secret> = true;
template <>
inline constexpr bool remanence::enable_persistable<app::wide_secret> = true;

void make_hidden(const char* path) {
    rem::heap heap = rem::heap::create(path, {.memory = {.chunk_bytes = 65536}});
    auto& all = heap.root<app::with_secrets>("secrets");
    heap.write([&] {
        all.several.resize(2);
        all.boxes[all.first.value() + all.wide.value()] = {};
        all.alone = heap.make<app::secret>();
    });
    heap.root<app::wide_secret>("wide");
    heap.close();
}

struct city {
    rem::string name;
    int grid[2][3] = {};
};
struct person {
    rem::string name;
    city* home = nullptr;
    city* others[2] = {};
};

void make_odd(const char* path) {
    rem::heap heap = rem::heap::create(path, {.memory = {.chunk_bytes = 65536}});
    auto& people = heap.root<rem::vector<person>>("people\nstruct broken {");
    auto& by_pair = heap.root<rem::map<std::pair<int, rem::string>, int>>("by_pair");
    auto& by_list = heap.root<rem::map<rem::vector<rem::string>, int>>("by_list");
    auto& by_text = heap.root<rem::map<rem::string, int>>("by_text");
    auto& by_real = heap.root<rem::multimap<double, rem::vector<int>>>("by_real");
    heap.write([&] {
        people.emplace_back().home = heap.make<city>();
        people.front().home->name = "Bonn";
        by_pair[{1, "a]"}] = 1;
        by_pair[{-1, "\"\\"}] = 2;
        by_list[{"a", "]["}] = 3;
        by_list[{}] = 4;
        by_text["M\xc3\xbcnchen\t\"]"] = 5;
        by_text["\xff"] = 6;
        by_text[""] = 7;
        by_real.emplace(0.5, rem::vector<int>{7, 8});
        by_real.emplace(1.5, rem::vector<int>{9});
        by_real.emplace(1.5, rem::vector<int>{10});
    });
    heap.close();
}

std::uint64_t keep_by_a_number(const char* path) {
    rem::heap heap = rem::heap::create(path, {.history = {.steps_max = 50, .kept_over_sessions = true}});
    auto& all = heap.root<rem::vector<int>>("all");
    for (int i = 0; i != 6; ++i)
        heap.write([&] { all.push_back(i); });
    const std::uint64_t version = heap.keep("3");
    heap.write([&] { all.clear(); });
    heap.keep("2024");
    heap.write([&] { all.push_back(7); });
    heap.close();
    return version;
}

void change_objects(const char* path) {
    rem::heap heap = rem::heap::open_existing(path);
    auto& changing = heap.root<rem::map<std::uint64_t, rem::string>>("changing");
    auto& count = heap.root<std::uint64_t>("count");
    for (std::uint64_t n = 0;; ++n) {
        heap.write([&] {
            changing.emplace(n, std::string(static_cast<std::size_t>(n % 100), 'c'));
            if (changing.size() > 500)
                changing.erase(changing.begin());
            count = changing.size();
        });
        if (n == 0) {
            std::puts("{}");
            std::fflush(stdout);
        }
    }
}
