// The engine on a simulated disk: what a failure of any operation does to commits, and that errc::no_space does
// nothing.

#include "txn/engine.hpp"

#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace remanence::txn {
namespace {

constexpr const char* k_path = "dir/heap";

class engine_on_disk : public testing::Test {
protected:
    void open(engine_options options = {}) {
        engine_.reset();
        options.reserve_bytes = 64 * MiB;
        options.chunk_bytes = 64 * KiB;
        auto opened = engine::open(disk_, k_path, open_mode::open_or_create, options, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
        if (engine_->version() == 0)
            block_ = offset(allocate(k_block));
    }
    std::byte* allocate(std::uint64_t bytes) {
        std::optional<unexpected> why;
        auto* got = static_cast<std::byte*>(engine_->memory().allocate(bytes, 16, why));
        EXPECT_NE(got, nullptr) << why->why().message;
        return got;
    }
    [[nodiscard]] std::uint64_t offset(const void* p) const {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - engine_->memory().base());
    }
    std::byte* block() { return engine_->memory().base() + block_; }
    /// Page i of the block says `value`.
    void put(std::uint64_t i, unsigned value) { block()[i * k_page_bytes] = static_cast<std::byte>(value); }
    unsigned get(std::uint64_t i) { return static_cast<unsigned>(block()[i * k_page_bytes]); }
    void commit() {
        auto done = engine_->commit();
        ASSERT_TRUE(done) << done.why().message;
    }
    std::vector<std::byte> memory() {
        return {engine_->memory().base(), engine_->memory().base() + engine_->memory().accessible_bytes()};
    }
    /// Closes the heap; then somebody else's hand writes into its file.
    void close_and_write_into_file(std::uint64_t offset, std::span<const std::byte> bytes) {
        auto closed = engine_->close();
        ASSERT_TRUE(closed) << closed.why().message;
        engine_.reset();
        auto file = std::move(*disk_.open(k_path, os::access::read_write));
        ASSERT_TRUE(file->write("test", offset, bytes));
    }

