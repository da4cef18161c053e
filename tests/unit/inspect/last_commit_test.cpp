// Copies of a heap that somebody is writing to, by a plan: a writer and a copier on one simulated disk, who take turns at
// calls into it.

#include "inspect/last_commit.hpp"

#include "live_heap.hpp"
#include "support/failing_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace remanence::inspect::live {
namespace {

struct deed {
    const char* name;
    std::function<void(writer&)> happens;
};

std::vector<deed> deeds() {
    const auto commit = [](writer& program, unsigned value) {
        for (const unsigned page : {0U, 3U, 40U, 70U})
            program.set(page, value + page);
        EXPECT_TRUE(program.commit());
    };
    return {
        {"a commit", [=](writer& program) { commit(program, 10); }},
        {"a checkpoint", [](writer& program) { EXPECT_TRUE(program.checkpoint()); }},
        {"a commit and a checkpoint",
         [=](writer& program) {
             commit(program, 20);
             EXPECT_TRUE(program.checkpoint());
         }},
        {"a checkpoint between commits",
         [=](writer& program) {
             commit(program, 30);
             EXPECT_TRUE(program.checkpoint());
             commit(program, 40);
         }},
        {"two checkpoints",
         [=](writer& program) {
             commit(program, 50);
             EXPECT_TRUE(program.checkpoint());
             commit(program, 60);
             EXPECT_TRUE(program.checkpoint());
             commit(program, 70);
         }},
        {"two checkpoints that change the chunk map",
         [](writer& program) {
             for (const unsigned page : {20U, 45U}) {
                 program.set(page, page);
                 EXPECT_TRUE(program.commit());
                 EXPECT_TRUE(program.checkpoint());
             }
         }},
        {"growth, applied",
         [](writer& program) {
             for (unsigned i = 80; i < 90; ++i)
                 program.grow(i);
             EXPECT_TRUE(program.commit());
             EXPECT_TRUE(program.checkpoint());
         }},
        {"a clean close",
         [=](writer& program) {
             commit(program, 90);
             EXPECT_TRUE(program.close());
         }},
        {"another session",
         [=](writer& program) {
             EXPECT_TRUE(program.close());
             program.open();
             commit(program, 100);
         }},
        {"another session without a commit",
         [=](writer& program) {
             EXPECT_TRUE(program.close());
             program.open();
         }},
    };
}

/// What the log and the image have when the copy begins.
std::vector<deed> beginnings() {
    return {
        {"everything in the log", [](writer&) {}},
        {"a part in each",
         [](writer& program) {
             EXPECT_TRUE(program.checkpoint());
             program.set(3, 9);
             EXPECT_TRUE(program.commit());
         }},
        {"everything in the image, and chunks that were skipped",
         [](writer& program) {
             program.set(70, 8); // those before it are in the chunk map, then
             EXPECT_TRUE(program.commit());
             EXPECT_TRUE(program.checkpoint());
         }},
        {"not changed in this session",
         [](writer& program) {
             EXPECT_TRUE(program.close());
             program.open();
         }},
        {"closed", [](writer& program) { EXPECT_TRUE(program.close()); }},
        {"left by a program that died, a part in each",
         [](writer& program) {
             EXPECT_TRUE(program.checkpoint());
             program.set(3, 9);
             EXPECT_TRUE(program.commit());
             program.die();
         }},
    };
}

TEST(last_commit, is_copied_whole_whatever_the_writer_does_before_any_call_of_the_copier) {
    std::uint64_t copies = 0;
    for (const deed& beginning : beginnings()) {
        for (const deed& meanwhile : deeds()) {
            SCOPED_TRACE(std::string(beginning.name) + ", then " + meanwhile.name);
            for (std::uint64_t n = 0;; ++n) {
                SCOPED_TRACE("call " + std::to_string(n));
                simulation::simulated_disk disk;
                writer program(disk);
                beginning.happens(program);
                test::failing_files files(disk);
                std::uint64_t calls = 0;
                files.before_each([&](std::string_view) {
                    if (calls++ != n)
                        return;
                    if (!program.is_open())
                        program.open(); // whoever looks keeps nobody from it
                    meanwhile.happens(program);
                });
                const std::uint64_t acknowledged = program.acknowledged();
                auto copied = copy_heap(files);
                ASSERT_TRUE(copied) << copied.why().message;
                check_copy(disk, program, acknowledged);
                ++copies;
                if (calls <= n || testing::Test::HasFailure())
                    break;
            }
            if (testing::Test::HasFailure())
                return;
        }
    }
    std::cout << copies << " copies\n";
    EXPECT_GT(copies, 1000U);
}

// Records that show while the log is read may look like damage: again and again, and the superblocks stay as they are.
TEST(last_commit, is_not_called_damaged_because_commits_come_at_the_same_moment_of_each_attempt) {
    std::uint64_t attempts_max = 0;
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("call " + std::to_string(n));
        simulation::simulated_disk disk;
        writer program(disk);
        test::failing_files files(disk);
        std::uint64_t attempts = 0;
        std::uint64_t calls = 0; // of this attempt
        std::uint64_t times = 0;
        files.before_each([&](std::string_view what) {
            if (what == "is_locked_exclusively" && attempts < 4) {
                ++attempts;
                calls = 0;
            }
            const std::uint64_t more_reads = attempts == 0 ? 0 : 4 * (attempts - 1); // of the records that came since
            if (calls++ != n + more_reads)
                return;
            ++times;
            for (unsigned i = 0; i < 2; ++i) {
                program.set(0, 10 * static_cast<unsigned>(attempts) + i);
                EXPECT_TRUE(program.commit());
            }
        });
        const std::uint64_t acknowledged = program.acknowledged();
        auto copied = copy_heap(files);
        ASSERT_TRUE(copied) << copied.why().message;
        check_copy(disk, program, acknowledged);
        attempts_max = std::max(attempts_max, attempts);
        if (times == 0 || HasFailure())
            break;
    }
    EXPECT_EQ(attempts_max, 4U); // to find the heap closed
}

