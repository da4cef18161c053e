// Chunks that a commit rewrote are written whole to their other copy: when, what that costs, and that nothing is lost.
//
// The model agreed in 600 runs with as many seeds.

#include "store/superblocks.hpp"
#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::txn {
namespace {

constexpr const char* k_moved_path = "dir/heap";
constexpr std::uint64_t k_relocated_extent_bytes = 64 * KiB;
constexpr std::uint64_t k_block_bytes = 16 * k_relocated_extent_bytes;

class relocated_extents : public testing::TestWithParam<track::tracker_choice> {
protected:
    void SetUp() override {
        disk_.limit_space(GiB); // so that it counts what is used
        empty_ = disk_.now();
        open();
    }
    void open() {
        engine_.reset();
        auto opened = engine::open(disk_, k_moved_path, open_mode::open_or_create,
                                   {.reserve_bytes = 64 * MiB,
                                    .chunk_bytes = k_relocated_extent_bytes,
                                    .log_limit_bytes = log_limit_bytes_,
                                    .scattered_max = k_scattered_max,
                                    .tracker = GetParam()},
                                   "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
        if (begins_checkpoints_)
            engine_->let_checkpoints_be_carried_out([] { return true; });
    }
    std::byte* allocate(std::uint64_t bytes, int filling) {
        std::optional<unexpected> why;
        void* const got = engine_->memory().allocate(bytes, 16, why);
        EXPECT_NE(got, nullptr);
        std::memset(got, filling, bytes);
        return static_cast<std::byte*>(got);
    }
    void commit() {
        auto done = engine_->commit();
        ASSERT_TRUE(done) << done.why().message;
    }
    [[nodiscard]] std::uint64_t logged_by_commit() {
        const std::uint64_t before = engine_->stats().logged_bytes;
        commit();
        return engine_->stats().logged_bytes - before;
    }
    static bool holds(const std::byte* block, std::uint64_t bytes, int filling) {
        return std::all_of(block, block + bytes, [&](std::byte each) { return each == std::byte(filling); });
    }
    void expect_sound() {
        auto report = engine_->verify();
        ASSERT_TRUE(report) << report.why().message;
        EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
    }

    /// Runs of chunks at their copies B, or given back.
    [[nodiscard]] std::size_t exceptions() {
        EXPECT_TRUE(engine_->checkpoint());
        auto file = disk_.open(k_moved_path, os::access::read_only);
        auto current = store::read_superblocks(**file, *(*file)->size());
        EXPECT_TRUE(current);
        return static_cast<std::size_t>(current->super.map.count);
    }

    static constexpr std::size_t k_scattered_max = 12;
    simulation::simulated_disk disk_;
    simulation::simulated_disk::savepoint empty_{};
    std::unique_ptr<engine> engine_;
    bool begins_checkpoints_ = false;
    std::uint64_t log_limit_bytes_ = 256 * MiB;
};

INSTANTIATE_TEST_SUITE_P(trackers, relocated_extents,
                         testing::Values(track::tracker_choice::automatic, track::tracker_choice::trap,
                                         track::tracker_choice::fallback));

TEST_P(relocated_extents, a_block_that_is_rewritten_is_not_logged) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    std::memset(block, 2, k_block_bytes);
    EXPECT_LT(logged_by_commit(), k_block_bytes / 4); // the chunks at its ends are shared with others
    EXPECT_TRUE(holds(block, k_block_bytes, 2));
    expect_sound();
    open(); // as after a kill
    EXPECT_TRUE(holds(block, k_block_bytes, 2));
    expect_sound();
    ASSERT_TRUE(engine_->close());
    open();
    EXPECT_TRUE(holds(block, k_block_bytes, 2));
    expect_sound();
}

TEST_P(relocated_extents, few_chunks_or_few_changed_bytes_are_logged) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    std::memset(block + k_relocated_extent_bytes, 2, 2 * k_relocated_extent_bytes);
    EXPECT_GT(logged_by_commit(), 2 * k_relocated_extent_bytes);
    for (std::uint64_t at = 0; at < k_block_bytes; at += 4 * k_page_bytes)
        std::memset(block + at, 3, k_page_bytes);
    EXPECT_GT(logged_by_commit(), k_block_bytes / 4 - 2 * k_page_bytes);
    for (std::uint64_t at = 0; at < k_block_bytes; at += k_page_bytes)
        block[at] = std::byte{4};
    const std::uint64_t logged = logged_by_commit(); // a word of each page costs more than its share of the checkpoint
    EXPECT_LT(logged, k_block_bytes / 16);
    expect_sound();
}

