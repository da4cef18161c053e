// The history that a heap records gets other limits, or is ended, and the power fails: the heap has all its commits, and the history is as
// before, as after, or begins anew where its end had begun.
#include "api/heap_impl.hpp"
#include "power_losses.hpp"
#include "recover/history_of_heap.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

namespace remanence::crash {
namespace {

const std::string k_path = "/disk/kept.rem";
constexpr std::uint64_t k_steps = 5;
constexpr std::uint64_t k_fewer = 2;
using numbers = vector<std::uint64_t>;

heap_options small() {
    heap_options how;
    how.memory.reserve_bytes = 64 * MiB;
    how.memory.chunk_bytes = 64 * KiB;
    return how;
}

struct change {
    std::string name;
    std::optional<remanence::history::limits> most;
};

struct change_counts {
    std::uint64_t as_before = 0, as_after = 0, anew = 0;
};

class history_change_cut_short : public testing::TestWithParam<change> {
protected:
    void SetUp() override {
        heap_options how = small();
        how.history = {.steps_max = 100, .kept_over_sessions = true};
        heap h = detail::open(disk_, k_path, how, detail::opening::create);
        h.root<numbers>("numbers");
        for (std::uint64_t i = 0; i != k_steps; ++i)
            h.write([&] { h.root<numbers>("numbers").push_back(i); });
        h.close();
        (void)disk_.take_trace();
    }
    [[nodiscard]] result<void> change_it() { return recover::change_history(disk_, k_path, GetParam().most); }
    /// `is_done`: it has returned, and is durable.
    void expect_whole(bool is_done, change_counts& count) {
        heap h = detail::open(disk_, k_path, small(), detail::opening::open_existing);
        EXPECT_EQ(h.find_root<numbers>("numbers")->size(), k_steps);
        const std::uint64_t after = GetParam().most ? k_fewer : 0;
        const std::uint64_t depth = h.undo_depth();
        const bool has_one = detail::impl_of(h).engine().has_history();
        if (depth == k_steps) {
            ++count.as_before;
        } else if (depth == after && has_one == GetParam().most.has_value()) {
            ++count.as_after;
        } else {
            ++count.anew;
            EXPECT_TRUE(depth == 0 && has_one && !GetParam().most) << depth;
        }
        EXPECT_TRUE(!is_done || (depth == after && has_one == GetParam().most.has_value())) << "it was durable";
        h.write([&] { h.root<numbers>("numbers").push_back(k_steps); });
        EXPECT_EQ(h.undo_depth(), !has_one ? 0 : depth == k_fewer ? k_fewer : depth + 1);
        if (has_one) {
            h.undo();
            EXPECT_EQ(h.find_root<numbers>("numbers")->size(), k_steps);
        }
        EXPECT_TRUE(h.verify().clean());
        h.close();
    }
    simulation::simulated_disk disk_;
};

TEST_P(history_change_cut_short, by_a_power_loss) {
    const auto start = disk_.now();
    ASSERT_TRUE(change_it());
    change_counts count;
    for_each_power_loss(disk_, start, [&](bool is_done) { ASSERT_NO_FATAL_FAILURE(expect_whole(is_done, count)); });
    std::cout << count.as_before << " histories as before, " << count.as_after << " as after, " << count.anew
              << " that begin anew\n";
    EXPECT_GT(count.as_before, 0U);
    EXPECT_GT(count.as_after, 0U);
}

TEST_P(history_change_cut_short, by_the_death_of_the_process_or_a_failing_operation) {
    for (const std::optional<errc> code :
         {std::optional<errc>(), std::optional(errc::io), std::optional(errc::no_space)}) {
        for (std::uint64_t n = 0;; ++n) {
            SCOPED_TRACE(n);
            const auto start = disk_.now();
            if (code)
                disk_.fail_at(n, *code);
            else
                disk_.die_at(n);
            const auto done = change_it();
            const bool failed = !disk_.failure_is_ahead();
            disk_.work_again();
            EXPECT_EQ(static_cast<bool>(done), !failed);
            change_counts count;
            ASSERT_NO_FATAL_FAILURE(expect_whole(static_cast<bool>(done), count));
            disk_.rewind(start);
            if (!failed || HasFailure())
                break;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(to, history_change_cut_short,
                         testing::Values(change{"other_limits", remanence::history::limits{.steps_max = k_fewer}},
                                         change{"its_end", {}}),
                         [](const auto& instance) { return instance.param.name; });

} // namespace
} // namespace remanence::crash