    static constexpr std::uint64_t k_block = 300 * KiB;
    static constexpr std::uint64_t k_copy = 64 * KiB; // in the file, of the heap's first page
    static constexpr std::uint64_t k_allocator = k_copy + offsetof(format::heap_header, allocator);
    simulation::simulated_disk disk_;
    std::unique_ptr<engine> engine_;
    std::uint64_t block_ = 0;
};

// What is freed and kept for the next request of its size is free in what a commit writes, and in no rolled back heap.
class freed_blocks : public engine_on_disk {
protected:
    static constexpr std::uint64_t k_bytes = 96;
    std::vector<std::uint64_t> allocate_some() {
        std::vector<std::uint64_t> found(40);
        for (std::uint64_t& each : found)
            each = offset(allocate(k_bytes));
        return found;
    }
    /// Every second one.
    void deallocate(const std::vector<std::uint64_t>& blocks) {
        for (std::size_t i = 0; i < blocks.size(); i += 2)
            engine_->memory().deallocate(engine_->memory().base() + blocks[i], k_bytes, 16);
    }
    [[nodiscard]] std::uint64_t bytes_in_state() const { return engine_->memory().header().allocator.allocated_bytes; }
    void expect_freed(const std::vector<std::uint64_t>& blocks, bool freed) {
        for (std::size_t i = 0; i < blocks.size(); ++i)
            EXPECT_EQ(!engine_->memory().block_of(engine_->memory().base() + blocks[i]), freed && i % 2 == 0) << i;
        auto report = engine_->verify();
        ASSERT_TRUE(report);
        EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
        EXPECT_EQ(report->blocks_checked, 1 + blocks.size() - (freed ? blocks.size() / 2 : 0));
    }
};

TEST_F(freed_blocks, are_free_after_a_commit_and_a_crash) {
    open();
    const auto blocks = allocate_some();
    commit();
    const std::uint64_t before = bytes_in_state();
    deallocate(blocks);
    expect_freed(blocks, true);
    EXPECT_GT(bytes_in_state(), before - k_bytes * blocks.size() / 2) << "none is kept: the test shows little";
    commit();
    EXPECT_EQ(bytes_in_state(), before - k_bytes * blocks.size() / 2);
    expect_freed(blocks, true);
    open();
    expect_freed(blocks, true);
}

TEST_F(freed_blocks, are_blocks_again_after_a_rollback) {
    open();
    const auto blocks = allocate_some();
    commit();
    deallocate(blocks);
    ASSERT_TRUE(engine_->rollback());
    expect_freed(blocks, false);
    for (int i = 0; i < 40; ++i) {
        const std::uint64_t other = offset(allocate(k_bytes));
        EXPECT_EQ(std::ranges::count(blocks, other), 0) << "handed out twice";
    }
    ASSERT_TRUE(engine_->rollback());
    deallocate(blocks); // once more
    commit();
    expect_freed(blocks, true);
}

TEST_F(freed_blocks, are_free_after_a_declared_commit) {
    const auto start = disk_.now();
    for (const bool in_an_earlier_section : {false, true}) {
        disk_.rewind(start);
        open();
        const auto blocks = allocate_some();
        commit();
        engine_->memory().begin_declared();
        deallocate(blocks);
        if (in_an_earlier_section) {
            engine_->memory().end_declared();
            engine_->memory().begin_declared();
            ASSERT_TRUE(engine_->memory().declare(block(), 1));
            put(0, 7);
        }
        ASSERT_TRUE(engine_->commit({.scope = commit_scope::declared, .awaited = log::durability::durable}));
        engine_->memory().end_declared();
        expect_freed(blocks, true);
        ASSERT_TRUE(engine_->rollback());
        expect_freed(blocks, true);
        open();
        expect_freed(blocks, true);
        engine_.reset();
    }
}

TEST_F(freed_blocks, are_free_after_a_declared_commit_though_they_are_few) {
    open();
    const auto blocks = allocate_some();
    commit();
    const std::vector<std::uint64_t> few(blocks.begin(), blocks.begin() + 6);
    engine_->memory().begin_declared();
    deallocate(few);
    engine_->memory().end_declared();
    engine_->memory().begin_declared(); // another section, which declares nothing
    ASSERT_TRUE(engine_->commit({.scope = commit_scope::declared, .awaited = log::durability::durable}));
    engine_->memory().end_declared();
    const auto expect_few_freed = [&] {
        for (std::size_t i = 0; i < blocks.size(); ++i)
            EXPECT_EQ(!engine_->memory().block_of(engine_->memory().base() + blocks[i]), i < few.size() && i % 2 == 0)
                << i;
    };
    expect_few_freed();
    ASSERT_TRUE(engine_->rollback());
    expect_few_freed();
    open();
    expect_few_freed();
}

TEST_F(freed_blocks, are_free_when_a_commit_that_found_no_room_is_repeated) {
    const auto start = disk_.now();
    int repeated = 0;
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        disk_.rewind(start);
        open();
        const auto blocks = allocate_some();
        commit();
        ASSERT_TRUE(engine_->close());
        open(); // so that the commit makes a log
        deallocate(blocks);
        disk_.fail_at(n, errc::no_space);
        auto done = engine_->commit();
        const bool was_enough = disk_.failure_is_ahead();
        disk_.fail_at(~std::uint64_t{0}, errc::no_space);
        if (!done && done.why().code == errc::no_space) {
            deallocate({offset(allocate(k_bytes))});
            commit();
            done = {};
            ++repeated;
        }
        engine_.reset();
        open();
        if (done)
            expect_freed(blocks, true);
        engine_.reset();
        if (was_enough)
            break;
    }
    EXPECT_GT(repeated, 0);
}

TEST_F(freed_blocks, that_are_none_end_the_process_before_a_commit) {
    GTEST_FLAG_SET(death_test_style, "fast");
    open();
    const auto blocks = allocate_some();
    deallocate({blocks[0]});
    deallocate({blocks[0]});
    EXPECT_DEATH((void)engine_->commit(), "not an allocated block of this size");
    ASSERT_TRUE(engine_->rollback());
}

TEST_F(freed_blocks, that_are_none_end_the_process_at_once_where_commits_are_checked) {
    GTEST_FLAG_SET(death_test_style, "fast");
    open({.inspect = [](auto&&...) { return result<void>{}; }});
    const auto blocks = allocate_some();
    deallocate({blocks[0]});
    EXPECT_DEATH(deallocate({blocks[0]}), "not an allocated block of this size");
}

