#include "testing/crash_walk.hpp"

#include "unit/testing/disk_script.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace remanence::simulation {
namespace {

TEST(crash_walk, keeps_what_was_synced_and_loses_the_rest) {
    simulated_disk disk;
    const auto trace = trace_of(disk, "asdbc");
    ASSERT_EQ(disk.describe_files(), "");
    crash_walk walk(disk, trace);
    std::vector<std::string> synced;
    std::vector<std::string> prefixes;
    for (std::uint32_t at = 0; at <= trace.size(); at++) {
        walk.advance_to(at);
        walk.build_synced();
        synced.push_back(sectors_of(disk));
        walk.build_prefix();
        prefixes.push_back(sectors_of(disk));
    }
    // Operations: create, a, sync, sync_directory, b, c.
    EXPECT_EQ(synced, (std::vector<std::string>{"<absent>", "<absent>", "<absent>", "<absent>", "a", "a", "a"}));
    EXPECT_EQ(prefixes, (std::vector<std::string>{"<absent>", "", "a", "a", "a", "ab", "abc"}));
}

TEST(crash_walk, an_entry_without_its_data_is_an_empty_file) {
    simulated_disk disk;
    const auto trace = trace_of(disk, "ad");
    crash_walk walk(disk, trace);
    walk.advance_to(3);
    walk.build_synced();
    EXPECT_EQ(sectors_of(disk), "");
}

TEST(crash_walk, builds_any_subset_in_any_order_and_with_any_tearing) {
    simulated_disk disk;
    const auto trace = trace_of(disk, "dabc");
    crash_walk walk(disk, trace);
    walk.advance_to(5);
    EXPECT_EQ(walk.pending(), (std::vector<std::uint32_t>{2, 3, 4}));
    const persisted_part c_then_a[] = {{.operation = 4}, {.operation = 2}};
    walk.build(c_then_a);
    EXPECT_EQ(sectors_of(disk), "a0c");
    const persisted_part only_c[] = {{.operation = 4}};
    walk.build(only_c);
    EXPECT_EQ(sectors_of(disk), "00c");
    const persisted_part size_of_b[] = {{.operation = 3, .data = false}};
    walk.build(size_of_b);
    EXPECT_EQ(sectors_of(disk), "00");
    walk.build_prefix(0);
    EXPECT_EQ(sectors_of(disk), "ab");
}

TEST(crash_walk, an_operation_on_the_state_can_be_rewound_and_walked_in_turn) {
    simulated_disk disk;
    const auto trace = trace_of(disk, "dasb");
    crash_walk walk(disk, trace);
    walk.advance_to(4);
    walk.build_prefix();
    const auto state = disk.now();
    {
        auto file = std::move(*disk.open("dir/file", os::access::read_write));
        ASSERT_TRUE(file->write("recovery", 0, bytes_of(std::string(512, 'r'))));
        ASSERT_TRUE(disk.remove("recovery", "dir/file"));
    }
    const auto recovery = disk.take_trace();
    disk.rewind(state);
    EXPECT_EQ(sectors_of(disk), "a");
    {
        crash_walk again(disk, recovery);
        again.advance_to(1);
        again.build_prefix();
        EXPECT_EQ(sectors_of(disk), "r");
        again.advance_to(2);
        again.build_prefix();
        EXPECT_EQ(sectors_of(disk), "<absent>");
    }
    EXPECT_EQ(sectors_of(disk), "a");
    walk.advance_to(5);
    walk.build_prefix();
    EXPECT_EQ(sectors_of(disk), "ab");
}

TEST(crash_walk, after_a_failed_sync_a_later_one_does_not_save_the_writes_before_it) {
    simulated_disk disk;
    const auto start = disk.now();
    {
        auto file = std::move(*disk.open_or_create("dir/file", 0600));
        ASSERT_TRUE(disk.sync_directory("directory", "dir/file"));
        ASSERT_TRUE(file->write("w", 0, bytes_of(std::string(512, 'a'))));
        disk.fail_at(0, errc::io);
        ASSERT_FALSE(file->sync("s"));
        ASSERT_TRUE(file->write("w", 512, bytes_of(std::string(512, 'b'))));
        ASSERT_TRUE(file->sync("s"));
    }
    EXPECT_EQ(sectors_of(disk), "ab");
    const auto trace = disk.take_trace();
    disk.rewind(start);
    crash_walk walk(disk, trace);
    walk.advance_to(5);
    walk.build_prefix();
    EXPECT_EQ(sectors_of(disk), "ab");
    walk.advance_to(6);
    walk.build_prefix();
    EXPECT_EQ(sectors_of(disk), "0b");
}

TEST(crash_walk, a_write_before_a_failed_sync_leaves_what_the_file_system_leaves) {
    struct {
        failed_sync how;
        const char* cached;  // after the failure
        const char* durable; // after the next sync
    } constexpr k_all[] = {
        {failed_sync::ext4, "ab", "c0"}, {failed_sync::xfs, "ab", "c"}, {failed_sync::btrfs, "a", "c"}};
    for (const auto& [how, cached, durable] : k_all) {
        SCOPED_TRACE(static_cast<int>(how));
        simulated_disk disk;
        disk.set_after_failed_sync(how);
        const auto start = disk.now();
        {
            auto file = std::move(*disk.open_or_create("dir/file", 0600));
            ASSERT_TRUE(disk.sync_directory("directory", "dir/file"));
            ASSERT_TRUE(file->write("w", 0, bytes_of(std::string(512, 'a'))));
            ASSERT_TRUE(file->sync("s"));
            ASSERT_TRUE(file->write("w", 512, bytes_of(std::string(512, 'b')))); // makes the file longer
            disk.fail_at(0, errc::io);
            ASSERT_FALSE(file->sync("s"));
            EXPECT_EQ(sectors_of(disk), cached);
            ASSERT_TRUE(file->write("w", 0, bytes_of(std::string(512, 'c'))));
            ASSERT_TRUE(file->sync("s"));
        }
        const auto trace = disk.take_trace();
        disk.rewind(start);
        crash_walk walk(disk, trace);
        walk.advance_to(static_cast<std::uint32_t>(trace.size()));
        walk.build_synced();
        EXPECT_EQ(sectors_of(disk), durable);
    }
}

TEST(crash_walk, a_durable_write_persists_alone) {
    simulated_disk disk;
    const auto trace = trace_of(disk, "daBc"); // create, sync_directory, a, B, its sync, c
    crash_walk walk(disk, trace);
    walk.advance_to(4);
    EXPECT_EQ(walk.pending(), (std::vector<std::uint32_t>{2, 3})); // it may be torn
    walk.advance_to(6);
    EXPECT_EQ(walk.pending(), (std::vector<std::uint32_t>{2, 5}));
    walk.build_synced();
    EXPECT_EQ(sectors_of(disk), "0B");
    walk.build_prefix();
    EXPECT_EQ(sectors_of(disk), "aBc");
}

TEST(crash_walk, an_earlier_write_of_the_same_bytes_may_persist_over_a_durable_one) {
    simulated_disk disk;
    const auto start = disk.now();
    {
        auto file = std::move(*disk.open_or_create("dir/file", 0600));
        ASSERT_TRUE(disk.sync_directory("directory", "dir/file"));
        ASSERT_TRUE(file->write("w", 0, sector_of('a')));
        ASSERT_TRUE(file->write_durable("w", "s", 0, sector_of('B')));
    }
    const auto trace = disk.take_trace();
    disk.rewind(start);
    crash_walk walk(disk, trace);
    walk.advance_to(5);
    walk.build_synced();
    EXPECT_EQ(sectors_of(disk), "B");
    walk.build_prefix();
    EXPECT_EQ(sectors_of(disk), "a");
}

TEST(crash_walk, what_another_thread_does_between_a_durable_write_and_its_sync_takes_nothing_from_it) {
    constexpr std::size_t k_sectors = 300;
    for (const failed_sync how : {failed_sync::xfs, failed_sync::btrfs}) {
        simulated_disk disk;
        disk.set_after_failed_sync(how);
        const auto start = disk.now();
        {
            auto file = std::move(*disk.open_or_create("dir/file", 0600));
            ASSERT_TRUE(disk.sync_directory("directory", "dir/file"));
            std::atomic<bool> ends = false;
            std::thread other([&] {
                while (!ends)
                    disk.marker("between", 0);
            });
            for (std::size_t i = 0; i < k_sectors; ++i)
                EXPECT_TRUE(file->write_durable("w", "s", i * k_sector_bytes, sector_of('A')));
            ends = true;
            other.join();
            disk.fail_at(0, errc::io);
            ASSERT_FALSE(file->sync("s"));
        }
        EXPECT_EQ(sectors_of(disk), std::string(k_sectors, 'A'));
        const auto trace = disk.take_trace();
        disk.rewind(start);
        crash_walk walk(disk, trace);
        walk.advance_to(static_cast<std::uint32_t>(trace.size()));
        walk.build_synced();
        EXPECT_EQ(sectors_of(disk), std::string(k_sectors, 'A'));
    }
}

TEST(crash_walk, a_disk_that_knows_no_durable_writes_syncs_the_whole_file_instead) {
    simulated_disk disk;
    disk.refuse_durable_writes();
    const auto trace = trace_of(disk, "daB");
    crash_walk walk(disk, trace);
    walk.advance_to(5);
    walk.build_synced();
    EXPECT_EQ(sectors_of(disk), "aB");
}

TEST(crash_walk, a_durable_write_that_failed_is_not_saved_by_a_later_sync) {
    for (const failed_sync how : {failed_sync::xfs, failed_sync::btrfs}) {
        simulated_disk disk;
        disk.set_after_failed_sync(how);
        const auto start = disk.now();
        {
            auto file = std::move(*disk.open_or_create("dir/file", 0600));
            ASSERT_TRUE(disk.sync_directory("directory", "dir/file"));
            ASSERT_TRUE(file->write("w", 512, sector_of('b')));
            disk.fail_at(1, errc::io);
            ASSERT_FALSE(file->write_durable("w", "s", 0, sector_of('A')));
            ASSERT_TRUE(file->sync("s"));
        }
        const auto trace = disk.take_trace();
        disk.rewind(start);
        crash_walk walk(disk, trace);
        walk.advance_to(6);
        walk.build_synced();
        EXPECT_EQ(sectors_of(disk), "0b");
    }
}

TEST(crash_walk, a_failed_sync_takes_nothing_back_that_was_written_durably) {
    simulated_disk disk;
    disk.set_after_failed_sync(failed_sync::btrfs);
    const auto start = disk.now();
    {
        auto file = std::move(*disk.open_or_create("dir/file", 0600));
        ASSERT_TRUE(disk.sync_directory("directory", "dir/file"));
        ASSERT_TRUE(file->write("w", 0, sector_of('a')));
        ASSERT_TRUE(file->write_durable("w", "s", 512, sector_of('B')));
        disk.fail_at(0, errc::io);
        ASSERT_FALSE(file->sync("s"));
    }
    EXPECT_EQ(sectors_of(disk), "0B");
    const auto trace = disk.take_trace();
    disk.rewind(start);
    EXPECT_EQ(sectors_of(disk), "<absent>");
    crash_walk walk(disk, trace);
    walk.advance_to(static_cast<std::uint32_t>(trace.size()));
    walk.build_synced();
    EXPECT_EQ(sectors_of(disk), "0B");
}

TEST(crash_walk, a_rename_is_durable_with_its_directory_and_brings_the_data_that_was_synced) {
    simulated_disk disk;
    const auto start = disk.now();
    {
        auto file = std::move(*disk.open_or_create("dir/new", 0600));
        ASSERT_TRUE(file->write("w", 0, bytes_of(std::string(512, 'a'))));
        ASSERT_TRUE(file->sync("s"));
        ASSERT_TRUE(disk.rename_to_new("r", "dir/new", "dir/file"));
        ASSERT_TRUE(disk.sync_directory("d", "dir/file"));
    }
    const auto trace = disk.take_trace();
    disk.rewind(start);
    crash_walk walk(disk, trace);
    walk.advance_to(4);
    walk.build_synced();
    EXPECT_EQ(disk.describe_files(), "");
    const persisted_part only_rename[] = {{.operation = 3}};
    walk.build(only_rename);
    EXPECT_EQ(sectors_of(disk), "a");
    EXPECT_FALSE(*disk.exists("dir/new"));
    walk.advance_to(5);
    walk.build_synced();
    EXPECT_EQ(sectors_of(disk), "a");
}

} // namespace
} // namespace remanence::simulation
