// An engine on a simulated disk whose budget for what is changed and not committed is the least there is, with each tracker.
// Depends on the engine.
#pragma once

#include "testing/simulated_disk.hpp"
#include "track/private_copies.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace remanence::txn {

inline constexpr const char* k_spill_path = "dir/heap";
inline constexpr std::uint64_t k_spill_chunk_bytes = 64 * KiB;
inline constexpr std::uint64_t k_budget = 8 * k_spill_chunk_bytes; // the least there is

class spilling : public testing::TestWithParam<track::tracker_choice> {
protected:
    void SetUp() override {
        disk_.limit_space(GiB); // so that it counts what is used
        open();
    }
    void open(bool checks = false) {
        engine_.reset();
        engine_options options{.reserve_bytes = 64 * MiB,
                               .chunk_bytes = k_spill_chunk_bytes,
                               .log_limit_bytes = log_limit_bytes_,
                               .dirty_limit_bytes = budget_,
                               .memory_bytes = memory_bytes_,
                               .tracker = GetParam(),
                               .on_progress = [this](auto...) {
                                   ++reports_;
                                   if (on_progress_)
                                       on_progress_();
                               }};
        if (checks) {
            options.inspect = [](heap_memory&, const change::change_set&, const alloc::block_allocator&) {
                return fail(errc::foreign_pointer, "refused");
            };
        }
        auto opened = engine::open(disk_, k_spill_path, open_mode::open_or_create, options, "abi");
        if (!opened && opened.why().code == errc::not_supported)
            GTEST_SKIP() << opened.why().message;
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
        if (begins_checkpoints_)
            engine_->let_checkpoints_be_carried_out([] { return true; }); // by the test
    }
    std::byte* allocate(std::uint64_t bytes, int filling) {
        std::optional<unexpected> why;
        void* const got = engine_->memory().allocate(bytes, 16, why);
        EXPECT_NE(got, nullptr) << why->why().message;
        std::memset(got, filling, bytes);
        return static_cast<std::byte*>(got);
    }
    /// So many blocks, each filled with its number.
    std::vector<std::byte*> allocate_many(int count) {
        std::vector<std::byte*> blocks;
        for (int i = 0; i < count; ++i)
            blocks.push_back(allocate(k_block_bytes, i + 1));
        return blocks;
    }
    /// And lets the engine see that.
    void rewrite(const std::vector<std::byte*>& blocks, int filling) {
        for (std::byte* block : blocks) {
            std::memset(block, filling, k_block_bytes);
            ASSERT_TRUE(engine_->memory().declare(block, k_block_bytes));
        }
    }
    static bool holds(const std::byte* block, int filling) {
        return std::all_of(block, block + k_block_bytes, [&](std::byte each) { return each == std::byte(filling); });
    }
    void expect_numbers_in(const std::vector<std::byte*>& blocks) {
        for (std::size_t i = 0; i < blocks.size(); ++i)
            EXPECT_TRUE(holds(blocks[i], static_cast<int>(i) + 1)) << i;
    }
    /// Of what the program wrote: what the kernel cannot take back.
    std::uint64_t bytes_in_memory(const std::byte* from, std::uint64_t bytes) {
        auto copies = track::private_copies::create(engine_->memory().base());
        EXPECT_TRUE(copies);
        std::vector<track::page_run> runs;
        EXPECT_TRUE(copies->append_sparse({align_down(engine_->memory().offset_of(from), k_page_bytes), bytes}, runs));
        std::uint64_t found = 0;
        for (const track::page_run& run : runs)
            found += run.bytes;
        return found;
    }
    void commit() {
        auto done = engine_->commit();
        ASSERT_TRUE(done) << done.why().message;
    }
    void expect_sound() {
        auto report = engine_->verify();
        ASSERT_TRUE(report) << report.why().message;
        EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
    }

    static constexpr std::uint64_t k_block_bytes = 40 * KiB;
    simulation::simulated_disk disk_;
    std::unique_ptr<engine> engine_;
    std::uint64_t log_limit_bytes_ = 256 * MiB;
    std::uint64_t budget_ = k_budget;
    std::uint64_t memory_bytes_ = 0; // unknown
    bool begins_checkpoints_ = false;
    int reports_ = 0; // of progress
    std::function<void()> on_progress_;
};

inline const auto k_spill_trackers =
    testing::Values(track::tracker_choice::scan, track::tracker_choice::trap, track::tracker_choice::fallback);

} // namespace remanence::txn
