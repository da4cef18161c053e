// More is written than the budget allows: it lies in the file before it is committed, and nothing else can be told from that.
#include "spilling.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstring>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace remanence::txn {
namespace {

INSTANTIATE_TEST_SUITE_P(trackers, spilling, k_spill_trackers);

// on_progress may wait for a lock whose holder is paused.
TEST_P(spilling, who_finishes_a_checkpoint_while_others_are_paused_reports_no_progress) {
    const auto blocks = allocate_many(150);
    commit();
    begins_checkpoints_ = true;
    log_limit_bytes_ = 1;
    open();
    blocks[7][5000] = std::byte{100};
    commit();
    ASSERT_NE(engine_->stats().checkpoint.total_bytes, 0U);
    for (std::byte* block : blocks)
        std::memset(block, 101, k_block_bytes);
    reports_ = 0;
    EXPECT_FALSE(engine_->spill_excess());
    EXPECT_GT(engine_->stats().spilled_bytes, 5 * MiB);
    const auto run = engine_->stats().checkpoint; // it stood in the way of the copies B
    EXPECT_EQ(run.done_bytes, run.total_bytes);
    EXPECT_EQ(reports_, 0);
    commit();
    for (const std::byte* block : blocks)
        EXPECT_TRUE(holds(block, 101));
    expect_sound();
}

// Who asked for statistics in that moment once ended all spilling.
TEST_P(spilling, is_not_done_when_somebody_else_is_at_the_store) {
    const auto blocks = allocate_many(150);
    commit();
    for (std::byte* block : blocks)
        std::memset(block, 100, k_block_bytes);
    const std::uint64_t before = engine_->stats().spilled_bytes;
    const auto spill = [&] { return std::async(std::launch::async, [&] { return engine_->spill_excess(); }).get(); };
    reports_ = 0;
    on_progress_ = [&] { EXPECT_FALSE(spill()); };
    ASSERT_TRUE(engine_->verify());
    on_progress_ = nullptr;
    EXPECT_GT(reports_, 0);
    EXPECT_EQ(engine_->stats().spilled_bytes, before);
    EXPECT_FALSE(spill());
    EXPECT_GT(engine_->stats().spilled_bytes, before + 5 * MiB);
    EXPECT_TRUE(spill());
}

TEST_P(spilling, what_is_spilled_reads_as_before_and_is_committed) {
    const auto blocks = allocate_many(150);
    EXPECT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    EXPECT_EQ(engine_->version(), 0U);
    expect_numbers_in(blocks);
    commit();
    expect_numbers_in(blocks);
    expect_sound();
    open(); // as after a kill
    expect_numbers_in(blocks);
    expect_sound();
    ASSERT_TRUE(engine_->close());
    open();
    expect_numbers_in(blocks);
}

// Else the process would be killed before the budget is used up.
TEST_P(spilling, a_budget_that_memory_is_too_small_for_is_half_of_the_memory) {
    budget_ = GiB;
    memory_bytes_ = 8 * MiB;
    open();
    const auto blocks = allocate_many(400);
    EXPECT_GT(engine_->stats().spilled_bytes, 8 * MiB);
    EXPECT_LT(bytes_in_memory(blocks.front(), 400 * k_block_bytes), 6 * MiB);
    commit();
    expect_numbers_in(blocks);
    expect_sound();
}

// There is nothing to be written, and yet memory is full of it.
TEST_P(spilling, zeros_give_their_memory_back) {
    constexpr std::uint64_t k_bytes = 6 * MiB;
    std::byte* const block = allocate(k_bytes, 0);
    block[5 * MiB + 5] = std::byte{5};
    EXPECT_GT(bytes_in_memory(block, k_bytes), 5 * MiB);
    (void)engine_->spill_excess();
    EXPECT_LE(bytes_in_memory(block, k_bytes), k_budget);
    EXPECT_LE(engine_->stats().spilled_bytes, k_spill_chunk_bytes);
    block[17] = std::byte{6};
    commit();
    open();
    for (std::uint64_t at = 0; at < k_bytes; ++at)
        ASSERT_EQ(block[at], std::byte(at == 17 ? 6 : at == 5 * MiB + 5 ? 5 : 0)) << at;
    expect_sound();
}

// Fresh ones and stored ones.
TEST_P(spilling, zeros_over_zeros_that_were_spilled_give_their_memory_back) {
    constexpr std::uint64_t k_bytes = 6 * MiB;
    const auto write_and_spill = [&](std::byte* block, int what) {
        std::memset(block, what, k_bytes);
        EXPECT_GT(bytes_in_memory(block, k_bytes), 5 * MiB);
        (void)engine_->spill_excess();
        EXPECT_LE(bytes_in_memory(block, k_bytes), k_budget);
    };
    const auto make_zeros_twice = [&](std::byte* block) {
        write_and_spill(block, 0);
        const std::uint64_t spilled = engine_->stats().spilled_bytes;
        write_and_spill(block, 0);
        block[MiB + 5] = std::byte{5};
        return engine_->stats().spilled_bytes - spilled;
    };
    std::byte* const fresh = allocate(k_bytes, 1);
    write_and_spill(fresh, 1);
    (void)make_zeros_twice(fresh); // what is at a copy that nobody names has to be overwritten
    std::byte* const stored = allocate(k_bytes, 1);
    commit();
    open();
    EXPECT_LE(make_zeros_twice(stored), 2 * k_budget);
    commit();
    open();
    for (std::uint64_t at = 0; at < k_bytes; ++at) {
        ASSERT_EQ(fresh[at], std::byte(at == MiB + 5 ? 5 : 0)) << at;
        ASSERT_EQ(stored[at], fresh[at]) << at;
    }
    expect_sound();
}

TEST_P(spilling, it_is_gone_without_a_commit) {
    commit();
    allocate_many(150);
    ASSERT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    open();
    EXPECT_EQ(engine_->memory().header().allocator.allocated_bytes, 0U);
    // What it left in the file is not in the way of chunks with fewer pages that are not zeros.
    std::byte* const thin = allocate(3 * MiB, 0);
    for (std::uint64_t at = 0; at < 3 * MiB; at += k_spill_chunk_bytes)
        thin[at] = std::byte{1};
    commit();
    expect_sound();
    ASSERT_TRUE(engine_->close());
    open();
    for (std::uint64_t at = 0; at < 3 * MiB; ++at)
        ASSERT_EQ(thin[at], std::byte(at % k_spill_chunk_bytes == 0 ? 1 : 0)) << at;
}

TEST_P(spilling, a_rollback_makes_it_zeros_again) {
    auto* const kept = allocate(k_block_bytes, 7);
    commit();
    const auto blocks = allocate_many(150);
    ASSERT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    ASSERT_TRUE(engine_->rollback());
    EXPECT_TRUE(holds(kept, 7));
    for (const std::byte* block : blocks)
        EXPECT_TRUE(holds(block, 0));
    std::byte* const thin = allocate(3 * MiB, 0);
    for (std::uint64_t at = 0; at < 3 * MiB; at += k_spill_chunk_bytes)
        thin[at] = std::byte{1};
    commit();
    expect_sound();
    ASSERT_TRUE(engine_->close());
    open();
    for (std::uint64_t at = 0; at < 3 * MiB; ++at)
        ASSERT_EQ(thin[at], std::byte(at % k_spill_chunk_bytes == 0 ? 1 : 0)) << at;
    expect_sound();
}

TEST_P(spilling, what_is_written_afterwards_counts) {
    auto blocks = allocate_many(100);
    ASSERT_GT(engine_->stats().spilled_bytes, 2 * MiB);
    std::memset(blocks[3], 0, k_block_bytes); // old bytes are in the copy
    std::memset(blocks[5], 77, k_block_bytes);
    blocks[50][100] = std::byte{3};
    const auto more = allocate_many(100); // spills some of these again
    std::memset(blocks[7], 0, k_block_bytes);
    std::memset(blocks[9], 78, k_block_bytes);
    commit();
    for (const bool reopened : {false, true}) {
        if (reopened) {
            ASSERT_TRUE(engine_->close());
            open();
        }
        EXPECT_TRUE(holds(blocks[3], 0));
        EXPECT_TRUE(holds(blocks[5], 77));
        EXPECT_TRUE(holds(blocks[7], 0));
        EXPECT_TRUE(holds(blocks[9], 78));
        EXPECT_EQ(blocks[50][100], std::byte{3});
        EXPECT_TRUE(holds(blocks[20], 21));
        expect_numbers_in(more);
        expect_sound();
    }
}

TEST_P(spilling, a_commit_that_is_refused_leaves_it_for_the_next_one) {
    open(true);
    const auto blocks = allocate_many(150);
    ASSERT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    EXPECT_EQ(engine_->commit().why().code, errc::foreign_pointer);
    std::memset(blocks[3], 0, k_block_bytes);
    EXPECT_EQ(engine_->commit().why().code, errc::foreign_pointer);
    expect_numbers_in({blocks.begin(), blocks.begin() + 3});
    EXPECT_TRUE(holds(blocks[3], 0));
    ASSERT_TRUE(engine_->close());
}

TEST_P(spilling, what_is_freed_before_the_commit_is_no_part_of_it) {
    auto* const kept = allocate(k_block_bytes, 7);
    auto blocks = allocate_many(150);
    ASSERT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    for (std::byte* block : blocks)
        engine_->memory().deallocate(block, k_block_bytes, 16);
    commit();
    EXPECT_LT(engine_->stats().changed_bytes, 1 * MiB);
    expect_sound();
    blocks = allocate_many(20);
    commit();
    expect_sound();
    ASSERT_TRUE(engine_->close());
    open();
    EXPECT_TRUE(holds(kept, 7));
    expect_numbers_in(blocks);
    expect_sound();
}

TEST_P(spilling, a_declared_commit_takes_it_all) {
    commit();
    engine_->memory().begin_declared();
    const auto blocks = allocate_many(150);
    ASSERT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    auto done = engine_->commit({.scope = commit_scope::declared, .awaited = log::durability::durable});
    ASSERT_TRUE(done) << done.why().message;
    engine_->memory().end_declared();
    open();
    expect_numbers_in(blocks);
    expect_sound();
}

TEST_P(spilling, a_full_disk_leaves_it_in_memory) {
    auto* const kept = allocate(k_block_bytes, 7);
    commit();
    engine_.reset();
    const auto start = disk_.now();
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE(n);
        open();
        disk_.fail_at(n, errc::no_space);
        auto blocks = allocate_many(60);
        const bool failed = !disk_.failure_is_ahead();
        disk_.work_again();
        if (!engine_->is_poisoned()) { // a write for which there was room, and then not, is something else
            for (std::byte*& block : blocks) {
                if (&block - blocks.data() >= 40)
                    std::memset(block, 99, k_block_bytes);
            }
            commit();
            for (std::size_t i = 0; i < blocks.size(); ++i)
                EXPECT_TRUE(holds(blocks[i], i >= 40 ? 99 : static_cast<int>(i) + 1)) << i;
        }
        open();
        EXPECT_TRUE(holds(kept, 7));
        expect_sound();
        engine_.reset();
        disk_.rewind(start);
        if (!failed)
            break;
    }
}

