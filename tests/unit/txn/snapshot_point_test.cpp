// Commits that are only copied in their call: what they hold, who finishes them, how they follow each other, and what becomes of those
// that find no room.

#include "txn/engine.hpp"

#include "support/failing_files.hpp"
#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace remanence::txn {
namespace copied { // the tests of a folder are compiled as one
namespace {

constexpr const char* k_path = "dir/heap";
constexpr std::uint64_t k_pages = 100;

class snapshot_points : public testing::Test {
protected:
    void SetUp() override {
        open();
        block_ = allocate(k_pages * k_page_bytes);
        put_all(1);
        ASSERT_TRUE(engine_->commit());
    }
    void open() {
        engine_.reset();
        engine_options options;
        options.reserve_bytes = 256 * MiB;
        options.chunk_bytes = 64 * KiB;
        options.log_limit_bytes = log_limit_bytes_;
        options.memory_bytes = memory_bytes_;
        auto opened = engine::open(files_, k_path, open_mode::open_or_create, options, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
        engine_->copy_points_from(2 * k_page_bytes);
        engine_->let_checkpoints_be_carried_out([] { return true; });
        engine_->let_points_be_told_of([this](std::uint64_t version, const std::optional<failure>& why) {
            failed_.emplace_back(version, why ? why->code : errc::exhausted);
        });
    }
    void reopen() {
        open();
        auto report = engine_->verify();
        ASSERT_TRUE(report) << report.why().message;
        EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
    }
    /// Opens again, and begins the session's log: only then points are copied.
    void begin_anew(int value) {
        reopen();
        put_all(value);
        ASSERT_TRUE(engine_->commit());
    }
    std::uint64_t allocate(std::uint64_t bytes) {
        std::optional<unexpected> why;
        auto* got = static_cast<std::byte*>(engine_->memory().allocate(bytes, 16, why));
        EXPECT_NE(got, nullptr);
        return static_cast<std::uint64_t>(got - engine_->memory().base());
    }
    std::byte& at(std::uint64_t page) { return engine_->memory().base()[block_ + page * k_page_bytes]; }
    void put_all(int value) { // little of each page, so that none is written whole
        for (std::uint64_t page = 0; page < k_pages; ++page)
            at(page) = std::byte(value);
    }
    void expect_all(int value) {
        for (std::uint64_t page = 0; page < k_pages; ++page)
            ASSERT_EQ(at(page), std::byte(value)) << page;
    }
    result<std::uint64_t> make() {
        return engine_->make_commit({.fresh = fresh_contents::in_log_if_few, .awaited = log::durability::none});
    }
    /// A point that is in flight.
    std::uint64_t copy() {
        auto version = make();
        EXPECT_TRUE(version) << version.why().message;
        EXPECT_EQ(engine_->version(), *version);
        EXPECT_TRUE(engine_->is_point_in_flight(*version));
        return *version;
    }

    simulation::simulated_disk disk_;
    test::failing_files files_{disk_};
    std::uint64_t log_limit_bytes_ = 1 * MiB;
    std::uint64_t memory_bytes_ = 0; // that of the machine
    std::unique_ptr<engine> engine_;
    std::uint64_t block_ = 0;
    std::vector<std::pair<std::uint64_t, errc>> failed_;
};

TEST_F(snapshot_points, hold_what_memory_was_at_the_call) {
    put_all(2);
    const std::uint64_t version = copy();
    put_all(3);
    ASSERT_TRUE(engine_->await(version, log::durability::durable));
    EXPECT_FALSE(engine_->is_point_in_flight(version));
    expect_all(3);
    reopen();
    EXPECT_EQ(engine_->version(), version);
    expect_all(2);
}

TEST_F(snapshot_points, are_finished_by_whoever_comes_first) {
    const std::vector<std::function<result<void>()>> comers{
        [&] { return engine_->sync(); },
        [&] { return engine_->finish_point(); },
        [&] { return engine_->commit(); },
        [&] { return engine_->rollback(); },
        [&] { return engine_->checkpoint(); },
        [&] { return engine_->look_at_changes([](auto&, auto&, auto&) {}); },
        [&] { return engine_->holds_changes() ? result<void>() : fail(errc::io, "holds_changes", k_path); },
        [&] { return engine_->verify() ? result<void>() : fail(errc::io, "verify", k_path); },
        [&] { return engine_->written_pages() ? result<void>() : fail(errc::io, "written_pages", k_path); },
        [&] { return engine_->close(); },
    };
    int value = 2;
    for (const auto& come : comers) {
        put_all(value);
        const std::uint64_t version = copy();
        ASSERT_TRUE(come());
        EXPECT_FALSE(engine_->is_point_in_flight(version));
        ASSERT_TRUE(engine_->await(version, log::durability::durable));
        expect_all(value);
        reopen();
        expect_all(value++);
        put_all(value++);
        ASSERT_TRUE(engine_->commit());
    }
    EXPECT_TRUE(failed_.empty());
}

TEST_F(snapshot_points, are_what_rollback_restores) {
    put_all(2);
    (void)copy();
    put_all(3);
    (void)allocate(300 * KiB);
    ASSERT_TRUE(engine_->rollback());
    expect_all(2);
    at(5) = std::byte{9};
    ASSERT_TRUE(engine_->rollback());
    expect_all(2);
}

TEST_F(snapshot_points, follow_each_other) {
    std::vector<std::uint64_t> versions;
    for (int value = 2; value < 20; ++value) {
        put_all(value);
        versions.push_back(copy());
    }
    for (std::size_t i = 1; i < versions.size(); ++i)
        EXPECT_EQ(versions[i], versions[i - 1] + 1);
    ASSERT_TRUE(engine_->await(versions.back(), log::durability::durable));
    reopen();
    expect_all(19);
}

TEST_F(snapshot_points, do_not_wait_for_each_other) {
    std::vector<std::uint64_t> versions;
    for (int value = 2; value < 6; ++value) {
        put_all(value);
        versions.push_back(copy());
    }
    for (const std::uint64_t each : versions)
        EXPECT_TRUE(engine_->is_point_in_flight(each));
    EXPECT_EQ(engine_->stats().point_wait.count(), 0);
    ASSERT_TRUE(engine_->await(versions[1], log::durability::durable));
    EXPECT_FALSE(engine_->is_point_in_flight(versions[1]));
    EXPECT_TRUE(engine_->is_point_in_flight(versions[2]));
    expect_all(5);
    reopen(); // the process dies
    EXPECT_EQ(engine_->version(), versions[1]);
    expect_all(3);
}

TEST_F(snapshot_points, are_counted_when_a_commit_waits_for_them) {
    put_all(2);
    (void)copy();
    put_all(3);
    (void)copy();
    put_all(4);
    ASSERT_TRUE(engine_->commit());
    EXPECT_GT(engine_->stats().point_wait.count(), 0);
    expect_all(4);
}

TEST_F(snapshot_points, that_are_small_are_copied_while_another_is_in_flight) {
    at(3) = std::byte{9};
    auto alone = make();
    ASSERT_TRUE(alone);
    EXPECT_FALSE(engine_->is_point_in_flight(*alone));
    put_all(2);
    const std::uint64_t large = copy();
    at(3) = std::byte{7};
    const std::uint64_t version = copy();
    EXPECT_TRUE(engine_->is_point_in_flight(large));
    put_all(8);
    ASSERT_TRUE(engine_->await(version, log::durability::durable));
    reopen();
    EXPECT_EQ(at(3), std::byte{7});
    EXPECT_EQ(at(4), std::byte{2});
}

TEST_F(snapshot_points, take_no_version_when_memory_equals_the_one_in_flight) {
    put_all(2);
    const std::uint64_t version = copy();
    put_all(2);
    auto made = make();
    ASSERT_TRUE(made);
    EXPECT_EQ(*made, version);
    EXPECT_TRUE(engine_->is_point_in_flight(version));
}

TEST_F(snapshot_points, wait_for_each_other_when_their_copies_take_too_much_memory) {
    memory_bytes_ = 64 * MiB; // an eighth of it may be copies
    begin_anew(2);
    constexpr std::uint64_t k_bytes = 40 * MiB;
    const std::uint64_t large = allocate(k_bytes);
    const auto put = [&](int value) { // 3 MiB of pages
        for (std::uint64_t at = 0; at < k_bytes; at += 13 * k_page_bytes)
            engine_->memory().base()[large + at] = std::byte(value);
    };
    put(1);
    ASSERT_TRUE(engine_->commit());
    ASSERT_TRUE(engine_->checkpoint());
    std::vector<std::uint64_t> versions;
    for (int value = 2; value < 6; ++value) {
        put(value);
        versions.push_back(copy());
    }
    EXPECT_FALSE(engine_->is_point_in_flight(versions[0]));
    EXPECT_TRUE(engine_->is_point_in_flight(versions[2]));
    EXPECT_GT(engine_->stats().point_wait.count(), 0);
    ASSERT_TRUE(engine_->sync());
    reopen();
    for (std::uint64_t at = 0; at < k_bytes; at += 13 * k_page_bytes)
        ASSERT_EQ(engine_->memory().base()[large + at], std::byte{5});
}

// The image has zeros there when the second is copied, and the first has not.
TEST_F(snapshot_points, hold_zeros_that_follow_contents_of_new_memory) {
    put_all(2);
    const std::uint64_t fresh = allocate(100 * KiB);
    std::byte* const bytes = engine_->memory().base() + fresh;
    std::memset(bytes, 4, 100 * KiB);
    const std::uint64_t first = copy();
    std::memset(bytes, 0, 100 * KiB);
    at(1) = std::byte{3};
    const std::uint64_t second = copy();
    EXPECT_TRUE(engine_->is_point_in_flight(first));
    ASSERT_TRUE(engine_->await(second, log::durability::durable));
    reopen();
    for (std::uint64_t i = 0; i < 100 * KiB; ++i)
        ASSERT_EQ(engine_->memory().base()[fresh + i], std::byte{0}) << i;
    EXPECT_EQ(at(1), std::byte{3});
}

// The file has what memory has, but the next checkpoint writes the content of the first of the two in its place.
TEST_F(snapshot_points, keep_their_pages_in_memory_while_an_older_one_is_in_flight) {
    log_limit_bytes_ = 64 * KiB;
    begin_anew(2);
    const auto put = [&](int value) {
        for (std::uint64_t page = 0; page < k_pages; ++page)
            std::memset(&at(page), value, 1500);
    };
    for (int value = 3; engine_->stats().checkpoint.total_bytes == 0; ++value) {
        ASSERT_LT(value, 20);
        put(value);
        ASSERT_TRUE(engine_->commit());
    }
    const auto in_file = static_cast<int>(at(0));
    while (*engine_->step_checkpoint()) {
    }
    put(50);
    const std::uint64_t first = copy(); // returns some pages of the checkpoint to the kernel
    put(in_file);
    const std::uint64_t second = copy(); // and the others
    ASSERT_TRUE(engine_->await(first, log::durability::durable));
    at(0) = std::byte{51};
    (void)copy();
    EXPECT_TRUE(engine_->is_point_in_flight(second));
    EXPECT_NE(engine_->stats().checkpoint.total_bytes, 0U); // begun, with what the first has committed
    while (*engine_->step_checkpoint()) {
    }
    for (std::uint64_t page = 1; page < k_pages; ++page)
        ASSERT_EQ(at(page), std::byte(in_file)) << page;
    ASSERT_TRUE(engine_->sync());
    reopen();
    for (std::uint64_t page = 1; page < k_pages; ++page)
        ASSERT_EQ(at(page), std::byte(in_file)) << page;
}

/// Steps of a random walk of commits, checkpoints, rollbacks and deaths, and what memory and files must contain.
class walks_of_points : public snapshot_points {
protected:
    using contents = std::vector<std::byte>; // the first byte of each page

