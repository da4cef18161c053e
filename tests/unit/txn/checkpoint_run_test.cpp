// Checkpoints that go on beside commits, carried out by the test: what commits may do meanwhile, what waits, and what
// becomes of it when the disk is full or fails.

#include "txn/engine.hpp"

#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::txn {
namespace beside { // the tests of a folder are compiled as one
namespace {

constexpr const char* k_path = "dir/heap";
constexpr std::uint64_t k_limit = 20 * KiB;

class checkpoint_beside_commits : public testing::Test {
protected:
    void SetUp() override {
        disk_.limit_space(GiB);
        open();
        block_ = allocate(300 * KiB);
        put(0, 1);
        ASSERT_TRUE(engine_->commit());
    }
    void open(std::uint64_t before_image_limit_bytes = 256 * MiB, std::uint64_t log_limit_bytes = k_limit) {
        engine_.reset();
        engine_options options;
        options.reserve_bytes = 256 * MiB;
        options.chunk_bytes = 64 * KiB;
        options.log_limit_bytes = log_limit_bytes;
        options.before_image_limit_bytes = before_image_limit_bytes;
        auto opened = engine::open(disk_, k_path, open_mode::open_or_create, options, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
        engine_->let_checkpoints_be_carried_out([this] {
            ++begun_;
            return is_carried_out_;
        });
    }
    std::uint64_t allocate(std::uint64_t bytes) {
        std::optional<unexpected> why;
        auto* got = static_cast<std::byte*>(engine_->memory().allocate(bytes, 16, why));
        EXPECT_NE(got, nullptr);
        return static_cast<std::uint64_t>(got - engine_->memory().base());
    }
    void put(std::uint64_t page, unsigned value) {
        engine_->memory().base()[block_ + page * k_page_bytes] = static_cast<std::byte>(value);
    }
    unsigned get(std::uint64_t page) {
        return static_cast<unsigned>(engine_->memory().base()[block_ + page * k_page_bytes]);
    }
    result<void> change_and_commit() {
        ++last_;
        for (std::uint64_t page = 0; page < 30; ++page)
            put(page, static_cast<unsigned>((last_ + page) % 256));
        return engine_->commit();
    }
    void expect_last() {
        for (std::uint64_t page = 0; page < 30; ++page)
            ASSERT_EQ(get(page), (last_ + page) % 256);
    }
    bool is_under_way() { return engine_->stats().checkpoint.total_bytes != 0; }
    void begin() {
        while (!is_under_way())
            ASSERT_TRUE(change_and_commit());
    }
    void reopen_and_expect_last() {
        open();
        expect_last();
        auto report = engine_->verify();
        ASSERT_TRUE(report);
        EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
    }

    simulation::simulated_disk disk_;
    std::unique_ptr<engine> engine_;
    std::uint64_t block_ = 0;
    std::uint64_t last_ = 0;
    int begun_ = 0;
    bool is_carried_out_ = true;
};

TEST_F(checkpoint_beside_commits, leaves_them_alone_up_to_twice_the_limit_and_is_adopted_by_one) {
    begin();
    const auto before = engine_->stats().checkpoints;
    while (engine_->stats().log_used_bytes < 2 * k_limit - 4 * KiB) {
        ASSERT_TRUE(change_and_commit());
        EXPECT_EQ(engine_->stats().checkpoint.done_bytes, 0U); // nobody has waited
    }
    EXPECT_EQ(engine_->stats().checkpoints, before);
    std::uint64_t steps = 0;
    for (bool is_left = true; is_left; ++steps)
        is_left = *engine_->step_checkpoint(k_page_bytes);
    EXPECT_GT(steps, 30U);
    EXPECT_EQ(engine_->stats().checkpoints, before); // it is not adopted yet
    const std::uint64_t used = engine_->stats().log_used_bytes;
    ASSERT_TRUE(change_and_commit());
    EXPECT_EQ(engine_->stats().checkpoints, before + 1);
    EXPECT_LT(engine_->stats().log_used_bytes, used);
    expect_last();
    reopen_and_expect_last();
}

TEST_F(checkpoint_beside_commits, may_rest_while_less_of_the_log_fills_up_than_half_of_what_is_done) {
    EXPECT_FALSE(engine_->is_checkpoint_ahead()); // there is none
    begin();
    EXPECT_TRUE(engine_->is_checkpoint_ahead());
    const std::uint64_t begun = engine_->stats().log_used_bytes;
    ASSERT_TRUE(change_and_commit());
    EXPECT_FALSE(engine_->is_checkpoint_ahead());
    const auto [done, total] = engine_->stats().checkpoint;
    ASSERT_EQ(done, 0U);
    while (!engine_->is_checkpoint_ahead())
        ASSERT_TRUE(*engine_->step_checkpoint(k_page_bytes));
    const double filled = static_cast<double>(engine_->stats().log_used_bytes - begun) / k_limit;
    const double written = static_cast<double>(engine_->stats().checkpoint.done_bytes) / static_cast<double>(total);
    EXPECT_GT(written, 1.5 * filled);
    EXPECT_LT(written, 1);
    while (engine_->stats().log_used_bytes - begun < k_limit * 2 / 3)
        ASSERT_TRUE(change_and_commit());
    for (bool is_left = true; is_left; is_left = *engine_->step_checkpoint(k_page_bytes))
        EXPECT_FALSE(engine_->is_checkpoint_ahead()); // until it is done
}

TEST_F(checkpoint_beside_commits, is_carried_out_by_commits_that_find_twice_the_limit) {
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(change_and_commit());
        ASSERT_LE(engine_->stats().log_used_bytes, 4 * k_limit + 4 * KiB);
    }
    EXPECT_GT(begun_, 5);
    EXPECT_GE(engine_->stats().checkpoints + 1, static_cast<std::uint64_t>(begun_));
    ASSERT_TRUE(engine_->close());
    reopen_and_expect_last();
}

class checkpoint_of_many_pages : public checkpoint_beside_commits {
protected:
    static constexpr std::uint64_t k_pages = 2000;

