// The packed maps by themselves; tests/conformance compares them with the standard's in a heap.

#include <remanence/containers/packed_map.hpp>
#include <remanence/heap.hpp>

#include "counting_allocator.hpp"
#include "moving_arena.hpp"
#include "support/seed.hpp"
#include "support/temp_dir.hpp"
#include "support/trusting_survey.hpp"
#include "tagged_allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rem = remanence;

namespace packed_map_test {

using map = rem::basic_packed_map<std::allocator<char>>;
using multimap = rem::basic_packed_multimap<std::allocator<char>>;
using pair = std::pair<std::string_view, std::string_view>;

static_assert(std::bidirectional_iterator<map::iterator>);
static_assert(std::ranges::bidirectional_range<const multimap>);
static_assert(std::is_nothrow_move_constructible_v<map> && std::is_nothrow_swappable_v<map>);
static_assert(rem::persistable<rem::packed_map> && rem::persistable<rem::packed_multimap>);
static_assert(!rem::persistable<map>);
static_assert(rem::position_independent<rem::packed_map> && rem::position_independent<rem::packed_multimap>);
static_assert(rem::detail::is_self_contained<rem::packed_map>());

template <class Packed>
std::string fault(const Packed& all) {
    rem::detail::trusting_survey survey;
    const rem::detail::structure_result found = rem::detail::check_structure(all, survey);
    return found ? found->what : "";
}

template <class Packed, class Model>
testing::AssertionResult same(const Packed& all, const Model& model) {
    if (const std::string wrong = fault(all); !wrong.empty())
        return testing::AssertionFailure() << wrong;
    const auto equal = [](const pair& a, const auto& b) { return a.first == b.first && a.second == b.second; };
    if (all.size() != model.size() || !std::equal(all.begin(), all.end(), model.begin(), model.end(), equal))
        return testing::AssertionFailure() << "the elements differ";
    if (!std::equal(all.rbegin(), all.rend(), model.rbegin(), model.rend(), equal))
        return testing::AssertionFailure() << "the elements differ when they are read backwards";
    return testing::AssertionSuccess();
}

/// The same changes to both: of keys that meet again or not, and of values of up to `value_bytes`.
template <class Packed, class Model>
class random_changes {
public:
    random_changes(unsigned seed, std::size_t key_bytes, std::size_t value_bytes)
        : random_(rem::test::seed_or(seed)), key_bytes_(key_bytes), value_bytes_(value_bytes) {}

    void run(int changes) {
        for (int i = 0; i != changes; ++i) {
            change(text(random_() % key_bytes_), text(random_() % (random_() % 50 == 0 ? value_bytes_ : 40)));
            if (i % 16 == 0 || i + 1 == changes) {
                ASSERT_TRUE(same(all_, model_));
            }
        }
    }

private:
    static constexpr bool k_is_unique = requires(Model& m) { m.try_emplace(std::string()); };

