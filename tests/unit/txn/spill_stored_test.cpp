// More of what is stored is rewritten than the budget allows: it lies at copies B before it is committed.
#include "spilling.hpp"

#include <algorithm>
#include <cstring>
#include <future>
#include <vector>

namespace remanence::txn {
namespace {

class spilling_stored_chunks : public spilling {};

INSTANTIATE_TEST_SUITE_P(trackers, spilling_stored_chunks, k_spill_trackers);

TEST_P(spilling_stored_chunks, that_are_rewritten_are_spilled_too) {
    const auto blocks = allocate_many(150);
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    rewrite(blocks, 100);
    EXPECT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    const std::uint64_t logged = engine_->stats().logged_bytes;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        EXPECT_TRUE(holds(blocks[i], 100)) << i;
    commit();
    EXPECT_LT(engine_->stats().logged_bytes - logged, 2 * MiB);
    for (const bool reopened : {false, true, true}) {
        if (reopened)
            open();
        for (std::size_t i = 0; i < blocks.size(); ++i)
            EXPECT_TRUE(holds(blocks[i], 100)) << i;
        expect_sound();
    }
    ASSERT_TRUE(engine_->checkpoint());
    rewrite(blocks, 101); // back to where they were
    EXPECT_GT(engine_->stats().spilled_bytes, 3 * MiB);
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    for (std::size_t i = 0; i < blocks.size(); ++i)
        EXPECT_TRUE(holds(blocks[i], 101)) << i;
    expect_sound();
}

TEST_P(spilling_stored_chunks, are_what_they_were_without_a_commit) {
    const auto blocks = allocate_many(150);
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    blocks[7][5000] = std::byte{77}; // committed, and not yet in the image
    commit();
    const auto expect_what_is_committed = [&] {
        EXPECT_EQ(blocks[7][5000], std::byte{77});
        blocks[7][5000] = std::byte{8};
        expect_numbers_in(blocks);
        blocks[7][5000] = std::byte{77};
        expect_sound();
    };
    rewrite(blocks, 100);
    ASSERT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    ASSERT_TRUE(engine_->rollback());
    expect_what_is_committed();
    commit();
    rewrite(blocks, 101);
    ASSERT_TRUE(engine_->checkpoint());
    rewrite(blocks, 102);
    open(); // as after a kill
    expect_what_is_committed();
    ASSERT_TRUE(engine_->rollback());
    rewrite(blocks, 103);
    ASSERT_TRUE(engine_->close());
    open();
    expect_what_is_committed();
}

TEST_P(spilling_stored_chunks, zeros_replace_what_was_spilled) {
    const auto blocks = allocate_many(150);
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    rewrite(blocks, 100);
    std::memset(blocks[3], 0, k_block_bytes);
    std::memset(blocks[90], 0, k_block_bytes);
    rewrite({blocks.begin() + 40, blocks.begin() + 80}, 0);
    blocks[10][9000] = std::byte{1};
    commit();
    open();
    EXPECT_TRUE(holds(blocks[3], 0));
    EXPECT_TRUE(holds(blocks[90], 0));
    EXPECT_TRUE(holds(blocks[79], 0));
    EXPECT_TRUE(holds(blocks[80], 100));
    EXPECT_EQ(blocks[10][9000], std::byte{1});
    expect_sound();
}

TEST_P(spilling_stored_chunks, stay_in_memory_when_the_disk_is_full) {
    const auto blocks = allocate_many(60);
    commit();
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    const std::uint64_t used = disk_.space_used();
    const auto start = disk_.now();
    bool were_spilled = false;
    for (std::uint64_t left = 0; !were_spilled; left += 4 * k_page_bytes) {
        SCOPED_TRACE(left);
        disk_.limit_space(used + left);
        open();
        rewrite(blocks, 100);
        EXPECT_FALSE(engine_->is_poisoned());
        were_spilled = engine_->stats().spilled_bytes > 2 * MiB;
        disk_.limit_space(GiB);
        commit();
        open();
        for (const std::byte* block : blocks)
            EXPECT_TRUE(holds(block, 100));
        expect_sound();
        engine_.reset();
        disk_.rewind(start);
    }
}

// The program writes and calls nobody, while a thread that does nothing else spills.
TEST_P(spilling_stored_chunks, on_the_side_ends_where_the_disk_is_full_and_goes_on_when_there_is_room) {
    const auto stored = allocate_many(60);
    commit();
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    const std::uint64_t used = disk_.space_used();
    const auto start = disk_.now();
    int failed_in_midst = 0;
    bool had_room = false;
    for (std::uint64_t left = 0; !had_room; left += 32 * k_page_bytes) {
        SCOPED_TRACE(left);
        open();
        std::vector<std::byte*> blocks = stored;
        std::byte* const fresh = allocate(30 * k_block_bytes, 100);
        for (std::uint64_t at = 0; at < 30 * k_block_bytes; at += k_block_bytes)
            blocks.push_back(fresh + at);
        const auto fill_all = [&](int filling) {
            for (std::byte* block : blocks)
                std::memset(block, filling, k_block_bytes);
        };
        const auto expect_all = [&](int filling) {
            EXPECT_TRUE(std::ranges::all_of(blocks, [&](std::byte* block) { return holds(block, filling); }));
        };
        const auto spill_beside = [&] {
            (void)std::async(std::launch::async, [&] { return engine_->spill_excess(); }).get();
            EXPECT_FALSE(engine_->is_poisoned());
        };
        fill_all(101);
        disk_.limit_space(used + left);
        spill_beside();
        const std::uint64_t spilled = engine_->stats().spilled_bytes;
        auto done = engine_->commit();
        had_room = static_cast<bool>(done);
        if (!had_room) {
            EXPECT_EQ(done.why().code, errc::no_space);
            failed_in_midst += spilled > 0 ? 1 : 0;
            expect_all(101);
            fill_all(102);
            spill_beside();
            expect_all(102);
            disk_.limit_space(GiB);
            spill_beside();
            EXPECT_GT(engine_->stats().spilled_bytes, spilled + MiB);
            commit();
        }
        disk_.limit_space(GiB);
        expect_sound();
        open();
        expect_all(had_room ? 101 : 102);
        expect_sound();
        engine_.reset();
        disk_.rewind(start);
    }
    EXPECT_GT(failed_in_midst, 2);
}

// Chunks move first to copies that a superblock has to name, which must not come between.
TEST_P(spilling_stored_chunks, are_spilled_while_a_checkpoint_is_under_way) {
    auto blocks = allocate_many(150);
    commit();
    ASSERT_TRUE(engine_->close());
    begins_checkpoints_ = true;
    log_limit_bytes_ = 1;
    for (int round = 100; round < 104; ++round) {
        open();
        blocks[7][5000] = std::byte(round);
        commit();
        ASSERT_NE(engine_->stats().checkpoint.total_bytes, 0U);
        rewrite(blocks, round);
        EXPECT_GT(engine_->stats().spilled_bytes, 3 * MiB);
        ASSERT_TRUE(round % 2 == 0 ? engine_->commit() : engine_->rollback());
        open();
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            EXPECT_TRUE(i == 7 || holds(blocks[i], round - round % 2)) << i;
        }
        expect_sound();
    }
}

// By a change in the log, so that they have a checksum.
TEST_P(spilling_stored_chunks, with_pages_that_became_zeros_are_spilled) {
    const auto blocks = allocate_many(60);
    commit();
    const auto page_in = [&](std::byte* block) {
        return engine_->memory().base() + align_up(engine_->memory().offset_of(block), k_page_bytes);
    };
    for (std::byte* block : blocks)
        std::memset(page_in(block), 0, k_page_bytes);
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    for (std::byte* block : blocks) {
        std::memset(page_in(block) + k_page_bytes, 100, 8 * k_page_bytes);
        ASSERT_TRUE(engine_->memory().declare(block, k_block_bytes));
    }
    EXPECT_GT(engine_->stats().spilled_bytes, MiB);
    commit();
    open();
    for (std::byte* block : blocks) {
        EXPECT_EQ(page_in(block)[17], std::byte{0});
        EXPECT_EQ(page_in(block)[k_page_bytes], std::byte{100});
    }
    expect_sound();
}

TEST_P(spilling_stored_chunks, a_page_that_rotted_keeps_its_chunk_in_memory) {
    const auto blocks = allocate_many(150);
    commit();
    ASSERT_TRUE(engine_->close());
    const std::uint64_t chunk = engine_->memory().offset_of(blocks[20]) / k_spill_chunk_bytes;
    const std::uint64_t page = align_up(engine_->memory().offset_of(blocks[20]), k_page_bytes);
    engine_.reset();
    {
        auto heap = store::heap_file::open(disk_, k_spill_path, os::access::read_write);
        ASSERT_TRUE(heap);
        const std::byte rotten{77};
        ASSERT_TRUE((*heap)->file().write("test", (*heap)->copies().copy_of(page) + 100, {&rotten, 1}));
    }
    open();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i != 20)
            rewrite({blocks[i]}, 100);
    }
    ASSERT_GT(engine_->stats().spilled_bytes, 2 * MiB);
    EXPECT_FALSE(std::ranges::count(engine_->spilled_chunks(), chunk));
    commit();
    EXPECT_TRUE(holds(blocks[19], 100));
    auto report = engine_->verify();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->problems.size(), 1U); // it is known as before
}

