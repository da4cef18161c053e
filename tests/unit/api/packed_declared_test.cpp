// Packed maps in a heap: declared sections without a touch by hand, crashes, the heap's bytes read at another address, and
// roots of other types.

#include "declared_containers.hpp"
#include "support/heap_bytes_elsewhere.hpp"
#include "support/seed.hpp"
#include "support/trusting_survey.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace remanence::test {

// The types of roots need names.
namespace declared_packed {

struct containers {
    packed_map one;
    packed_multimap several;
};
/// The same in std containers.
struct model {
    std::map<std::string, std::string> one;
    std::multimap<std::string, std::string> several;
};

/// The same changes to both, of any kind, by what `seed` says.
inline void change_all(containers& all, model& expected, std::uint64_t seed) {
    std::mt19937_64 random(test::seed_or(seed));
    for (int i = 0; i < 30; ++i) {
        const std::string key = std::to_string(random() % 1000);
        const std::string value(random() % (i == 0 ? 5000 : 80), static_cast<char>('a' + random() % 26));
        switch (random() % 8) {
        case 0:
        case 1:
        case 2:
            all.one.insert_or_assign(key, value);
            expected.one.insert_or_assign(key, value);
            break;
        case 3:
        case 4:
            all.several.emplace(key, value);
            expected.several.emplace(key, value);
            break;
        case 5: {
            if (const auto found = all.several.lower_bound(key); found != all.several.end()) {
                all.several.assign(found, std::string(found->second.size(), 'n')); // in its place
                auto& text = expected.several.lower_bound(key)->second;
                text.assign(text.size(), 'n');
            }
            break;
        }
        default:
            all.one.erase(key);
            expected.one.erase(key);
            all.several.erase(key);
            expected.several.erase(key);
        }
    }
    if (seed % 8 == 0) { // ranges, erasure of many, moving and swapping
        std::map<std::string, std::string> more;
        for (std::uint64_t i = 0; i != 200; ++i)
            more.emplace("z" + std::to_string(seed * 1000 + i), std::string(i % 40, 'm'));
        all.one.insert_range(more);
        expected.one.insert(more.begin(), more.end());
        packed_map moved(std::move(all.one));
        all.one.swap(moved);
    } else if (seed % 8 == 4) {
        erase_if(all.one, [](const auto& each) { return each.first > "z"; });
        std::erase_if(expected.one, [](const auto& each) { return each.first > "z"; });
    }
}

template <class Packed, class Model>
bool same(const Packed& all, const Model& expected) {
    return std::equal(all.begin(), all.end(), expected.begin(), expected.end(),
                      [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; });
}
inline testing::AssertionResult has_all(const containers& all, const model& expected) {
    detail::trusting_survey survey;
    if (const detail::structure_result found = detail::check_structure(all, survey))
        return testing::AssertionFailure() << found->what;
    if (!same(all.one, expected.one) || !same(all.several, expected.several))
        return testing::AssertionFailure() << "the elements differ";
    return testing::AssertionSuccess();
}

inline bool are_large(const containers& all) { return all.one.size() + all.several.size() > 300; }

struct subject {
    using containers = declared_packed::containers;
    using model = declared_packed::model;
};

} // namespace declared_packed

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(packed_maps, declared_containers, declared_packed::subject);

TEST(declared_packed_maps, are_whole_after_a_crash_and_at_another_address) {
    const temp_dir dir;
    heap::create(dir / "h", small_heap()).root<declared_packed::containers>("all");
    declared_packed::model expected;
    const std::string said = in_child([&] {
        auto* h = new heap(heap::open_existing(dir / "h", small_heap())); // never closed
        declared_packed::model in_child;
        auto& all = *h->find_root<declared_packed::containers>("all");
        for (std::uint64_t seed = 1; seed <= 50; ++seed)
            h->write(declared, [&] { change_all(all, in_child, seed); });
        return has_all(all, in_child) ? std::string("as expected") : std::string("a difference");
    });
    EXPECT_EQ(said, "as expected");
    {
        heap volatile_one = heap::create(dir / "other", small_heap());
        auto& all = volatile_one.root<declared_packed::containers>("all");
        for (std::uint64_t seed = 1; seed <= 50; ++seed)
            volatile_one.write([&] { change_all(all, expected, seed); });
    }
    heap h = heap::open_existing(dir / "h", small_heap());
    EXPECT_EQ(h.stats().recovered_commits, 50U);
    const auto& all = *h.find_root<declared_packed::containers>("all");
    EXPECT_TRUE(has_all(all, expected));
    EXPECT_TRUE(h.verify().clean());
    const heap_bytes_elsewhere elsewhere(h);
    EXPECT_TRUE(has_all(elsewhere.at(all), expected));
}

TEST(declared_packed_maps, commit_the_bytes_of_what_they_change_only) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<packed_map>("all");
    std::map<std::string, std::string> many;
    for (int i = 0; i != 10'000; ++i)
        many.emplace(std::to_string(i), std::string(30, 'v'));
    h.write([&] {
        all.insert(many.begin(), many.end());
        all.erase("5000"); // room for another
    });
    std::uint64_t before = h.stats().changed_bytes;
    const auto changed_by = [&](const auto& change) {
        h.write(declared, change);
        const std::uint64_t now = h.stats().changed_bytes;
        return now - std::exchange(before, now);
    };
    EXPECT_LE(changed_by([&] { all.insert_or_assign("777", std::string(30, 'w')); }), 40U);
    EXPECT_LE(changed_by([&] { all.erase("888"); }), 300U); // its leaf's marks
    EXPECT_LE(changed_by([&] { all.emplace("889a", "new"); }),
              10'000U); // its leaf, and where that had lain, which is overwritten in some builds
    h.rollback();
    EXPECT_EQ(all.at("777"), std::string(30, 'w'));
    EXPECT_FALSE(all.contains("888"));
    EXPECT_EQ(all.at("889a"), "new");
}

TEST(packed_roots, are_of_one_type_and_layout) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    h.root<packed_map>("one");
    EXPECT_TRUE(is_error(error_of([&] { h.root<packed_multimap>("one"); }), errc::type_mismatch, dir / "h",
                         "rem::packed_multimap"));
    EXPECT_EQ(h.roots().front().type, "rem::packed_map");
}

} // namespace
} // namespace remanence::test
