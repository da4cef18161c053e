// What is kept stays whole, whatever goes around it: a random walk through a tree of steps beside whole copies of a small memory.

#include "history/step_tree.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace remanence::history {
namespace {

using contents = std::array<std::byte, 3 * k_page_bytes>;

/// A heap of three pages.
class small_heap {
public:
    small_heap(const limits& most, std::uint64_t seed) : dice_(test::seed_or(seed)), steps_(most, 1) {
        copies_[1] = memory_;
    }

    std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(dice_); }

    void commit(step_kind kind = step_kind::ordinary) {
        const contents before = memory_;
        delta changed;
        for (std::uint64_t count = 1 + below(4); count != 0; --count)
            change();
        for (std::size_t i = 0; i < memory_.size(); ++i) {
            std::size_t end = i;
            while (end < memory_.size() && before[end] != memory_[end] && end / k_page_bytes == i / k_page_bytes)
                ++end;
            if (end == i)
                continue;
            if (std::all_of(&before[i], &before[i] + (end - i), [](std::byte each) { return each == std::byte{}; }))
                changed.add_zeros({i, end - i});
            else
                changed.add({i, end - i}, &before[i]);
            i = end - 1;
        }
        const std::uint64_t era = kind == step_kind::migration ? ++eras_ : era_of_.at(steps_.present());
        has_hidden_ = has_hidden_ || kind == step_kind::hidden;
        steps_.stage(std::move(changed), kind);
        steps_.accept(++version_);
        era_of_[version_] = era;
        remember();
    }
    void go(std::uint64_t to) {
        const auto way = steps_.path_to(to);
        std::vector<delta> back;
        for (const auto& each : way) {
            back.push_back(each.bytes().other_side(memory_.data()));
            each.bytes().apply(memory_.data());
        }
        steps_.go_over(way, back);
        steps_.check_out(to, ++version_);
    }
    void go_anywhere() {
        const auto all = steps_.list();
        go(all[below(all.size())].version);
    }
    void keep() {
        if (!steps_.name_of_kept(steps_.present()).empty())
            return;
        names_[steps_.present()] = "v" + std::to_string(++version_);
        steps_.keep(names_.at(steps_.present()));
    }
    void drop() {
        if (names_.empty())
            return;
        const auto which = std::next(names_.begin(), static_cast<std::ptrdiff_t>(below(names_.size())));
        steps_.drop(which->first);
        names_.erase(which);
    }
    void squash() {
        if (steps_.undo_depth() == 0)
            return;
        const std::uint64_t count = 1 + below(steps_.undo_depth());
        if (!steps_.in_the_way_of_squash(count))
            steps_.squash(count, steps_.squashed(count));
    }
    void group() {
        steps_.begin_group("together");
        for (std::uint64_t count = below(4); count != 0; --count)
            commit();
        steps_.end_group();
    }
    /// Empty: all is as it was.
    std::string check() {
        const auto all = steps_.list();
        std::uint64_t on_path = 0;
        std::map<std::uint64_t, std::uint64_t> parents;
        for (const step_info& each : all)
            parents[each.version] = each.parent.value_or(0);
        const std::uint64_t era = era_of_.at(steps_.present());
        const std::uint64_t shown = std::ranges::find_if(all, &step_info::is_present)->version;
        for (std::uint64_t here = shown; parents.at(here) != 0 && era_of_.at(parents.at(here)) == era;
             here = parents.at(here))
            ++on_path;
        for (const step_info& each : all) {
            if (steps_.is_across_migration(each.version) != (era_of_.at(each.version) != era))
                return "a migration is not where it was";
        }
        if (!has_hidden_ && on_path != steps_.undo_depth())
            return "the depth is not that of the way";
        for (const auto& [version, name] : names_) {
            if (steps_.find_kept(name) != version || !parents.contains(version))
                return "what was kept is gone";
        }
        if (steps_.list_kept().size() != names_.size())
            return "more is kept than was asked for";
        return memory_ == copies_.at(steps_.present()) ? "" : "memory is not what it was";
    }
    step_tree& steps() { return steps_; }
    [[nodiscard]] const std::map<std::uint64_t, std::string>& names() const { return names_; }

private:
    void change() {
        const std::size_t at = below(memory_.size() - 300);
        const std::size_t bytes = below(8) == 0 ? 1 + below(300) : 8;
        const auto value = static_cast<std::byte>(below(3));
        std::fill_n(memory_.begin() + static_cast<std::ptrdiff_t>(at), bytes, value);
    }
    void remember() {
        std::map<std::uint64_t, contents> kept;
        for (const step_info& each : steps_.list()) {
            if (const auto found = copies_.find(each.version); found != copies_.end())
                kept.insert(copies_.extract(found));
        }
        if (has_hidden_) // some are not in the list
            kept.merge(copies_);
        copies_ = std::move(kept);
        copies_[steps_.present()] = memory_;
    }

