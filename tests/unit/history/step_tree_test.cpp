#include "history/step_tree.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace remanence::history {
namespace {

/// A memory of few bytes, whose steps change one each.
class step_trees : public testing::Test {
protected:
    step_tree make(const limits& most) { return {most, 1}; }
    /// A commit that writes a byte.
    void commit(step_tree& steps, std::size_t at, int value) {
        delta before;
        before.add({at, 1}, memory_.data() + at);
        steps.stage(std::move(before));
        memory_[at] = static_cast<std::byte>(value);
        steps.accept(++version_);
    }
    void go(step_tree& steps, std::uint64_t to) {
        const auto way = steps.path_to(to);
        std::vector<delta> back;
        for (const auto& each : way) {
            back.push_back(each.bytes().other_side(memory_.data()));
            each.bytes().apply(memory_.data());
        }
        steps.go_over(way, back);
        steps.check_out(to, ++version_);
    }
    [[nodiscard]] std::vector<int> bytes() const {
        std::vector<int> found;
        for (std::size_t i = 0; i < 3; ++i)
            found.push_back(std::to_integer<int>(memory_[i]));
        return found;
    }
    static std::vector<std::uint64_t> versions(const step_tree& steps) {
        std::vector<std::uint64_t> found;
        for (const step_info& each : steps.list())
            found.push_back(each.version);
        return found;
    }