TEST_F(freed_blocks, are_not_kept_where_writes_are_not_allowed) {
    open({.tracker = track::tracker_choice::trap, .report_stray_write = [](const void*) {}});
    const auto blocks = allocate_some();
    commit();
    const std::uint64_t before = bytes_in_state();
    engine_->memory().allow_writes(true);
    deallocate(blocks);
    EXPECT_GT(bytes_in_state(), before - k_bytes * blocks.size() / 2);
    engine_->memory().allow_writes(false);
    EXPECT_EQ(bytes_in_state(), before - k_bytes * blocks.size() / 2);
    commit();
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    open({.read_only = true});
    EXPECT_DEATH(engine_->memory().deallocate(engine_->memory().base() + blocks[1], k_bytes, 16), "");
}

// Whatever fails in a commit: either nothing was written, memory keeps its changes and the commit may be repeated; or
// the heap is poisoned, says so ever after, and the reopened heap is as of this commit or of the one before.
class engine_failing : public engine_on_disk,
                       public testing::WithParamInterface<std::tuple<errc, bool, std::uint64_t>> {};

TEST_P(engine_failing, operation_by_operation_a_commit_repeats_or_poisons) {
    const auto [code, first_commit, log_limit] = GetParam();
    open({.log_limit_bytes = log_limit});
    if (!first_commit) {
        put(1, 1);
        commit();
    }
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    const auto start = disk_.now();
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        open({.log_limit_bytes = log_limit});
        put(1, 2);
        put(50, 3);
        const auto changed = memory();
        const auto version = engine_->version();
        disk_.fail_at(n, code);
        auto done = engine_->commit();
        ASSERT_EQ(memory(), changed);
        if (disk_.failure_is_ahead()) { // the commit needs fewer operations
            ASSERT_TRUE(done);
            EXPECT_GT(n, 4U);
            break;
        }
        if (!done) {
            ASSERT_EQ(engine_->version(), version);
            if (done.why().code == errc::no_space) {
                auto repeated = engine_->commit();
                ASSERT_TRUE(repeated) << repeated.why().message;
                ASSERT_EQ(engine_->version(), version + 1);
            } else {
                ASSERT_EQ(done.why().code, errc::io) << done.why().message;
                EXPECT_EQ(done.why().message.find("try again"), std::string::npos) << done.why().message;
            }
        }
        put(2, 9);
        auto next = engine_->commit();
        if (!next) { // I5: poisoned, and it stays so
            ASSERT_EQ(next.why().code, errc::poisoned) << next.why().message;
            ASSERT_EQ(engine_->rollback().why().code, errc::poisoned);
            ASSERT_EQ(engine_->checkpoint().why().code, errc::poisoned);
            ASSERT_EQ(engine_->close().why().code, errc::poisoned);
        } else {
            ASSERT_TRUE(done || done.why().code == errc::no_space) << "a failed commit must poison";
        }
        engine_.reset(); // as the death of the process
        open();
        const unsigned found = get(1);
        if (next) {
            EXPECT_EQ(get(2), 9U);
        }
        EXPECT_TRUE(found == 2 || (!done && found == (first_commit ? 0U : 1U))) << found;
        EXPECT_EQ(get(50), found == 2 ? 3U : 0U);
        auto report = engine_->verify();
        ASSERT_TRUE(report);
        EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
        engine_.reset();
        disk_.rewind(start);
    }
}

INSTANTIATE_TEST_SUITE_P(each, engine_failing,
                         testing::Combine(testing::Values(errc::io, errc::no_space), testing::Bool(),
                                          testing::Values(1U, 64 * MiB)));

