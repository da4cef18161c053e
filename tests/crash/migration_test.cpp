// Roots are migrated to newer versions of their types when the heap is opened, and the power fails, or an operation: the heap has the old
// objects or the new ones, of all roots, and what was not migrated can be.
#include "api/heap_impl.hpp"
#include "power_losses.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>

namespace remanence::crash {

struct old_note {
    string text;
    int number = 0;
    old_note* next = nullptr;
};
struct new_note {
    long number = 0;
    string text;
    new_note* next = nullptr;
    double weight = 1.5;
};

// For a conversion of several roots when the heap is opened: one by a function, through a release in between, one of which only names differ,
// and one in place.
struct first_price {
    double amount = 0;
    string text;
};
struct second_price {
    long cents = 0;
    string text;
};
struct third_price {
    string text;
    long units = 0;
    int cents = 0;
};
struct old_name {
    string value;
    int count = 0;
};
struct new_name {
    string name;
    int count = 0;
};
// Changed in place: members move, one is gone, one is new, and pointers lead into such objects.
struct old_place {
    string_pi gone;
    int number = 0;
    int height = 0;
    string text;
    const string* other = nullptr;
};
struct new_place {
    string text;
    string_pi added = "an added text that is too long for itself";
    int height = 0;
    int number = 0;
    const string* other = nullptr;
};

namespace {

constexpr const char* k_migrated_path = "/disk/migrated.rem";
constexpr int k_notes = 300;
using old_notes = map<int, old_note>;
using new_notes = btree_map<int, new_note>;

heap_options of_notes() { return {.memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}}; }

template <class Notes>
bool are_whole(Notes& notes) {
    bool whole = notes.size() == k_notes;
    for (auto& [key, note] : notes) {
        whole = whole && note.number == key &&
                note.text == "a note whose text is too long for itself " + std::to_string(key) &&
                note.next == &notes.at((key * 7 + 1) % k_notes);
    }
    return whole;
}

struct migrated_counts {
    std::uint64_t older = 0;
    std::uint64_t newer = 0;
};

migrations to_third_release() {
    return migrations()
        .to<new_notes>("notes")
        .to<list<third_price>>("prices")
        .to<map<int, new_name>>("names")
        .to<list<new_place>>("places")
        .rename(renamed<"value", "name">::of<new_name>())
        .drop("gone")
        .migrate<first_price, second_price>(
            [](const first_price& was, second_price& now) { now.cents = static_cast<long>(was.amount * 100); })
        .migrate<second_price, third_price>([](const second_price& was, third_price& now) {
            now.units = was.cents / 100;
            now.cents = static_cast<int>(was.cents % 100);
        });
}

template <class Places>
void expect_places(const Places& places) {
    ASSERT_EQ(places.size(), 200U);
    int number = 0;
    const string* before = &places.back().text;
    for (const auto& each : places) {
        ASSERT_EQ(each.number, number++);
        ASSERT_EQ(each.height, -each.number);
        ASSERT_EQ(each.text, "a place whose text is too long for itself " + std::to_string(each.number));
        ASSERT_EQ(each.other, before);
        before = &each.text;
    }
}

void expect_old_roots(heap& of) {
    EXPECT_TRUE(are_whole(*of.find_root<old_notes>("notes")));
    const auto& prices = *of.find_root<vector<first_price>>("prices");
    ASSERT_EQ(prices.size(), 40U);
    EXPECT_EQ(prices.at(39).amount, 39.25);
    EXPECT_EQ(prices.at(39).text, "a price whose text is too long for itself");
    EXPECT_EQ((of.find_root<map<int, old_name>>("names")->at(3).value), "three");
    expect_places(*of.find_root<list<old_place>>("places"));
}

void expect_new_roots(heap& of) {
    EXPECT_TRUE(are_whole(*of.find_root<new_notes>("notes")));
    const auto& prices = *of.find_root<list<third_price>>("prices");
    ASSERT_EQ(prices.size(), 40U);
    EXPECT_EQ(prices.back().units, 39);
    EXPECT_EQ(prices.back().cents, 25);
    EXPECT_EQ(prices.back().text, "a price whose text is too long for itself");
    EXPECT_EQ((of.find_root<map<int, new_name>>("names")->at(3).name), "three");
    expect_places(*of.find_root<list<new_place>>("places"));
    EXPECT_EQ(of.find_root<list<new_place>>("places")->back().added, new_place().added);
}

void expect_one_of_both(simulation::simulated_disk& disk, migrated_counts& count) {
    heap opened = detail::open(disk, k_migrated_path, of_notes(), detail::opening::open_existing);
    EXPECT_TRUE(opened.verify().clean());
    const bool is_older = migrate<new_notes>(opened, "notes", {.dry_run = true}).is_needed;
    ++(is_older ? count.older : count.newer);
    if (is_older) {
        ASSERT_NO_FATAL_FAILURE(expect_old_roots(opened));
        EXPECT_TRUE(to_third_release()(opened).is_needed);
    }
    ASSERT_NO_FATAL_FAILURE(expect_new_roots(opened));
    EXPECT_TRUE(opened.verify().clean());
    opened.close();
}

class migration_cut_short : public testing::Test {
protected:
    void SetUp() override {
        heap made = detail::open(disk_, k_migrated_path, of_notes(), detail::opening::create);
        made.write([&] {
            auto& notes = made.root<old_notes>("notes");
            for (int i = 0; i != k_notes; ++i)
                notes.emplace(i, old_note{string("a note whose text is too long for itself " + std::to_string(i)), i});
            for (auto& [key, note] : notes)
                note.next = &notes.at((key * 7 + 1) % k_notes);
            auto& prices = made.root<vector<first_price>>("prices");
            for (int i = 0; i != 40; ++i)
                prices.push_back({i + 0.25, "a price whose text is too long for itself"});
            made.root<map<int, old_name>>("names")[3].value = "three";
            auto& places = made.root<list<old_place>>("places");
            for (int i = 0; i != 200; ++i)
                places.push_back({string_pi("a text that is gone, and too long for itself"), i, -i,
                                  string("a place whose text is too long for itself " + std::to_string(i)), nullptr});
            const string* before = &places.back().text;
            for (old_place& each : places)
                before = &(each.other = before, each).text;
        });
        made.close();
        (void)disk_.take_trace();
    }
    /// What it threw; none: nothing.
    std::optional<errc> run() {
        try {
            heap_options options = of_notes();
            options.migrate = to_third_release();
            heap opened = detail::open(disk_, k_migrated_path, options, detail::opening::open_existing);
            opened.close();
        } catch (const error& stop) {
            return stop.reason();
        }
        return {};
    }
    simulation::simulated_disk disk_;
};

TEST_F(migration_cut_short, by_a_power_loss_leaves_all_old_objects_or_all_new_ones) {
    {
        heap opened = detail::open(disk_, k_migrated_path, of_notes(), detail::opening::open_existing);
        ASSERT_TRUE(migrate<list<new_place>>(opened, "places", {.dry_run = true}).is_in_place);
        opened.close();
        (void)disk_.take_trace();
    }
    const auto start = disk_.now();
    ASSERT_FALSE(run());
    migrated_counts count;
    for_each_power_loss(disk_, start, [&](bool is_done) {
        const std::uint64_t older = count.older;
        ASSERT_NO_FATAL_FAILURE(expect_one_of_both(disk_, count));
        EXPECT_TRUE(!is_done || count.older == older) << "it was durable";
    });
    std::cout << count.older << " heaps with the old objects, " << count.newer << " with the new ones\n";
    EXPECT_GT(count.older, 0U);
    EXPECT_GT(count.newer, 0U);
}

TEST_F(migration_cut_short, by_a_failing_operation_leaves_all_old_objects_or_all_new_ones) {
    for (const errc code : {errc::io, errc::no_space}) {
        std::uint64_t n = 0;
        for (;; ++n) {
            SCOPED_TRACE(n);
            const auto start = disk_.now();
            disk_.fail_at(n, code);
            const auto thrown = run();
            const bool failed = !disk_.failure_is_ahead();
            disk_.work_again();
            EXPECT_TRUE(failed || !thrown);
            migrated_counts count;
            ASSERT_NO_FATAL_FAILURE(expect_one_of_both(disk_, count));
            EXPECT_TRUE(thrown || count.newer == 1) << "it was said to be done";
            disk_.rewind(start);
            if (!failed)
                break;
        }
        EXPECT_GT(n, 3U);
    }
}

} // namespace
} // namespace remanence::crash
