// Ordered containers in a heap: declared sections without a touch by hand, crashes, and roots of other types.

#include "declared_containers.hpp"
#include "support/btree_inspector.hpp"
#include "support/heap_bytes_elsewhere.hpp"
#include "support/seed.hpp"

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <random>
#include <ranges>
#include <utility>

namespace remanence::test {

// The types of roots need names.
namespace declared_btrees {

struct entry {
    string name;
    std::uint64_t number = 0;
};
using small_nodes = btree_map<string, entry, std::less<>, allocator<std::pair<const string, entry>>, 1>;
using chosen_nodes = btree_multimap<std::uint64_t, entry>;
using with_lists = btree_map<std::uint64_t, list<string>>; // whose move writes to their nodes

struct containers {
    small_nodes small;
    chosen_nodes chosen;
    with_lists lists;
    btree_set<std::uint64_t> numbers;
};

struct no_address {
    btree_map<string_pi, vector_pi<string_pi>> words;
    btree_multimap<std::uint64_t, std::array<std::uint64_t, 40>> blocks; // too large for a slot
    btree_set<std::uint64_t> numbers;
};
static_assert(is_position_independent_v<no_address>);
static_assert(!is_position_independent_v<containers>);

/// What containers hold, in std containers.
struct model {
    std::map<std::string, std::uint64_t> small;
    std::multimap<std::uint64_t, std::uint64_t> chosen;
    std::map<std::uint64_t, std::vector<std::string>> lists;
    std::set<std::uint64_t> numbers;
};

inline std::string name_of(std::uint64_t number) {
    return "an entry with a name that takes memory " + std::to_string(number);
}

/// The same changes to both, of any kind, by what `seed` says.
inline void change_all(containers& all, model& expected, std::uint64_t seed) {
    std::mt19937_64 random(test::seed_or(seed));
    for (int i = 0; i < 30; ++i) {
        const std::uint64_t number = random() % 400;
        const std::string key = std::to_string(number) + std::string(number % 40, 'k');
        switch (random() % 10) {
        case 0:
        case 1:
            all.small.insert_or_assign(string(key), entry{string(name_of(number)), seed});
            expected.small.insert_or_assign(key, seed);
            break;
        case 2:
            all.small.erase(std::string_view(key));
            expected.small.erase(key);
            break;
        case 3:
        case 4:
            all.chosen.emplace(number, entry{string(name_of(number)), seed});
            expected.chosen.emplace(number, seed);
            break;
        case 5:
            all.chosen.erase(number);
            expected.chosen.erase(number);
            break;
        case 6:
            if (!all.lists.contains(number)) {
                all.lists[number].emplace_back(key);
                expected.lists[number].push_back(key);
            }
            break;
        case 7:
            all.lists.erase(number);
            expected.lists.erase(number);
            break;
        case 8:
            all.numbers.insert_range(std::views::iota(number * 50, number * 50 + 50));
            for (std::uint64_t j = 0; j < 50; ++j)
                expected.numbers.insert(number * 50 + j);
            break;
        default:
            all.numbers.erase(all.numbers.lower_bound(number * 50), all.numbers.lower_bound(number * 50 + 30));
            expected.numbers.erase(expected.numbers.lower_bound(number * 50),
                                   expected.numbers.lower_bound(number * 50 + 30));
            break;
        }
    }
    if (seed % 8 == 0) { // node handles, merging, swapping, moving
        btree_set<std::uint64_t> more;
        more.insert({seed * 100'000, seed * 100'000 + 1});
        expected.numbers.insert({seed * 100'000, seed * 100'000 + 1});
        all.numbers.merge(more);
        btree_set<std::uint64_t> moved(std::move(all.numbers));
        all.numbers.swap(moved);
        if (!all.small.empty()) {
            auto handle = all.small.extract(all.small.begin());
            handle.key() = string(name_of(seed));
            auto old = expected.small.extract(expected.small.begin());
            old.key() = name_of(seed);
            expected.small.insert(std::move(old));
            all.small.insert(std::move(handle));
        }
        if (!all.lists.empty()) { // an element in a block of its own
            auto handle = all.lists.extract(all.lists.begin());
            auto old = expected.lists.extract(expected.lists.begin());
            handle.key() = old.key() = 1'000 + seed;
            all.lists.insert(std::move(handle));
            expected.lists.insert(std::move(old));
        }
    }
}

inline testing::AssertionResult has_all(const containers& all, const model& expected) {
    using detail::btree_inspector;
    for (const std::string& fault : {btree_inspector::fault(all.small), btree_inspector::fault(all.chosen),
                                     btree_inspector::fault(all.lists), btree_inspector::fault(all.numbers)}) {
        if (!fault.empty())
            return testing::AssertionFailure() << fault;
    }
    const auto same = [](const auto& a, const auto& b) {
        return a.first == b.first && a.second.number == b.second && !a.second.name.empty();
    };
    if (!std::equal(all.small.begin(), all.small.end(), expected.small.begin(), expected.small.end(), same))
        return testing::AssertionFailure() << "the map of small nodes differs";
    if (!std::equal(all.chosen.begin(), all.chosen.end(), expected.chosen.begin(), expected.chosen.end(), same))
        return testing::AssertionFailure() << "the multimap differs";
    const auto same_list = [](const auto& a, const auto& b) {
        return a.first == b.first && std::equal(a.second.begin(), a.second.end(), b.second.begin(), b.second.end());
    };
    if (!std::equal(all.lists.begin(), all.lists.end(), expected.lists.begin(), expected.lists.end(), same_list))
        return testing::AssertionFailure() << "the map of lists differs";
    if (!std::equal(all.numbers.begin(), all.numbers.end(), expected.numbers.begin(), expected.numbers.end()))
        return testing::AssertionFailure() << "the set differs";
    return testing::AssertionSuccess();
}

inline bool are_large(const containers& all) { return detail::btree_inspector::shape_of(all.small).nodes.size() > 3; }

struct subject {
    using containers = declared_btrees::containers;
    using model = declared_btrees::model;
};

} // namespace declared_btrees

namespace {

using declared_btrees::containers;
using declared_btrees::model;

INSTANTIATE_TYPED_TEST_SUITE_P(btrees, declared_containers, declared_btrees::subject);
using btree_of_numbers = btree_map<std::uint64_t, std::uint64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(btrees, declared_maps, btree_of_numbers);

constexpr std::uint64_t k_sections = 200;

TEST(declared_btrees, are_whole_after_a_crash) {
    const temp_dir dir;
    heap::create(dir / "h", small_heap()).root<containers>("all");
    EXPECT_EQ(in_child([&] {
                  auto* h = new heap(heap::open_existing(dir / "h", small_heap())); // never closed
                  model unused;
                  for (std::uint64_t seed = 1; seed <= k_sections; ++seed)
                      h->write(declared, [&] { change_all(*h->find_root<containers>("all"), unused, seed); });
                  return std::string("used");
              }),
              "used");
    heap h = heap::open_existing(dir / "h", small_heap());
    EXPECT_EQ(h.stats().recovered_commits, k_sections);
    model expected;
    const temp_dir other;
    heap again = heap::create(other / "h", small_heap()); // not opened before the child, which would have it as well
    auto& repeated = again.root<containers>("all");
    for (std::uint64_t seed = 1; seed <= k_sections; ++seed)
        again.write([&] { change_all(repeated, expected, seed); });
    EXPECT_TRUE(has_all(*h.find_root<containers>("all"), expected));
    EXPECT_TRUE(h.verify().clean());
}

TEST(declared_btrees, commit_pages_of_the_nodes_that_they_change_only) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<btree_map<std::uint64_t, std::uint64_t>>("all");
    h.write([&] {
        for (std::uint64_t i = 0; i < 200'000; ++i)
            all.emplace_hint(all.end(), 2 * i, i);
    });
    const std::uint64_t before = h.stats().changed_bytes;
    h.write(declared, [&] { all.insert_or_assign(std::uint64_t{200'000}, std::uint64_t{7}); });
    EXPECT_EQ(h.stats().changed_bytes - before, 8U);
    h.write(declared, [&] { all[200'000] = 8; });
    h.write(declared, [&] { all.erase(200'000); });
    h.write(declared, [&] { all.emplace(200'001, 1); });
    EXPECT_LE(h.stats().changed_bytes - before, 4 * 4096U);
    h.rollback();
    EXPECT_TRUE(all.contains(200'001));
    EXPECT_FALSE(all.contains(200'000));
}

TEST(btree_roots, read_the_same_where_the_bytes_of_the_heap_are_elsewhere) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& here = h.root<declared_btrees::no_address>("all");
    h.write([&] {
        for (std::uint64_t i = 0; i < 1000; ++i) {
            here.words[string_pi(std::to_string(i) + std::string(i % 50, 'w'))].emplace_back(std::string(i % 70, 'x'));
            here.blocks.emplace(i / 2, std::array<std::uint64_t, 40>{i});
            here.numbers.insert(i * i);
        }
    });
    for (int i = 0; i < 3; ++i) {
        const heap_bytes_elsewhere copy(h);
        const declared_btrees::no_address& there = copy.at(here);
        EXPECT_EQ(detail::btree_inspector::fault(there.words) + detail::btree_inspector::fault(there.blocks) +
                      detail::btree_inspector::fault(there.numbers),
                  "");
        EXPECT_EQ(there.words, here.words);
        EXPECT_EQ(there.blocks, here.blocks);
        EXPECT_EQ(there.numbers, here.numbers);
        for (std::uint64_t j = 0; j < 1000; ++j)
            EXPECT_EQ(there.words.at(string_pi(std::to_string(j) + std::string(j % 50, 'w'))).front(),
                      std::string(j % 70, 'x'));
    }
}

TEST(btree_roots, with_another_layout_are_refused) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    using chosen = btree_set<std::uint64_t>;
    using other = btree_set<std::uint64_t, std::less<>, allocator<std::uint64_t>, 1024>;
    using reversed = btree_set<std::uint64_t, std::greater<>>;
    h.root<chosen>("all");
    EXPECT_TRUE(is_error(error_of([&] { h.root<other>("all"); }), errc::type_mismatch, dir / "h", "1024"));
    EXPECT_TRUE(is_error(error_of([&] { h.root<reversed>("all"); }), errc::type_mismatch, dir / "h", "greater"));
}

} // namespace
} // namespace remanence::test