TEST_P(spilling, a_write_that_fails_poisons) {
    auto* const kept = allocate(k_block_bytes, 7);
    commit();
    engine_.reset();
    const auto start = disk_.now();
    std::uint64_t poisoned = 0;
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE(n);
        open();
        disk_.fail_at(n, errc::io);
        const auto blocks = allocate_many(60);
        const bool failed = !disk_.failure_is_ahead();
        disk_.work_again();
        expect_numbers_in(blocks);
        EXPECT_EQ(engine_->is_poisoned(), failed);
        poisoned += failed ? 1 : 0;
        EXPECT_EQ(static_cast<bool>(engine_->commit()), !failed);
        open();
        EXPECT_TRUE(holds(kept, 7));
        expect_sound();
        engine_.reset();
        disk_.rewind(start);
        if (!failed)
            break;
    }
    EXPECT_GT(poisoned, 5U);
}

TEST_P(spilling, a_heap_closed_without_a_commit_is_as_small_as_before) {
    commit();
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    const std::uint64_t before = disk_.space_used();
    open();
    allocate_many(150);
    ASSERT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    EXPECT_GT(disk_.space_used(), before + 4 * MiB);
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    EXPECT_LE(disk_.space_used(), before + 64 * KiB); // the checksum table of another region
    open();
    EXPECT_EQ(engine_->memory().header().allocator.allocated_bytes, 0U);
    expect_sound();
}