// The copy that a chunk left keeps the memory of what was written, until a checkpoint.
TEST_P(relocated_extents, where_memory_is_short_a_checkpoint_comes_early) {
    std::byte* const block = allocate(6 * k_block_bytes, 1);
    commit();
    const auto rewrite = [&](int filling) {
        const std::uint64_t before = engine_->stats().checkpoints;
        for (std::uint64_t at = 0; at < 6 * k_block_bytes; at += k_block_bytes) {
            std::memset(block + at, filling, k_block_bytes);
            commit();
        }
        EXPECT_TRUE(holds(block, 6 * k_block_bytes, filling));
        return engine_->stats().checkpoints - before;
    };
    EXPECT_EQ(rewrite(2), 0U);
    ASSERT_TRUE(engine_->close());
    const std::string text = "MemTotal: 65536 kB\n"; // a sixteenth of it for those copies
    auto file = disk_.open_or_create("/proc/meminfo", 0444);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->write("test", 0, std::as_bytes(std::span(text))));
    open();
    EXPECT_GE(rewrite(3), 1U);
    EXPECT_GE(rewrite(4), 1U);
    expect_sound();
    open();
    EXPECT_TRUE(holds(block, 6 * k_block_bytes, 4));
    expect_sound();
}

// R3: the copy that was left may be needed by whoever recovers from the last superblock.
TEST_P(relocated_extents, they_move_again_only_after_a_checkpoint) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    std::memset(block, 2, k_block_bytes);
    EXPECT_LT(logged_by_commit(), k_block_bytes / 4);
    std::memset(block, 3, k_block_bytes);
    EXPECT_GT(logged_by_commit(), k_block_bytes / 2);
    ASSERT_TRUE(engine_->checkpoint());
    std::memset(block, 4, k_block_bytes);
    EXPECT_LT(logged_by_commit(), k_block_bytes / 4);
    EXPECT_TRUE(holds(block, k_block_bytes, 4));
    ASSERT_TRUE(engine_->checkpoint());
    block[k_block_bytes / 2] = std::byte{5};
    ASSERT_TRUE(engine_->rollback());
    EXPECT_TRUE(holds(block, k_block_bytes, 4));
    expect_sound();
    open();
    EXPECT_TRUE(holds(block, k_block_bytes, 4));
    expect_sound();
}

TEST_P(relocated_extents, the_copies_they_left_go_back_to_the_file_system) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    const std::uint64_t before = disk_.space_used();
    std::memset(block, 2, k_block_bytes);
    commit();
    EXPECT_GT(disk_.space_used(), before + k_block_bytes / 2);
    ASSERT_TRUE(engine_->checkpoint());
    for (int i = 0; i < 4; ++i) { // they map the chunks anew
        block[0] = std::byte(i);
        commit();
    }
    EXPECT_LT(disk_.space_used(), before + k_block_bytes / 4);
    std::memset(block, 3, k_block_bytes);
    commit();
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    EXPECT_LT(disk_.space_used(), before + k_block_bytes / 4);
    open();
    EXPECT_TRUE(holds(block, k_block_bytes, 3));
    expect_sound();
}

// A copy may hold what a commit left there that never was.
TEST_P(relocated_extents, whatever_lies_in_their_other_copies) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    ASSERT_TRUE(engine_->close());
    const auto start = disk_.now();
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE(std::to_string(n));
        open();
        std::memset(block, 2, k_block_bytes);
        disk_.fail_at(n, errc::io);
        const bool done = static_cast<bool>(engine_->commit());
        const bool failed = !disk_.failure_is_ahead();
        disk_.work_again();
        EXPECT_TRUE(done || failed);
        open();
        EXPECT_TRUE(holds(block, k_block_bytes, 1) || holds(block, k_block_bytes, 2));
        expect_sound();
        std::memset(block, 3, k_block_bytes);
        std::memset(block + 5 * k_relocated_extent_bytes + 100, 0, 6 * k_relocated_extent_bytes);
        commit();
        expect_sound();
        open();
        EXPECT_TRUE(holds(block, 5 * k_relocated_extent_bytes, 3));
        EXPECT_TRUE(holds(block + 5 * k_relocated_extent_bytes + 100, 6 * k_relocated_extent_bytes, 0));
        expect_sound();
        engine_.reset();
        disk_.rewind(start);
        if (!failed)
            break;
    }
}

