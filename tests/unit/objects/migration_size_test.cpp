// What a dry run says of the memory that a migration needs, compared with what the heap has in use when all new objects are there and no old one
// is freed yet: a function of the program is called then.
#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace migration_size_test {
namespace rem = remanence;

struct old_mark {
    int number = 1;
};
struct new_mark {
    long number = 0;
    long other = 0;
};
template <class T>
struct old_holder {
    T value;
    old_mark mark;
};
template <class T>
struct new_holder {
    T value;
    new_mark mark;
};
struct old_record {
    rem::string text;
    int number = 0;
};
struct new_record {
    int number = 0;
    rem::string_pi text;
    double more[3] = {};
    rem::vector<int> none;
};
struct small_and_many {
    int number = 0;
};
struct many_and_wider {
    long number = 0;
    long more = 0;
};
struct large_and_few {
    char bytes[64] = {};
};
struct few_and_much_larger {
    char bytes[64] = {};
    std::array<long, 500> more = {};
};
template <class Many, class Few>
struct mixture {
    rem::vector<Many> many;
    rem::list<Few> few;
};
struct old_node {
    old_node* next = nullptr;
    rem::string name;
};
struct new_node {
    rem::string name;
    new_node* next = nullptr;
    long more[4] = {};
};
struct wide {
    long words[40] = {};
};
struct wider {
    long words[40] = {};
    rem::deque<int> none; // which has blocks, though it is empty
};
using text_or_number = std::variant<int, rem::string>;
using number_or_text = std::variant<double, rem::string_pi, long, rem::string, int>;