    std::string text(std::size_t bytes) {
        std::string made(bytes, ' ');
        std::generate(made.begin(), made.end(), [&] { return static_cast<char>('a' + random_() % 3); });
        return made;
    }
    auto first(const std::string& key) {
        const auto found = model_.lower_bound(key);
        return found != model_.end() && found->first == key ? found : model_.end();
    }
    void expect_same(typename Packed::iterator a, typename Model::iterator b) {
        ASSERT_EQ(a == all_.end(), b == model_.end());
        if (b == model_.end())
            return;
        EXPECT_EQ(a->first, b->first);
        EXPECT_EQ(a->second, b->second);
    }
    void change(const std::string& key, const std::string& value) {
        switch (random_() % 9) {
        case 0:
        case 1:
        case 2:
        case 3:
            insert(key, value);
            break;
        case 4:
            expect_same(all_.find(key), first(key));
            if constexpr (!k_is_unique)
                find_pair(key, value);
            if (first(key) != model_.end())
                expect_same(all_.erase(all_.find(key)), model_.erase(first(key)));
            break;
        case 5:
            expect_same(all_.lower_bound(key), model_.lower_bound(key));
            expect_same(all_.upper_bound(key), model_.upper_bound(key));
            EXPECT_EQ(all_.count(key), model_.count(key));
            break;
        case 6:
            if (random_() % 4 == 0) {
                EXPECT_EQ(all_.erase(key), model_.erase(key));
            } else if (first(key) != model_.end()) {
                first(key)->second = value;
                expect_same(all_.assign(all_.find(key), value), first(key));
            }
            break;
        case 7: {
            std::vector<std::pair<std::string, std::string>> some;
            for (std::size_t i = random_() % 100; i != 0; --i)
                some.emplace_back(text(random_() % key_bytes_), text(i));
            all_.insert(some.begin(), some.end());
            model_.insert(some.begin(), some.end());
            break;
        }
        default:
            if (random_() % 100 == 0) {
                all_.clear();
                model_.clear();
            } else if (random_() % 10 == 0) {
                const std::string to = key + text(2);
                expect_same(all_.erase(all_.lower_bound(key), all_.upper_bound(to)),
                            model_.erase(model_.lower_bound(key), model_.upper_bound(to)));
            }
        }
    }
    /// One that there is, if there is that key, and one that there hardly is.
    void find_pair(const std::string& key, const std::string& other) {
        const auto [from, to] = model_.equal_range(key);
        const auto some = from == to ? 0 : static_cast<std::ptrdiff_t>(random_() % model_.count(key));
        for (const std::string& value : {from == to ? "" : std::next(from, some)->second, other}) {
            const auto there = std::find_if(from, to, [&](const auto& each) { return each.second == value; });
            const auto here = all_.find(key, value);
            ASSERT_EQ(here == all_.end(), there == to);
            if (there == to)
                continue;
            EXPECT_EQ(std::distance(all_.lower_bound(key), here), std::distance(from, there));
            expect_same(here, there);
        }
    }
    void insert(const std::string& key, const std::string& value) {
        if constexpr (k_is_unique) {
            const bool assigns = random_() % 2 == 0;
            const auto here = assigns ? all_.insert_or_assign(key, value) : all_.emplace(key, value);
            const auto there = assigns ? model_.insert_or_assign(key, value) : model_.emplace(key, value);
            EXPECT_EQ(here.second, there.second);
            expect_same(here.first, there.first);
        } else {
            expect_same(all_.emplace(key, value), model_.emplace(key, value));
        }
    }

