#include "log/redo_log.hpp"

#include "support/failing_files.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace remanence::log {
namespace {

TEST(redo_log, grows_by_segments_of_zeros_and_keeps_its_size_on_restart) {
    simulation::simulated_disk disk;
    auto log = std::move(*redo_log::create(disk, "dir/h-log", {}, {1, {}}, 1, 0600, 0));
    EXPECT_EQ(*log->file().size(), format::k_log_header_bytes + 64 * KiB);
    const page_aligned_bytes record(3 * MiB + 512, std::byte{1});
    ASSERT_TRUE(log->reserve(record.size()));
    log->append(record);
    ASSERT_TRUE(log->await(1, durability::durable));
    EXPECT_EQ(*log->file().size(), format::k_log_header_bytes + 4 * MiB);
    std::vector<std::byte> rest(512);
    ASSERT_TRUE(log->file().read(format::k_log_header_bytes + record.size(), rest));
    EXPECT_EQ(rest, std::vector<std::byte>(512));
    log->restart();
    EXPECT_EQ(log->used_bytes(), 0U);
    EXPECT_EQ(*log->file().size(), format::k_log_header_bytes + 4 * MiB);
}

TEST(redo_log, has_segments_as_long_as_all_before_up_to_a_limit) {
    simulation::simulated_disk disk;
    auto log = std::move(*redo_log::create(disk, "dir/h-log", {}, {1, {}}, 1, 0600, 0));
    std::vector<std::uint64_t> sizes; // in KiB, each time it has grown
    std::uint64_t size = *log->file().size();
    const page_aligned_bytes record(16 * KiB);
    while (size < 4 * MiB) {
        ASSERT_TRUE(log->reserve(record.size()));
        log->append(record);
        if (const std::uint64_t now = *log->file().size(); now != size)
            sizes.push_back((now - format::k_log_header_bytes) / KiB);
        size = *log->file().size();
    }
    EXPECT_EQ(sizes, (std::vector<std::uint64_t>{128, 256, 512, 1024, 2048, 3072, 4096}));
    for (std::uint64_t bytes = 0; bytes < 3 * MiB; bytes += k_sector_bytes) {
        const std::uint64_t around = format::log_segments_around(bytes);
        const std::uint64_t within = format::log_segments_within(bytes);
        ASSERT_GE(around, std::max(bytes, format::k_log_segment_bytes_min));
        ASSERT_EQ(format::log_segments_within(around), around);
        if (bytes > format::k_log_segment_bytes_min) {
            ASSERT_LT(format::log_segments_within(around - 1), bytes); // it is the next end
        }
        ASSERT_LE(within, bytes);
        if (within != 0) {
            ASSERT_EQ(format::log_segments_around(within), within);
            ASSERT_GT(format::log_segments_around(within + 1), bytes);
        }
    }
}

TEST(redo_log, that_cannot_grow_stays_as_it_was) {
    simulation::simulated_disk disk;
    test::failing_files files(disk);
    auto log = std::move(*redo_log::create(files, "dir/h-log", {}, {1, {}}, 1, 0600, 0));
    const std::uint64_t size = *log->file().size();
    for (std::uint64_t n = 0;; ++n) {
        files.fail_at(n, errc::no_space);
        auto grown = log->reserve(2 * MiB + 512); // the rest of the third segment is written with zeros
        files.work_again();
        if (files.failed().empty()) {
            EXPECT_TRUE(grown);
            EXPECT_GT(n, 1U);
            break;
        }
        ASSERT_FALSE(grown) << files.failed();
        if (n == 0) { // there is no room
            EXPECT_EQ(*log->file().size(), size);
        }
    }
    EXPECT_EQ(*log->file().size(), format::k_log_header_bytes + 3 * MiB);
}

TEST(redo_log, that_cannot_be_made_leaves_nothing_behind) {
    for (std::uint64_t n = 0;; ++n) {
        simulation::simulated_disk disk;
        disk.fail_at(n, errc::no_space);
        auto log = redo_log::create(disk, "dir/h-log", {}, {1, {}}, 1, 0600, 0);
        if (log) {
            EXPECT_GT(n, 3U);
            break;
        }
        EXPECT_FALSE(*disk.exists("dir/h-log")) << n;
    }
}

TEST(redo_log, is_made_over_no_file_with_anything_in_it_and_over_none_that_is_in_use) {
    simulation::simulated_disk disk;
    const std::string path = "dir/h-log";
    {
        auto first = std::move(*redo_log::create(disk, "dir/h-log", {}, {1, {}}, 1, 0600, 0));
        EXPECT_EQ(redo_log::create(disk, "dir/h-log", {}, {2, {}}, 1, 0600, 0).why().code, errc::in_use);
    }
    const std::uint64_t size = *(*disk.open(path, os::access::read_only))->size();
    EXPECT_EQ(redo_log::create(disk, "dir/h-log", {}, {2, {}}, 1, 0600, 0).why().code, errc::log_foreign);
    EXPECT_EQ(*(*disk.open(path, os::access::read_only))->size(), size);
    ASSERT_TRUE((*disk.open(path, os::access::read_write))->resize("test", 0));
    EXPECT_TRUE(redo_log::create(disk, "dir/h-log", {}, {2, {}}, 1, 0600, 0));
}

TEST(redo_log, that_is_renamed_while_it_is_made_is_refused) {
    simulation::simulated_disk disk;
    test::failing_files files(disk);
    files.before_each([&](std::string_view call) {
        if (call == "sync_directory") {
            EXPECT_TRUE(disk.rename_to_new("test", "dir/h-log", "dir/renamed"));
        }
    });
    EXPECT_EQ(redo_log::create(files, "dir/h-log", {}, {1, {}}, 1, 0600, 0).why().code, errc::unlinked);
}

class appended_records : public testing::Test {
protected:
    void submit(std::size_t bytes = k_sector_bytes) {
        ASSERT_TRUE(log_->reserve(bytes));
        log_->append(page_aligned_bytes(bytes, static_cast<std::byte>(++appended_)));
        ASSERT_EQ(log_->appended_through(), appended_);
    }
    /// With a prerequisite, which shows in done() as a sync of an image does.
    void submit_naming(os::file& image, errc fails = errc{}) {
        ASSERT_TRUE(log_->reserve(k_sector_bytes));
        ++appended_;
        log_->append(page_aligned_bytes(k_sector_bytes), [&image, fails]() -> result<void> {
            REM_TRY(image.sync("image"));
            return fails == errc{} ? result<void>() : fail(fails, "the image is not durable");
        });
    }
    /// Everything that was done since the last call.
    std::vector<std::string> done() {
        std::vector<std::string> found;
        for (const auto& each : disk_.take_trace())
            found.push_back(std::string(each.where) + ' ' + std::to_string(each.bytes));
        return found;
    }
    using steps = std::vector<std::string>;