TEST_P(relocated_extents, without_room_on_the_disk_nothing_is_committed_and_it_may_be_repeated) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    std::memset(block, 2, k_block_bytes);
    disk_.limit_space(disk_.space_used() + k_block_bytes / 2);
    auto done = engine_->commit();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.why().code, errc::no_space);
    EXPECT_TRUE(holds(block, k_block_bytes, 2));
    disk_.limit_space(GiB);
    commit();
    expect_sound();
    open();
    EXPECT_TRUE(holds(block, k_block_bytes, 2));
    expect_sound();
}

// Copies that chunks left, of which the superblock on the disk does not know yet, and parts of the log.
TEST_P(relocated_extents, room_that_the_checkpoint_under_way_gives_back_is_waited_for) {
    begins_checkpoints_ = true;
    log_limit_bytes_ = 256 * KiB;
    open();
    std::byte* const moved = allocate(k_block_bytes, 1);
    std::byte* const logged = allocate(k_block_bytes, 1);
    commit();
    std::memset(moved, 2, k_block_bytes);
    commit();
    for (std::uint64_t at = 0; at < k_block_bytes; at += k_page_bytes)
        std::memset(logged + at, 2, k_page_bytes / 3);
    commit(); // begins a checkpoint
    ASSERT_NE(engine_->stats().checkpoint.total_bytes, 0U);
    disk_.limit_space(disk_.space_used() + k_block_bytes / 4);
    std::byte* const fresh = allocate(k_block_bytes / 2, 3);
    commit();
    EXPECT_EQ(engine_->stats().checkpoint.total_bytes, 0U);
    std::byte* const more = allocate(2 * k_block_bytes, 4);
    auto done = engine_->commit();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.why().code, errc::no_space);
    EXPECT_TRUE(holds(more, 2 * k_block_bytes, 4));
    disk_.limit_space(GiB);
    commit();
    open(); // as after a kill
    EXPECT_TRUE(holds(moved, k_block_bytes, 2));
    EXPECT_TRUE(holds(fresh, k_block_bytes / 2, 3));
    EXPECT_TRUE(holds(more, 2 * k_block_bytes, 4));
    expect_sound();
}

// Nor does it keep the program from committing what it wrote elsewhere in the chunk.
TEST_P(relocated_extents, a_page_that_rotted_is_not_given_a_new_checksum) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    std::memset(block, 2, k_block_bytes);
    const std::uint64_t logged_without = logged_by_commit();
    ASSERT_TRUE(engine_->close());
    const std::uint64_t page =
        align_up(engine_->memory().offset_of(block) + 4 * k_relocated_extent_bytes, k_relocated_extent_bytes);
    engine_.reset();
    {
        auto heap = store::heap_file::open(disk_, k_moved_path, os::access::read_write);
        ASSERT_TRUE(heap);
        const std::byte rotten{77};
        ASSERT_TRUE((*heap)->file().write("test", (*heap)->copies().copy_of(page) + 100, {&rotten, 1}));
    }
    open();
    std::byte* const rotted = block + (page - engine_->memory().offset_of(block));
    std::memset(block, 3, static_cast<std::size_t>(rotted - block));
    std::memset(rotted + k_page_bytes, 3, static_cast<std::size_t>(block + k_block_bytes - rotted) - k_page_bytes);
    EXPECT_GT(logged_by_commit(), logged_without + k_relocated_extent_bytes - 2 * k_page_bytes);
    auto report = engine_->verify();
    ASSERT_TRUE(report) << report.why().message;
    EXPECT_EQ(report->problems.size(), 1U);
}

