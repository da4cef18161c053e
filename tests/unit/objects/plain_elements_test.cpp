// Elements that consist of numbers only are converted by a plan of copies. Nothing may be lost that the conversion of
// other elements keeps.
#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace plain_types {

struct point {
    int x = 0, y = 0;
    friend auto operator<=>(const point&, const point&) = default;
};
inline namespace first {
struct part {
    std::int64_t number = 0;
    std::int32_t x = 0, y = 0;
    point at{};
    std::array<char, 3> name = {};
};
} // namespace first
namespace later { // has new members, one of which is a class
struct part {
    std::int64_t number = 0;
    point added{7, 8};
    std::array<char, 3> name = {};
    std::int32_t x = 0, y = 0;
    double weight = 2.5;
    point at{};
};
} // namespace later
namespace swapped {
struct part {
    std::int64_t number = 0;
    std::int32_t y = 0, x = 0;
    point at{};
    std::array<char, 3> name = {};
};
} // namespace swapped

struct bits {
    unsigned a : 3 = 0;
    unsigned b : 13 = 0;
    int c = 0;
};
namespace one {
struct holder {
    bits held{};
    int behind = 0;
};
} // namespace one
namespace two {
struct holder {
    bits held{};
    int behind = 0;
    long added = 7;
};
} // namespace two

} // namespace plain_types

namespace remanence {
namespace {

using old_part = plain_types::first::part;
using new_part = plain_types::later::part;
using swapped_part = plain_types::swapped::part;

old_part some_part(int i) { return {i, i + 1, i + 2, {i + 3, i + 4}, {'a', static_cast<char>('a' + i % 26), 'c'}}; }

template <class Part>
void expect_part(const Part& is, int i) {
    const old_part was = some_part(i);
    EXPECT_EQ(is.number, was.number);
    EXPECT_EQ(is.x, was.x);
    EXPECT_EQ(is.y, was.y);
    EXPECT_EQ(is.at, was.at);
    EXPECT_EQ(is.name, was.name);
}

class plain_elements : public testing::Test {
protected:
    /// Fills a container, migrates it, and checks each element. Expects that removing it frees all that was allocated.
    template <class Old, class New>
    void migrate_and_check(bool is_in_place, const std::function<void(Old&)>& fill,
                           const std::function<void(const New&)>& check) {
        heap_.write([&] { static_cast<void>(heap_.root<long>("first root")); });
        const auto before = heap_.stats().allocated_bytes;
        heap_.write([&] { fill(heap_.root<Old>("all")); });
        EXPECT_EQ(migrate<New>(heap_, "all").is_in_place, is_in_place);
        EXPECT_TRUE(heap_.verify().clean());
        check(heap_.root<New>("all"));
        EXPECT_TRUE(heap_.remove_root<New>("all"));
        EXPECT_LT(heap_.stats().allocated_bytes, before + 4096) << "old objects stay"; // the schema stays
    }
    template <template <class> class Sequence>
    void check_sequence() {
        const auto fill = [](auto& all) {
            for (int i = k_count; i-- != 0;)
                all.push_front(some_part(i));
        };
        const auto check = [](const auto& all) {
            int i = 0;
            for (const auto& each : all)
                expect_part(each, i++);
            EXPECT_EQ(i, k_count);
        };
        migrate_and_check<Sequence<old_part>, Sequence<new_part>>(false, fill, check);
        migrate_and_check<Sequence<old_part>, Sequence<swapped_part>>(true, fill, check);
    }
    template <template <class> class Map>
    void check_map() {
        const auto fill = [](auto& all) {
            for (int i = 0; i != k_count; ++i)
                all.emplace(i * 37 % k_count,
                            some_part(i * 37 % k_count)); // the nodes do not lie in the order of the keys
        };
        const auto check = [](const auto& all) {
            EXPECT_EQ(all.size(), std::size_t{k_count});
            for (int i = 0; i != k_count; ++i)
                expect_part(all.at(i), i);
            if constexpr (requires { all.at(0).added; }) {
                EXPECT_EQ(all.at(5).added, (plain_types::point{7, 8}));
                EXPECT_EQ(all.at(5).weight, 2.5);
            }
        };
        migrate_and_check<Map<old_part>, Map<new_part>>(false, fill, check);
        migrate_and_check<Map<old_part>, Map<swapped_part>>(true, fill, check);
    }