// I5: the checkpoint may not lack space; but a commit need not ask for what an earlier one was given.
TEST_F(engine_on_disk, room_for_a_page_is_reserved_by_the_first_commit_that_changes_it) {
    disk_.limit_space(GiB); // so that it counts what is used
    open();
    std::uint64_t first = 20;
    while ((block_ / k_page_bytes + first) % 16 != 4) // of a chunk
        ++first;
    put(first, 1);
    commit();
    ASSERT_TRUE(engine_->checkpoint());
    const auto reservations_to_change = [&](std::uint64_t page, unsigned value) {
        put(page, value);
        disk_.take_trace();
        EXPECT_TRUE(engine_->commit());
        return std::ranges::count_if(disk_.trace(), [](const simulation::disk_operation& each) {
            return each.where == std::string_view("store: reserve pages");
        });
    };
    EXPECT_EQ(reservations_to_change(first + 1, 1), 1);
    EXPECT_EQ(reservations_to_change(first + 1, 2), 0);
    EXPECT_EQ(reservations_to_change(first + 2, 1), 1);
    disk_.limit_space(disk_.space_used());
    EXPECT_EQ(reservations_to_change(first + 2, 2), 0);
    put(first + 3, 1);
    ASSERT_EQ(engine_->commit().why().code, errc::no_space);
    disk_.limit_space(GiB);
    EXPECT_EQ(reservations_to_change(first + 3, 2), 1); // it was not given room before
    EXPECT_EQ(reservations_to_change(first + 3, 3), 0);
    disk_.limit_space(disk_.space_used());
    ASSERT_TRUE(engine_->checkpoint());
    EXPECT_EQ(reservations_to_change(first + 3, 4), 0); // the image has it
    open();
    EXPECT_EQ(get(first + 1), 2U);
    EXPECT_EQ(get(first + 3), 4U);
}

// What is not durable is applied neither: the checkpoint waits for it first.
TEST_F(engine_on_disk, a_checkpoint_makes_every_record_durable_before_it_applies_any) {
    open();
    put(1, 1);
    commit();
    disk_.take_trace();
    put(1, 2);
    ASSERT_TRUE(engine_->commit({.awaited = log::durability::none}));
    put(1, 3);
    ASSERT_TRUE(engine_->commit({.awaited = log::durability::none}));
    EXPECT_TRUE(disk_.trace().empty());
    ASSERT_TRUE(engine_->checkpoint());
    const auto trace = disk_.take_trace();
    ASSERT_GT(trace.size(), 2U);
    EXPECT_EQ(trace[0].where, std::string_view("log: record"));
    EXPECT_EQ(trace[0].bytes, 2 * k_sector_bytes);
    EXPECT_EQ(trace[1].where, std::string_view("log: sync record"));
    EXPECT_EQ(trace[2].where, std::string_view("store: apply"));
}

// Whatever fails on the way to the device: nothing durable is lost, what follows in the log is as of some commit, and
// nobody is told otherwise.
TEST_F(engine_on_disk, lazy_commits_that_fail_to_become_durable_poison) {
    open();
    put(1, 1);
    commit();
    const auto start_of_session = engine_->version();
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    const auto start = disk_.now();
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        open();
        put(1, 2);
        commit();
        const std::uint64_t durable = engine_->version();
        disk_.fail_at(n, errc::io);
        put(1, 3);
        auto done = engine_->commit({.awaited = log::durability::lazy});
        put(1, 4);
        if (done)
            done = engine_->commit({.awaited = log::durability::none});
        if (done)
            done = engine_->sync();
        if (disk_.failure_is_ahead()) {
            EXPECT_TRUE(done);
            EXPECT_EQ(n, 3U); // two writes and a sync
            break;
        }
        ASSERT_FALSE(done);
        EXPECT_EQ(done.why().code, errc::io);
        EXPECT_EQ(engine_->version(), durable);
        EXPECT_EQ(engine_->commit().why().code, errc::poisoned);
        EXPECT_EQ(engine_->commit({.awaited = log::durability::none}).why().code, errc::poisoned);
        EXPECT_EQ(engine_->sync().why().code, errc::poisoned);
        EXPECT_EQ(engine_->close().why().code, errc::poisoned);
        open();
        EXPECT_EQ(get(1), 2U + (engine_->version() - durable));
        EXPECT_GE(engine_->version(), start_of_session + 1);
        engine_.reset();
        disk_.rewind(start);
    }
}

TEST_F(engine_on_disk, a_failed_close_keeps_what_is_committed) {
    open();
    put(1, 1);
    commit();
    ASSERT_TRUE(engine_->close());
    engine_.reset();
    const auto start = disk_.now();
    for (std::uint64_t n = 0;; ++n) {
        open();
        put(1, 2);
        commit();
        put(1, 3);
        disk_.fail_at(n, errc::io);
        auto closed = engine_->close();
        const bool finished = disk_.failure_is_ahead();
        EXPECT_EQ(static_cast<bool>(closed), finished) << n;
        engine_.reset();
        open();
        EXPECT_EQ(get(1), 2U) << n;
        engine_.reset();
        disk_.rewind(start);
        if (finished)
            break;
    }
}