    simulation::simulated_disk disk_;
    std::unique_ptr<redo_log> log_ = std::move(*redo_log::create(disk_, "dir/h-log", {}, {1, {}}, 1, 0600, 0));
    std::uint64_t appended_ = 0;
    steps created_ = done();
};

TEST_F(appended_records, share_one_write) {
    for (int i = 0; i < 3; ++i)
        submit();
    EXPECT_EQ(done(), steps{});
    EXPECT_EQ(log_->durable_through(), 0U);
    ASSERT_TRUE(log_->await(2, durability::durable));
    EXPECT_EQ(done(), (steps{"log: record 1536", "log: sync record 1536"}));
    EXPECT_EQ(log_->durable_through(), 3U);
    ASSERT_TRUE(log_->await(3, durability::durable)); // it came along
    EXPECT_EQ(done(), steps{});
    std::vector<std::byte> read(3 * k_sector_bytes);
    ASSERT_TRUE(log_->file().read(format::k_log_header_bytes, read));
    for (std::size_t i = 0; i < read.size(); ++i)
        ASSERT_EQ(read[i], static_cast<std::byte>(1 + i / k_sector_bytes)); // in the order in which they were submitted
}

TEST_F(appended_records, that_are_lazy_become_durable_with_the_next_durable_one) {
    submit();
    ASSERT_TRUE(log_->await(1, durability::lazy));
    submit();
    submit();
    ASSERT_TRUE(log_->await(3, durability::lazy));
    EXPECT_EQ(done(), (steps{"log: buffered records 512", "log: buffered records 1024"}));
    EXPECT_EQ(log_->written_through(), 3U);
    EXPECT_EQ(log_->durable_through(), 0U);
    submit();
    ASSERT_TRUE(log_->await(4, durability::durable)); // a write that makes only itself durable would not do
    EXPECT_EQ(done(), (steps{"log: buffered records 512", "log: sync buffered records 0"}));
    EXPECT_EQ(log_->durable_through(), 4U);
    submit();
    ASSERT_TRUE(log_->await(5, durability::durable));
    EXPECT_EQ(done(), (steps{"log: record 512", "log: sync record 512"}));
    submit();
    ASSERT_TRUE(log_->await(6, durability::lazy));
    ASSERT_TRUE(log_->await(6, durability::durable)); // nothing is to be written any more
    EXPECT_EQ(done(), (steps{"log: buffered records 512", "log: sync buffered records 0"}));
}

// I2
TEST_F(appended_records, are_written_when_what_they_name_is_durable) {
    const auto image = std::move(*disk_.open_or_create("dir/h", 0600));
    done();
    submit();
    submit_naming(*image);
    submit_naming(*image);
    submit();
    ASSERT_TRUE(log_->await(4, durability::none));
    EXPECT_EQ(done(), steps{});
    ASSERT_TRUE(log_->await(1, durability::lazy));
    EXPECT_EQ(done(), (steps{"image 0", "log: buffered records 2048"}));
    submit();
    submit_naming(*image);
    ASSERT_TRUE(log_->await(5, durability::durable));
    EXPECT_EQ(done(), (steps{"image 0", "log: buffered records 1024", "log: sync buffered records 0"}));
    submit();
    ASSERT_TRUE(log_->await(7, durability::durable));
    EXPECT_EQ(done(), (steps{"log: record 512", "log: sync record 512"}));
}

TEST_F(appended_records, are_not_written_when_what_they_name_is_not_durable) {
    const auto image = std::move(*disk_.open_or_create("dir/h", 0600));
    submit();
    ASSERT_TRUE(log_->await(1, durability::durable));
    submit();
    submit_naming(*image, errc::io);
    done();
    EXPECT_EQ(log_->await(2, durability::durable).why().message, "the image is not durable");
    EXPECT_EQ(done(), (steps{"image 0"}));
    EXPECT_EQ(log_->await(3, durability::lazy).why().message, "the image is not durable");
    submit();
    EXPECT_FALSE(log_->await(4, durability::durable));
    EXPECT_EQ(done(), steps{});
    EXPECT_EQ(log_->durable_through(), 1U);
}

TEST_F(appended_records, that_nobody_waits_for_stay_in_memory_up_to_a_limit) {
    submit();
    ASSERT_TRUE(log_->await(1, durability::none));
    submit(redo_log::k_pending_bytes_max - k_sector_bytes);
    disk_.take_trace(); // the log has grown
    ASSERT_TRUE(log_->await(2, durability::none));
    EXPECT_EQ(done(), steps{});
    submit();
    ASSERT_TRUE(log_->await(3, durability::none));
    EXPECT_EQ(done().back(), "log: buffered records " + std::to_string(redo_log::k_pending_bytes_max + 512));
    EXPECT_EQ(log_->written_through(), 3U);
    submit();
    ASSERT_TRUE(log_->await(4, durability::none));
    EXPECT_EQ(log_->written_through(), 3U);
    submit();
    ASSERT_TRUE(log_->await(5, durability::durable));
    EXPECT_EQ(log_->durable_through(), 5U);
}

// I5: at each call that writes or syncs. What was durable stays so; all others fail, with the same reason, now and later.
TEST_F(appended_records, fail_all_together_and_for_good) {
    for (const durability first : {durability::none, durability::lazy, durability::durable}) {
        for (std::uint64_t n = 0; n < 2; ++n) {
            simulation::simulated_disk disk;
            log_ = std::move(*redo_log::create(disk, "dir/h-log", {}, {1, {}}, 1, 0600, 0));
            appended_ = 0;
            submit();
            ASSERT_TRUE(log_->await(1, durability::durable));
            submit();
            ASSERT_TRUE(log_->await(2, first));
            submit();
            submit();
            disk.fail_at(n, errc::no_space);
            auto failed = log_->await(3, durability::durable);
            ASSERT_FALSE(failed);
            const std::size_t operations = disk.trace().size();
            for (const durability how : {durability::none, durability::lazy, durability::durable}) {
                auto later = log_->await(4, how);
                ASSERT_FALSE(later);
                EXPECT_EQ(later.why().message, failed.why().message);
            }
            EXPECT_TRUE(log_->await(1, durability::durable));
            for (const durability how : {durability::lazy, durability::durable})
                EXPECT_EQ(static_cast<bool>(log_->await(2, how)), first == durability::durable);
            EXPECT_EQ(log_->durable_through(), first == durability::durable ? 2U : 1U);
            submit(); // by who has not heard of it yet
            EXPECT_FALSE(log_->await(5, durability::durable));
            EXPECT_EQ(log_->reserve(4 * MiB).why().code, errc::io); // no lack of space that may pass
            EXPECT_EQ(disk.trace().size(), operations);
            log_.reset(); // before the disk
        }
    }
}

} // namespace
} // namespace remanence::log