// By a change in the log, so that it has a checksum.
TEST_P(relocated_extents, with_pages_that_became_zeros) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    std::memset(block, 2, k_block_bytes);
    const std::uint64_t logged_without = logged_by_commit();
    const auto is_zeros = [](std::uint64_t at) { return at / k_page_bytes % 16 == 7; };
    for (std::uint64_t at = 0; at < k_block_bytes; ++at) {
        if (is_zeros(at))
            block[at] = std::byte{0};
    }
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    for (std::uint64_t at = 0; at < k_block_bytes; ++at) {
        if (!is_zeros(at))
            block[at] = std::byte{3};
    }
    EXPECT_LT(logged_by_commit(), logged_without + 8 * k_page_bytes);
    open(); // as after a kill
    for (std::uint64_t at = 0; at < k_block_bytes; ++at)
        ASSERT_EQ(block[at], std::byte(is_zeros(at) ? 0 : 3)) << at;
    expect_sound();
}

TEST_P(relocated_extents, are_brought_together_when_they_are_scattered) {
    constexpr std::uint64_t k_blocks = 12;
    std::vector<std::byte*> blocks;
    for (std::uint64_t i = 0; i < k_blocks; ++i)
        blocks.push_back(allocate(k_block_bytes, 1));
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    std::vector<int> fillings(k_blocks * 16, 1);
    const auto rewrite_every = [&](std::size_t step, int filling) {
        for (std::size_t i = step / 2; i < fillings.size(); i += step) {
            fillings[i] = filling;
            std::memset(blocks[i / 16] + i % 16 * k_relocated_extent_bytes, filling, k_relocated_extent_bytes);
        }
        commit();
        ASSERT_TRUE(engine_->checkpoint());
    };
    const auto expect_fillings = [&] {
        for (std::size_t i = 0; i < fillings.size(); ++i)
            EXPECT_TRUE(
                holds(blocks[i / 16] + i % 16 * k_relocated_extent_bytes, k_relocated_extent_bytes, fillings[i]))
                << i;
        expect_sound();
    };
    rewrite_every(3, 2); // two chunks of three are written, in part
    ASSERT_GT(exceptions(), 2 * k_scattered_max);
    std::memset(blocks[0], 3, 6 * k_relocated_extent_bytes);
    std::fill_n(fillings.begin(), 6, 3);
    commit();
    expect_fillings();
    EXPECT_LE(exceptions(), k_scattered_max);
    open(); // as after a kill
    expect_fillings();
    rewrite_every(5, 4);
    rewrite_every(7, 5);
    expect_fillings();
    ASSERT_TRUE(engine_->close());
    open();
    expect_fillings();
}

// R3: what was logged before a chunk moved is no part of it.
TEST_P(relocated_extents, with_what_was_changed_in_them_before) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    for (std::uint64_t at = 0; at < k_block_bytes; at += k_page_bytes)
        block[at + 100] = block[at + 200] = std::byte{9};
    commit();
    std::memset(block, 2, k_block_bytes / 2);
    std::memset(block + k_block_bytes / 2, 0, k_block_bytes / 2);
    commit();
    for (std::uint64_t at = 0; at < k_block_bytes; at += 2 * k_page_bytes)
        block[at + 100] = std::byte{3};
    commit();
    open(); // as after a kill
    for (std::uint64_t at = 0; at < k_block_bytes; ++at) {
        const bool is_changed = at % (2 * k_page_bytes) == 100;
        ASSERT_EQ(block[at], std::byte(is_changed ? 3 : at < k_block_bytes / 2 ? 2 : 0)) << at;
    }
    expect_sound();
}

TEST_P(relocated_extents, not_while_a_checkpoint_writes_pages_of_them) {
    begins_checkpoints_ = true;
    log_limit_bytes_ = 1;
    open();
    std::byte* const block = allocate(k_block_bytes, 0);
    commit();
    std::memset(block, 1, k_block_bytes);
    commit(); // makes copies B, which would end a checkpoint
    ASSERT_TRUE(engine_->checkpoint());
    for (std::uint64_t at = 0; at < k_block_bytes; at += k_page_bytes)
        block[at] = std::byte{2};
    commit(); // begins a checkpoint
    ASSERT_NE(engine_->stats().checkpoint.total_bytes, 0U);
    ASSERT_TRUE(engine_->step_checkpoint(k_page_bytes));
    std::memset(block, 3, 6 * k_relocated_extent_bytes); // so few that it is not waited for
    commit();
    ASSERT_NE(engine_->stats().checkpoint.total_bytes, 0U);
    std::memset(block, 1, k_block_bytes);
    for (std::uint64_t at = 0; at < k_block_bytes; at += k_page_bytes)
        block[at] = std::byte{2}; // all as the checkpoint has it
    commit();
    open();
    for (std::uint64_t at = 0; at < k_block_bytes; ++at)
        ASSERT_EQ(block[at], std::byte(at % k_page_bytes == 0 ? 2 : 1)) << at;
    expect_sound();
}