TEST(last_commit, is_copied_of_a_heap_whose_writer_is_stuck_at_any_operation) {
    std::uint64_t copies = 0;
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        simulation::simulated_disk disk;
        writer program(disk);
        disk.die_at(n);
        bool goes_on = true;
        for (unsigned i = 0; goes_on && i < 4; ++i) {
            program.set(i, 5 + i);
            if (i == 2)
                program.grow(77);
            goes_on = program.commit() && (i % 2 == 0 || program.checkpoint());
        }
        const bool done = disk.failure_is_ahead();
        disk.work_again();
        auto copied = copy_heap(disk);
        ASSERT_TRUE(copied) << copied.why().message;
        check_copy(disk, program, program.acknowledged());
        ++copies;
        if (done)
            break;
    }
    EXPECT_GT(copies, 20U);
}

// A record that is being written may show in part. With the superblock from before the checkpoint, the log would look as
// if it ended there.
TEST(last_commit, is_not_an_older_one_when_the_log_begins_anew_while_it_is_read) {
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("call " + std::to_string(n));
        simulation::simulated_disk disk;
        writer program(disk);
        ASSERT_TRUE(program.checkpoint());
        program.set(1, 7);
        ASSERT_TRUE(program.commit()); // the only record of the log
        test::failing_files files(disk);
        std::uint64_t calls = 0;
        files.before_each([&](std::string_view) {
            if (calls++ != n)
                return;
            ASSERT_TRUE(program.checkpoint());
            auto log = std::move(*disk.open(store::log_path(k_path), os::access::read_write));
            std::vector<std::byte> part_of_a_record(512, std::byte{0x52});
            ASSERT_TRUE(log->write("test", format::k_log_header_bytes, part_of_a_record));
        });
        auto copied = copy_heap(files);
        ASSERT_TRUE(copied) << copied.why().message;
        check_copy(disk, program, program.acknowledged());
        if (calls <= n || HasFailure())
            break;
    }
}

TEST(last_commit, that_is_never_the_same_for_long_enough_is_in_use_and_leaves_no_copy) {
    simulation::simulated_disk disk;
    writer program(disk);
    std::uint64_t uses = 0;
    const auto used = with_last_commit(disk, k_path, 7, {}, [&](inspection& heap) -> result<void> {
        ++uses;
        program.set(0, static_cast<unsigned>(10 + uses));
        EXPECT_TRUE(program.commit());
        EXPECT_TRUE(program.checkpoint());
        return store::copy_bytes(heap.store(), [](std::span<const std::byte>) { return result<void>(); }, {});
    });
    ASSERT_FALSE(used);
    EXPECT_EQ(used.why().code, errc::in_use);
    EXPECT_EQ(uses, 7U);
}

} // namespace
} // namespace remanence::inspect::live
