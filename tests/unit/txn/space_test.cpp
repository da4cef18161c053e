// Space that no block needs goes back to the file system: when, and that nothing else does.

#include "alloc/sections.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::txn {
namespace {

constexpr const char* k_space_path = "dir/heap";
constexpr std::uint64_t k_space_chunk_bytes = 64 * KiB;

class space_given_back : public testing::TestWithParam<track::tracker_choice> {
protected:
    void SetUp() override {
        disk_.limit_space(GiB); // so that it counts what is used
        open();
    }
    void open() {
        engine_.reset();
        auto opened = engine::open(disk_, k_space_path, open_mode::open_or_create,
                                   {.reserve_bytes = 64 * MiB,
                                    .chunk_bytes = k_space_chunk_bytes,
                                    .log_limit_bytes = 256 * MiB,
                                    .tracker = GetParam()},
                                   "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
    }
    std::byte* allocate(std::uint64_t bytes, int filling) {
        std::optional<unexpected> why;
        void* const got = engine_->memory().allocate(bytes, 16, why);
        EXPECT_NE(got, nullptr);
        std::memset(got, filling, bytes);
        return static_cast<std::byte*>(got);
    }
    void deallocate(std::byte* block, std::uint64_t bytes) { engine_->memory().deallocate(block, bytes, 16); }
    void commit() { ASSERT_TRUE(engine_->commit()); }
    static bool holds(const std::byte* block, std::uint64_t bytes, int filling) {
        return std::all_of(block, block + bytes, [&](std::byte each) { return each == std::byte(filling); });
    }
    void expect_sound() {
        auto report = engine_->verify();
        ASSERT_TRUE(report) << report.why().message;
        EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
    }
    [[nodiscard]] std::uint64_t file_bytes() const { return disk_.files().at(k_space_path); }

    simulation::simulated_disk disk_;
    std::unique_ptr<engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(trackers, space_given_back,
                         testing::Values(track::tracker_choice::automatic, track::tracker_choice::trap,
                                         track::tracker_choice::fallback));

TEST_P(space_given_back, by_a_checkpoint_and_used_again) {
    std::byte* const kept = allocate(100 * KiB, 1);
    std::byte* const inside = allocate(4 * MiB, 2);
    std::byte* const behind = allocate(300 * KiB, 3);
    std::byte* const last = allocate(2 * MiB, 4);
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    const std::uint64_t before = disk_.space_used();
    deallocate(inside, 4 * MiB);
    deallocate(last, 2 * MiB);
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    EXPECT_LE(disk_.space_used(), before - 6 * MiB + 4 * k_space_chunk_bytes);
    EXPECT_TRUE(holds(kept, 100 * KiB, 1) && holds(behind, 300 * KiB, 3));
    expect_sound();

    std::byte* const again = allocate(3 * MiB, 5);
    ASSERT_TRUE(engine_->rollback());
    ASSERT_EQ(allocate(3 * MiB, 6), again);
    commit();
    expect_sound();
    open(); // as after a kill: the chunks are as fresh ones
    EXPECT_TRUE(holds(again, 3 * MiB, 6));
    EXPECT_TRUE(holds(kept, 100 * KiB, 1) && holds(behind, 300 * KiB, 3));
    expect_sound();
}

TEST_P(space_given_back, by_close) {
    std::byte* const kept = allocate(100 * KiB, 1);
    constexpr std::uint64_t k_bytes = 7 * MiB / 4; // of one region, and so at the end of the file
    std::byte* const freed = allocate(k_bytes, 2);
    commit();
    deallocate(freed, k_bytes);
    commit();
    EXPECT_GT(file_bytes(), 7 * MiB / 2);
    allocate(1 * MiB, 7); // is not committed
    ASSERT_TRUE(engine_->close());
    engine_.reset(); // with the log's file
    EXPECT_LT(disk_.space_used(), 512 * KiB);
    EXPECT_LT(file_bytes(), 5 * MiB / 2); // the allocator's structures stay
    open();
    EXPECT_TRUE(holds(kept, 100 * KiB, 1));
    EXPECT_EQ(allocate(k_bytes, 3), freed);
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    EXPECT_TRUE(holds(freed, k_bytes, 3));
    expect_sound();
}

TEST_P(space_given_back, not_while_it_is_freed_and_not_committed) {
    std::byte* const freed = allocate(4 * MiB, 2);
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    const std::uint64_t before = disk_.space_used();
    deallocate(freed, 4 * MiB);
    ASSERT_TRUE(engine_->checkpoint());
    EXPECT_EQ(disk_.space_used(), before);
    ASSERT_TRUE(engine_->rollback());
    EXPECT_TRUE(holds(freed, 4 * MiB, 2));
    deallocate(freed, 4 * MiB);
    std::byte* const other = allocate(100, 5); // not committed either, nor is the next one
    ASSERT_TRUE(engine_->close());
    open();
    EXPECT_TRUE(holds(freed, 4 * MiB, 2));
    EXPECT_NE(engine_->memory().block_of(freed), std::nullopt);
    EXPECT_EQ(engine_->memory().block_of(other), std::nullopt);
    expect_sound();
}

TEST_P(space_given_back, not_while_something_else_is_not_committed) {
    std::byte* const kept = allocate(100 * KiB, 1);
    std::byte* const freed = allocate(4 * MiB, 2);
    commit();
    deallocate(freed, 4 * MiB);
    commit();
    ASSERT_TRUE(engine_->checkpoint()); // gives back
    std::byte* const used = allocate(2 * MiB, 3);
    kept[0] = std::byte{9};
    const std::uint64_t before = disk_.space_used();
    ASSERT_TRUE(engine_->checkpoint());
    EXPECT_EQ(disk_.space_used(), before);
    EXPECT_EQ(kept[0], std::byte{9});
    EXPECT_TRUE(holds(used, 2 * MiB, 3));
    commit();
    open();
    EXPECT_EQ(kept[0], std::byte{9});
    EXPECT_TRUE(holds(used, 2 * MiB, 3));
}

TEST_P(space_given_back, what_fails_on_the_way_is_told_and_loses_nothing) {
    std::byte* const kept = allocate(100 * KiB, 1);
    std::byte* const freed = allocate(1 * MiB, 2);
    commit();
    deallocate(freed, 1 * MiB);
    commit();
    engine_.reset();
    const auto start = disk_.now();
    for (const bool closes : {false, true}) {
        std::uint64_t failures = 0;
        for (std::uint64_t n = 0;; ++n) {
            SCOPED_TRACE(std::to_string(n) + (closes ? " of close" : " of checkpoint"));
            open();
            kept[0] = std::byte{3};
            commit();
            disk_.fail_at(n, errc::io);
            const auto done = closes ? engine_->close() : engine_->checkpoint();
            const bool failed = !disk_.failure_is_ahead();
            disk_.work_again();
            EXPECT_EQ(static_cast<bool>(done), !failed);
            open();
            EXPECT_EQ(kept[0], std::byte{3});
            EXPECT_TRUE(holds(kept + 1, 100 * KiB - 1, 1));
            expect_sound();
            engine_.reset();
            disk_.rewind(start);
            if (!failed)
                break;
            ++failures;
        }
        EXPECT_GT(failures, 5U);
    }
}

// Some file systems need room for a hole. What should be one is then not used again before it is.
TEST_P(space_given_back, later_when_there_is_no_room_for_holes) {
    allocate(30 * KiB, 1);
    std::byte* const freed = allocate(500 * KiB, 2);
    allocate(100 * KiB, 3); // so that the file does not end before
    commit();
    engine_.reset();
    const auto start = disk_.now();
    for (const bool closes : {false, true}) {
        std::uint64_t without_room = 0;
        for (std::uint64_t n = 0;; ++n) {
            SCOPED_TRACE(std::to_string(n) + (closes ? " of close" : " of checkpoint"));
            open();
            deallocate(freed, 500 * KiB);
            commit();
            disk_.take_trace();
            disk_.fail_at(n, errc::no_space);
            const auto done = closes ? engine_->close() : engine_->checkpoint();
            const bool failed = !disk_.failure_is_ahead();
            disk_.work_again();
            if (!done) {
                EXPECT_EQ(done.why().code, errc::io) << "the heap is poisoned or closed, so nothing may be repeated";
            }
            const bool no_hole = std::ranges::any_of(disk_.trace(), [](const simulation::disk_operation& each) {
                return each.failed && each.what == simulation::disk_operation::kind::punch;
            });
            if (no_hole) {
                ++without_room;
                EXPECT_TRUE(done);
                if (closes)
                    open();
                std::byte* const again = allocate(400 * KiB, 0); // zeros, where the file has none
                ASSERT_EQ(again, freed);
                for (std::uint64_t at = 0; at < 400 * KiB; at += k_space_chunk_bytes)
                    again[at] = std::byte{7};
                commit();
                expect_sound();
                open();
                for (std::uint64_t at = 0; at < 400 * KiB; ++at)
                    ASSERT_EQ(again[at], std::byte(at % k_space_chunk_bytes == 0 ? 7 : 0)) << at;
                expect_sound();
            }
            engine_.reset();
            disk_.rewind(start);
            if (!failed)
                break;
        }
        EXPECT_GT(without_room, 0U);
    }
}

// A descriptor that says that more is free than is, and was committed.
TEST_P(space_given_back, not_where_the_allocator_contradicts_itself) {
    std::byte* const freed = allocate(300 * KiB, 1);
    std::byte* const kept = allocate(300 * KiB, 2);
    ASSERT_GT(kept, freed);
    commit();
    deallocate(freed, 300 * KiB);
    commit();
    const auto page = static_cast<std::uint32_t>(engine_->memory().offset_of(freed) / k_page_bytes);
    auto* const run = reinterpret_cast<format::page_descriptor*>(engine_->memory().base() +
                                                                 alloc::section_of(page).descriptor_offset(page));
    ASSERT_EQ(run->kind, format::page_kind::free_run);
    run->count += 64;
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    open();
    EXPECT_TRUE(holds(kept, 300 * KiB, 2));
}

TEST_P(space_given_back, a_superblock_damaged_later_does_not_bring_the_former_one_back_unnoticed) {
    std::byte* const kept = allocate(100 * KiB, 1);
    std::byte* const inside = allocate(500 * KiB, 2);
    allocate(300 * KiB, 3);
    std::byte* const last = allocate(700 * KiB, 4);
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    deallocate(inside, 500 * KiB);
    commit();
    ASSERT_TRUE(engine_->checkpoint()); // leaves a hole
    deallocate(last, 700 * KiB);
    commit();
    ASSERT_TRUE(engine_->checkpoint()); // makes the file shorter
    engine_.reset();
    const auto start = disk_.now();
    std::uint64_t noticed = 0;
    for (const std::uint64_t place : {0U, 1U}) {
        disk_.rot(k_space_path, place * k_page_bytes + 100, std::byte{1});
        auto opened =
            engine::open(disk_, k_space_path, open_mode::open_existing, {.chunk_bytes = k_space_chunk_bytes}, "abi");
        if (opened) {
            EXPECT_TRUE(holds(kept, 100 * KiB, 1));
            EXPECT_EQ((*opened)->memory().block_of(last), std::nullopt);
            opened = fail(errc::io, "closed");
        } else {
            EXPECT_EQ(opened.why().code, errc::truncated) << opened.why().message;
            ++noticed;
        }
        disk_.rewind(start);
    }
    EXPECT_EQ(noticed, 1U);
}

TEST_P(space_given_back, many_stretches_as_far_as_the_chunk_map_has_room) {
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 60; ++i)
        blocks.push_back(allocate(128 * KiB, i + 1));
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    const std::uint64_t before = disk_.space_used();
    for (std::size_t i = 0; i < blocks.size(); i += 2)
        deallocate(std::exchange(blocks[i], nullptr), 128 * KiB);
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    EXPECT_LE(disk_.space_used(), before - 30 * k_space_chunk_bytes);
    open();
    for (std::size_t i = 1; i < blocks.size(); i += 2)
        EXPECT_TRUE(holds(blocks[i], 128 * KiB, static_cast<int>(i) + 1)) << i;
    for (std::size_t i = 0; i < blocks.size(); i += 2)
        blocks[i] = allocate(128 * KiB, 99);
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    expect_sound();
    EXPECT_EQ(
        std::count_if(blocks.begin(), blocks.end(), [](const std::byte* each) { return holds(each, 128 * KiB, 99); }),
        30);
}

} // namespace
} // namespace remanence::txn