    void SetUp() override {
        checkpoint_beside_commits::SetUp();
        large_ = allocate(k_pages * k_page_bytes);
        ASSERT_TRUE(change_all_and_commit());
        ASSERT_TRUE(engine_->checkpoint());
        ASSERT_TRUE(change_all_and_commit());
        const std::uint64_t record_bytes = engine_->stats().log_used_bytes;
        ASSERT_TRUE(engine_->close());
        open(256 * MiB, record_bytes);
    }
    result<void> change_all_and_commit() {
        ++times_;
        for (std::uint64_t page = 0; page < k_pages; ++page)
            engine_->memory().base()[large_ + page * k_page_bytes] = static_cast<std::byte>(times_);
        return engine_->commit();
    }

    std::uint64_t large_ = 0;
    unsigned times_ = 0;
};

TEST_F(checkpoint_of_many_pages, is_carried_out_a_step_by_each_commit_that_finds_twice_the_limit) {
    ASSERT_TRUE(change_all_and_commit());
    ASSERT_TRUE(is_under_way());
    const engine_stats begun = engine_->stats();
    while (engine_->stats().checkpoint_waits == begun.checkpoint_waits) {
        EXPECT_EQ(engine_->stats().checkpoint.done_bytes, 0U);
        ASSERT_TRUE(change_and_commit());
    }
    EXPECT_GE(engine_->stats().log_used_bytes, 2 * begun.log_used_bytes);
    std::uint64_t helped = 1;
    for (std::uint64_t done = 0; engine_->stats().checkpoints == begun.checkpoints; ++helped) {
        const std::uint64_t before = std::exchange(done, engine_->stats().checkpoint.done_bytes);
        EXPECT_LE(done, before + MiB);
        ASSERT_TRUE(change_and_commit());
    }
    EXPECT_GT(helped, k_pages * k_page_bytes / MiB);
    EXPECT_LE(engine_->stats().checkpoint_waits, begun.checkpoint_waits + helped);
    reopen_and_expect_last();
}

TEST_F(checkpoint_of_many_pages, is_waited_for_by_a_commit_that_finds_four_times_the_limit) {
    ASSERT_TRUE(change_all_and_commit());
    ASSERT_TRUE(is_under_way());
    const engine_stats begun = engine_->stats(); // the log has one record, as long as each of the next, and the limit
    std::uint64_t used = 0;
    while (engine_->stats().checkpoints == begun.checkpoints) {
        used = engine_->stats().log_used_bytes;
        ASSERT_TRUE(change_all_and_commit());
    }
    EXPECT_LT(used, 4 * begun.log_used_bytes);
    EXPECT_GE(used + begun.log_used_bytes, 4 * begun.log_used_bytes); // one step of 1 MiB each had not been all
    ASSERT_TRUE(change_and_commit());
    reopen_and_expect_last();
}

TEST_F(checkpoint_beside_commits, is_due_when_the_log_is_as_long_as_what_it_would_write) {
    open(256 * MiB, 0);
    EXPECT_EQ(engine_->stats().log_limit_bytes, 64 * MiB);
    constexpr std::uint64_t k_pages = 20'000;
    const std::uint64_t large = allocate(k_pages * k_page_bytes);
    for (unsigned time = 1; time <= 2; ++time) { // written in place, and then logged
        for (std::uint64_t page = 0; page < k_pages; ++page)
            engine_->memory().base()[large + page * k_page_bytes] = static_cast<std::byte>(time);
        ASSERT_TRUE(engine_->commit());
    }
    const engine_stats stats = engine_->stats();
    EXPECT_GE(stats.before_image_bytes, k_pages * k_page_bytes);
    EXPECT_EQ(stats.log_limit_bytes, stats.before_image_bytes);
    EXPECT_EQ(stats.checkpoints, 0U);
    EXPECT_EQ(begun_, 0);
}

TEST_F(checkpoint_beside_commits, begins_at_the_limit_of_before_images_too) {
    ASSERT_TRUE(change_and_commit()); // so that all pages have their place
    ASSERT_TRUE(engine_->close());
    open(20 * k_page_bytes);
    put(0, 99);
    ASSERT_TRUE(engine_->commit());
    EXPECT_FALSE(is_under_way());
    ASSERT_TRUE(change_and_commit());
    EXPECT_TRUE(is_under_way());
    EXPECT_LT(engine_->stats().log_used_bytes, k_limit);
    reopen_and_expect_last();
}

TEST_F(checkpoint_beside_commits, is_made_by_the_commit_itself_when_nobody_else_can) {
    is_carried_out_ = false;
    while (begun_ == 0)
        ASSERT_TRUE(change_and_commit());
    EXPECT_FALSE(is_under_way());
    EXPECT_EQ(engine_->stats().log_used_bytes, 0U);
    reopen_and_expect_last();
}

TEST_F(checkpoint_beside_commits, is_ended_by_checkpoint_and_close) {
    begin();
    ASSERT_TRUE(engine_->step_checkpoint(k_page_bytes));
    ASSERT_TRUE(engine_->checkpoint());
    EXPECT_FALSE(is_under_way());
    EXPECT_EQ(engine_->stats().log_used_bytes, 0U);
    EXPECT_EQ(engine_->stats().before_image_bytes, 0U);
    begin();
    ASSERT_TRUE(engine_->step_checkpoint(k_page_bytes));
    ASSERT_TRUE(engine_->close());
    EXPECT_FALSE(*disk_.exists(std::string(k_path) + "-log"));
    reopen_and_expect_last();
}

TEST_F(checkpoint_beside_commits, is_ended_by_one_that_needs_another_region) {
    begin();
    const auto before = engine_->stats().checkpoints;
    const std::uint64_t large = allocate(30 * MiB);
    engine_->memory().base()[large + 29 * MiB] = std::byte{1};
    ASSERT_TRUE(change_and_commit());
    EXPECT_EQ(engine_->stats().checkpoints, before + 1);
    reopen_and_expect_last();
}

TEST_F(checkpoint_beside_commits, goes_on_beside_rollbacks_and_verify) {
    begin();
    ASSERT_TRUE(engine_->step_checkpoint(k_page_bytes));
    for (std::uint64_t page = 0; page < 40; ++page)
        put(page, 77);
    ASSERT_TRUE(engine_->rollback());
    expect_last();
    auto report = engine_->verify();
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
    ASSERT_TRUE(change_and_commit());
    expect_last();
    reopen_and_expect_last();
}

// What it writes has its place, so that a full disk fails commits only, which change nothing and may be repeated.
TEST_F(checkpoint_beside_commits, does_not_mind_a_full_disk_and_nor_do_commits_that_need_no_room) {
    for (std::uint64_t steps = 0; steps < 60; ++steps) {
        begin();
        for (std::uint64_t i = 0; i < steps; ++i)
            ASSERT_TRUE(engine_->step_checkpoint(k_page_bytes));
        const std::uint64_t grown = allocate(200 * KiB);
        engine_->memory().base()[grown] = engine_->memory().base()[grown + 199 * KiB] = std::byte{5};
        disk_.limit_space(disk_.space_used());
        auto full = engine_->commit();
        ASSERT_FALSE(full);
        ASSERT_EQ(full.why().code, errc::no_space) << full.why().message;
        ASSERT_TRUE(engine_->step_checkpoint(k_page_bytes));
        ASSERT_TRUE(engine_->rollback());
        ASSERT_TRUE(change_and_commit());
        for (bool is_left = true; is_left;) {
            auto step = engine_->step_checkpoint(k_page_bytes);
            ASSERT_TRUE(step) << step.why().message;
            is_left = *step;
        }
        ASSERT_TRUE(change_and_commit());
        expect_last();
        disk_.limit_space(GiB);
    }
    ASSERT_TRUE(engine_->close());
    reopen_and_expect_last();
}

TEST_F(checkpoint_beside_commits, that_fails_at_any_operation_is_heard_by_all_that_follows) {
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        begin();
        disk_.fail_at(n, errc::io);
        bool failed = false;
        for (bool is_left = true; is_left && !failed;) {
            auto step = engine_->step_checkpoint(4 * k_page_bytes);
            failed = !step;
            is_left = step && *step;
        }
        const bool is_past = disk_.failure_is_ahead();
        disk_.work_again();
        ASSERT_EQ(failed, !is_past);
        if (is_past) {
            EXPECT_GT(n, 8U);
            break;
        }
        const std::uint64_t acknowledged = last_;
        EXPECT_TRUE(engine_->is_poisoned());
        EXPECT_EQ(engine_->step_checkpoint().why().code, errc::poisoned);
        EXPECT_EQ(change_and_commit().why().code, errc::poisoned);
        EXPECT_EQ(engine_->rollback().why().code, errc::poisoned);
        EXPECT_EQ(engine_->checkpoint().why().code, errc::poisoned);
        EXPECT_EQ(engine_->verify().why().code, errc::poisoned);
        EXPECT_EQ(engine_->close().why().code, errc::poisoned);
        last_ = acknowledged;
        ASSERT_NO_FATAL_FAILURE(reopen_and_expect_last());
    }
}

} // namespace
} // namespace beside
} // namespace remanence::txn