    static constexpr int k_count = 1000;
    test::temp_dir directory_ = test::temp_dir::in_memory();
    heap heap_ = heap::create(directory_ / "h");
};

template <class T>
using map_of = map<int, T>;
template <class T>
using unordered_map_of = unordered_map<int, T>;
template <class T>
using btree_map_of = btree_map<int, T>;
template <class T>
using hash_map_of = hash_map<int, T>;
template <class T>
using list_of = list<T>;
template <class T>
using forward_list_of = forward_list<T>;
template <class T>
using deque_of = deque<T>;

TEST_F(plain_elements, of_maps_are_converted_completely) {
    check_map<map_of>();
    check_map<unordered_map_of>();
    check_map<btree_map_of>();
    check_map<hash_map_of>();
}

TEST_F(plain_elements, of_sequences_are_converted_completely) {
    check_sequence<list_of>();
    check_sequence<forward_list_of>();
    check_sequence<deque_of>();
}

TEST_F(plain_elements, of_containers_in_containers_are_converted_and_freed) {
    using old_parts = map<int, list<vector<old_part>>>;
    using new_parts = map<int, list<vector<new_part>>>;
    migrate_and_check<old_parts, new_parts>(
        false,
        [](old_parts& all) {
            for (int i = 0; i != k_count; ++i)
                all[i % 50].emplace_back(std::size_t{3}, some_part(i));
        },
        [](const new_parts& all) {
            EXPECT_EQ(all.size(), 50U);
            for (const auto& [key, lists] : all) {
                int i = key;
                for (const auto& each : lists) {
                    EXPECT_EQ(each.size(), 3U);
                    expect_part(each.at(2), i);
                    i += 50;
                }
            }
        });
}

TEST_F(plain_elements, keep_their_bit_fields) {
    heap_.write([&] { heap_.root<vector<plain_types::one::holder>>("all").push_back({{5, 4321, -1}, 3}); });
    (void)migrate<vector<plain_types::two::holder>>(heap_, "all");
    const auto& is = heap_.root<vector<plain_types::two::holder>>("all").at(0);
    EXPECT_EQ(is.held.a, 5U);
    EXPECT_EQ(is.held.b, 4321U);
    EXPECT_EQ(is.held.c, -1);
    EXPECT_EQ(is.behind, 3);
    EXPECT_EQ(is.added, 7);
}

TEST_F(plain_elements, of_a_container_that_miscounts_them_are_refused) {
    auto& all = heap_.root<map<int, old_part>>("all");
    heap_.write([&] {
        for (int i = 0; i != 10; ++i)
            all.emplace(i, some_part(i));
    });
    auto* const place_of_count = reinterpret_cast<std::byte*>(&all) + sizeof all - sizeof(std::uint64_t);
    ASSERT_EQ(all.size(), 10U);
    for (const std::uint64_t count : {std::uint64_t{9}, std::uint64_t{11}, std::uint64_t{1} << 60}) {
        heap_.write([&] { std::memcpy(place_of_count, &count, sizeof count); });
        ASSERT_EQ(all.size(), count);
        const auto version = heap_.version();
        const auto allocated = heap_.stats().allocated_bytes;
        try {
            (void)migrate<map<int, new_part>>(heap_, "all");
            ADD_FAILURE() << "migrated";
        } catch (const error& stop) {
            EXPECT_EQ(stop.reason(), errc::corrupt) << stop.what();
        }
        EXPECT_EQ(heap_.version(), version);
        EXPECT_EQ(heap_.stats().allocated_bytes, allocated);
    }
}

} // namespace
} // namespace remanence
