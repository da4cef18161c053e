// An undo keeps a root that the program has, empty, where it was not there yet; and the power fails, or an operation: the heap is as before
// the undo or as after it, root, memory and steps together.
#include "api/heap_impl.hpp"
#include "power_losses.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

namespace remanence::crash {

using held_texts = vector<string>;

namespace {

constexpr const char* k_held_path = "/disk/held.rem";

heap_options with_history() {
    return {.history = {.steps_max = 100, .kept_over_sessions = true},
            .memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}};
}

struct found_counts {
    std::uint64_t before = 0;
    std::uint64_t after = 0;
};

/// Of a heap in which a step set a number, a root was made and a step filled it. All but the root may be undone.
class undo_that_keeps_a_root : public testing::Test {
protected:
    void SetUp() override {
        heap made = detail::open(disk_, k_held_path, with_history(), detail::opening::create);
        int& number = made.root<int>("number");
        made.write([&] { number = 1; });
        auto& texts = made.root<held_texts>("texts");
        made.write([&] {
            for (int i = 0; i != 50; ++i)
                texts.emplace_back("a text that is too long for itself " + std::to_string(i));
        });
        made.close();
        (void)disk_.take_trace();
    }
    /// What it threw; none: nothing.
    std::optional<errc> run() {
        try {
            heap opened = detail::open(disk_, k_held_path, with_history(), detail::opening::open_existing);
            const auto* const texts = opened.find_root<held_texts>("texts");
            opened.undo(2);
            EXPECT_TRUE(texts->empty());
            opened.close();
        } catch (const error& stop) {
            return stop.reason();
        }
        return {};
    }
    void expect_one_of_both(found_counts& count) {
        heap opened = detail::open(disk_, k_held_path, with_history(), detail::opening::open_existing);
        EXPECT_TRUE(opened.verify().clean());
        EXPECT_EQ(opened.why_history_is_new(), "");
        const bool is_before = *opened.find_root<int>("number") == 1;
        ++(is_before ? count.before : count.after);
        const auto* const texts = opened.find_root<held_texts>("texts");
        ASSERT_NE(texts, nullptr);
        EXPECT_EQ(texts->size(), is_before ? 50U : 0U);
        EXPECT_EQ(opened.undo_depth(), is_before ? 2U : 0U);
        EXPECT_EQ(opened.redo_depth(), is_before ? 0U : 2U);
        if (is_before)
            opened.undo(2);
        opened.redo(2);
        EXPECT_EQ(texts->size(), 50U);
        EXPECT_EQ(texts->back(), "a text that is too long for itself 49");
        EXPECT_TRUE(opened.verify().clean());
        opened.close();
    }
    simulation::simulated_disk disk_;
};

TEST_F(undo_that_keeps_a_root, cut_short_by_a_power_loss_is_done_or_not_begun) {
    const auto start = disk_.now();
    ASSERT_FALSE(run());
    found_counts count;
    for_each_power_loss(disk_, start, [&](bool is_done) {
        const std::uint64_t not_begun = count.before;
        ASSERT_NO_FATAL_FAILURE(expect_one_of_both(count));
        EXPECT_TRUE(!is_done || count.before == not_begun) << "it was durable";
    });
    std::cout << count.before << " heaps as before the undo, " << count.after << " as after it\n";
    EXPECT_GT(count.before, 0U);
    EXPECT_GT(count.after, 0U);
}

TEST_F(undo_that_keeps_a_root, whose_operation_fails_is_done_or_not_begun) {
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
            found_counts count;
            ASSERT_NO_FATAL_FAILURE(expect_one_of_both(count));
            EXPECT_TRUE(thrown || count.after == 1) << "it was said to be done";
            disk_.rewind(start);
            if (!failed)
                break;
        }
        EXPECT_GT(n, 3U);
    }
}

} // namespace
} // namespace remanence::crash