    std::mt19937_64 dice_;
    contents memory_{};
    step_tree steps_;
    std::uint64_t version_ = 1;
    std::map<std::uint64_t, contents> copies_;
    std::map<std::uint64_t, std::uint64_t> era_of_{{1, 1}}; // between migrations
    std::uint64_t eras_ = 1;
    bool has_hidden_ = false;
    std::map<std::uint64_t, std::string> names_; // of kept ones
};

std::string walk(const limits& most, std::uint64_t seed, int length) {
    small_heap of(most, seed);
    for (int i = 0; i < length; ++i) {
        const std::uint64_t what = of.below(24);
        if (what < 12)
            of.commit();
        else if (what < 16)
            of.go_anywhere();
        else if (what < 18)
            of.keep();
        else if (what < 20)
            of.drop();
        else if (what == 20)
            of.squash();
        else if (what == 21)
            of.group();
        else if (what == 22 && of.below(5) == 0)
            of.steps().forget();
        else if (what == 23 && of.below(4) == 0)
            of.commit(step_kind::migration);
        if (const std::string wrong = of.check(); !wrong.empty())
            return "step " + std::to_string(i) + " with seed " + std::to_string(seed) + ": " + wrong;
    }
    // All that is there leads to what it led to.
    for (const step_info& each : of.steps().list()) {
        of.go(each.version);
        if (const std::string wrong = of.check(); !wrong.empty())
            return "at the end, with seed " + std::to_string(seed) + ": " + wrong;
    }
    // Nothing is left over when nothing is kept.
    while (!of.names().empty())
        of.drop();
    of.steps().forget();
    return of.steps().list().size() == 1 ? "" : "states are left over with seed " + std::to_string(seed);
}

TEST(kept_states, are_whole_whatever_goes_around_them) {
    const std::array<limits, 5> all{limits{.steps_max = 3}, limits{.steps_max = 10}, limits{.bytes_max = 2000},
                                    limits{.bytes_max = 500, .steps_max = 20},
                                    limits{.steps_max = 12, .then = when_full::refuse}};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const limits& most : all)
            ASSERT_EQ(walk(most, seed, 500), "");
    }
}

TEST(kept_states, hold_only_what_changed_since) {
    small_heap of({.steps_max = 2}, 1);
    of.keep();
    for (int i = 0; i < 2000; ++i)
        of.commit();
    const auto kept = of.steps().list_kept();
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_LE(kept[0].bytes, 2 * (sizeof(contents) + sizeof(contents) / 8)); // of 2000 commits with some 30 bytes each
    EXPECT_EQ(of.steps().list().size(), 4U); // and two that can be undone beyond the first
    of.drop();
    EXPECT_EQ(of.steps().list().size(), 3U);
    EXPECT_EQ(of.steps().undo_depth(), 2U);
}

TEST(kept_states, that_were_gone_back_to_give_their_space_back_when_they_are_dropped) {
    small_heap of({.steps_max = 2}, 1);
    const std::uint64_t kept = of.steps().present();
    of.keep();
    for (int i = 0; i < 10; ++i)
        of.commit();
    const std::uint64_t newest = of.steps().present();
    EXPECT_EQ(of.steps().list().size(), 4U);
    of.go(kept);
    of.go(newest);
    of.drop();
    EXPECT_EQ(of.steps().list().size(), 3U);
    EXPECT_EQ(of.steps().undo_depth(), 2U);
    EXPECT_EQ(of.check(), "");
}