// A tracker may have made it a copy of its own, in order to prepare the mapping.
TEST_P(spilling_stored_chunks, the_first_page_of_a_mapping_is_no_exception) {
    const auto blocks = allocate_many(150);
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    const std::uint64_t chunk = engine_->memory().offset_of(blocks[60]) / k_spill_chunk_bytes + 2;
    std::byte* const first = engine_->memory().base() + chunk * k_spill_chunk_bytes;
    std::memset(first, 100,
                20 * k_spill_chunk_bytes); // these move, and are mapped by themselves when the heap is opened
    const std::uint64_t logged = engine_->stats().logged_bytes;
    commit();
    ASSERT_LT(engine_->stats().logged_bytes - logged, k_spill_chunk_bytes);
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    {
        auto heap = store::heap_file::open(disk_, k_spill_path, os::access::read_write);
        ASSERT_TRUE(heap);
        const std::byte rotten{77};
        ASSERT_TRUE(
            (*heap)->file().write("test", (*heap)->copies().copy_of(chunk * k_spill_chunk_bytes) + 100, {&rotten, 1}));
    }
    open();
    for (std::uint64_t at = 0; at < 20 * k_spill_chunk_bytes; at += k_spill_chunk_bytes) {
        std::memset(first + at + 8 * k_page_bytes, 101, 8 * k_page_bytes);
        ASSERT_TRUE(engine_->memory().declare(first + at + 8 * k_page_bytes, 8 * k_page_bytes));
    }
    ASSERT_GT(engine_->stats().spilled_bytes, 0U);
    commit();
    auto report = engine_->verify();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->problems.size(), 1U);
}

} // namespace
} // namespace remanence::txn
