// What is said of a heap that somebody is writing to: damage is told, and what only moves is never called damaged.

#include "inspect/last_commit.hpp"

#include "live_heap.hpp"
#include "support/failing_files.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace remanence::inspect::live {
namespace {

TEST(last_commit, that_is_damaged_is_told_of_a_live_heap_too_and_no_copy_is_made) {
    simulation::simulated_disk disk;
    writer program(disk);
    ASSERT_TRUE(program.checkpoint());
    std::uint64_t at = 0;
    {
        auto heap = inspection::open_live(disk, k_path, {});
        ASSERT_TRUE(heap) << heap.why().message;
        at = (*heap)->store().image().copy_of(program.block());
    }
    auto file = std::move(*disk.open(k_path, os::access::read_write));
    const std::byte other{0x77};
    ASSERT_TRUE(file->write("test", at, {&other, 1}));
    auto copied = copy_heap(disk);
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.why().code, errc::corrupt);
    EXPECT_EQ(copied.why().offset, align_down(at, k_page_bytes));
    EXPECT_FALSE(*disk.exists(store::new_path(k_copy)));
}

/// What rem verify asks: the problems that are damage, or why nothing can be said.
result<std::vector<problem>> verify_heap(os::file_system& files) {
    auto heap = with_last_commit(files, k_path, 5, {}, [&](inspection& now) -> result<void> {
        auto parts = now.check_all({});
        return parts ? result<void>() : parts.error();
    });
    if (!heap)
        return heap.error();
    return (*heap)->problems();
}

/// Whether nothing can be said of a heap without damage, which is never the same for long enough.
bool gives_up(os::file_system& files) {
    auto problems = verify_heap(files);
    if (problems) {
        EXPECT_TRUE(problems->empty()) << problems->front().message;
    } else {
        EXPECT_EQ(problems.why().code, errc::in_use) << problems.why().message;
    }
    return !problems;
}

/// A heap with a page that rots while it is open: 50, which is not written to any more.
class rotting_heap {
public:
    explicit rotting_heap(writer::checkpoints how = writer::checkpoints::when_asked_for) : program_(disk_, how) {
        program_.set(50, 5);
        EXPECT_TRUE(program_.commit());
        EXPECT_TRUE(program_.checkpoint());
        auto heap = inspection::open_live(disk_, k_path, {});
        EXPECT_TRUE(heap);
        at_ = (*heap)->store().image().copy_of(page() * k_page_bytes);
    }
    void rot() { put(std::byte{0x77}); }
    void mend() { put(std::byte{0}); }
    simulation::simulated_disk& disk() { return disk_; }
    writer& program() { return program_; }
    [[nodiscard]] std::uint64_t place() const { return at_; }
    [[nodiscard]] std::uint64_t page() const { return program_.block() / k_page_bytes + 50; }

private:
    void put(std::byte other) {
        auto file = std::move(*disk_.open(k_path, os::access::read_write));
        EXPECT_TRUE(file->write("test", at_ + 1000, {&other, 1}));
    }

    simulation::simulated_disk disk_;
    writer program_;
    std::uint64_t at_ = 0;
};

// The kernel shows a page for a moment as it was before a direct write.
TEST(last_commit, is_not_called_damaged_for_a_page_that_fits_in_the_second_look) {
    rotting_heap heap;
    unsigned looks = 0;
    auto found = with_last_commit(heap.disk(), k_path, 5, {}, [&](inspection& now) -> result<void> {
        if (++looks == 1)
            heap.rot();
        auto parts = now.check_all({});
        heap.mend();
        return parts ? result<void>() : parts.error();
    });
    ASSERT_TRUE(found) << found.why().message;
    EXPECT_TRUE((*found)->problems().empty());
    EXPECT_EQ(looks, 2U);
}

// Nobody has it open, until a program starts before any call.
TEST(last_commit, that_is_damaged_is_told_of_a_heap_that_a_program_opens_meanwhile) {
    std::uint64_t told = 0;
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("call " + std::to_string(n));
        rotting_heap heap;
        EXPECT_TRUE(heap.program().close());
        heap.rot();
        test::failing_files files(heap.disk());
        std::uint64_t calls = 0;
        files.before_each([&](std::string_view) {
            if (calls++ != n)
                return;
            heap.program().open();
            heap.program().set(3, 9);
            EXPECT_TRUE(heap.program().commit());
            EXPECT_TRUE(heap.program().checkpoint());
        });
        auto problems = verify_heap(files);
        ASSERT_TRUE(problems) << problems.why().message;
        ASSERT_EQ(problems->size(), 1U);
        EXPECT_EQ(problems->front().offset, heap.place());
        ++told;
        if (calls <= n)
            break;
    }
    EXPECT_GT(told, 20U);
}