TEST(kept_states, from_before_a_migration_are_restored_and_nothing_else_leads_there) {
    small_heap of({.steps_max = 100}, 1);
    of.commit();
    of.keep();
    const std::uint64_t old = of.steps().present();
    of.commit();
    of.commit(step_kind::migration);
    EXPECT_EQ(of.steps().undo_depth(), 0U);
    EXPECT_TRUE(of.steps().is_across_migration(old));
    of.commit();
    const std::uint64_t now = of.steps().present();
    EXPECT_EQ(of.steps().undo_depth(), 1U);
    of.go(old); // as a restore does
    EXPECT_EQ(of.steps().undo_depth(), 0U);
    EXPECT_EQ(of.steps().redo_depth(), 0U);
    EXPECT_EQ(of.steps().left_branch(), std::nullopt);
    of.commit();
    EXPECT_EQ(of.steps().undo_depth(), 1U);
    EXPECT_TRUE(of.steps().is_across_migration(now));
    EXPECT_EQ(of.steps().left_branch(), std::nullopt); // which would lead across
    EXPECT_EQ(of.check(), "");
    of.steps().forget();
    of.drop();
    EXPECT_FALSE(of.steps().has_migrations()); // nothing is left from before it
}

TEST(hidden_steps, are_passed_with_the_next_one_and_count_for_nothing) {
    small_heap of({.steps_max = 3}, 1);
    of.commit(step_kind::hidden);
    const std::uint64_t first = of.steps().present();
    EXPECT_EQ(of.steps().undo_depth(), 0U);
    of.commit();
    of.commit(step_kind::hidden);
    const std::uint64_t second = of.steps().present();
    of.commit();
    EXPECT_EQ(of.steps().undo_depth(), 2U);
    EXPECT_EQ(of.steps().list().size(), 3U);
    of.go(of.steps().before_present(1));
    EXPECT_EQ(of.steps().present(), second);
    of.go(of.steps().before_present(1));
    EXPECT_EQ(of.steps().present(), first);
    EXPECT_EQ(of.steps().undo_depth(), 0U);
    EXPECT_EQ(of.steps().redo_depth(), 2U);
    of.go(of.steps().after_present(1));
    EXPECT_EQ(of.steps().present(), second);
    of.go(of.steps().after_present(1));
    EXPECT_EQ(of.check(), "");
    for (int i = 0; i < 10; ++i) { // limits count the others
        of.commit(step_kind::hidden);
        of.commit(step_kind::hidden);
        of.commit();
    }
    EXPECT_EQ(of.steps().undo_depth(), 3U);
    EXPECT_EQ(of.check(), "");
    of.steps().squash(2, of.steps().squashed(2));
    EXPECT_EQ(of.steps().undo_depth(), 2U);
    of.go(of.steps().before_present(1));
    EXPECT_EQ(of.check(), "");
}

TEST(hidden_steps, do_not_take_redo_from_where_they_begin) {
    small_heap of({.steps_max = 100}, 1);
    of.commit();
    of.commit();
    const std::uint64_t last = of.steps().present();
    of.go(of.steps().before_present(2));
    of.commit(step_kind::hidden); // after an undo
    EXPECT_EQ(of.steps().redo_depth(), 2U);
    EXPECT_EQ(of.steps().undo_depth(), 0U);
    of.go(of.steps().after_present(2));
    EXPECT_EQ(of.steps().present(), last);
    EXPECT_EQ(of.check(), "");
    EXPECT_EQ(of.steps().list().size(), 3U);
    of.go(of.steps().before_present(1));
    of.commit(step_kind::hidden);
    of.commit(); // a branch that begins there
    const std::uint64_t branch = of.steps().present();
    EXPECT_EQ(of.steps().redo_depth(), 0U);
    EXPECT_EQ(of.steps().left_branch(), last);
    of.go(of.steps().before_present(2));
    EXPECT_EQ(of.steps().redo_depth(), 2U);
    of.go(of.steps().after_present(2));
    EXPECT_EQ(of.steps().present(), branch);
    EXPECT_EQ(of.check(), "");
    of.go(last);
    EXPECT_EQ(of.check(), "");
}

TEST(hidden_steps, are_whole_whatever_goes_around_them) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        small_heap of({.steps_max = 6}, seed);
        for (int i = 0; i < 400; ++i) {
            const std::uint64_t what = of.below(24);
            if (what < 6)
                of.commit();
            else if (what < 12)
                of.commit(step_kind::hidden);
            else if (what < 15)
                of.go_anywhere();
            else if (what < 17 && of.steps().undo_depth() != 0)
                of.go(of.steps().before_present(1 + of.below(of.steps().undo_depth())));
            else if (what < 19 && of.steps().redo_depth() != 0)
                of.go(of.steps().after_present(1 + of.below(of.steps().redo_depth())));
            else if (what == 19)
                of.keep();
            else if (what == 20)
                of.drop();
            else if (what == 21)
                of.squash();
            else if (what == 22)
                of.group();
            else if (what == 23 && of.below(8) == 0)
                of.commit(step_kind::migration);
            ASSERT_EQ(of.check(), "") << "seed " << seed << ", step " << i;
            ASSERT_TRUE(what >= 12 || of.steps().sum().steps <= 6);
        }
        while (of.steps().undo_depth() != 0) {
            const std::uint64_t depth = of.steps().undo_depth();
            of.go(of.steps().before_present(1));
            ASSERT_EQ(of.check(), "") << "seed " << seed;
            ASSERT_EQ(of.steps().undo_depth(), depth - 1);
            ASSERT_GE(of.steps().redo_depth(), 1U);
        }
    }
}