TEST_P(spilling, many_commits_give_their_memory_back_too) {
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 120; ++i) {
        blocks.push_back(allocate(k_block_bytes, i + 1));
        if (i > 2)
            blocks[static_cast<std::size_t>(i) - 2][5] = blocks[static_cast<std::size_t>(i) - 2][6]; // nothing
        std::memset(blocks[static_cast<std::size_t>(i) / 2], i / 2 + 1, 100);
        blocks[static_cast<std::size_t>(i) / 2][2000] = std::byte(i);
        commit();
        blocks[static_cast<std::size_t>(i) / 2][2000] = std::byte(i / 2 + 1);
        commit();
        ASSERT_LE(engine_->stats().unmapped_bytes, k_budget / 2 + 2 * k_spill_chunk_bytes) << i;
    }
    expect_numbers_in(blocks);
    ASSERT_TRUE(engine_->checkpoint());
    std::memset(blocks[3], 200, k_block_bytes);
    ASSERT_TRUE(engine_->rollback());
    expect_numbers_in(blocks);
    expect_sound();
    open();
    expect_numbers_in(blocks);
}

TEST_P(spilling, memory_that_was_touched_stays) {
    auto* const promised = allocate(k_block_bytes, 0);
    ASSERT_TRUE(engine_->memory().touch(promised, k_block_bytes));
    allocate_many(150);
    ASSERT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    auto spillable = engine_->spilled_chunks();
    const auto first = engine_->memory().offset_of(promised) / k_spill_chunk_bytes;
    EXPECT_FALSE(std::ranges::count(spillable, first));
    EXPECT_TRUE(std::ranges::count(spillable, first + 3));
}