    std::mt19937 random_;
    std::size_t key_bytes_, value_bytes_;
    Packed all_;
    Model model_;
};

TEST(packed_map, is_as_std_map_after_random_changes) {
    for (unsigned seed = 0; seed != 12; ++seed) {
        SCOPED_TRACE(seed);
        random_changes<map, std::map<std::string, std::string>>(seed, seed % 2 == 0 ? 6 : 40,
                                                                seed % 3 == 0 ? 300 : 9000)
            .run(1000);
    }
}
TEST(packed_multimap, is_as_std_multimap_after_random_changes) {
    for (unsigned seed = 0; seed != 12; ++seed) {
        SCOPED_TRACE(seed);
        random_changes<multimap, std::multimap<std::string, std::string>>(seed, seed % 2 == 0 ? 4 : 40,
                                                                          seed % 3 == 0 ? 300 : 9000)
            .run(1000);
    }
}

TEST(packed_map, has_the_interface_of_std_map) {
    map all{{"b", "2"}, {"a", "1"}, {"b", "3"}};
    EXPECT_EQ(all.size(), 2U);
    EXPECT_EQ(all.at("b"), "2");
    EXPECT_THROW((void)all.at("c"), std::out_of_range);
    EXPECT_FALSE(all.insert({"a", "4"}).second);
    EXPECT_EQ(all.insert(all.end(), {"c", "5"})->second, "5");
    EXPECT_EQ(all.emplace_hint(all.begin(), "d", "")->first, "d");
    EXPECT_TRUE(all.contains("d"));
    EXPECT_EQ(all.begin()->first, "a");
    EXPECT_EQ(std::prev(all.end())->first, "d");
    EXPECT_EQ(std::ranges::count_if(all, [](const auto& each) { return each.second.empty(); }), 1);
    EXPECT_EQ(erase_if(all, [](const auto& each) { return each.first > "b"; }), 2U);
    map other = all;
    EXPECT_TRUE(other == all && other <= all);
    other.insert_or_assign("a", "2");
    EXPECT_TRUE(other > all);
    swap(other, all);
    EXPECT_EQ(all.at("a"), "2");
    all = {{"z", ""}};
    EXPECT_EQ(all.size(), 1U);
    map moved = std::move(all);
    EXPECT_TRUE(all.empty() && moved.contains("z")); // NOLINT(bugprone-use-after-move): as empty
    EXPECT_TRUE(all.begin() == all.end() && !all.contains("z"));
    EXPECT_EQ(all.lower_bound("a"), all.end());
    EXPECT_EQ(all.upper_bound("a"), all.end());
    EXPECT_EQ(all.erase("z"), 0U);
}

TEST(packed_map, tells_allocators_of_as_many_destructions_as_constructions) {
    counting_test::counts all;
    {
        using alloc = counting_test::counting<char>;
        using counting_map = rem::basic_packed_map<alloc>;
        counting_map one{alloc(all)};
        for (unsigned i = 0; i != 1000; ++i)
            one.emplace(std::to_string(i), std::string(i % 100, 'v'));
        for (unsigned i = 0; i != 500; ++i)
            one.erase(std::to_string(2 * i));
        one.insert_or_assign("1", std::string(2000, 'w'));
        counting_map copied(one, alloc(all));
        copied.insert_or_assign("3", "x");
        one = copied;
        counting_map moved(std::move(copied));
        one.swap(moved);
        EXPECT_EQ(one, moved);
        moved.clear();
        one.clear();
        EXPECT_EQ(all.constructed, 0);
        one.emplace("a", "b");
    }
    EXPECT_EQ(all.constructed, 0);
}

TEST(packed_map, is_made_of_ranges) {
    const std::map<std::string, std::string> model{{"a", "1"}, {"b", "2"}, {"c", "3"}};
    map all(rem::from_range, model);
    EXPECT_TRUE(std::ranges::equal(all, model, {}, {},
                                   [](const auto& one) { return std::pair<std::string_view, std::string_view>(one); }));
    all.insert_range(all); // of itself
    EXPECT_EQ(all.size(), 3U);
    const auto more =
        std::views::iota(0U) | std::views::take_while([](unsigned i) { return i != 1000; }) |
        std::views::transform([](unsigned i) { return std::pair(std::to_string(i), std::string(i, 'v')); });
    all.insert_range(more); // gives strings that do not stay
    EXPECT_EQ(all.size(), 1003U);
    EXPECT_EQ(all.at("999").size(), 999U);
    std::istringstream words("x y z x");
    multimap read(rem::from_range,
                  std::views::istream<std::string>(words) |
                      std::views::transform([](const std::string& key) { return std::pair(key, std::string("1")); }));
    EXPECT_EQ(read.count("x"), 2U);
    EXPECT_EQ(read.size(), 4U);
    rem::packed_map of_those(rem::from_range, all, rem::allocator<char>(nullptr));
    EXPECT_EQ(of_those.size(), all.size());
}

TEST(packed_map, swaps_entries_and_not_memory_between_allocators) {
    using tagged_map = rem::basic_packed_map<tagged_test::tagged<char>>;
    tagged_test::arena here;
    tagged_test::arena there;
    {
        tagged_map a{tagged_test::tagged<char>(here)};
        tagged_map b{tagged_test::tagged<char>(there)};
        for (int i = 0; i < 2000; ++i)
            a.insert({std::to_string(i), std::to_string(2 * i)});
        b.insert({"z", ""});
        const std::size_t blocks = here.live;
        swap(a, b);
        EXPECT_EQ(a.size() + 10000 * b.size(), 20000001U);
        EXPECT_EQ(b.at("1999"), "3998");
        EXPECT_TRUE(a.contains("z"));
        EXPECT_LT(here.live, blocks);
        EXPECT_GT(there.live, blocks / 3); // as a copy it is packed tighter
        EXPECT_EQ(fault(a) + fault(b), "");
    }
    EXPECT_EQ(here.live + there.live, 0U);
}

TEST(packed_map, is_empty_when_its_move_to_another_allocator_has_no_memory) {
    using tagged_map = rem::basic_packed_map<tagged_test::tagged<char>>;
    tagged_test::arena here;
    tagged_test::arena there;
    const auto moves = [&](const auto& move) {
        for (std::size_t failures = 0;; ++failures) {
            tagged_map from{tagged_test::tagged<char>(here)};
            for (int i = 0; i < 2000; ++i)
                from.insert({std::to_string(i), "a value"});
            there.fail_after = failures;
            try {
                move(from);
                there.fail_after = ~std::size_t{0};
                EXPECT_TRUE(from.empty());
                EXPECT_GT(failures, 1U);
                return;
            } catch (const std::bad_alloc&) {
                there.fail_after = ~std::size_t{0};
                EXPECT_TRUE(from.empty());
                EXPECT_EQ(from.begin(), from.end());
                EXPECT_EQ(fault(from), "");
            }
        }
    };
    moves([&](tagged_map& from) {
        const tagged_map made(std::move(from), tagged_test::tagged<char>(there));
        EXPECT_EQ(made.size(), 2000U);
    });
    tagged_map assigned{tagged_test::tagged<char>(there)};
    assigned.insert({"kept", ""});
    moves([&](tagged_map& from) {
        EXPECT_TRUE(assigned.contains("kept"));
        assigned = std::move(from);
        EXPECT_EQ(assigned.size(), 2000U);
    });
    EXPECT_EQ(fault(assigned), "");
}

TEST(packed_map, takes_ranges_of_all_kinds) {
    const std::vector<std::string> words{"three", "one", "two", "one"};
    const auto views = words | std::views::transform([](const std::string& each) { return pair(each, each); });
    const auto owners = words | std::views::transform([](const std::string& each) { return std::pair(each, each); });
    std::istringstream in("1 2 3");
    const auto numbers =
        std::ranges::subrange(std::istream_iterator<std::string>(in), std::istream_iterator<std::string>());
    std::vector<std::pair<std::string, const char*>> literals{{"four", "4"}};
    map all(views.begin(), views.end());
    map again(owners.begin(), owners.end());
    EXPECT_EQ(all, again);
    all.insert(literals.begin(), literals.end());
    const auto doubled = numbers | std::views::transform([](const std::string& each) { return std::pair(each, each); });
    auto common = doubled | std::views::common;
    all.insert(common.begin(), common.end());
    EXPECT_EQ(all.size(), 7U);
    EXPECT_EQ(fault(all), "");
}

TEST(packed_multimap, sorts_ranges_whatever_their_keys_begin_with) {
    std::mt19937 random(rem::test::seed_or(21));
    const auto text = [&](std::size_t bytes, unsigned least, unsigned kinds) {
        std::string made(bytes, '\0');
        for (char& each : made)
            each = static_cast<char>(static_cast<unsigned char>(least + random() % kinds));
        return made;
    };
    constexpr std::array<std::pair<unsigned, unsigned>, 3> k_kinds{
        {{255, 2}, {100, 50}, {0, 256}}}; // of bytes; 255 and 0
    for (const std::string beginning : {"", "a", "seven b", "more than a head"}) {
        for (const std::size_t many : {2U, 3U, 100U, 5000U}) {
            for (const auto& [least, kinds] : k_kinds) {
                std::vector<std::pair<std::string, std::string>> given;
                for (std::size_t i = 0; i != many; ++i)
                    given.emplace_back(beginning + text(1 + random() % 10, least, kinds), std::to_string(i));
                const multimap all(given.begin(), given.end());
                ASSERT_TRUE(same(all, std::multimap<std::string, std::string>(given.begin(), given.end())));
                ASSERT_TRUE(same(map(given.begin(), given.end()),
                                 std::map<std::string, std::string>(given.begin(), given.end())));
                ASSERT_EQ(fault(all), "");
            }
        }
    }
}

// Of a hundred thousand in random order, 40 bytes each on average.
std::map<std::string, std::string> many() {
    std::mt19937 random(4);
    std::map<std::string, std::string> all;
    for (int i = 0; i != 100'000; ++i)
        all.emplace(std::to_string(random()), std::string(random() % 60, 'v'));
    return all;
}

TEST(packed_map, of_a_range_is_dense) {
    using tagged_map = rem::basic_packed_map<tagged_test::tagged<char>>;
    const auto model = many();
    std::size_t payload = 0;
    for (const auto& [key, value] : model)
        payload += key.size() + value.size();
    const map all(model.begin(), model.end());
    EXPECT_TRUE(same(all, model));
    tagged_test::arena memory;
    const tagged_map counted(model.begin(), model.end(), tagged_test::tagged<char>(memory));
    EXPECT_LT(memory.live, model.size() / 60); // blocks: leaves are full
    EXPECT_LT(static_cast<double>(memory.live * 4096), 1.25 * static_cast<double>(payload));
}

TEST(packed_map, gives_memory_back_when_elements_go) {
    using tagged_map = rem::basic_packed_map<tagged_test::tagged<char>>;
    const auto model = many();
    tagged_test::arena memory;
    {
        tagged_map all(model.begin(), model.end(), tagged_test::tagged<char>(memory));
        const std::size_t full = memory.live;
        std::size_t index = 0;
        for (const auto& [key, value] : model) { // all but one of sixteen
            if (index++ % 16 != 0) {
                EXPECT_EQ(all.erase(key), 1U);
            }
        }
        EXPECT_EQ(fault(all), "");
        EXPECT_LT(memory.live, full / 4);
        for (const auto& [key, value] : model)
            all.erase(key);
        EXPECT_TRUE(all.empty());
    }
    EXPECT_EQ(memory.live, 0U);
}

TEST(packed_map, is_as_before_when_there_is_no_memory) {
    using tagged_map = rem::basic_packed_map<tagged_test::tagged<char>>;
    tagged_test::arena memory;
    std::mt19937 random(rem::test::seed_or(6));
    std::map<std::string, std::string> model;
    tagged_map all{tagged_test::tagged<char>(memory)};
    std::size_t failures = 0;
    for (int i = 0; i != 1500; ++i) {
        // Large ones, too, and long keys, so that separators have blocks.
        const std::string key = std::string(random() % 100, 'k') + std::to_string(random() % 1000);
        const std::string value(random() % (random() % 10 == 0 ? 3000 : 100), 'v');
        const bool is_there = model.contains(key);
        failures += tagged_test::fail_each_allocation(
            memory, [&] { all.insert_or_assign(key, value); },
            [&](std::size_t) { // a leaf may have been divided
                ASSERT_TRUE(same(all, model)) << i << (is_there ? " assignment" : " insertion");
            });
        model.insert_or_assign(key, value);
        ASSERT_TRUE(same(all, model));
    }
    EXPECT_GT(failures, 1000U);
    all.clear();
    EXPECT_EQ(memory.live, 0U);
}

TEST(packed_map, erases_without_memory) {
    using tagged_map = rem::basic_packed_map<tagged_test::tagged<char>>;
    const auto model = many();
    tagged_test::arena memory;
    tagged_map all(model.begin(), model.end(), tagged_test::tagged<char>(memory));
    memory.fail_after = 0;
    for (const auto& [key, value] : model)
        ASSERT_EQ(all.erase(key), 1U);
    memory.fail_after = ~std::size_t{0};
    EXPECT_TRUE(all.empty());
    EXPECT_EQ(fault(all), "");
}

TEST(packed_map, leads_to_what_follows_an_erasure_without_memory) {
    using tagged_map = rem::basic_packed_map<tagged_test::tagged<char>>;
    const auto model = many();
    tagged_test::arena memory;
    tagged_map all(model.begin(), model.end(), tagged_test::tagged<char>(memory));
    memory.fail_after = 0;
    std::size_t index = 0;
    auto expected = model.begin();
    for (auto each = all.begin(); each != all.end();
         ++expected, ++index) { // so that leaves, one after the other, become small
        ASSERT_NE(expected, model.end());
        ASSERT_EQ(each->first, expected->first) << index;
        each = index % 16 == 15 ? std::next(each) : all.erase(each);
    }
    EXPECT_EQ(expected, model.end());
    EXPECT_EQ(fault(all), "");
    memory.fail_after = ~std::size_t{0};
}

/// Fails as a heap does whose allocator is damaged, or which belongs to the parent of the process.
template <class T>
struct refusing {
    static inline bool refuses = false;
    using value_type = T;
    refusing() = default;
    template <class U>
    refusing(const refusing<U>&) noexcept {} // NOLINT(google-explicit-constructor)
    T* allocate(std::size_t count) {
        if (refusing<char>::refuses)
            throw std::runtime_error("no");
        return std::allocator<T>().allocate(count);
    }
    void deallocate(T* block, std::size_t count) noexcept { std::allocator<T>().deallocate(block, count); }
    template <class U>
    friend bool operator==(const refusing&, const refusing<U>&) noexcept {
        return true;
    }
};

TEST(packed_map, erases_whatever_an_allocation_throws) {
    const auto model = many();
    rem::basic_packed_map<refusing<char>> all(model.begin(), model.end());
    refusing<char>::refuses = true;
    EXPECT_THROW(all.emplace("a", std::string(5000, 'v')), std::runtime_error);
    for (const auto& [key, value] : model)
        ASSERT_EQ(all.erase(key), 1U);
    refusing<char>::refuses = false;
    EXPECT_TRUE(all.empty());
    EXPECT_EQ(fault(all), "");
}

TEST(packed_map, takes_views_into_itself) {
    map all;
    for (int i = 0; i != 200; ++i) {
        all.emplace(std::to_string(i), std::string(static_cast<std::size_t>(i), 'v'));
        const auto last = std::prev(all.end());
        const std::string key(last->first);
        const std::string value(last->second);
        all.insert_or_assign(last->second, last->first);
        EXPECT_EQ(all.at(value), key);
        all.assign(all.find(key), all.find(key)->first);
        EXPECT_EQ(all.at(key), key);
        all.assign(all.find(key), value);
    }
    EXPECT_EQ(fault(all), "");
    while (!all.empty())
        EXPECT_EQ(all.erase(all.begin()->first), 1U);
}

template <class Packed, class Model>
void expect_to_take_ranges_of_itself(Packed& all, Model model) {
    for (int i = 0; i != 1000; ++i) {
        const std::string key = "key" + std::to_string(i);
        const std::string value(static_cast<std::size_t>(i % 50), 'v');
        all.emplace(key, value);
        model.emplace(key, value);
    }
    const Model before = model;
    all.insert(all.begin(), all.end());
    model.insert(before.begin(), before.end());
    EXPECT_TRUE(same(all, model));
    std::vector<std::pair<std::string_view, std::string>> swapped; // views of values, and of what is elsewhere
    for (const auto& [key, value] : all)
        swapped.emplace_back(value, key);
    for (const auto& [key, value] : swapped)
        model.emplace(key, value);
    all.insert(swapped.begin(), swapped.end());
    EXPECT_TRUE(same(all, model));
}

TEST(packed_map, takes_ranges_of_itself) {
    map all;
    expect_to_take_ranges_of_itself(all, std::map<std::string, std::string>());
}

TEST(packed_multimap, takes_ranges_of_itself) {
    multimap all;
    expect_to_take_ranges_of_itself(all, std::multimap<std::string, std::string>());
}

TEST(packed_map, takes_ranges_of_itself_in_a_heap) {
    rem::test::temp_dir dir;
    rem::heap heap = rem::heap::create(dir / "h");
    heap.write([&] {
        expect_to_take_ranges_of_itself(heap.root<rem::packed_map>("map"), std::map<std::string, std::string>());
        expect_to_take_ranges_of_itself(heap.root<rem::packed_multimap>("multimap"),
                                        std::multimap<std::string, std::string>());
    });
    EXPECT_TRUE(heap.verify().clean());
}

/// Lengths where something changes: of what a length takes, of large records, of leaves.
std::string of_edge_length(std::mt19937& random) {
    static constexpr std::size_t k_edges[] = {0, 1, 4, 8, 127, 128, 1017, 1024, 4090, 4096, 16'384, 70'000};
    const std::size_t edge = k_edges[random() % (random() % 8 == 0 ? std::size(k_edges) : 6)];
    std::string made(edge + random() % 3 - (edge != 0 ? 1 : 0), '\0');
    for (std::size_t i = 0; i < made.size();
         i += 1 + made.size() / 8) // of zeros and of what is negative as a char, too
        made[i] = "\0\xff\x80z"[random() % 4];
    return made;
}

TEST(packed_map, takes_keys_and_values_of_any_length_and_bytes) {
    map all;
    std::map<std::string, std::string> model;
    std::mt19937 random(rem::test::seed_or(13));
    for (int i = 0; i != 3000; ++i) {
        const std::string key = of_edge_length(random);
        const std::string value = of_edge_length(random);
        if (random() % 3 != 0) {
            all.insert_or_assign(key, value);
            model.insert_or_assign(key, value);
        } else {
            EXPECT_EQ(all.erase(key), model.erase(key));
        }
        EXPECT_EQ(all.contains(value), model.contains(value));
        if (i % 50 == 0) {
            ASSERT_TRUE(same(all, model)) << i;
        }
    }
    ASSERT_TRUE(same(all, model));
    for (auto each = all.begin(); each != all.end();) // while it goes over them
        each = random() % 4 == 0 ? std::next(each) : all.erase(each);
    EXPECT_EQ(fault(all), "");
}

TEST(packed_multimap, takes_equal_keys_of_any_length_and_bytes) {
    multimap all;
    std::multimap<std::string, std::string> model;
    std::mt19937 random(rem::test::seed_or(14));
    for (int i = 0; i != 2000; ++i) {
        const std::string key = of_edge_length(random).substr(0, random() % 2 == 0 ? 1 : 1100);
        const std::string value = of_edge_length(random);
        const auto there = model.lower_bound(key);
        if (random() % 4 != 0 || there == model.end() || there->first != key) {
            all.emplace(key, value);
            model.emplace(key, value);
        } else {
            all.erase(all.find(key, there->second));
            model.erase(there);
        }
        if (i % 50 == 0) {
            ASSERT_TRUE(same(all, model)) << i;
        }
    }
    ASSERT_TRUE(same(all, model));
}

/// In blocks that are no longer than need be, so that a look before or behind one is seen by AddressSanitizer.
TEST(packed_leaf, finds_each_key_however_few_or_many_it_has) {
    using rem::detail::packed_leaf;
    for (std::size_t count = 1; count != 80; ++count) {
        const auto key_of = [](std::size_t i) { return i == 0 ? std::string() : std::to_string(100 + i); };
        std::size_t bytes = packed_leaf::k_header_bytes;
        for (std::size_t i = 0; i != count; ++i)
            bytes += 2 + key_of(i).size() + packed_leaf::k_mark_bytes;
        bytes = (bytes + 7) / 8 * 8;
        const auto block = std::make_unique<std::byte[]>(bytes);
        rem::detail::packed_leaf_writer writer(block.get(), bytes);
        for (std::size_t i = 0; i != count; ++i)
            writer.add({key_of(i), ""}, rem::detail::packed_mark_of(key_of(i)));
        writer.finish();
        const packed_leaf leaf(block.get(), bytes);
        ASSERT_EQ(leaf.count(), count);
        for (std::size_t i = 0; i != 100; ++i) {
            const std::string key = key_of(i);
            EXPECT_EQ(leaf.find(key, rem::detail::packed_mark_of(key)), std::min(i, count));
        }
    }
}

TEST(packed_map, refuses_what_is_too_long) {
    map all{{"a", "1"}};
    const std::string_view huge("", std::size_t{1} << 32); // never read
    EXPECT_THROW(all.emplace("b", huge), std::length_error);
    EXPECT_THROW(all.emplace(huge, "b"), std::length_error);
    EXPECT_THROW(all.assign(all.begin(), huge), std::length_error);
    EXPECT_EQ(all, (map{{"a", "1"}}));
}

TEST(packed_multimap, keeps_the_order_of_insertion_of_equal_keys) {
    multimap all;
    for (int i = 0; i != 5000; ++i) {
        all.emplace("b", std::to_string(i));
        if (i % 100 == 0)
            all.emplace(i % 200 == 0 ? "a" : "c", "");
    }
    EXPECT_EQ(fault(all), "");
    EXPECT_EQ(all.count("b"), 5000U);
    int i = 0;
    for (auto [each, end] = all.equal_range("b"); each != end; ++each, ++i)
        EXPECT_EQ(each->second, std::to_string(i));
    EXPECT_EQ(i, 5000);
    EXPECT_EQ(all.find("b")->second, "0");
    for (const int some : {0, 1, 777, 4999})
        EXPECT_EQ(std::distance(all.find("b"), all.find("b", std::to_string(some))), some);
    EXPECT_EQ(all.find("b", "5000"), all.end());
    EXPECT_EQ(all.erase("b"), 5000U);
    EXPECT_EQ(all.size(), 50U);
    EXPECT_EQ(all.find("b"), all.end());
}

TEST(packed_map, works_at_another_address) {
    using moving_map = rem::basic_packed_map<moving_test::moving<char>>;
    moving_test::arena memory;
    ::new (memory.allocate(sizeof(moving_map))) moving_map;
    std::map<std::string, std::string> model;
    std::mt19937 random(rem::test::seed_or(9));
    for (int round = 0; round < 5; ++round) {
        auto& all = memory.first<moving_map>();
        for (int i = 0; i < 200; ++i) {
            const std::string key(random() % 60, static_cast<char>('a' + random() % 26));
            all.insert_or_assign(key, key + "1");
            model.insert_or_assign(key, key + "1");
        }
        memory.move();
        ASSERT_TRUE(same(memory.first<moving_map>(), model));
    }
}

// What is wrong with a leaf is found, whatever it is, without a look behind it.

/// The bytes of the leaves, which are blocks of this allocator.
struct leaf_blocks {
    static inline std::vector<std::pair<std::byte*, std::size_t>> all;
};
template <class T>
struct noting {
    using value_type = T;
    noting() = default;
    template <class U>
    noting(const noting<U>&) noexcept {} // NOLINT(google-explicit-constructor)
    T* allocate(std::size_t count) {
        T* const block = std::allocator<T>().allocate(count);
        if constexpr (std::is_same_v<T, std::byte>)
            leaf_blocks::all.emplace_back(block, count);
        return block;
    }
    void deallocate(T* block, std::size_t count) noexcept {
        if constexpr (std::is_same_v<T, std::byte>)
            std::erase(leaf_blocks::all, std::pair<std::byte*, std::size_t>(block, count));
        std::allocator<T>().deallocate(block, count);
    }
    template <class U>
    friend bool operator==(const noting&, const noting<U>&) noexcept {
        return true;
    }
};

TEST(packed_leaf, that_is_damaged_is_found) {
    rem::basic_packed_map<noting<char>> all;
    std::mt19937 random(rem::test::seed_or(11));
    for (int i = 0; i != 400; ++i)
        all.emplace(std::to_string(random() % 10'000), std::string(random() % 30, 'v'));
    for (int i = 0; i != 50; ++i)
        all.erase(std::prev(all.end())); // dead bytes
    all.emplace("large", std::string(5000, 'l'));
    ASSERT_EQ(fault(all), "");
    std::size_t found = 0;
    constexpr int k_changes = 20'000;
    for (int i = 0; i != k_changes; ++i) {
        const auto& [block, bytes] = leaf_blocks::all[random() % leaf_blocks::all.size()];
        std::byte& one = block[random() % bytes];
        const std::byte before = one;
        one = static_cast<std::byte>(random());
        found += fault(all).empty() ? 0U : 1U;
        one = before;
    }
    EXPECT_EQ(fault(all), "");
    // A byte of a value, of room that is free or dead, or that has not changed does no harm; those of the rest are many.
    EXPECT_GT(found, std::size_t{k_changes} / 5);
    // Header, and marks at the end: each byte of them.
    for (const auto& [block, bytes] : leaf_blocks::all) {
        const rem::detail::packed_leaf leaf(block, bytes);
        const std::size_t marks = leaf.count() * 4;
        for (std::size_t at = 0; at != bytes; at = at == 7 ? bytes - marks : at + 1) {
            block[at] ^= std::byte{1};
            EXPECT_NE(fault(all), "") << at << " of " << bytes;
            block[at] ^= std::byte{1};
        }
    }
    EXPECT_EQ(fault(all), "");
}

/// What is said of three keys of which the program has overwritten one with another.
template <class Packed>
std::string fault_of_a_key_twice() {
    Packed all;
    for (const char* key : {"a key 15", "a key 16", "a key 17"})
        all.emplace(key, "value");
    const auto& [block, bytes] = leaf_blocks::all.back();
    const rem::detail::packed_leaf leaf(block, bytes);
    const std::uint32_t mark = (leaf.mark(1) & 0xffff0000U) | (leaf.mark(2) & 0xffffU);
    std::memcpy(block + bytes - 3 * sizeof mark, &mark, sizeof mark);
    block[std::string_view(reinterpret_cast<const char*>(block), bytes).find("a key 17") + 7] = std::byte{'6'};
    EXPECT_EQ(all.begin()->first, "a key 15");
    EXPECT_EQ(all.rbegin()->first, "a key 16");
    return fault(all);
}

TEST(packed_leaf, that_has_a_key_twice_is_damaged_if_keys_are_unique) {
    EXPECT_NE(fault_of_a_key_twice<rem::basic_packed_map<noting<char>>>(), "");
    EXPECT_EQ(fault_of_a_key_twice<rem::basic_packed_multimap<noting<char>>>(), "");
}

} // namespace packed_map_test