TEST_F(engine_on_disk, no_space_leaves_everything_repeatable_however_little_there_is) {
    for (std::uint64_t limit = 16 * KiB; limit < 4 * MiB; limit += 92 * KiB) {
        SCOPED_TRACE(limit);
        engine_.reset();
        simulation::simulated_disk small;
        small.limit_space(limit);
        auto opened = engine::open(small, k_path, open_mode::open_or_create,
                                   {.reserve_bytes = 64 * MiB, .chunk_bytes = 64 * KiB}, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine& heap = **opened;
        std::optional<unexpected> why;
        auto* block = static_cast<std::byte*>(heap.memory().allocate(k_block, 16, why));
        std::memset(block, 7, k_block);
        const std::vector<std::byte> before(heap.memory().base(),
                                            heap.memory().base() + heap.memory().accessible_bytes());
        auto done = heap.commit();
        for (int attempt = 0; attempt < 2 && !done; ++attempt) {
            ASSERT_EQ(done.why().code, errc::no_space);
            ASSERT_EQ(
                std::vector<std::byte>(heap.memory().base(), heap.memory().base() + heap.memory().accessible_bytes()),
                before);
            ASSERT_EQ(heap.version(), 0U);
            done = heap.commit();
        }
        if (!done) {
            small.limit_space(GiB);
            ASSERT_TRUE(heap.commit());
        }
        small.limit_space(small.space_used()); // not a byte more
        auto applied = heap.checkpoint();
        EXPECT_TRUE(applied) << applied.why().message;
        auto closed = heap.close();
        EXPECT_TRUE(closed) << closed.why().message;
        const auto at = static_cast<std::uint64_t>(block - heap.memory().base());
        opened->reset();
        auto again = engine::open(small, k_path, open_mode::open_existing, {.reserve_bytes = 64 * MiB}, "abi");
        ASSERT_TRUE(again) << again.why().message;
        EXPECT_EQ(std::count((*again)->memory().base() + at, (*again)->memory().base() + at + k_block, std::byte{7}),
                  static_cast<std::ptrdiff_t>(k_block));
    }
}

TEST_F(engine_on_disk, a_checkpoint_after_a_commit_that_failed_applies_only_what_is_committed) {
    disk_.limit_space(GiB);
    open();
    put(1, 1);
    put(2, 1);
    commit();
    ASSERT_TRUE(engine_->close());
    open();
    put(1, 2);
    commit();
    put(1, 3);
    put(2, 3); // its image becomes a before-image by the collect of the commit that fails
    disk_.limit_space(disk_.space_used());
    auto* more = allocate(2 * MiB);
    std::memset(more, 1, 2 * MiB);
    ASSERT_EQ(engine_->commit().why().code, errc::no_space);
    ASSERT_TRUE(engine_->checkpoint());
    EXPECT_EQ(get(1), 3U);
    EXPECT_EQ(get(2), 3U);
    auto report = engine_->verify();
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
    ASSERT_TRUE(engine_->rollback());
    EXPECT_EQ(get(1), 2U);
    EXPECT_EQ(get(2), 1U);
    engine_.reset();
    open();
    EXPECT_EQ(get(1), 2U);
    EXPECT_EQ(get(2), 1U);
}

// The map holds 16,384 runs. When it is full, chunks within a run of skipped ones cannot be named apart from it, and what
// is committed there first is treated as a change of what was stored.
TEST_F(engine_on_disk, chunks_are_committed_for_the_first_time_when_the_chunk_map_is_full) {
    constexpr std::uint64_t k_pages_per_chunk = 64 * KiB / k_page_bytes;
    constexpr std::uint64_t k_runs = 16'400; // every other chunk, behind the long run
    constexpr std::uint64_t k_long_run = 60;
    constexpr std::uint64_t k_late[] = {40, 45, 50};
    open();
    block_ = offset(allocate((k_long_run + 2 * k_runs) * 64 * KiB));
    commit();
    for (std::uint64_t i = 0; i < k_runs; ++i)
        put((k_long_run + 2 * i) * k_pages_per_chunk, 7);
    commit();
    for (const std::uint64_t chunk : k_late)
        put(chunk * k_pages_per_chunk, 7);
    commit();
    for (const char* when : {"committed", "recovered", "reopened"}) {
        SCOPED_TRACE(when);
        for (std::uint64_t chunk = 0; chunk < k_long_run + 2 * k_runs; ++chunk) {
            const bool is_late = std::find(std::begin(k_late), std::end(k_late), chunk) != std::end(k_late);
            const bool is_early = chunk >= k_long_run && chunk % 2 == 0;
            ASSERT_EQ(get(chunk * k_pages_per_chunk), is_late || is_early ? 7U : 0U) << chunk;
        }
        auto verified = engine_->verify();
        ASSERT_TRUE(verified) << verified.why().message;
        EXPECT_TRUE(verified->problems.empty());
        if (std::string_view(when) == "recovered") {
            ASSERT_TRUE(engine_->close());
        }
        open();
    }
}

// Zeros are not written, so a page that was never written must lie over a hole; but the file may have come from
// elsewhere, or have grown by somebody's hand.
TEST_F(engine_on_disk, what_lies_where_nothing_is_stored_does_not_become_contents) {
    open();
    put(1, 1);
    commit();
    const std::uint64_t stored = engine_->stats().committed_bytes;
    const std::vector<std::byte> rubbish(1 * MiB, std::byte{0xee});
    ASSERT_NO_FATAL_FAILURE(close_and_write_into_file(disk_.files().at(k_path), rubbish));
    open();
    auto* grown = allocate(600 * KiB);
    const std::uint64_t at = offset(grown);
    ASSERT_GT(at + 600 * KiB, stored);
    grown[0] = std::byte{1};
    grown[590 * KiB] = std::byte{2};
    commit();
    const std::vector<std::byte> expected(grown, grown + 600 * KiB);
    ASSERT_TRUE(engine_->close());
    open();
    EXPECT_EQ(std::memcmp(engine_->memory().base() + at, expected.data(), expected.size()), 0);
    auto report = engine_->verify();
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
}

// Else a rotten bit could make the check read the descriptors of a heap of terabytes.
TEST_F(engine_on_disk, verify_does_not_follow_a_damaged_state_of_the_allocator) {
    open();
    put(1, 1);
    commit();
    const std::uint32_t pages = 1; // of section 20
    ASSERT_NO_FATAL_FAILURE(
        close_and_write_into_file(k_allocator + offsetof(format::alloc_state, used_pages) + 20 * sizeof pages,
                                  std::as_bytes(std::span(&pages, 1))));
    open();
    auto report = engine_->verify();
    ASSERT_TRUE(report);
    ASSERT_EQ(report->problems.size(), 1U);
    EXPECT_EQ(report->problems.front().offset, k_copy);
    EXPECT_EQ(report->blocks_checked, 0U);
}

TEST_F(engine_on_disk, damage_of_the_allocators_state_names_file_and_byte) {
    open();
    put(1, 1);
    commit();
    const std::uint32_t other = 77;
    ASSERT_NO_FATAL_FAILURE(close_and_write_into_file(k_allocator + offsetof(format::alloc_state, version),
                                                      std::as_bytes(std::span(&other, 1))));
    auto opened = engine::open(disk_, k_path, open_mode::open_existing, {.reserve_bytes = 64 * MiB}, "abi");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.why().code, errc::corrupt);
    EXPECT_EQ(opened.why().path, k_path);
    EXPECT_EQ(opened.why().offset, k_allocator);
    EXPECT_NE(opened.why().message.find(k_path), std::string::npos) << opened.why().message;
}