TEST(last_commit, of_a_heap_that_a_program_opens_and_rewrites_meanwhile_is_never_called_damaged) {
    std::uint64_t looks = 0;
    for (const bool has_died : {false, true}) {
        for (std::uint64_t n = 0;; ++n) {
            SCOPED_TRACE("call " + std::to_string(n) + (has_died ? " after a death" : ""));
            rotting_heap heap;
            heap.program().set(60, 6);
            EXPECT_TRUE(heap.program().commit());
            if (has_died) {
                heap.program().die();
            } else {
                EXPECT_TRUE(heap.program().close());
            }
            test::failing_files files(heap.disk());
            std::uint64_t calls = 0;
            files.before_each([&](std::string_view) {
                const std::uint64_t now = calls++;
                if (now == n)
                    heap.program().open();
                if (now < n || now % 3 != 0)
                    return;
                for (unsigned value = 0; value < 3; ++value) {
                    heap.program().rewrite(static_cast<unsigned>(now) + value);
                    EXPECT_TRUE(heap.program().commit());
                    EXPECT_TRUE(heap.program().checkpoint());
                }
            });
            looks += gives_up(files) ? 1U : 0U;
            if (calls <= n || HasFailure())
                break;
        }
    }
    EXPECT_GT(looks, 0U);
}

// Commits before any call, and a checkpoint before each attempt and now and then within it, so that no attempt sees the
// heap at rest: not only the page that rotted fails to fit.
TEST(last_commit, that_is_damaged_is_told_from_one_that_moves_although_commits_never_pause) {
    std::uint64_t told = 0;
    for (const std::uint64_t commits : {4U, 7U, 11U}) {               // calls from one to the next; to read one takes 2
        for (const std::uint64_t checkpoints : {200U, 333U, 1000U}) { // a look takes some 60, and those of the log
            SCOPED_TRACE(std::to_string(commits) + ", " + std::to_string(checkpoints));
            rotting_heap heap;
            heap.rot();
            test::failing_files files(heap.disk());
            std::uint64_t calls = 0;
            files.before_each([&](std::string_view) {
                ++calls;
                if (calls % commits == 0) {
                    heap.program().set(calls % 20, static_cast<unsigned>(calls));
                    EXPECT_TRUE(heap.program().commit());
                }
                if (calls % checkpoints == 0) {
                    EXPECT_TRUE(heap.program().checkpoint());
                }
            });
            auto problems = verify_heap(files);
            ASSERT_TRUE(problems) << problems.why().message;
            ASSERT_EQ(problems->size(), 1U);
            EXPECT_EQ(problems->front().offset, heap.place());
            EXPECT_EQ(problems->front().message, "page " + std::to_string(heap.page()) + ": the checksum is wrong");
            auto copied = copy_heap(files);
            ASSERT_FALSE(copied);
            EXPECT_EQ(copied.why().code, errc::corrupt);
            ++told;
        }
    }
    EXPECT_EQ(told, 9U);
}

// The same page, the same checksum expected, the same other bytes found, time and again.
TEST(last_commit, of_a_page_that_goes_to_and_fro_between_two_states_is_never_called_damaged) {
    std::uint64_t misfits = 0;
    for (std::uint64_t n = 1; n < 60; ++n) {
        SCOPED_TRACE("every " + std::to_string(n) + " calls");
        rotting_heap heap;
        test::failing_files files(heap.disk());
        std::uint64_t calls = 0;
        files.before_each([&](std::string_view) {
            if (++calls % n != 0)
                return;
            heap.program().set(50, 5 + static_cast<unsigned>(calls / n % 2));
            EXPECT_TRUE(heap.program().commit());
            EXPECT_TRUE(heap.program().checkpoint());
        });
        misfits += gives_up(files) ? 1U : 0U;
    }
    EXPECT_GT(misfits, 0U);
}

// Its chunks become holes, and its file shorter and longer.
TEST(last_commit, of_a_heap_that_gives_space_back_is_never_called_damaged) {
    std::uint64_t misfits = 0;
    for (std::uint64_t n = 1; n < 60; ++n) {
        SCOPED_TRACE("every " + std::to_string(n) + " calls");
        simulation::simulated_disk disk;
        writer program(disk);
        test::failing_files files(disk);
        std::uint64_t calls = 0;
        files.before_each([&](std::string_view) {
            if (++calls % n != 0)
                return;
            for (unsigned i = 0; i < 5; ++i)
                calls / n % 2 == 0 ? program.grow(i) : program.shrink();
            EXPECT_TRUE(program.commit());
            EXPECT_TRUE(program.checkpoint());
        });
        for (unsigned i = 0; i < 5; ++i)
            program.grow(i);
        EXPECT_TRUE(program.commit());
        misfits += gives_up(files) ? 1U : 0U;
    }
    EXPECT_GT(misfits, 0U);
    EXPECT_LT(misfits, 59U);
}