// Pages that were not written are still read from there.
TEST_P(relocated_extents, the_copies_they_left_stay_as_long_as_memory_is_mapped_from_them) {
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    ASSERT_TRUE(engine_->close());
    begins_checkpoints_ = true;
    log_limit_bytes_ = 1;
    open();
    const auto is_rewritten = [](std::uint64_t at) { return at / k_page_bytes % 4 != 3; };
    for (std::uint64_t at = 0; at < k_block_bytes; at += k_page_bytes) {
        if (is_rewritten(at))
            std::memset(block + at, 2, k_page_bytes);
    }
    commit(); // begins a checkpoint
    for (int round = 0; round < 20; ++round) {
        for (std::uint64_t at = 0; at < k_block_bytes; at += 8 * k_page_bytes)
            block[at] = std::byte(round); // so that chunks have before-images, and are not mapped anew
        commit();
        for (bool is_left = true; is_left;)
            is_left = *engine_->step_checkpoint();
        for (std::uint64_t at = 0; at < k_block_bytes; ++at) {
            const bool is_changed = at % (8 * k_page_bytes) == 0;
            ASSERT_EQ(block[at], std::byte(is_changed ? round : is_rewritten(at) ? 2 : 1)) << at << " in " << round;
        }
    }
    expect_sound();
}

// A chunk that has moved, or of which a checkpoint has before-images, may not move: so a commit makes a checkpoint first, or ends the
// one under way, if that writes less than the log and the checkpoint after it would.
TEST_P(relocated_extents, all_that_is_rewritten_is_written_once_commit_after_commit) {
    constexpr std::uint64_t k_bytes = 4 * MiB;
    constexpr std::uint64_t k_all = ~std::uint64_t{0};
    const auto nobody = k_all - 1;
    for (const std::uint64_t steps_between : {nobody, std::uint64_t{0}, std::uint64_t{3}, k_all}) {
        for (const bool begins_in_log : {false, true}) {
            SCOPED_TRACE(std::to_string(steps_between) + (begins_in_log ? ", in the log" : ""));
            engine_.reset();
            disk_.rewind(empty_);
            begins_checkpoints_ = steps_between != nobody;
            log_limit_bytes_ = 1 * MiB;
            open();
            std::byte* const block = allocate(k_bytes, 100);
            commit();
            if (begins_in_log) { // which leaves before-images
                for (std::uint64_t at = 0; at < k_bytes; at += k_page_bytes)
                    std::memset(block + at, 101, k_page_bytes / 3);
                commit();
            }
            std::uint64_t written = 0;
            std::uint64_t changed = 0;
            for (int round = 0; round < 7; ++round) {
                if (round == 1) {
                    written = engine_->stats().written_bytes;
                    changed = engine_->stats().changed_bytes;
                }
                std::memset(block, round, k_bytes);
                commit();
                for (std::uint64_t i = 0; begins_checkpoints_ && i < steps_between && *engine_->step_checkpoint();)
                    ++i;
                if (round == 4) {
                    std::memset(block, 50, k_bytes);
                    ASSERT_TRUE(engine_->rollback());
                    EXPECT_TRUE(holds(block, k_bytes, round));
                }
            }
            ASSERT_TRUE(engine_->checkpoint());
            written = engine_->stats().written_bytes - written;
            changed = engine_->stats().changed_bytes - changed;
            EXPECT_LT(10 * written, 11 * changed) << written << " bytes written for " << changed;
            EXPECT_TRUE(holds(block, k_bytes, 6));
            expect_sound();
            open(); // as after a kill
            EXPECT_TRUE(holds(block, k_bytes, 6));
            expect_sound();
        }
    }
}

