#include "log/redo_log.hpp"

#include "os/simulated_disk.hpp"
#include "support/failing_files.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace remanence::log {
namespace {

TEST(redo_log, grows_by_segments_of_zeros_and_keeps_its_size_on_restart) {
    os::simulated_disk disk;
    auto log = std::move(*redo_log::create(disk, "dir/h", {}, 1, 1, 0600));
    const auto first = *log->file().size();
    EXPECT_EQ(first, format::k_log_header_bytes + format::k_log_segment_bytes);
    std::vector<std::byte> record(3 * MiB + 512, std::byte{1});
    ASSERT_TRUE(log->reserve(record.size()));
    ASSERT_TRUE(log->append(record));
    EXPECT_EQ(*log->file().size(), format::k_log_header_bytes + 4 * format::k_log_segment_bytes);
    std::vector<std::byte> rest(512);
    ASSERT_TRUE(log->file().read(format::k_log_header_bytes + record.size(), rest));
    EXPECT_EQ(rest, std::vector<std::byte>(512));
    log->restart();
    EXPECT_EQ(log->used_bytes(), 0U);
    EXPECT_EQ(*log->file().size(), format::k_log_header_bytes + 4 * format::k_log_segment_bytes);
}

TEST(redo_log, that_cannot_grow_stays_as_it_was) {
    os::simulated_disk disk;
    test::failing_files files(disk);
    auto log = std::move(*redo_log::create(files, "dir/h", {}, 1, 1, 0600));
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
    EXPECT_EQ(*log->file().size(), size + 2 * MiB);
}

TEST(redo_log, that_cannot_be_made_leaves_nothing_behind) {
    for (std::uint64_t n = 0;; ++n) {
        os::simulated_disk disk;
        disk.fail_at(n, errc::no_space);
        auto log = redo_log::create(disk, "dir/h", {}, 1, 1, 0600);
        if (log) {
            EXPECT_GT(n, 3U);
            break;
        }
        EXPECT_FALSE(*disk.exists("dir/h-log")) << n;
    }
}

} // namespace
} // namespace remanence::log
