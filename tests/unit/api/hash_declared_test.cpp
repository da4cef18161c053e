// Hash containers in a heap: declared sections without a touch by hand, crashes, the heap's bytes read at another
// address, and roots of other types.

#include "declared_containers.hpp"
#include "support/hash_inspector.hpp"
#include "support/heap_bytes_elsewhere.hpp"
#include "support/seed.hpp"

#include <list>
#include <map>
#include <random>
#include <ranges>
#include <set>
#include <utility>

namespace remanence::test {

// The types of roots need names.
namespace declared_hash {

struct entry {
    string_pi name;
    std::uint64_t number = 0;
};
struct containers {
    hash_map<string, entry> by_text;
    hash_map<std::uint64_t, list<string>> lists; // whose move writes to their nodes
    hash_set<std::uint64_t> numbers;
};
/// The same in std containers.
struct model {
    std::map<std::string, std::uint64_t> by_text;
    std::map<std::uint64_t, std::vector<std::string>> lists;
    std::set<std::uint64_t> numbers;
};

struct no_address {
    hash_map<string_pi, vector_pi<string_pi>> words;
    hash_set<std::uint64_t> numbers;
};
static_assert(is_position_independent_v<no_address>);

/// The same changes to both, of any kind, by what `seed` says.
inline void change_all(containers& all, model& expected, std::uint64_t seed) {
    std::mt19937_64 random(test::seed_or(seed));
    for (int i = 0; i < 30; ++i) {
        const std::uint64_t number = random() % 400;
        const std::string key = std::to_string(number) + std::string(number % 40, 'k');
        const std::string name = "an entry with a name that takes memory " + key;
        switch (random() % 10) {
        case 0:
        case 1:
        case 2:
            all.by_text.insert_or_assign(string(key), entry{string_pi(name), seed});
            expected.by_text.insert_or_assign(key, seed);
            break;
        case 3:
            all.by_text.erase(std::string_view(key));
            expected.by_text.erase(key);
            break;
        case 4:
            if (!all.lists.contains(number)) {
                all.lists[number].emplace_back(key);
                expected.lists[number].push_back(key);
            }
            break;
        case 5:
            all.lists.erase(number);
            expected.lists.erase(number);
            break;
        case 6:
        case 7:
            all.numbers.insert_range(std::views::iota(number * 50, number * 50 + 50));
            for (std::uint64_t j = 0; j < 50; ++j)
                expected.numbers.insert(number * 50 + j);
            break;
        case 8:
            erase_if(all.numbers, [&](std::uint64_t each) { return each % 7 == seed % 7; });
            std::erase_if(expected.numbers, [&](std::uint64_t each) { return each % 7 == seed % 7; });
            break;
        default:
            for (std::uint64_t j = 0; j < 50; ++j) {
                all.numbers.erase(number * 50 + j);
                expected.numbers.erase(number * 50 + j);
            }
            break;
        }
    }
    if (seed % 8 == 0) { // node handles, merging, swapping, moving, rehashing
        hash_set<std::uint64_t> more;
        more.insert({seed * 100'000, seed * 100'000 + 1});
        expected.numbers.insert({seed * 100'000, seed * 100'000 + 1});
        all.numbers.merge(more);
        hash_set<std::uint64_t> moved(std::move(all.numbers));
        all.numbers.swap(moved);
        all.by_text.rehash(seed % 16 == 0 ? 0 : 1024);
        const auto rename = [](auto& here, auto& there, const auto& from, auto to, auto to_there) {
            auto handle = here.extract(from);
            handle.key() = std::move(to);
            here.insert(std::move(handle));
            auto old = there.extract(typename std::remove_reference_t<decltype(there)>::key_type(from));
            old.key() = std::move(to_there);
            there.insert(std::move(old));
        };
        if (!all.by_text.empty()) { // a long one, which takes the place of another as a whole
            const std::string renamed = "an entry with a new name that takes memory " + std::to_string(seed);
            rename(all.by_text, expected.by_text, string(all.by_text.begin()->first), string(renamed), renamed);
        }
        if (!all.lists.empty()) // an element in a block of its own
            rename(all.lists, expected.lists, std::uint64_t{all.lists.begin()->first}, 1'000 + seed, 1'000 + seed);
    }
}

inline testing::AssertionResult has_all(const containers& all, const model& expected) {
    using detail::hash_inspector;
    for (const std::string& fault :
         {hash_inspector::fault(all.by_text), hash_inspector::fault(all.lists), hash_inspector::fault(all.numbers)}) {
        if (!fault.empty())
            return testing::AssertionFailure() << fault;
    }
    if (all.by_text.size() != expected.by_text.size() || all.lists.size() != expected.lists.size() ||
        all.numbers.size() != expected.numbers.size())
        return testing::AssertionFailure() << "a container has another size";
    for (const auto& [key, number] : expected.by_text) {
        const auto found = all.by_text.find(std::string_view(key));
        if (found == all.by_text.end() || found->second.number != number || found->second.name.size() < 30)
            return testing::AssertionFailure() << "the map by texts differs at " << key;
    }
    for (const auto& [key, texts] : expected.lists) {
        const auto found = all.lists.find(key);
        if (found == all.lists.end() ||
            !std::equal(found->second.begin(), found->second.end(), texts.begin(), texts.end()))
            return testing::AssertionFailure() << "the map of lists differs at " << key;
    }
    for (const std::uint64_t number : expected.numbers) {
        if (!all.numbers.contains(number))
            return testing::AssertionFailure() << "the set lacks " << number;
    }
    return testing::AssertionSuccess();
}

inline bool are_large(const containers& all) { return all.numbers.bucket_count() > 1000; }

struct subject {
    using containers = declared_hash::containers;
    using model = declared_hash::model;
};

} // namespace declared_hash

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(hash_tables, declared_containers, declared_hash::subject);
using hash_map_of_numbers = hash_map<std::uint64_t, std::uint64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(hash_tables, declared_maps, hash_map_of_numbers);

TEST(declared_hash, are_whole_after_a_crash_with_the_same_order) {
    const temp_dir dir;
    heap::create(dir / "h", small_heap()).root<declared_hash::containers>("all");
    const auto in_order = [](const hash_set<std::uint64_t>& numbers) {
        std::string all;
        for (const std::uint64_t number : numbers)
            all += std::to_string(number) + ' ';
        return all;
    };
    const std::string order = in_child([&] {
        auto* h = new heap(heap::open_existing(dir / "h", small_heap())); // never closed
        declared_hash::model expected;
        auto& all = *h->find_root<declared_hash::containers>("all");
        for (std::uint64_t seed = 1; seed <= 50; ++seed)
            h->write(declared, [&] { change_all(all, expected, seed); });
        return has_all(all, expected) ? in_order(all.numbers) : std::string("a difference");
    });
    heap h = heap::open_existing(dir / "h", small_heap());
    EXPECT_EQ(h.stats().recovered_commits, 50U);
    const auto& all = *h.find_root<declared_hash::containers>("all");
    EXPECT_EQ(in_order(all.numbers), order);
    EXPECT_EQ(detail::hash_inspector::fault(all.by_text) + detail::hash_inspector::fault(all.lists), "");
    EXPECT_TRUE(h.verify().clean());
}

TEST(declared_hash, commit_the_bytes_of_what_they_change_only) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<hash_map<std::uint64_t, std::uint64_t>>("all");
    h.write([&] {
        all.reserve(200'000); // an insertion writes to each group that has no room for it: here all have
        for (std::uint64_t i = 0; i < 100'000; ++i)
            all.emplace(2 * i, i);
    });
    const std::uint64_t before = h.stats().changed_bytes;
    h.write(declared, [&] { all.insert_or_assign(std::uint64_t{20'000}, std::uint64_t{7}); });
    EXPECT_EQ(h.stats().changed_bytes - before, 8U);
    h.write(declared, [&] { all[20'000] = 8; });
    h.write(declared, [&] { all.erase(20'000); });
    h.write(declared, [&] { all.emplace(20'001, 1); });
    EXPECT_LE(h.stats().changed_bytes - before, 100U);
    h.rollback();
    EXPECT_TRUE(all.contains(20'001));
    EXPECT_FALSE(all.contains(20'000));
}

TEST(declared_hash, declare_that_a_group_on_another_page_had_no_room) {
    using detail::hash_inspector;
    using numbers = hash_set<std::uint64_t>;
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<numbers>("all");
    h.write([&] { all.reserve(10'000); });
    const std::size_t group_count = all.bucket_count() / detail::k_hash_group;
    const auto page_of = [&](std::size_t group) {
        return reinterpret_cast<std::uintptr_t>(hash_inspector::group_of(all, group)) / k_page_bytes;
    };
    std::size_t last = 0; // of its page
    while (page_of(last) == page_of(last + 1))
        ++last;
    ASSERT_LT(last + 1, group_count);
    std::vector<std::uint64_t> its;
    for (std::uint64_t number = 0; its.size() <= detail::k_hash_group_slots; ++number) {
        if ((seeded_hash<std::uint64_t>()(number, hash_inspector::seed_of(all)) >> 8) % group_count == last)
            its.push_back(number);
    }
    h.write([&] { all.insert(its.begin(), its.end() - 1); });
    EXPECT_EQ(hash_inspector::overflow_of(all), nullptr);
    h.write(declared, [&] { all.insert(its.back()); });
    h.rollback(); // of what was not declared
    EXPECT_NE(hash_inspector::overflow_of(all), nullptr);
    EXPECT_TRUE(all.contains(its.back()));
    EXPECT_EQ(hash_inspector::fault(all), "");
}

TEST(declared_hash, declare_both_when_they_merge) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& one = h.root<hash_map<string, string>>("one");
    auto& other = h.root<hash_map<string, string>>("other");
    for (std::uint64_t round = 0; round < 20; ++round) {
        h.write([&] {
            for (std::uint64_t i = 0; i < 200; ++i)
                other.try_emplace(string(std::to_string(round * 100 + i)), "a text of " + std::to_string(i));
        });
        const std::size_t all = 200 + round * 100;
        h.write(declared, [&] { one.merge(other); });
        h.rollback();
        EXPECT_EQ(detail::hash_inspector::fault(one) + detail::hash_inspector::fault(other), "");
        EXPECT_EQ(one.size(), all);
        EXPECT_EQ(other.size(), round == 0 ? 0U : 100U);
        h.write([&] { other.clear(); });
    }
}

TEST(hash_roots, read_the_same_where_the_bytes_of_the_heap_are_elsewhere) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& here = h.root<declared_hash::no_address>("all");
    h.write([&] {
        for (std::uint64_t i = 0; i < 1000; ++i) {
            here.words[string_pi(std::to_string(i) + std::string(i % 50, 'w'))].emplace_back(std::string(i % 70, 'x'));
            here.numbers.insert(i * i);
        }
    });
    for (int i = 0; i < 3; ++i) {
        const heap_bytes_elsewhere copy(h);
        const declared_hash::no_address& there = copy.at(here);
        EXPECT_EQ(detail::hash_inspector::fault(there.words) + detail::hash_inspector::fault(there.numbers), "");
        EXPECT_EQ(there.words, here.words);
        EXPECT_EQ(there.numbers, here.numbers);
        for (std::uint64_t j = 0; j < 1000; ++j)
            EXPECT_EQ(there.words.at(string_pi(std::to_string(j) + std::string(j % 50, 'w'))).front(),
                      std::string(j % 70, 'x'));
    }
}

TEST(hash_roots, with_another_hash_equality_or_layout_are_refused) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    h.root<hash_set<std::uint64_t>>("all");
    using other_hash = hash_set<std::uint64_t, std::hash<std::uint64_t>>;
    using other_equality = hash_set<std::uint64_t, seeded_hash<std::uint64_t>, std::equal_to<std::uint64_t>>;
    EXPECT_TRUE(is_error(error_of([&] { h.root<other_hash>("all"); }), errc::type_mismatch, dir / "h", "std::hash"));
    EXPECT_TRUE(is_error(error_of([&] { h.root<other_equality>("all"); }), errc::type_mismatch, dir / "h", "equal_to"));
    EXPECT_TRUE(is_error(error_of([&] { h.root<btree_set<std::uint64_t>>("all"); }), errc::type_mismatch, dir / "h",
                         "hash_set"));
}

} // namespace
} // namespace remanence::test