class migration_size : public testing::Test {
protected:
    template <class Old, class New, class Fill>
    void expect_estimate(Fill fill) {
        const std::string name = "root" + std::to_string(count_++);
        heap_.write([&] { fill(heap_.root<old_holder<Old>>(name).value); });
        auto how = rem::migrations().to<new_holder<New>>(name).template migrate<old_mark, new_mark>(
            [&](const old_mark&, new_mark&) { peak_ = heap_.stats().allocated_bytes; });
        const rem::migration_report said = how.dry_run(heap_);
        EXPECT_TRUE(said.is_possible && !said.is_in_place);
        const std::uint64_t before = heap_.stats().allocated_bytes;
        how(heap_);
        EXPECT_TRUE(heap_.verify().clean());
        const std::uint64_t needed = peak_ - before;
        EXPECT_GT(needed, 20'000U);
        EXPECT_GE(said.peak_bytes * 100, needed * 97);
        EXPECT_LE(said.peak_bytes * 100, needed * 103);
    }
    static std::string text(int i) { return std::string(static_cast<std::size_t>(i % 90), 'x') + std::to_string(i); }

    rem::test::temp_dir directory_ = rem::test::temp_dir::in_memory();
    rem::heap heap_ = rem::heap::create(directory_ / "h");
    std::uint64_t peak_ = 0;
    int count_ = 0;
};

TEST_F(migration_size, is_known_of_sequences) {
    const auto fill = [](auto& all) {
        for (int i = 0; i != 20'000; ++i)
            all.push_back(i);
    };
    expect_estimate<rem::vector<int>, rem::vector<long>>(fill);
    expect_estimate<rem::vector<int>, rem::list<int>>(fill);
    expect_estimate<rem::list<int>, rem::vector_pi<int>>(fill);
    expect_estimate<rem::deque<int>, rem::forward_list<long>>(fill);
    expect_estimate<rem::vector<int>, rem::deque<long>>(fill);
}

TEST_F(migration_size, is_known_of_ordered_containers) {
    const auto fill = [](auto& all) {
        for (int i = 0; i != 5'000; ++i)
            all.emplace(text(i), i);
    };
    expect_estimate<rem::map<rem::string, int>, rem::btree_map<rem::string_pi, long>>(fill);
    expect_estimate<rem::btree_map<rem::string, int>, rem::map<rem::string, long>>(fill);
    expect_estimate<rem::map<rem::string, int>, rem::map<rem::string, long>>(fill);
    expect_estimate<rem::set<int>, rem::btree_set<long>>([](auto& all) {
        for (int i = 0; i != 30'000; ++i)
            all.emplace(i);
    });
    expect_estimate<rem::map<int, wide>, rem::btree_map<int, wider>>([](auto& all) {
        for (int i = 0; i != 300; ++i)
            all[i];
    });
}

TEST_F(migration_size, is_known_of_hash_containers) {
    const auto fill = [](auto& all) {
        for (int i = 0; i != 5'000; ++i)
            all.emplace(text(i), i);
    };
    expect_estimate<rem::map<rem::string, int>, rem::hash_map<rem::string, long>>(fill);
    expect_estimate<rem::hash_map<rem::string, int>, rem::unordered_map<rem::string, long>>(fill);
    expect_estimate<rem::unordered_map<rem::string, int>, rem::hash_map<rem::string_pi, int>>(fill);
    expect_estimate<rem::map<int, wide>, rem::hash_map<int, wider>>([](auto& all) {
        for (int i = 0; i != 300; ++i)
            all[i];
    });
}

TEST_F(migration_size, is_known_of_nested_objects_and_texts) {
    const auto fill = [](auto& all) {
        for (int i = 0; i != 100; ++i) {
            all.emplace_back();
            for (int j = 0; j != i; ++j)
                all.back().push_back({rem::string(text(i + j)), j});
        }
    };
    expect_estimate<rem::vector<rem::vector<old_record>>, rem::vector<rem::list<new_record>>>(fill);
    expect_estimate<rem::list<rem::deque<old_record>>, rem::vector_pi<rem::vector<new_record>>>(fill);
    expect_estimate<rem::vector<std::optional<rem::string>>, rem::list<std::optional<rem::string_pi>>>([](auto& all) {
        for (int i = 0; i != 3'000; ++i)
            i % 3 == 0 ? all.emplace_back() : all.emplace_back(text(i));
    });
    expect_estimate<rem::vector<text_or_number>, rem::list<number_or_text>>([](auto& all) {
        for (int i = 0; i != 3'000; ++i)
            i % 3 == 0 ? all.emplace_back(i) : all.emplace_back(rem::string(text(i)));
    });
}

TEST_F(migration_size, is_not_that_of_the_class_that_grows_most) {
    expect_estimate<mixture<small_and_many, large_and_few>, mixture<small_and_many, few_and_much_larger>>(
        [](auto& all) {
            all.many.resize(100'000);
            all.few.resize(3);
        });
    expect_estimate<mixture<small_and_many, large_and_few>, mixture<many_and_wider, large_and_few>>([](auto& all) {
        all.many.resize(100'000);
        all.few.resize(3);
    });
}

TEST_F(migration_size, is_known_of_objects_that_pointers_lead_to) {
    expect_estimate<rem::vector<old_node>, rem::vector<new_node>>([&](auto& all) {
        all.resize(1000);
        for (std::size_t i = 0; i != 1000; ++i) {
            all[i].name = text(static_cast<int>(i));
            all[i].next = i % 2 == 0 ? &all[(i + 7) % 1000] : heap_.make<old_node>(&all[i], text(50));
        }
    });
}

TEST_F(migration_size, of_two_roots_is_not_their_sum_when_one_is_freed_before) {
    using before = old_holder<rem::vector<int>>;
    using now = new_holder<rem::vector<long>>;
    heap_.write([&] {
        heap_.root<before>("a").value.resize(100'000);
        heap_.root<before>("b").value.resize(100'000);
    });
    auto how = rem::migrations().to<now>("a").to<now>("b").migrate<old_mark, new_mark>(
        [&](const old_mark&, new_mark&) { peak_ = std::max(peak_, heap_.stats().allocated_bytes); });
    const rem::migration_report said = how.dry_run(heap_);
    const std::uint64_t in_use = heap_.stats().allocated_bytes;
    how(heap_);
    const std::uint64_t needed = peak_ - in_use;
    EXPECT_GE(said.peak_bytes * 100, needed * 97);
    EXPECT_LE(said.peak_bytes * 100, needed * 103);
}

} // namespace migration_size_test
