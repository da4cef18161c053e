// A heap that was not closed comes to its last commit, whatever fails on the way.
#include "support/failing_files.hpp"
#include "support/log_fixture.hpp"

namespace remanence::recover {
namespace {

class recovery : public log::log_on_disk {};

TEST_F(recovery, brings_every_commit_back) {
    commit(0, {}, 1);
    commit({}, {0, 1, 5}, 2);
    commit(7, {0}, 3); // chunks in between are skipped
    commit({}, {7 * store::k_chunk_pages, 1}, 4, 4088);
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 4U);
    expect_state(4);
    ASSERT_TRUE(reopen());
    EXPECT_EQ(recover()->commits, 0U); // and only once
    expect_state(4);
}

// Those that were durable when the last one was made are left alone.
TEST_F(recovery, writes_again_what_only_the_page_cache_may_have) {
    commit(0, {}, 1);
    commit({}, {0}, 2);
    for (std::uint64_t i = 0; i < 3; ++i) {
        log::record_builder builder;
        const format::change_range range{0, sizeof i};
        std::memcpy(memory_[0].data(), &i, sizeof i);
        builder.add_page(0, page_checksum(memory_[0]), {&range, 1}, memory_[0].data());
        submit(builder, store::k_chunk);
    }
    ASSERT_TRUE(log_->await(version_, log::durability::lazy));
    crash();
    disk_.take_trace();
    ASSERT_TRUE(recover());
    std::vector<std::uint64_t> written;
    for (const auto& each : disk_.trace())
        if (each.where == std::string_view("log: confirm records"))
            written.push_back(each.offset);
    EXPECT_EQ(written, std::vector<std::uint64_t>(offsets_.begin() + 2, offsets_.end()));
}

TEST_F(recovery, of_a_session_without_commits) {
    crash();
    EXPECT_EQ(recover()->commits, 0U);
    expect_state(0);
}

TEST_F(recovery, stale_records_after_a_restart_are_ignored) {
    commit(0, {}, 1);
    for (std::uint64_t i = 0; i < 5; ++i)
        commit({}, {i}, i + 2);
    // A checkpoint: everything applied, the log starts again from its beginning.
    for (const auto& [index, bytes] : memory_) {
        store::applied_page page{index, bytes.data(), page_checksum(bytes)};
        ASSERT_TRUE(store_->writer().apply({&page, 1}));
    }
    ASSERT_TRUE(store_->writer().publish({version_, chain_, store_->session(), false, format::k_log_header_bytes}));
    log_->restart();
    commit({}, {0}, 100);
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 1U);
    expect_state(7);
}

TEST_F(recovery, is_idempotent_and_may_be_cut_short_anywhere) {
    commit(0, {}, 1);
    commit(3, {0, 1}, 2);
    commit({}, {0, 1, 2, 3 * store::k_chunk_pages}, 3, 2048);
    crash();
    store_.reset();
    const auto start = disk_.now();
    for (std::uint64_t n = 0;; ++n) {
        ASSERT_TRUE(reopen());
        disk_.fail_at(n, errc::io);
        auto first = recover();
        const bool finished = static_cast<bool>(first);
        store_.reset();
        ASSERT_TRUE(reopen());
        auto second = recover(); // with what the first one left
        ASSERT_TRUE(second) << "after operation " << n << ": " << second.why().message;
        ASSERT_NO_FATAL_FAILURE(expect_state(3)) << n;
        store_.reset();
        disk_.rewind(start);
        if (finished) {
            EXPECT_GT(n, 5U);
            break;
        }
    }
}

TEST_F(recovery, of_a_log_that_is_full_to_its_last_sector) {
    commit(0, {}, 1);
    while (log_->used_bytes() < format::k_log_segment_bytes_min)
        ASSERT_NO_FATAL_FAILURE(commit({}, {0}, version_));
    ASSERT_EQ(*log_->file().size(), format::k_log_header_bytes + log_->used_bytes());
    const std::uint64_t commits = version_;
    crash();
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, commits);
    expect_state(commits);
}

TEST_F(recovery, a_log_that_came_back_beside_a_clean_heap_is_removed_again) {
    commit(0, {}, 1);
    const auto log = contents(store::log_path(store::k_path));
    crash();
    ASSERT_TRUE(recover());
    store_.reset();
    {
        auto file = std::move(*disk_.open_or_create(store::log_path(store::k_path), 0600));
        ASSERT_TRUE(file->write("test", 0, log));
    }
    ASSERT_TRUE(reopen());
    EXPECT_TRUE(check_clean(disk_, *store_));
    auto outcome = recover();
    ASSERT_TRUE(outcome) << outcome.why().message;
    EXPECT_EQ(outcome->commits, 0U);
    expect_state(1);
}