TEST_F(engine_on_disk, what_inspect_refuses_is_not_written) {
    bool refuse = true;
    engine_options options;
    options.inspect = [&](auto&&...) -> result<void> {
        if (refuse)
            return fail(errc::foreign_pointer, "refused");
        return {};
    };
    open(options);
    disk_.take_trace();
    put(1, 5);
    EXPECT_EQ(engine_->commit().why().code, errc::foreign_pointer);
    EXPECT_TRUE(disk_.trace().empty());
    EXPECT_EQ(get(1), 5U);
    refuse = false;
    commit();
    EXPECT_EQ(engine_->version(), 1U);
}

TEST_F(engine_on_disk, sequences_of_everything_agree_with_a_model_over_chunk_sizes_and_log_limits) {
    std::mt19937_64 random(test::random_seed());
    for (std::uint64_t log_limit : {std::uint64_t{1}, 8 * KiB, 64 * MiB}) {
        simulation::simulated_disk disk;
        std::unique_ptr<engine> heap;
        auto reopen = [&] {
            heap.reset();
            auto opened =
                engine::open(disk, k_path, open_mode::open_or_create,
                             {.reserve_bytes = 64 * MiB, .chunk_bytes = 64 * KiB, .log_limit_bytes = log_limit}, "abi");
            ASSERT_TRUE(opened) << opened.why().message;
            heap = std::move(*opened);
        };
        reopen();
        std::vector<std::byte> committed(heap->memory().base(),
                                         heap->memory().base() + heap->memory().accessible_bytes());
        std::vector<std::pair<void*, std::uint64_t>> blocks;
        auto committed_blocks = blocks;
        // A chunk in which no block lies may have been given back, and reads as zeros then.
        auto is_given_back = [&](std::uint64_t begin, std::uint64_t end) {
            const std::byte* const from = heap->memory().base() + begin;
            const std::byte* const to = heap->memory().base() + end;
            return std::all_of(from, to, [](std::byte each) { return each == std::byte{0}; }) &&
                   std::ranges::none_of(committed_blocks, [&](const auto& block) {
                       return block.first<to&& static_cast<std::byte*>(block.first) + block.second> from;
                   });
        };
        auto expect_committed = [&](const char* after) {
            auto end = std::min<std::uint64_t>(committed.size(), heap->memory().accessible_bytes());
            for (std::uint64_t at = 0; at < end; at += 64 * KiB) {
                const std::uint64_t bytes = std::min(end - at, 64 * KiB);
                if (std::memcmp(heap->memory().base() + at, committed.data() + at, bytes) == 0)
                    continue;
                ASSERT_TRUE(is_given_back(at, at + bytes)) << after << ", at " << at;
                std::memset(committed.data() + at, 0, bytes);
            }
            if (end < committed.size()) { // of what there is no more, as of what reads as zeros
                ASSERT_TRUE(std::ranges::all_of(committed_blocks, [&](const auto& block) {
                    return static_cast<std::byte*>(block.first) + block.second <= heap->memory().base() + end;
                }));
            }
            for (std::uint64_t i = end; i < heap->memory().accessible_bytes(); ++i)
                ASSERT_EQ(heap->memory().base()[i], std::byte{0});
            blocks = committed_blocks;
        };
        for (int step = 0; step < 150; ++step) {
            for (std::uint64_t i = random() % 20; i > 0; --i) {
                if (!blocks.empty() && random() % 3 == 0) {
                    std::swap(blocks[random() % blocks.size()], blocks.back());
                    heap->memory().deallocate(blocks.back().first, blocks.back().second, 16);
                    blocks.pop_back();
                } else {
                    std::optional<unexpected> why;
                    const std::uint64_t bytes = random() % 15 == 0 ? random() % (300 * KiB) + 1 : random() % 300 + 1;
                    void* got = heap->memory().allocate(bytes, 16, why);
                    ASSERT_NE(got, nullptr);
                    std::memset(got, static_cast<int>(random()), bytes);
                    blocks.emplace_back(got, bytes);
                }
            }
            switch (random() % 6) {
            case 0:
                ASSERT_TRUE(heap->rollback());
                ASSERT_NO_FATAL_FAILURE(expect_committed("rollback"));
                break;
            case 1:
                ASSERT_TRUE(heap->checkpoint());
                break;
            case 2: // the process dies
            case 3: // or closes
                if (random() % 2 == 0) {
                    ASSERT_TRUE(heap->close());
                }
                ASSERT_NO_FATAL_FAILURE(reopen());
                if (heap->version() == 0) {
                    committed.assign(heap->memory().base(), heap->memory().base() + heap->memory().accessible_bytes());
                    committed_blocks.clear();
                }
                ASSERT_NO_FATAL_FAILURE(expect_committed("reopen"));
                break;
            default:
                ASSERT_TRUE(heap->commit());
                committed.assign(heap->memory().base(), heap->memory().base() + heap->memory().accessible_bytes());
                committed_blocks = blocks;
            }
        }
        auto report = heap->verify();
        ASSERT_TRUE(report);
        EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
    }
}

} // namespace
} // namespace remanence::txn