    std::array<std::byte, 4096> memory_{};
    std::uint64_t version_ = 1;
};

using numbers = std::vector<std::uint64_t>;
using ints = std::vector<int>;

TEST_F(step_trees, lead_back_and_forth) {
    step_tree steps = make({.steps_max = 100});
    commit(steps, 0, 1); // 2
    commit(steps, 0, 2); // 3
    commit(steps, 1, 3); // 4
    EXPECT_EQ(steps.undo_depth(), 3U);
    go(steps, steps.before_present(2));
    EXPECT_EQ(bytes(), (ints{1, 0, 0}));
    EXPECT_EQ(steps.redo_depth(), 2U);
    go(steps, steps.after_present(1));
    EXPECT_EQ(bytes(), (ints{2, 0, 0}));
    go(steps, steps.after_present(1));
    EXPECT_EQ(bytes(), (ints{2, 3, 0}));
    EXPECT_EQ(steps.redo_depth(), 0U);
    go(steps, 1);
    EXPECT_EQ(bytes(), (ints{0, 0, 0}));
}

TEST_F(step_trees, branch_at_a_commit_after_an_undo) {
    step_tree steps = make({.steps_max = 100});
    commit(steps, 0, 1);                // 2
    commit(steps, 1, 2);                // 3
    commit(steps, 1, 3);                // 4
    go(steps, steps.before_present(2)); // 5: to 2
    EXPECT_EQ(steps.left_branch(), std::nullopt);
    commit(steps, 2, 9); // 6
    EXPECT_EQ(steps.redo_depth(), 0U);
    EXPECT_EQ(steps.left_branch(), 4U);
    EXPECT_EQ(bytes(), (ints{1, 0, 9}));
    go(steps, 4);
    EXPECT_EQ(bytes(), (ints{1, 3, 0}));
    go(steps, 6);
    EXPECT_EQ(bytes(), (ints{1, 0, 9}));
    EXPECT_EQ(versions(steps), (numbers{1, 2, 3, 4, 6}));
    go(steps, 2);
    EXPECT_EQ(steps.after_present(1), 6U); // where it came from
}

TEST_F(step_trees, are_found_by_the_version_of_the_last_commit_that_led_there) {
    step_tree steps = make({.steps_max = 100});
    commit(steps, 0, 1); // 2
    commit(steps, 0, 2); // 3
    go(steps, 2);        // 4
    EXPECT_EQ(steps.find(4), 2U);
    EXPECT_EQ(steps.find(3), 3U);
    EXPECT_EQ(steps.find(5), std::nullopt);
}

TEST_F(step_trees, let_the_oldest_go) {
    step_tree steps = make({.steps_max = 2});
    for (int i = 1; i <= 5; ++i)
        commit(steps, 0, i);
    EXPECT_EQ(versions(steps), (numbers{4, 5, 6}));
    EXPECT_EQ(steps.undo_depth(), 2U);
    go(steps, steps.before_present(2));
    EXPECT_EQ(bytes()[0], 3);
    go(steps, steps.after_present(2));
    EXPECT_EQ(bytes()[0], 5);
}

TEST_F(step_trees, let_branches_go_from_their_ends) {
    step_tree steps = make({.steps_max = 3});
    commit(steps, 0, 1);                // 2
    commit(steps, 0, 2);                // 3
    go(steps, steps.before_present(2)); // 4: to 1
    commit(steps, 1, 1);                // 5
    EXPECT_EQ(versions(steps), (numbers{1, 2, 3, 5}));
    commit(steps, 1, 2); // 6: 3 goes, for 2 alone does not lead here
    EXPECT_EQ(versions(steps), (numbers{1, 2, 5, 6}));
    commit(steps, 1, 3); // 7: 2 goes, and 1 stays
    EXPECT_EQ(versions(steps), (numbers{1, 5, 6, 7}));
    commit(steps, 1, 4); // 8
    EXPECT_EQ(versions(steps), (numbers{5, 6, 7, 8}));
    go(steps, 5);
    EXPECT_EQ(bytes(), (ints{0, 1, 0}));
}

TEST_F(step_trees, let_branches_go_with_the_step_before_them) {
    step_tree steps = make({.steps_max = 3});
    commit(steps, 0, 1); // 2
    go(steps, 1);        // 3
    commit(steps, 1, 1); // 4
    go(steps, 2);        // 5
    commit(steps, 1, 2); // 6
    commit(steps, 1, 3); // 7: the step to 2 is the oldest, and without the state before it nothing leads to 4
    EXPECT_EQ(versions(steps), (numbers{2, 6, 7}));
    EXPECT_EQ(steps.undo_depth(), 2U);
    EXPECT_EQ(steps.left_branch(), std::nullopt);
}

TEST_F(step_trees, keep_no_more_bytes_than_they_may) {
    delta one;
    one.add({0, 1}, memory_.data());
    step_tree steps = make({.bytes_max = 3 * one.bytes()});
    for (int i = 1; i <= 5; ++i)
        commit(steps, 0, i);
    EXPECT_EQ(steps.undo_depth(), 3U);
}

TEST_F(step_trees, know_whether_there_is_room) {
    step_tree steps = make({.steps_max = 1, .then = when_full::refuse});
    EXPECT_TRUE(steps.has_room(8));
    commit(steps, 0, 1);
    EXPECT_FALSE(steps.has_room(8));
    steps.forget();
    EXPECT_TRUE(steps.has_room(8));
    EXPECT_EQ(versions(steps), (numbers{2}));
}

TEST_F(step_trees, make_one_step_of_a_group) {
    step_tree steps = make({.steps_max = 100});
    commit(steps, 0, 1); // 2
    steps.begin_group("outer");
    commit(steps, 0, 2); // 3
    steps.begin_group("inner");
    commit(steps, 0, 3); // 4
    steps.end_group();
    commit(steps, 1, 4); // 5
    steps.end_group();
    commit(steps, 1, 5); // 6
    EXPECT_EQ(versions(steps), (numbers{1, 2, 5, 6}));
    EXPECT_EQ(steps.list()[2].name, "outer");
    EXPECT_EQ(steps.list()[3].name, "");
    go(steps, steps.before_present(2));
    EXPECT_EQ(bytes(), (ints{1, 0, 0}));
    go(steps, steps.after_present(1));
    EXPECT_EQ(bytes(), (ints{3, 4, 0}));
    go(steps, steps.before_present(1));
    EXPECT_EQ(bytes(), (ints{1, 0, 0}));
}

TEST_F(step_trees, keep_no_part_of_a_group_that_is_too_large) {
    delta one;
    one.add({0, 1}, memory_.data());
    step_tree steps = make({.bytes_max = 2 * one.bytes()});
    commit(steps, 0, 1);
    steps.begin_group("large");
    for (int i = 2; i <= 6; ++i)
        commit(steps, 0, i);
    EXPECT_EQ(steps.undo_depth(), 0U); // else half of the group would be undone
    steps.end_group();
    commit(steps, 0, 9);
    EXPECT_EQ(steps.undo_depth(), 1U);
    go(steps, steps.before_present(1));
    EXPECT_EQ(bytes()[0], 6);
}

TEST_F(step_trees, begin_anew_after_a_commit_that_is_not_kept) {
    step_tree steps = make({.bytes_max = 100});
    commit(steps, 0, 1);
    steps.stage_nothing();
    steps.accept(++version_);
    EXPECT_EQ(versions(steps), (numbers{3}));
    EXPECT_EQ(steps.undo_depth(), 0U);
}

TEST_F(step_trees, know_nothing_of_a_commit_that_was_not_made) {
    step_tree steps = make({.steps_max = 100});
    delta before;
    before.add({0, 1}, memory_.data());
    steps.stage(std::move(before));
    steps.discard_staged();
    steps.accept(2);
    EXPECT_EQ(versions(steps), (numbers{1}));
}

TEST(deltas, of_zeros_take_no_contents_and_give_all_back) {
    std::vector<std::byte> memory(2 * k_page_bytes, std::byte{7});
    delta zeros;
    zeros.add_zeros({0, k_page_bytes});
    zeros.add_zeros({k_page_bytes, k_page_bytes});
    const delta sevens = zeros.other_side(memory.data());
    zeros.apply(memory.data());
    EXPECT_EQ(memory, std::vector<std::byte>(2 * k_page_bytes));
    sevens.apply(memory.data());
    EXPECT_EQ(memory, std::vector<std::byte>(2 * k_page_bytes, std::byte{7}));
    EXPECT_EQ(zeros.bytes(), sevens.bytes());
    EXPECT_EQ(zeros.pages(), (std::vector<heap_range>{{0, 2 * k_page_bytes}}));
}

} // namespace
} // namespace remanence::history