class failing_recovery : public log::log_on_disk {
protected:
    /// Opens and recovers, with each call failing in turn; what comes of it without a failure, `expected` says.
    void fail_each_call(const std::function<void(const result<recovery_outcome>&)>& expected) {
        log_.reset();
        store_.reset();
        const auto start = disk_.now();
        test::failing_files files(disk_);
        for (std::uint64_t n = 0;; ++n) {
            files.fail_at(n, errc::io);
            auto outcome = [&]() -> result<recovery_outcome> {
                auto opened = store::heap_file::open(files, store::k_path, os::access::read_write);
                if (!opened)
                    return opened.error();
                return recover::recover(files, **opened, {}, nullptr);
            }();
            files.work_again();
            if (files.failed().empty()) {
                EXPECT_GT(n, 5U);
                return expected(outcome);
            }
            EXPECT_FALSE(outcome) << "nobody heard of the failed " << files.failed();
            ASSERT_TRUE(reopen());
            expected(recover()); // with what that one left
            store_.reset();
            disk_.rewind(start);
        }
    }
};

TEST_F(failing_recovery, reports_every_failed_call_and_may_be_repeated) {
    commit(0, {}, 1);
    commit(80, {0, 1}, 2); // in another leaf of the table
    commit({}, {0, 1, 2, 80 * store::k_chunk_pages}, 3, 2048);
    fail_each_call([](const auto& outcome) { ASSERT_TRUE(outcome) << outcome.why().message; });
}

TEST_F(failing_recovery, of_a_damaged_log_stays_damage) {
    commit(0, {}, 1);
    commit({}, {0, 1}, 2);
    commit({}, {0}, 3);
    flip_log(offsets_[1] + 100);
    fail_each_call([](const auto& outcome) {
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.why().code, errc::corrupt);
    });
}

TEST_F(failing_recovery, makes_a_torn_superblock_whole) {
    commit(0, {}, 1);
    crash();
    ASSERT_TRUE(recover());
    flip((1 - store_->super().sequence % 2) * format::k_superblock_bytes + 100);
    fail_each_call([](const auto& outcome) { ASSERT_TRUE(outcome) << outcome.why().message; });
}

TEST_F(failing_recovery, makes_a_torn_superblock_whole_also_beside_a_log_that_came_back) {
    commit(0, {}, 1);
    const auto log = contents(store::log_path(store::k_path));
    crash();
    ASSERT_TRUE(recover());
    flip((1 - store_->super().sequence % 2) * format::k_superblock_bytes + 100);
    ASSERT_TRUE((*disk_.open_or_create(store::log_path(store::k_path), 0600))->write("test", 0, log));
    fail_each_call([&](const auto& outcome) {
        ASSERT_TRUE(outcome) << outcome.why().message;
        ASSERT_TRUE(reopen());
        EXPECT_FALSE(store_->supers().other_damage());
    });
}

TEST_F(recovery, of_a_file_that_ends_before_what_a_record_placed_is_refused_before_a_page_is_written) {
    ASSERT_NO_FATAL_FAILURE(cut_off_behind(store::k_chunk - 1));
    const std::uint64_t copy = store_->image().copy_of(store::k_chunk);
    for (const std::uint64_t left : {store::k_chunk - 1, k_page_bytes, std::uint64_t{0}}) {
        ASSERT_NO_FATAL_FAILURE(cut_off(copy + left));
        const auto heap = contents(store::k_path);
        const auto log = contents(store::log_path(store::k_path));
        const auto outcome = recover();
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.why().code, errc::truncated);
        EXPECT_EQ(outcome.why().path, store::k_path);
        EXPECT_EQ(outcome.why().offset, heap.size());
        EXPECT_TRUE(contents(store::k_path) == heap);
        EXPECT_TRUE(contents(store::log_path(store::k_path)) == log);
    }
}

TEST_F(failing_recovery, of_a_log_in_two_parts) {
    ASSERT_NO_FATAL_FAILURE(commit_in_two_parts());
    fail_each_call([&](const auto& outcome) {
        ASSERT_TRUE(outcome) << outcome.why().message;
        ASSERT_TRUE(reopen());
        expect_state(9);
    });
}

TEST_F(failing_recovery, of_a_log_that_ends_within_a_segment) {
    commit(0, {}, 1);
    log::record_builder builder;
    const format::change_range whole{0, k_page_bytes};
    while (builder.record_bytes() <= format::k_log_segment_bytes_min)
        builder.add_page(0, page_checksum(memory_[0]), {&whole, 1}, memory_[0].data());
    append(builder, store::k_chunk);
    const std::uint64_t end = format::k_log_header_bytes + log_->used_bytes();
    ASSERT_GT(log_->used_bytes(), format::k_log_segment_bytes_min);
    edit_log([&](os::file& file) { ASSERT_TRUE(file.resize("test", end + k_sector_bytes)); });
    fail_each_call([](const auto& outcome) { ASSERT_TRUE(outcome) << outcome.why().message; });
}

TEST_F(failing_recovery, with_a_map_that_outgrows_its_place) {
    for (std::uint64_t chunk = 0; chunk < 180; chunk += 2) // 4096 bytes take 85 exceptions
        ASSERT_NO_FATAL_FAILURE(commit(chunk, {}, 1));
    fail_each_call([](const auto& outcome) { ASSERT_TRUE(outcome) << outcome.why().message; });
}

} // namespace
} // namespace remanence::recover