    void walk(unsigned seed) {
        random_.seed(seed);
        log_limit_bytes_ = 32 * KiB << below(3);
        begin_anew(1);
        committed_ = now_ = contents(k_pages, std::byte{1});
        versions_ = {{engine_->version(), now_}};
        for (int i = 0; i < 200; ++i) {
            take_a_step();
            if (HasFatalFailure())
                return;
        }
    }

private:
    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    void take_a_step() {
        change();
        switch (below(12)) {
        case 0:
            ASSERT_TRUE(engine_->rollback());
            now_ = committed_;
            break;
        case 1:
            ASSERT_TRUE(engine_->commit());
            committed(engine_->version());
            break;
        case 2:
            (void)engine_->step_checkpoint(3 * k_page_bytes);
            break;
        case 3:
            while (*engine_->step_checkpoint()) {
            }
            break;
        case 4: {
            const auto& [version, then] =
                *std::next(versions_.begin(), static_cast<std::ptrdiff_t>(below(versions_.size())));
            ASSERT_TRUE(engine_->await(version, log::durability::durable));
            break;
        }
        case 5:
            die();
            break;
        case 6:
            if (below(4) == 0) {
                ASSERT_TRUE(engine_->checkpoint());
            }
            break;
        default: {
            auto made = make();
            ASSERT_TRUE(made) << made.why().message;
            committed(*made);
        }
        }
        expect_memory(now_);
    }
    /// Some pages, to few different values, so that many get back what they had.
    void change() {
        const std::uint64_t first = below(k_pages);
        const std::uint64_t end = std::min(k_pages, first + below(below(2) == 0 ? 10 : k_pages));
        const auto value = std::byte(1 + below(3));
        for (std::uint64_t page = first; page < end; ++page)
            at(page) = now_[page] = value;
    }
    void committed(std::uint64_t version) {
        committed_ = now_;
        versions_[version] = now_;
    }
    void die() {
        const std::uint64_t durable = engine_->durable_through();
        reopen();
        const std::uint64_t version = engine_->version();
        ASSERT_GE(version, durable);
        ASSERT_TRUE(versions_.contains(version)) << version;
        now_ = committed_ = versions_[version];
        expect_memory(now_);
        at(0) = now_[0] = std::byte{9};
        ASSERT_TRUE(engine_->commit()); // begins the log
        versions_.clear();
        committed(engine_->version());
    }
    void expect_memory(const contents& expected) {
        for (std::uint64_t page = 0; page < k_pages; ++page)
            ASSERT_EQ(at(page), expected[page]) << page;
    }