// Then its bytes are in the file, but memory is not mapped from there.
TEST_P(spilling, what_is_written_again_and_cannot_be_mapped_counts_as_written) {
    const auto large = [&](int filling) { return allocate(4 * k_spill_chunk_bytes, filling); };
    std::vector<std::byte*> blocks;
    for (const bool are_stored : {false, true}) {
        SCOPED_TRACE(are_stored ? "stored" : "fresh");
        if (are_stored) {
            commit();
            ASSERT_TRUE(engine_->close());
            open();
        }
        std::byte* const sparse = are_stored ? blocks.front() : large(0);
        blocks.push_back(sparse);
        const auto each_page = [&](int first, int second) {
            for (std::uint64_t at = k_page_bytes; at + 3 * k_page_bytes < 4 * k_spill_chunk_bytes;
                 at += 2 * k_page_bytes) {
                std::memset(sparse + at, first, k_page_bytes);
                if (second >= 0)
                    std::memset(sparse + at + k_page_bytes, second, k_page_bytes);
            }
            ASSERT_TRUE(engine_->memory().declare(sparse, 4 * k_spill_chunk_bytes));
        };
        each_page(1, 0);
        while (!std::ranges::count(engine_->spilled_chunks(),
                                   engine_->memory().offset_of(sparse) / k_spill_chunk_bytes + 1))
            blocks.push_back(large(2));
        each_page(1, 3);
        disk_.allow_mappings(false);
        for (int i = 0; i < 20; ++i)
            blocks.push_back(large(2));
        disk_.allow_mappings(true);
        ASSERT_FALSE(engine_->is_poisoned());
        each_page(1, 0);
        commit();
        open();
        for (std::uint64_t at = k_page_bytes; at + 3 * k_page_bytes < 4 * k_spill_chunk_bytes; at += 2 * k_page_bytes) {
            ASSERT_EQ(sparse[at + 7], std::byte{1}) << at;
            ASSERT_EQ(sparse[at + k_page_bytes + 7], std::byte{0}) << at;
        }
        expect_sound();
    }
}

