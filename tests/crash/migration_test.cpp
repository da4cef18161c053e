// A root is migrated to a newer version of its type, and the power fails, or an operation: the heap has the old objects or the new ones,
// all of them, and what was not migrated can be.
#include "api/heap_impl.hpp"
#include "crash_states.hpp"
#include "options.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <algorithm>
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

namespace {

constexpr const char* k_migrated_path = "/disk/migrated.rem";
constexpr int k_notes = 300;
using old_notes = map<int, old_note>;
using new_notes = btree_map<int, new_note>;

heap_options of_notes() { return {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}; }

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

void expect_one_of_both(simulation::simulated_disk& disk, migrated_counts& count) {
    heap opened = detail::open(disk, k_migrated_path, of_notes(), detail::opening::open_existing);
    EXPECT_TRUE(opened.verify().clean());
    const bool is_older = migrate<new_notes>(opened, "notes", {.dry_run = true}).is_needed;
    ++(is_older ? count.older : count.newer);
    if (is_older) {
        EXPECT_TRUE(are_whole(*opened.find_root<old_notes>("notes")));
        EXPECT_TRUE(migrate<new_notes>(opened, "notes").is_needed);
    }
    EXPECT_TRUE(are_whole(*opened.find_root<new_notes>("notes")));
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
        });
        made.close();
        (void)disk_.take_trace();
    }
    /// What it threw; none: nothing.
    std::optional<errc> run() {
        try {
            heap opened = detail::open(disk_, k_migrated_path, of_notes(), detail::opening::open_existing);
            (void)migrate<new_notes>(opened, "notes");
            opened.close();
        } catch (const error& stop) {
            return stop.reason();
        }
        return {};
    }
    simulation::simulated_disk disk_;
};

TEST_F(migration_cut_short, by_a_power_loss_leaves_all_old_objects_or_all_new_ones) {
    const auto start = disk_.now();
    ASSERT_FALSE(run());
    const trace operations = disk_.take_trace();
    disk_.rewind({start.changes, start.inodes, 0});
    const crash_states states(operations, simulation::failed_sync::xfs, options().seed);
    migrated_counts count;
    simulation::crash_walk walk(disk_, operations);
    for (const crash_state& each :
         states.sample(std::clamp<std::uint64_t>(options().states / 4, 100, 500), options().seed)) {
        SCOPED_TRACE(each.name());
        walk.advance_to(each.position);
        const bool is_done = each.position == operations.size();
        walk.build(states.choose(each, walk.pending()).parts);
        const auto before = disk_.now();
        const std::uint64_t older = count.older;
        ASSERT_NO_FATAL_FAILURE(expect_one_of_both(disk_, count));
        EXPECT_TRUE(!is_done || count.older == older) << "it was durable";
        disk_.rewind(before);
        if (HasFailure())
            break;
    }
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