// Likewise, while a checkpoint writes it that later commits go on beside: the same superblock rules for long, and what is
// found is neither what it names nor what the log says in the end.
TEST(last_commit, of_a_page_that_a_checkpoint_writes_beside_commits_is_never_called_damaged) {
    std::uint64_t misfits = 0;
    std::uint64_t checkpoints = 0;
    const std::uint64_t first = test::random_seed();
    for (std::uint64_t seed = first; seed < first + 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        rotting_heap heap(writer::checkpoints::beside_commits);
        test::failing_files files(heap.disk());
        const std::uint64_t before_commit = 1 + random() % 30; // calls, on average
        const std::uint64_t before_step = 1 + random() % 200;
        files.before_each([&](std::string_view) {
            if (random() % before_commit == 0) {
                heap.program().set(50, 5 + static_cast<unsigned>(random() % 2));
                heap.program().set(51, static_cast<unsigned>(heap.program().begun() % 200));
                EXPECT_TRUE(heap.program().commit());
            }
            if (random() % before_step == 0)
                heap.program().step();
        });
        misfits += gives_up(files) ? 1U : 0U;
        checkpoints += heap.program().checkpoints_made();
    }
    EXPECT_GT(misfits, 0U);
    EXPECT_GT(checkpoints, 100U);
}

// At any two calls: the page changes and is written so by a checkpoint that does not end; the page becomes what it was.
TEST(last_commit, of_a_page_that_was_written_between_two_equal_states_is_never_called_damaged) {
    std::uint64_t misfits = 0;
    for (std::uint64_t first = 0;; ++first) {
        bool is_reached = false;
        for (std::uint64_t second = first; second < first + 40; second += 3) {
            SCOPED_TRACE(std::to_string(first) + ", " + std::to_string(second));
            rotting_heap heap(writer::checkpoints::beside_commits);
            test::failing_files files(heap.disk());
            std::uint64_t calls = 0;
            const auto commit = [&](unsigned value) {
                heap.program().set(50, value);
                heap.program().set(51, static_cast<unsigned>(heap.program().begun() % 200));
                EXPECT_TRUE(heap.program().commit());
            };
            files.before_each([&](std::string_view) {
                const std::uint64_t now = calls++;
                if (now == first) {
                    is_reached = true;
                    while (!heap.program().is_in_checkpoint())
                        commit(6);
                    heap.program().step(MiB);
                }
                if (now == second)
                    commit(5);
            });
            std::uint64_t looks = 0;
            auto seen = with_last_commit(files, k_path, 5, {}, [&](inspection& now) -> result<void> {
                misfits += ++looks > 1 ? 1U : 0U;
                auto parts = now.check_all({});
                return parts ? result<void>() : parts.error();
            });
            ASSERT_TRUE(seen) << seen.why().message;
            ASSERT_TRUE((*seen)->problems().empty()) << (*seen)->problems().front().message;
        }
        if (!is_reached)
            break;
    }
    EXPECT_GT(misfits, 0U);
}

void commit_before_each_call(test::failing_files& files, writer& program) {
    files.before_each([&](std::string_view) {
        program.set(2, static_cast<unsigned>(program.begun() % 200));
        EXPECT_TRUE(program.commit());
    });
}

// A record that does not become whole however often it is looked at, while others come behind it.
TEST(last_commit, that_a_damaged_log_hides_is_told_although_commits_never_pause) {
    rotting_heap heap;
    heap.program().set(1, 1);
    ASSERT_TRUE(heap.program().commit());
    {
        auto log = std::move(*heap.disk().open(store::log_path(k_path), os::access::read_write));
        const std::byte other{0x77};
        ASSERT_TRUE(log->write("test", format::k_log_header_bytes + 100, {&other, 1}));
    }
    test::failing_files files(heap.disk());
    commit_before_each_call(files, heap.program());
    auto problems = verify_heap(files);
    ASSERT_TRUE(problems) << problems.why().message;
    ASSERT_EQ(problems->size(), 1U);
    EXPECT_EQ(problems->front().path, store::log_path(k_path));
    EXPECT_EQ(problems->front().offset, format::k_log_header_bytes);
}

// Pages and a node of the checksum tables; what fits contradicts nothing.
TEST(last_commit, that_lacks_a_node_of_the_checksum_tables_is_damaged_although_commits_never_pause) {
    rotting_heap heap;
    auto file = std::move(*heap.disk().open(k_path, os::access::read_write));
    {
        auto seen = inspection::open_live(heap.disk(), k_path, {});
        ASSERT_TRUE(seen);
        const format::region& region = (*seen)->super().regions[0];
        for (const std::uint64_t slot : {0U, 1U}) {
            const std::byte other{0x77};
            ASSERT_TRUE(file->write("test", region.table_offset + slot * format::k_node_bytes + 9, {&other, 1}));
        }
    }
    test::failing_files files(heap.disk());
    commit_before_each_call(files, heap.program());
    auto problems = verify_heap(files);
    ASSERT_TRUE(problems) << problems.why().message;
    ASSERT_FALSE(problems->empty());
    EXPECT_NE(problems->front().message.find("checksum table"), std::string::npos) << problems->front().message;
}

} // namespace
} // namespace remanence::inspect::live