    std::mt19937_64 random_;
    contents now_;
    contents committed_;
    std::map<std::uint64_t, contents> versions_;
};

TEST_F(walks_of_points, always_find_what_was_committed) {
    const unsigned seed = test::random_seed();
    for (unsigned i = 0; i < 20 && !HasFatalFailure(); ++i)
        walk(seed + i);
}

TEST_F(snapshot_points, take_no_version_when_nothing_differs) {
    const std::uint64_t version = engine_->version();
    put_all(1);
    auto made = make();
    ASSERT_TRUE(made);
    EXPECT_EQ(*made, version);
    EXPECT_EQ(engine_->version(), version);
}

TEST_F(snapshot_points, have_some_new_memory_and_leave_more_to_the_call) {
    put_all(2);
    const std::uint64_t few = allocate(100 * KiB);
    std::memset(engine_->memory().base() + few, 4, 100 * KiB);
    const std::uint64_t version = copy();
    ASSERT_TRUE(engine_->await(version, log::durability::durable));
    const std::uint64_t many = allocate(3 * MiB);
    std::memset(engine_->memory().base() + many, 5, 3 * MiB);
    auto made = make();
    ASSERT_TRUE(made);
    EXPECT_FALSE(engine_->is_point_in_flight(*made));
    ASSERT_TRUE(engine_->await(*made, log::durability::durable));
    reopen();
    for (std::uint64_t i = 0; i < 100 * KiB; ++i)
        ASSERT_EQ(engine_->memory().base()[few + i], std::byte{4});
    for (std::uint64_t i = 0; i < 3 * MiB; ++i)
        ASSERT_EQ(engine_->memory().base()[many + i], std::byte{5});
}

TEST_F(snapshot_points, go_on_beside_a_checkpoint) {
    log_limit_bytes_ = 32 * KiB;
    begin_anew(2);
    for (int value = 3; value < 120; ++value) {
        put_all(value);
        const std::uint64_t version = copy();
        at(7) = std::byte{1};
        (void)engine_->step_checkpoint(3 * k_page_bytes);
        if (value % 3 != 0) {
            ASSERT_TRUE(engine_->await(version, log::durability::durable));
        }
        if (value % 5 == 0) {
            ASSERT_TRUE(engine_->rollback());
            expect_all(value);
        }
    }
    EXPECT_GT(engine_->stats().checkpoints, 2U);
    ASSERT_TRUE(engine_->sync());
    reopen();
    EXPECT_EQ(at(8), std::byte{119});
    EXPECT_EQ(at(7), std::byte{119});
}

// Whatever is done next, memory is what it was at the point.
TEST_F(snapshot_points, that_find_no_room_are_told_of_and_in_the_next_commit) {
    const std::vector<std::function<result<void>()>> nexts{
        [&] { return engine_->commit(); },
        [&]() -> result<void> {
            REM_TRY(engine_->rollback());
            return engine_->commit();
        },
        [&]() -> result<void> {
            auto next = make();
            if (!next)
                return next.error();
            EXPECT_FALSE(engine_->is_point_in_flight(*next)); // so that the call tells what fails
            return engine_->await(*next, log::durability::durable);
        },
    };
    int failed = 0;
    int value = 2;
    bool is_done = false;
    for (std::uint64_t n = 0; !is_done; ++n) {
        for (const auto& next : nexts) {
            ++value;
            for (std::uint64_t page = 0; page < k_pages; ++page) // so much that the log grows
                std::memset(&at(page), value, 1500);
            const std::uint64_t version = copy();
            at(0) = std::byte{0};
            files_.fail_at(n, errc::no_space);
            ASSERT_TRUE(engine_->finish_point());
            is_done = files_.failed().empty();
            files_.work_again();
            if (failed_.empty())
                continue; // that call may fail
            ++failed;
            EXPECT_EQ(failed_.back(), std::pair(version, errc::no_space));
            failed_.clear();
            EXPECT_FALSE(engine_->is_poisoned());
            ASSERT_TRUE(engine_->await(version, log::durability::durable)); // of no changes
            ASSERT_TRUE(next());
            EXPECT_GT(engine_->version(), version);
            reopen();
            EXPECT_EQ(at(0), &next == &nexts[1] ? std::byte(value) : std::byte{0});
            at(0) = std::byte(value);
            expect_all(value);
            begin_anew(++value);
        }
    }
    EXPECT_GT(failed, 3);
}

// The changes of a newer one are relative to those of an older one.
TEST_F(snapshot_points, that_follow_one_that_finds_no_room_fail_with_it) {
    int failed = 0;
    bool is_done = false;
    for (std::uint64_t n = 0; !is_done; ++n) {
        for (std::uint64_t page = 0; page < k_pages; ++page)
            std::memset(&at(page), 2, 1500);
        std::vector<std::uint64_t> versions{copy()};
        at(7) = std::byte{5};
        versions.push_back(copy());
        at(8) = std::byte{6};
        versions.push_back(copy());
        at(9) = std::byte{7};
        files_.fail_at(n, errc::no_space);
        ASSERT_TRUE(engine_->finish_point());
        is_done = files_.failed().empty();
        files_.work_again();
        for (const std::uint64_t each : versions)
            EXPECT_FALSE(engine_->is_point_in_flight(each));
        if (!failed_.empty()) {
            ++failed;
            const std::size_t committed = versions.size() - failed_.size(); // before the first that failed
            for (std::size_t i = 0; i < failed_.size(); ++i)
                EXPECT_EQ(failed_[i], std::pair(versions[committed + i], errc::no_space));
            failed_.clear();
        }
        if (n % 2 == 0) {
            ASSERT_TRUE(engine_->rollback());
            EXPECT_EQ(at(9), std::byte{2});
            at(9) = std::byte{7};
        }
        ASSERT_TRUE(engine_->commit());
        EXPECT_EQ(engine_->version(), versions.back() + 1);
        reopen();
        EXPECT_EQ(at(6), std::byte{2});
        EXPECT_EQ(at(7), std::byte{5});
        EXPECT_EQ(at(8), std::byte{6});
        EXPECT_EQ(at(9), std::byte{7});
        for (std::uint64_t page = 0; page < k_pages; ++page)
            std::memset(&at(page), 1, 1500);
        ASSERT_TRUE(engine_->commit());
    }
    EXPECT_GT(failed, 2);
}

TEST_F(snapshot_points, that_find_no_room_are_told_of_by_close) {
    put_all(2);
    for (std::uint64_t page = 0; page < k_pages; ++page)
        std::memset(&at(page), 2, 1500);
    const std::uint64_t version = copy();
    files_.fail_at(0, errc::no_space);
    auto closed = engine_->close();
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.why().code, errc::no_space);
    ASSERT_EQ(failed_.size(), 1U);
    EXPECT_EQ(failed_.back().first, version);
    reopen();
    expect_all(1);
}

} // namespace
} // namespace copied
} // namespace remanence::txn