// Against a copy beside it: random changes, allocations, commits, rollbacks, and steps of checkpoints; now and then the process
// has no mapping left.
TEST_P(spilling, any_sequence_leaves_what_the_program_wrote) {
    std::mt19937 random(test::random_seed());
    if (random() % 2 == 0) {
        begins_checkpoints_ = true;
        log_limit_bytes_ = 50 * KiB;
        open();
    }
    struct block {
        std::byte* at;
        std::vector<std::byte> bytes;
    };
    std::vector<block> now;
    std::vector<block> committed;
    std::uint64_t spilled = 0; // by all engines together
    std::uint64_t seen = 0;
    for (int step = 0; step < 3000; ++step) {
        const auto what = random() % 100;
        // Else what is spilled is written, and stays in memory. Where nothing can be changed, a heap may be opened.
        disk_.allow_mappings(what >= 85 || now.empty() || random() % 5 != 0);
        if (what < 45) {
            const auto bytes = 1 + random() % (random() % 20 == 0 ? 300 * KiB : 50 * KiB);
            std::optional<unexpected> why;
            auto* const at = static_cast<std::byte*>(engine_->memory().allocate(bytes, 16, why));
            ASSERT_NE(at, nullptr);
            std::vector<std::byte> filling(bytes, static_cast<std::byte>(random() % 3));
            std::memcpy(at, filling.data(), bytes);
            now.push_back({at, std::move(filling)});
        } else if (what < 85 && !now.empty()) {
            block& changed = now[random() % now.size()];
            const auto from = random() % changed.bytes.size();
            const auto length = std::min<std::size_t>(changed.bytes.size() - from, 1 + random() % (20 * KiB));
            const int value = static_cast<int>(random() % 3);
            std::memset(changed.at + from, value, length);
            std::memset(changed.bytes.data() + from, value, length);
            if (random() % 2 == 0) {
                ASSERT_TRUE(engine_->memory().declare(changed.at + from, length)); // a moment to spill
            }
        } else if (what < 97 && !now.empty()) {
            const std::size_t index = random() % now.size();
            engine_->memory().deallocate(now[index].at, now[index].bytes.size(), 16);
            now.erase(now.begin() + static_cast<std::ptrdiff_t>(index));
        } else if (what == 97) {
            commit();
            committed = now;
        } else if (what == 98) {
            ASSERT_TRUE(engine_->rollback());
            now = committed;
        } else if (random() % 3 == 0) {
            ASSERT_TRUE(random() % 2 == 0 ? engine_->checkpoint() : engine_->close());
            if (random() % 2 == 0)
                (void)engine_->close();
            open();
            now = committed;
        }
        if (random() % 20 == 0) {
            ASSERT_TRUE(engine_->step_checkpoint(random() % 100 * KiB));
        }
        spilled += engine_->stats().spilled_bytes - std::min(seen, engine_->stats().spilled_bytes);
        seen = engine_->stats().spilled_bytes;
        if (step % 50 == 49) {
            for (const block& each : now)
                ASSERT_TRUE(std::equal(each.bytes.begin(), each.bytes.end(), each.at)) << step;
        }
    }
    expect_sound();
    EXPECT_GT(spilled, 1 * MiB);
}

// Memory of pages that a commit did not write is still read from where their chunk was before it moved.
TEST_P(spilling, that_is_rolled_back_leaves_the_former_copies_of_chunks_alone) {
    constexpr std::uint64_t k_bytes = 16 * k_spill_chunk_bytes;
    std::byte* const block = allocate(k_bytes, 1);
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    const auto is_rewritten = [](std::uint64_t at) { return at / k_page_bytes % 4 != 3; };
    for (std::uint64_t at = 0; at < k_bytes; at += k_page_bytes) {
        if (is_rewritten(at))
            std::memset(block + at, 2, k_page_bytes);
    }
    const std::uint64_t logged = engine_->stats().logged_bytes;
    commit();
    ASSERT_LT(engine_->stats().logged_bytes - logged, k_bytes / 2); // they moved
    const std::uint64_t spilled = engine_->stats().spilled_bytes;
    allocate_many(30);
    ASSERT_GT(engine_->stats().spilled_bytes, spilled);
    ASSERT_TRUE(engine_->rollback());
    std::byte* const fresh = allocate(k_bytes, 3); // whose copies are to be holes first
    commit();
    for (std::uint64_t at = 0; at < k_bytes; ++at) {
        ASSERT_EQ(block[at], std::byte(is_rewritten(at) ? 2 : 1)) << at;
        ASSERT_EQ(fresh[at], std::byte{3});
    }
    expect_sound();
}

} // namespace
} // namespace remanence::txn