// A checkpoint has before-images of them, until they are settled, which is long after it was done.
TEST_P(relocated_extents, while_memory_is_still_settled_after_a_checkpoint) {
    begins_checkpoints_ = true;
    log_limit_bytes_ = 128 * KiB;
    open();
    std::byte* const block = allocate(k_block_bytes, 1);
    commit();
    std::memset(block, 1, k_block_bytes);
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    for (std::uint64_t at = 0; at < k_block_bytes; at += k_page_bytes)
        std::memset(block + at, 2, k_page_bytes / 2);
    for (std::uint64_t at = 0; at < k_block_bytes; at += 16 * k_page_bytes)
        std::memset(block + at, 1, 8 * k_page_bytes); // half of each chunk: in the log
    commit();                                         // begins a checkpoint
    ASSERT_NE(engine_->stats().checkpoint.total_bytes, 0U);
    while (*engine_->step_checkpoint()) {
    }
    std::memset(block, 3, k_block_bytes);
    EXPECT_LT(logged_by_commit(), k_block_bytes / 4);
    for (std::uint64_t at = 0; at < k_block_bytes; ++at) // what the checkpoint has
        block[at] =
            std::byte(at % (16 * k_page_bytes) >= 8 * k_page_bytes && at % k_page_bytes < k_page_bytes / 2 ? 2 : 1);
    ASSERT_TRUE(engine_->checkpoint()) << "which settles all that is left";
    for (std::uint64_t at = 0; at < k_block_bytes; ++at)
        ASSERT_EQ(
            block[at],
            std::byte(at % (16 * k_page_bytes) >= 8 * k_page_bytes && at % k_page_bytes < k_page_bytes / 2 ? 2 : 1))
            << at;
    ASSERT_TRUE(engine_->rollback());
    EXPECT_TRUE(holds(block, k_block_bytes, 3));
    expect_sound();
    open(); // as after a kill
    EXPECT_TRUE(holds(block, k_block_bytes, 3));
    expect_sound();
}

TEST_P(relocated_extents, agree_with_a_model_whatever_is_done) {
    constexpr std::size_t k_blocks = 4;
    std::mt19937_64 random(test::random_seed());
    std::uint64_t moved = 0; // in all variants, since one of them may happen to move nothing
    for (const int variant : {0, 1, 2, 3}) {
        SCOPED_TRACE("variant " + std::to_string(variant));
        engine_.reset();
        disk_.rewind(empty_);
        begins_checkpoints_ = variant % 2 == 1;
        log_limit_bytes_ = variant / 2 == 0 ? 256 * MiB : 256 * KiB;
        open();
        std::vector<std::byte*> blocks;
        for (std::size_t i = 0; i < k_blocks; ++i)
            blocks.push_back(allocate(k_block_bytes, static_cast<int>(i)));
        std::vector<std::vector<std::byte>> committed;
        const auto note = [&] {
            committed.clear();
            for (const std::byte* block : blocks)
                committed.emplace_back(block, block + k_block_bytes);
        };
        const auto expect_committed = [&] {
            for (std::size_t i = 0; i < k_blocks; ++i)
                ASSERT_EQ(std::memcmp(blocks[i], committed[i].data(), k_block_bytes), 0) << i;
        };
        commit();
        note();
        for (int step = 0; step < 150; ++step) {
            SCOPED_TRACE("step " + std::to_string(step));
            std::byte* const block = blocks[random() % k_blocks];
            switch (random() % 9) {
            case 0:
            case 1:
            case 2: {
                const std::uint64_t from = random() % 3 * k_relocated_extent_bytes;
                std::memset(block + from, static_cast<int>(random() % 3), k_block_bytes - from - random() % 1000);
                break;
            }
            case 3:
                block[random() % k_block_bytes] = std::byte(random());
                break;
            case 4: {
                const std::uint64_t logged = engine_->stats().logged_bytes;
                const std::uint64_t changed = engine_->stats().changed_bytes;
                commit();
                moved += engine_->stats().changed_bytes - changed > engine_->stats().logged_bytes - logged ? 1U : 0U;
                note();
                break;
            }
            case 5:
                ASSERT_TRUE(engine_->rollback());
                expect_committed();
                break;
            case 6:
                ASSERT_TRUE(engine_->checkpoint());
                break;
            case 7:
                for (std::uint64_t steps = random() % 4; steps > 0; --steps)
                    ASSERT_TRUE(engine_->step_checkpoint(64 * KiB));
                break;
            default:
                if (random() % 2 == 0) {
                    ASSERT_TRUE(engine_->close());
                }
                open();
                expect_committed();
                break;
            }
            if (step % 10 == 0)
                expect_sound();
        }
    }
    EXPECT_GT(moved, 0U);
}

} // namespace
} // namespace remanence::txn
