// Position-independent strings and vectors in a heap: declared sections without a touch by hand, and the heap's bytes
// read at another address.

#include "declared_containers.hpp"
#include "support/heap_bytes_elsewhere.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <random>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace remanence::test {

// The types of roots need names.
namespace declared_pi {

struct item {
    string_pi name;
    vector_pi<std::uint64_t> numbers;
};
struct all {
    vector_pi<item> items;
    vector_pi<std::uint64_t> plain; // over several pages; its elements declare nothing themselves
    string_pi text;
};

/// The same in std containers.
struct model_item {
    std::string name;
    std::vector<std::uint64_t> numbers;
};
struct model {
    std::vector<model_item> items;
    std::vector<std::uint64_t> plain;
    std::string text;
};

/// The same changes to both.
inline void change_all(all& here, model& expected, std::uint64_t seed) {
    std::mt19937_64 random(test::seed_or(seed));
    if (seed == 1) {
        here.plain.resize(5'000, 1);
        expected.plain.resize(5'000, 1);
    } else { // one change in a section, so that no other declares for it
        const auto offset = static_cast<std::ptrdiff_t>(random() % expected.plain.size());
        const std::vector<std::uint64_t> some(seed % 300, seed);
        switch (seed % 9) {
        case 0:
            here.plain.push_back(seed);
            expected.plain.push_back(seed);
            break;
        case 1:
            here.plain.erase(here.plain.begin() + offset);
            expected.plain.erase(expected.plain.begin() + offset);
            break;
        case 2:
            here.plain.insert(here.plain.begin() + offset, seed);
            expected.plain.insert(expected.plain.begin() + offset, seed);
            break;
        case 3:
            here.plain.insert_range(here.plain.begin() + offset, some);
            expected.plain.insert(expected.plain.begin() + offset, some.begin(), some.end());
            break;
        case 4:
            here.plain.insert_range(here.plain.begin() + offset, some | std::views::reverse);
            expected.plain.insert(expected.plain.begin() + offset, some.begin(), some.end());
            break;
        case 5:
            here.plain.append_range(some);
            here.plain.resize(here.plain.size() + 3, seed);
            expected.plain.insert(expected.plain.end(), some.begin(), some.end());
            expected.plain.resize(expected.plain.size() + 3, seed);
            break;
        case 6:
            here.plain.assign(here.plain.begin() + 1, here.plain.end());
            expected.plain.erase(expected.plain.begin());
            break;
        case 7:
            here.items.assign_range(std::views::reverse(here.items));
            std::ranges::reverse(expected.items);
            here.plain.insert(here.plain.begin() + offset, seed % 200, seed);
            expected.plain.insert(expected.plain.begin() + offset, seed % 200, seed);
            break;
        default:
            erase_if(here.plain, [&](std::uint64_t each) { return each == seed - 1; });
            std::erase_if(expected.plain, [&](std::uint64_t each) { return each == seed - 1; });
            break;
        }
    }
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t number = random() % 1000;
        const std::string name = std::to_string(number) + std::string(number % 40, 'k');
        const std::size_t at = number % (expected.items.size() + 1);
        const auto offset = static_cast<std::ptrdiff_t>(at);
        const bool is_there = at != expected.items.size();
        switch (random() % 10) {
        case 0:
        case 1:
            here.items.push_back(item{string_pi(name), {number, seed}});
            expected.items.push_back({name, {number, seed}});
            break;
        case 2:
            here.items.insert(here.items.begin() + offset, item{string_pi(name), {}});
            expected.items.insert(expected.items.begin() + offset, {name, {}});
            break;
        case 3:
            if (is_there) {
                here.items.erase(here.items.begin() + offset);
                expected.items.erase(expected.items.begin() + offset);
            }
            break;
        case 4:
            if (is_there) {
                here.items[at].name.insert(0, name);
                expected.items[at].name.insert(0, name);
            }
            break;
        case 5:
            if (is_there) {
                here.items[at].numbers.insert(here.items[at].numbers.begin(), 5, number);
                expected.items[at].numbers.insert(expected.items[at].numbers.begin(), 5, number);
            }
            break;
        case 6:
            if (is_there) {
                here.items[at].name = "short";
                here.items[at].name.shrink_to_fit();
                expected.items[at].name = "short";
                std::swap(here.items[at], here.items.front());
                std::swap(expected.items[at], expected.items.front());
            }
            break;
        case 7: {
            const auto count = std::min(number % 5, expected.items.size() - at);
            const std::vector<model_item> copies(expected.items.begin() + offset,
                                                 expected.items.begin() + offset + static_cast<std::ptrdiff_t>(count));
            here.items.reserve(here.items.size() + number % 7);
            here.items.insert(here.items.begin(), here.items.begin() + offset,
                              here.items.begin() + offset + static_cast<std::ptrdiff_t>(count));
            expected.items.insert(expected.items.begin(), copies.begin(), copies.end());
            break;
        }
        case 8:
            here.text.replace(number % (expected.text.size() + 1), number % 100, name);
            expected.text.replace(number % (expected.text.size() + 1), number % 100, name);
            if (i % 4 == 0) { // over the end, or what is there
                here.text.resize_and_overwrite(number % 200, [](char* all, std::size_t count) {
                    std::fill_n(all, count, 'o');
                    return count / 2;
                });
                expected.text.assign(number % 200 / 2, 'o');
            }
            break;
        default:
            here.text.resize(number % 100, 'r');
            expected.text.resize(number % 100, 'r');
            erase_if(here.items, [&](const item& each) { return each.name.size() % 8 == seed % 8; });
            std::erase_if(expected.items, [&](const model_item& each) { return each.name.size() % 8 == seed % 8; });
            break;
        }
    }
}

inline testing::AssertionResult has_all(const all& here, const model& expected) {
    if (!std::equal(here.plain.begin(), here.plain.end(), expected.plain.begin(), expected.plain.end()))
        return testing::AssertionFailure() << "the numbers differ";
    if (here.text != expected.text)
        return testing::AssertionFailure() << "the text differs";
    const bool same = std::equal(here.items.begin(), here.items.end(), expected.items.begin(), expected.items.end(),
                                 [](const item& a, const model_item& b) {
                                     return a.name == b.name && std::equal(a.numbers.begin(), a.numbers.end(),
                                                                           b.numbers.begin(), b.numbers.end());
                                 });
    return same ? testing::AssertionSuccess() : testing::AssertionFailure() << "the items differ";
}

inline bool are_large(const all& here) { return here.plain.size() > 4'000 && !here.items.empty(); }

struct subject {
    using containers = all;
    using model = declared_pi::model;
};

} // namespace declared_pi

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(pi, declared_containers, declared_pi::subject);

TEST(declared_pi, read_the_same_where_the_bytes_of_the_heap_are_elsewhere) {
    const temp_dir dir;
    declared_pi::model expected;
    heap h = heap::create(dir / "h", small_heap());
    auto& here = h.root<declared_pi::all>("all");
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        h.write([&] { change_all(here, expected, seed); });
    for (int i = 0; i < 3; ++i) {
        const heap_bytes_elsewhere copy(h);
        const declared_pi::all& there = copy.at(here);
        ASSERT_NE(&there, &here);
        EXPECT_TRUE(has_all(there, expected));
        EXPECT_EQ(there.text.get_allocator().heap(), &copy.at(*here.text.get_allocator().heap()));
    }
}

TEST(declared_pi, commit_what_an_operation_writes_over_a_string) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& text = h.root<string_pi>("text");
    h.write([&] { text.assign(40'000, 'a'); }); // several pages
    h.write(declared, [&] {
        text.resize_and_overwrite(30'000, [](char* all, std::size_t count) {
            std::fill_n(all, count, 'b');
            return count;
        });
    });
    h.rollback(); // to what was committed
    EXPECT_TRUE(text == std::string(30'000, 'b'));
}

TEST(declared_pi, commit_erasures_of_elements_whose_move_may_throw) {
    using element = deque<std::uint64_t>;
    static_assert(!std::is_nothrow_move_constructible_v<element>);
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<vector_pi<element>>("all");
    h.write([&] {
        for (std::uint64_t i = 0; i < 500; ++i)
            all.emplace_back().push_back(i);
    });
    h.write(declared, [&] { erase_if(all, [](const element& each) { return each.front() == 7; }); });
    h.rollback(); // to what was committed
    ASSERT_EQ(all.size(), 499U);
    for (std::uint64_t i = 0; i < 499; ++i)
        EXPECT_EQ(all[i].front(), i < 7 ? i : i + 1);
}

} // namespace
} // namespace remanence::test
