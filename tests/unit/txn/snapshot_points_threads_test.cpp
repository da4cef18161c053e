// One thread begins points, and others finish them: each point is what memory was at its call, whoever makes its record.
// Run under the thread sanitizer, too.

#include "txn/engine.hpp"

#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace remanence::txn {
namespace {

constexpr std::uint64_t k_pages = 60;

class snapshot_points_threads : public testing::Test {
protected:
    void SetUp() override {
        open();
        std::optional<unexpected> why;
        const auto* const got = static_cast<std::byte*>(engine_->memory().allocate(k_pages * k_page_bytes, 16, why));
        ASSERT_NE(got, nullptr);
        block_ = static_cast<std::uint64_t>(got - engine_->memory().base());
        put(std::byte{0});
        ASSERT_TRUE(engine_->commit());
    }
    void open() {
        engine_.reset();
        engine_options options;
        options.reserve_bytes = 256 * MiB;
        options.chunk_bytes = 64 * KiB;
        options.log_limit_bytes = 64 * KiB;
        auto opened = engine::open(disk_, "dir/heap", open_mode::open_or_create, options, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
        engine_->copy_points_from(1);
        engine_->let_checkpoints_be_carried_out([] { return true; });
    }
    std::byte& at(std::uint64_t page) { return engine_->memory().base()[block_ + page * k_page_bytes]; }
    void put(std::byte value) {
        for (std::uint64_t page = 0; page < k_pages; ++page)
            at(page) = value;
    }
    [[nodiscard]] bool is_all(std::byte value) {
        for (std::uint64_t page = 0; page < k_pages; ++page) {
            if (at(page) != value)
                return false;
        }
        return true;
    }

    simulation::simulated_disk disk_;
    std::unique_ptr<engine> engine_;
    std::uint64_t block_ = 0;
};

TEST_F(snapshot_points_threads, are_finished_by_others_while_more_are_begun) {
    std::mt19937_64 random(test::random_seed());
    std::atomic<bool> ends = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            while (!ends)
                EXPECT_TRUE(engine_->finish_point());
        });
    }
    threads.emplace_back([&] {
        while (!ends)
            EXPECT_TRUE(engine_->step_checkpoint(4 * k_page_bytes));
    });
    threads.emplace_back([&] {
        while (!ends)
            EXPECT_TRUE(engine_->sync());
    });
    for (int i = 1; i <= 300; ++i) {
        const auto value = std::byte(i % 5);
        put(value);
        auto made = engine_->make_commit({.fresh = fresh_contents::in_log_if_few, .awaited = log::durability::none});
        ASSERT_TRUE(made) << made.why().message;
        put(std::byte{77}); // beside those that compare
        switch (random() % 8) {
        case 0:
            ASSERT_TRUE(engine_->rollback());
            ASSERT_TRUE(is_all(value)) << i;
            break;
        case 1:
            put(value);
            ASSERT_TRUE(engine_->commit());
            break;
        case 2:
            ASSERT_TRUE(engine_->await(*made, log::durability::durable));
            break;
        case 3:
            std::this_thread::yield();
            break;
        default:
            break;
        }
    }
    put(std::byte{6});
    auto last = engine_->make_commit({.fresh = fresh_contents::in_log_if_few, .awaited = log::durability::none});
    ASSERT_TRUE(last);
    ASSERT_TRUE(engine_->await(*last, log::durability::durable));
    ends = true;
    for (std::thread& each : threads)
        each.join();
    open();
    EXPECT_EQ(engine_->version(), *last);
    EXPECT_TRUE(is_all(std::byte{6}));
    auto report = engine_->verify();
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->problems.empty());
}

} // namespace
} // namespace remanence::txn
