// Copies of a heap that somebody is writing to: a writer and a copier on one simulated disk, who take turns at each call
// into it, by a plan or by chance.

#include "txn/last_commit.hpp"

#include "os/simulated_disk.hpp"
#include "store/heap_copy.hpp"
#include "support/failing_files.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::txn {
namespace live { // the tests of a folder are compiled as one
namespace {

constexpr const char* k_path = "dir/heap";
constexpr const char* k_copy = "dir/copy";

/// A program that writes to a heap, and what it committed.
class writer {
public:
    enum class checkpoints { when_asked_for, beside_commits };
    explicit writer(os::file_system& files, checkpoints how = checkpoints::when_asked_for) : files_(files), how_(how) {
        states_.emplace_back();
        open();
        blocks_.push_back(allocate(300 * KiB));
        set(0, 1);
        commit();
    }

    void open() {
        engine_options options;
        options.reserve_bytes = 64 * MiB;
        options.chunk_bytes = 64 * KiB;
        if (how_ == checkpoints::beside_commits)
            options.log_limit_bytes = 8 * KiB;
        auto opened = engine::open(files_, k_path, open_mode::open_or_create, options, "abi");
        while (!opened && opened.why().code == errc::in_use) // a copier found it closed, and has its lock
            opened = engine::open(files_, k_path, open_mode::open_existing, options, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
        if (how_ == checkpoints::beside_commits)
            engine_->let_checkpoints_be_carried_out([] { return true; });
    }
    /// Of a checkpoint beside commits: a page, or all of them.
    void step(std::uint64_t bytes = k_page_bytes) { EXPECT_TRUE(engine_->step_checkpoint(bytes)); }
    [[nodiscard]] bool is_in_checkpoint() const { return engine_->checkpoint_under_way().total_bytes != 0; }
    /// A page of the first block gets a value.
    void set(std::uint64_t page, unsigned value) { put(blocks_[0] + page * k_page_bytes, value); }
    void grow(unsigned value) {
        blocks_.push_back(allocate(70 * KiB));
        put(blocks_.back(), value);
    }
    bool commit() {
        states_.push_back(next_);
        if (!engine_->commit())
            return false;
        acknowledged_ = engine_->version();
        EXPECT_EQ(acknowledged_ + 1, states_.size());
        return true;
    }
    bool checkpoint() { return static_cast<bool>(engine_->checkpoint()); }
    bool close() {
        const bool closed = static_cast<bool>(engine_->close());
        engine_.reset();
        return closed;
    }
    [[nodiscard]] bool is_open() const { return engine_ != nullptr; }
    [[nodiscard]] std::uint64_t checkpoints_made() const { return engine_->stats().checkpoints; }

    [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
    /// The last one that was begun.
    [[nodiscard]] std::uint64_t begun() const { return states_.size() - 1; }
    /// Byte by heap offset, as of a commit.
    [[nodiscard]] const std::map<std::uint64_t, unsigned>& state(std::uint64_t version) const {
        return states_[version];
    }
    [[nodiscard]] std::uint64_t block() const { return blocks_[0]; }

private:
    std::uint64_t allocate(std::uint64_t bytes) {
        std::optional<failure> why;
        auto* block = static_cast<std::byte*>(engine_->allocate(bytes, 16, why));
        EXPECT_NE(block, nullptr);
        return static_cast<std::uint64_t>(block - engine_->base());
    }
    void put(std::uint64_t offset, unsigned value) {
        engine_->base()[offset] = static_cast<std::byte>(value);
        next_[offset] = value % 256;
    }

    os::file_system& files_;
    checkpoints how_;
    std::unique_ptr<engine> engine_;
    std::vector<std::uint64_t> blocks_;
    std::map<std::uint64_t, unsigned> next_;
    std::vector<std::map<std::uint64_t, unsigned>> states_;
    std::uint64_t acknowledged_ = 0;
};

result<void> copy_heap(os::file_system& files, std::uint64_t attempts = 50) {
    std::unique_ptr<store::copy_in_progress> copy;
    auto source = with_last_commit(files, k_path, attempts, {}, [&](inspection& heap) -> result<void> {
        if (!heap.problems().empty())
            return unexpected(heap.problems().front());
        if (auto header = heap.header(); !header) // what was looked at before must not be taken for what is copied
            return header.error();
        if (!copy) {
            auto begun = store::copy_in_progress::begin(files, k_copy, 0600);
            if (!begun)
                return begun.error();
            copy = std::move(*begun);
        }
        return copy->update(heap.store(), {});
    });
    if (!source)
        return source.error();
    if (!(*source)->problems().empty())
        return unexpected((*source)->problems().front());
    return copy->finish(store::existing::refused);
}

/// The copy is one commit, as a whole, and not an old one; which. It is removed.
std::uint64_t check_copy(os::simulated_disk& disk, const writer& program, std::uint64_t acknowledged_before) {
    std::uint64_t version = 0;
    {
        auto heap = inspection::open(disk, k_copy, {});
        EXPECT_TRUE(heap) << heap.why().message;
        if (!heap)
            return 0;
        auto parts = (*heap)->check_all({});
        EXPECT_TRUE(parts) << parts.why().message;
        EXPECT_TRUE((*heap)->problems().empty()) << (*heap)->problems().front().message;
        EXPECT_TRUE((*heap)->store().is_clean());
        version = (*heap)->version();
        EXPECT_GE(version, acknowledged_before);
        EXPECT_LE(version, program.begun());
        if (version <= program.begun()) {
            for (const auto& [offset, value] : program.state(version)) {
                auto byte = (*heap)->at(offset, 1);
                EXPECT_TRUE(byte) << byte.why().message;
                if (byte) {
                    EXPECT_EQ(static_cast<unsigned>(**byte), value) << "at " << offset << " of commit " << version;
                }
            }
            for (const auto& [offset, value] : program.state(program.begun())) { // what came later is not there
                auto byte = (*heap)->at(offset, 1);
                if (!program.state(version).contains(offset) && (*heap)->contains(offset, 1)) {
                    EXPECT_TRUE(byte && **byte == std::byte{0});
                }
            }
        }
    }
    EXPECT_FALSE(*disk.exists(store::new_path(k_copy)));
    EXPECT_TRUE(disk.remove("test", k_copy));
    return version;
}

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
        {"growth, folded",
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
    };
}

TEST(last_commit, is_copied_whole_whatever_the_writer_does_before_any_call_of_the_copier) {
    std::uint64_t copies = 0;
    for (const deed& beginning : beginnings()) {
        for (const deed& meanwhile : deeds()) {
            SCOPED_TRACE(std::string(beginning.name) + ", then " + meanwhile.name);
            for (std::uint64_t n = 0;; ++n) {
                SCOPED_TRACE("call " + std::to_string(n));
                os::simulated_disk disk;
                writer program(disk);
                beginning.happens(program);
                test::failing_files files(disk);
                std::uint64_t calls = 0;
                files.before_each([&](std::string_view) {
                    if (calls++ == n)
                        meanwhile.happens(program);
                });
                const std::uint64_t acknowledged = program.acknowledged();
                auto copied = copy_heap(files);
                // The lock is tried without luck first, or a heap that was closed could not be opened again.
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
        os::simulated_disk disk;
        writer program(disk);
        test::failing_files files(disk);
        std::uint64_t attempts = 0;
        std::uint64_t calls = 0; // of this attempt
        std::uint64_t times = 0;
        files.before_each([&](std::string_view what) {
            if (what == "try_lock" && attempts < 4) {
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
    EXPECT_EQ(attempts_max, 4U); // to lock the heap, in vain, three times, and the copy
}

TEST(last_commit, is_copied_of_a_heap_whose_writer_is_stuck_at_any_operation) {
    std::uint64_t copies = 0;
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        os::simulated_disk disk;
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
        os::simulated_disk disk;
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

TEST(last_commit, that_is_damaged_is_told_of_a_live_heap_too_and_no_copy_is_made) {
    os::simulated_disk disk;
    writer program(disk);
    ASSERT_TRUE(program.checkpoint());
    std::uint64_t at = 0;
    {
        auto heap = inspection::open_live(disk, k_path, {});
        ASSERT_TRUE(heap) << heap.why().message;
        at = (*heap)->store().home_of(program.block());
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

/// A heap with a page that rots while it is open: 50, which is not written to any more.
class rotting_heap {
public:
    explicit rotting_heap(writer::checkpoints how = writer::checkpoints::when_asked_for) : program_(disk_, how) {
        program_.set(50, 5);
        EXPECT_TRUE(program_.commit());
        EXPECT_TRUE(program_.checkpoint());
        auto heap = inspection::open_live(disk_, k_path, {});
        EXPECT_TRUE(heap);
        at_ = (*heap)->store().home_of(page() * k_page_bytes);
    }
    void rot() {
        auto file = std::move(*disk_.open(k_path, os::access::read_write));
        const std::byte other{0x77};
        EXPECT_TRUE(file->write("test", at_ + 1000, {&other, 1}));
    }
    os::simulated_disk& disk() { return disk_; }
    writer& program() { return program_; }
    [[nodiscard]] std::uint64_t place() const { return at_; }
    [[nodiscard]] std::uint64_t page() const { return program_.block() / k_page_bytes + 50; }

private:
    os::simulated_disk disk_;
    writer program_;
    std::uint64_t at_ = 0;
};

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
        auto problems = verify_heap(files);
        if (problems) {
            EXPECT_TRUE(problems->empty()) << problems->front().message;
        } else {
            EXPECT_EQ(problems.why().code, errc::in_use) << problems.why().message;
            ++misfits;
        }
    }
    EXPECT_GT(misfits, 0U);
}

// Likewise, while a checkpoint writes it that later commits go on beside: the same superblock rules for long, and what is
// found is neither what it names nor what the log says in the end.
TEST(last_commit, of_a_page_that_a_checkpoint_writes_beside_commits_is_never_called_damaged) {
    std::uint64_t misfits = 0;
    std::uint64_t checkpoints = 0;
    const std::uint64_t first = std::random_device{}();
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
        auto problems = verify_heap(files);
        if (problems) {
            EXPECT_TRUE(problems->empty()) << problems->front().message;
        } else {
            EXPECT_EQ(problems.why().code, errc::in_use) << problems.why().message;
            ++misfits;
        }
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

TEST(last_commit, that_is_never_the_same_for_long_enough_is_in_use_and_leaves_no_copy) {
    os::simulated_disk disk;
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

/// Two threads of which one runs at a time.
class turns {
public:
    /// `share`: how often in 64 turns it is the first one's.
    turns(std::uint64_t seed, unsigned share) : random_(seed), share_(share) {}
    void begin(unsigned me) {
        std::unique_lock lock(mutex_);
        wait(lock, me);
    }
    void step(unsigned me) {
        std::unique_lock lock(mutex_);
        turn_ = random_() % 64 < share_ ? 0 : 1;
        if (finished_[turn_])
            turn_ = me;
        changed_.notify_all();
        wait(lock, me);
    }
    void end(unsigned me) {
        const std::scoped_lock lock(mutex_);
        finished_[me] = true;
        turn_ = 1 - me;
        changed_.notify_all();
    }
    bool has_finished(unsigned who) {
        const std::scoped_lock lock(mutex_);
        return finished_[who];
    }

private:
    void wait(std::unique_lock<std::mutex>& lock, unsigned me) {
        changed_.wait(lock, [&] { return turn_ == me; });
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::mt19937_64 random_;
    unsigned share_;
    unsigned turn_ = 0;
    std::array<bool, 2> finished_{};
};

void write_something(writer& program, std::mt19937_64& random) {
    const auto some = [&](std::uint64_t below) { return random() % below; };
    switch (some(8)) {
    case 0:
    case 1:
        EXPECT_TRUE(program.checkpoint());
        break;
    case 2:
        if (program.begun() < 200) {
            program.grow(static_cast<unsigned>(some(256)));
            EXPECT_TRUE(program.commit());
        }
        break;
    case 3:
        if (some(4) == 0) {
            EXPECT_TRUE(program.close());
            program.open();
        }
        break;
    default:
        for (std::uint64_t i = some(5); i < 5; ++i)
            program.set(some(75), static_cast<unsigned>(some(256)));
        program.set(some(4), static_cast<unsigned>(some(256))); // a few pages change all the time
        program.set(9, static_cast<unsigned>(program.begun()));
        EXPECT_TRUE(program.commit());
    }
}

// Every call of either may come between any two of the other.
TEST(last_commit_in_turns, is_copied_whole_or_not_at_all_while_it_is_written_to) {
    constexpr std::uint64_t k_seeds = 100;
    constexpr unsigned k_writer = 0;
    constexpr unsigned k_copier = 1;
    std::uint64_t copies = 0;
    std::uint64_t given_up = 0;
    std::uint64_t of_a_later_commit = 0;
    const std::uint64_t first = std::random_device{}();
    for (std::uint64_t seed = first; seed < first + k_seeds && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        os::simulated_disk disk;
        test::failing_files writers_files(disk);
        test::failing_files copiers_files(disk);
        writer program(writers_files);
        for (std::uint64_t i = random() % 10; i > 0; --i)
            write_something(program, random);
        constexpr std::array<unsigned, 5> k_shares = {2, 6, 16, 32, 50};
        turns order(seed, k_shares[seed % k_shares.size()]);
        writers_files.before_each([&](std::string_view) { order.step(k_writer); });
        copiers_files.before_each([&](std::string_view) { order.step(k_copier); });
        const std::uint64_t acknowledged = program.acknowledged();
        std::thread busy([&] {
            order.begin(k_writer);
            while (!order.has_finished(k_copier))
                write_something(program, random);
            order.end(k_writer);
        });
        order.begin(k_copier);
        auto copied = copy_heap(copiers_files, 30);
        order.end(k_copier);
        busy.join();
        writers_files.before_each({});
        if (!copied) {
            EXPECT_EQ(copied.why().code, errc::in_use) << copied.why().message;
            EXPECT_FALSE(*disk.exists(store::new_path(k_copy)));
            ++given_up;
            continue;
        }
        ++copies;
        of_a_later_commit += check_copy(disk, program, acknowledged) > acknowledged ? 1U : 0U;
    }
    std::cout << copies << " copies, " << of_a_later_commit << " of a commit made meanwhile; " << given_up
              << " given up, seeds from " << first << '\n';
    EXPECT_GT(copies, k_seeds / 2);
    EXPECT_GT(of_a_later_commit, k_seeds / 20);
}

} // namespace
} // namespace live
} // namespace remanence::txn