TEST(kept_states, stay_when_all_steps_are_forgotten) {
    small_heap of({.steps_max = 2}, 1);
    of.commit();
    const std::uint64_t kept = of.steps().present();
    of.keep();
    for (int i = 0; i < 10; ++i) {
        of.commit();
        of.steps().forget();
    }
    EXPECT_EQ(of.steps().undo_depth(), 1U); // to the state that is kept
    EXPECT_EQ(of.steps().list().size(), 2U);
    of.go(kept);
    EXPECT_EQ(of.check(), "");
}

TEST(kept_states, do_not_take_the_room_of_steps) {
    small_heap of({.steps_max = 3, .then = when_full::refuse}, 1);
    of.keep();
    for (int i = 0; i < 3; ++i)
        of.commit();
    EXPECT_FALSE(of.steps().has_room(1));
    of.steps().forget();
    EXPECT_EQ(of.steps().list().size(), 2U);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(of.steps().has_room(1));
        of.commit();
    }
    EXPECT_FALSE(of.steps().has_room(1));
}

TEST(squashed_steps, are_one_that_leads_back_and_forth) {
    small_heap of({.steps_max = 100}, 1);
    for (int i = 0; i < 5; ++i)
        of.commit();
    const auto before = of.steps().list();
    EXPECT_EQ(of.steps().in_the_way_of_squash(3), std::nullopt);
    of.steps().squash(3, of.steps().squashed(3));
    EXPECT_EQ(of.steps().undo_depth(), 3U);
    of.go(of.steps().before_present(1));
    EXPECT_EQ(of.steps().present(), before[2].version);
    EXPECT_EQ(of.check(), "");
    of.go(of.steps().after_present(1));
    EXPECT_EQ(of.steps().present(), before[5].version);
    EXPECT_EQ(of.check(), "");
}

TEST(squashed_steps, are_refused_where_something_else_begins) {
    small_heap of({.steps_max = 100}, 1);
    of.commit(); // 2
    of.keep();   // takes a number for its name
    of.commit(); // 4
    of.commit(); // 5
    EXPECT_EQ(of.steps().in_the_way_of_squash(2), std::nullopt);
    EXPECT_EQ(of.steps().in_the_way_of_squash(3), 2U);
    of.go(4); // 6
    of.commit();
    EXPECT_EQ(of.steps().in_the_way_of_squash(1), std::nullopt);
    EXPECT_EQ(of.steps().in_the_way_of_squash(2), 4U);
}

TEST(merged_deltas, have_of_each_byte_what_the_last_one_writes) {
    std::mt19937_64 dice(test::seed_or(7));
    const auto below = [&](std::uint64_t end) {
        return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(dice);
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<std::byte> one_by_one(2 * k_page_bytes, std::byte{9});
        std::vector<std::byte> at_once = one_by_one;
        std::vector<delta> deltas(1 + below(5));
        std::vector<const delta*> all;
        for (delta& each : deltas) {
            for (std::uint64_t at = below(500); at < one_by_one.size();) {
                const std::uint64_t bytes = 1 + below(k_page_bytes - at % k_page_bytes);
                const std::vector<std::byte> content(bytes, static_cast<std::byte>(1 + below(200)));
                if (below(3) == 0)
                    each.add_zeros({at, bytes});
                else
                    each.add({at, bytes}, content.data());
                at += bytes + below(2000);
            }
            all.push_back(&each);
            each.apply(one_by_one.data());
        }
        const delta merged = delta::merged(all);
        merged.apply(at_once.data());
        ASSERT_EQ(at_once, one_by_one) << round;
        std::uint64_t sum = 0;
        for (const delta* each : all)
            sum += each->bytes();
        EXPECT_LE(merged.bytes(), sum);
    }
}

} // namespace
} // namespace remanence::history
