// Asynchronous commits while the device is at work: what a ticket says then, who hears of a failure, and what a power loss
// leaves. Run under the thread sanitizer, too.

#include "api/heap_impl.hpp"
#include "support/failing_files.hpp"
#include "support/gate.hpp"
#include "support/seed.hpp"
#include "testing/crash_walk.hpp"
#include "testing/simulated_disk.hpp"
#include "unit/api/fixture.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>

namespace remanence::test {
namespace {

/// A heap on a simulated disk, whose durable writes wait while the gate is shut. Its points are made at once, or copied and made by
/// its thread.
class asynchronous_commits_threads : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        files_.before_each([this](std::string_view call) {
            if (call == "write_durable")
                gate_.pass();
        });
        heap_ = open(files_);
        values_ = &heap_->root<numbers>("values", k_values, std::uint64_t{0});
    }
    heap open(os::file_system& files, std::uint64_t log_limit_bytes = 0) {
        heap_options options = small_heap();
        options.log.log_limit_bytes = log_limit_bytes;
        heap opened = detail::open(files, "/disk/h", options);
        if (GetParam() == std::string_view("copied"))
            detail::impl_of(opened).engine().copy_points_from(1);
        return opened;
    }
    /// Changes all values, and makes a point of it.
    commit_ticket point(std::uint64_t value) {
        change(value);
        return heap_->commit_async();
    }
    void change(std::uint64_t value) { std::fill(values_->begin(), values_->end(), value); }
    /// What it left on the disk; `n` of all values, which are equal.
    void expect_values(std::uint64_t n) {
        heap_.reset();
        heap again = open(disk_);
        const auto& kept = *again.find_root<numbers>("values");
        EXPECT_EQ(kept[0], n);
        EXPECT_EQ(static_cast<std::size_t>(std::count(kept.begin(), kept.end(), kept[0])), k_values);
        EXPECT_TRUE(again.verify().clean());
    }

    static constexpr std::size_t k_values = 2000;
    simulation::simulated_disk disk_;
    failing_files files_{disk_};
    gate gate_;
    std::optional<heap> heap_;
    numbers* values_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(made, asynchronous_commits_threads, testing::Values("at_once", "copied"),
                         [](const auto& instance) { return std::string(instance.param); });

/// Goes through the moments of the trace at which a marker says what was promised; a power loss then leaves what is durable
/// and nothing else.
void after_power_losses(
    const std::vector<simulation::disk_operation>& trace,
    const std::function<void(const simulation::disk_operation& marker, const numbers* found)>& expect) {
    simulation::simulated_disk disk;
    simulation::crash_walk walk(disk, trace);
    for (std::uint32_t at = 0; at < trace.size(); ++at) {
        if (trace[at].what != simulation::disk_operation::kind::marker)
            continue;
        walk.advance_to(at + 1);
        walk.build_synced();
        const auto lost_here = disk.now();
        {
            heap h = detail::open(disk, "/disk/h", small_heap());
            EXPECT_TRUE(h.verify().clean());
            expect(trace[at], h.find_root<numbers>("values"));
        }
        disk.rewind(lost_here);
    }
}

TEST_P(asynchronous_commits_threads, a_ready_ticket_is_the_state_at_the_call_whatever_came_later) {
    gate_.shut();
    const commit_ticket first = point(1);
    change(2); // while the device is at work
    gate_.await_visitor();
    EXPECT_FALSE(first.ready());
    const commit_ticket second = point(3);
    change(4);
    EXPECT_FALSE(second.ready());
    gate_.open();
    first.wait();
    disk_.marker("first", 1);
    EXPECT_TRUE(first.ready());
    second.wait();
    disk_.marker("second", 3);
    heap_.reset(); // and what was not committed goes
    int seen = 0;
    after_power_losses(disk_.take_trace(), [&](const simulation::disk_operation& marker, const numbers* found) {
        ++seen;
        ASSERT_NE(found, nullptr);
        EXPECT_TRUE(found->front() == marker.bytes || found->front() == 3) << found->front();
        EXPECT_EQ(static_cast<std::size_t>(std::count(found->begin(), found->end(), found->front())), k_values);
    });
    EXPECT_EQ(seen, 2);
}

TEST_P(asynchronous_commits_threads, a_dropped_ticket_leaves_its_commit_to_become_durable) {
    gate_.shut();
    (void)point(1);
    gate_.await_visitor(); // it is written, though nobody asked
    change(2);
    gate_.open();
    expect_values(1);
}

TEST_P(asynchronous_commits_threads, all_tickets_hear_of_a_failed_write_and_so_does_the_next_commit) {
    gate_.shut();
    const commit_ticket first = point(1);
    gate_.await_visitor();
    const std::array<commit_ticket, 3> others{point(2), point(3), point(4)};
    disk_.fail_at(2, errc::io); // the first one's write succeeds, and makes itself durable
    gate_.open();
    first.wait();
    for (int again = 0; again < 2; ++again) {
        for (const commit_ticket& each : others) {
            EXPECT_EQ(error_of([&] { each.wait(); })->code, errc::io);
            EXPECT_EQ(error_of([&] { (void)each.ready(); })->code, errc::io);
        }
    }
    EXPECT_TRUE(is_error(error_of([&] { point(5); }), errc::poisoned, "/disk/h", "Close it and open it again"));
    EXPECT_EQ(error_of([&] { heap_->commit(); })->code, errc::poisoned);
    EXPECT_EQ(error_of([&] { heap_->close(); })->code, errc::poisoned);
    EXPECT_TRUE(first.ready()); // it was durable before
    EXPECT_EQ(error_of([&] { others[0].wait(); })->code, errc::io);
    expect_values(1);
}

TEST_P(asynchronous_commits_threads, a_failure_that_no_ticket_hears_is_heard_by_the_next_commit_or_close) {
    for (const bool closes : {true, false}) {
        gate_.shut();
        (void)point(1);
        gate_.await_visitor();
        disk_.fail_at(0, errc::io);
        gate_.open();
        std::optional<caught> got;
        while (!got) { // until the thread has told of it
            got = error_of([&] {
                if (closes)
                    heap_->close();
                else
                    heap_->sync();
            });
        }
        EXPECT_TRUE(got->code == errc::poisoned || got->code == errc::io) << got->what;
        expect_values(0);
        heap_ = open(files_);
        values_ = heap_->find_root<numbers>("values");
    }
}

TEST_P(asynchronous_commits_threads, close_and_destructor_wait_for_those_in_flight) {
    for (const bool closes : {true, false}) {
        gate_.shut();
        const commit_ticket ticket = point(closes ? 1 : 2);
        gate_.await_visitor();
        std::atomic<bool> closed = false;
        std::thread closer([&] {
            if (closes)
                heap_->close();
            else
                heap_.reset();
            closed = true;
        });
        EXPECT_FALSE(ticket.ready());
        EXPECT_FALSE(closed);
        gate_.open();
        ticket.wait();
        closer.join();
        EXPECT_TRUE(ticket.ready()); // it outlives the heap
        expect_values(closes ? 1 : 2);
        heap_ = open(files_);
        values_ = heap_->find_root<numbers>("values");
    }
}

TEST_P(asynchronous_commits_threads, a_close_that_fails_says_why_and_its_tickets_too) {
    gate_.shut();
    const commit_ticket ticket = point(1);
    gate_.await_visitor();
    disk_.fail_at(0, errc::io);
    std::thread opener([&] { gate_.open(); });
    const auto got = error_of([&] { heap_->close(); });
    EXPECT_TRUE(got && (got->code == errc::poisoned || got->code == errc::io));
    opener.join();
    EXPECT_EQ(error_of([&] { ticket.wait(); })->code, errc::io);
    expect_values(0);
}

TEST_P(asynchronous_commits_threads, several_threads_wait_for_one_and_for_different_ones) {
    gate_.shut();
    const commit_ticket first = point(1);
    gate_.await_visitor();
    const commit_ticket second = point(2);
    std::atomic<int> waited = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
        threads.emplace_back([&, mine = t % 2 == 0 ? first : second] {
            mine.wait();
            EXPECT_TRUE(mine.ready());
            first.wait();
            ++waited;
        });
    }
    EXPECT_EQ(waited, 0);
    gate_.open();
    for (auto& each : threads)
        each.join();
    EXPECT_EQ(waited, 6);
    expect_values(2);
}

// Each thread counts in a place of its own, by commits of every kind, beside checkpoints; whenever it knows its count to be
// durable, it says so in the trace.
TEST_P(asynchronous_commits_threads, a_power_loss_leaves_all_that_was_known_to_be_durable) {
    constexpr std::size_t k_threads = 3;
    constexpr int k_commits = 60;
    const auto seed = test::random_seed();
    heap_.reset();
    heap_ = open(files_, 8 * KiB);
    values_ = heap_->find_root<numbers>("values");
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < k_threads; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937_64 random(seed + t);
            std::optional<commit_ticket> ticket;
            std::uint64_t count = 0;
            std::uint64_t ticketed = 0;
            for (int i = 0; i < k_commits; ++i) {
                const auto pick = random() % 10;
                if (pick < 3) {
                    constexpr std::array k_kinds{durability::durable, durability::lazy, durability::none};
                    heap_->write(k_kinds[pick], [&] { (*values_)[t] = count + 1; });
                    ++count;
                    if (pick == 0)
                        disk_.marker("known", t << 32 | count);
                } else {
                    const std::lock_guard section(*heap_);
                    (*values_)[t] = ++count;
                    ticket = heap_->commit_async();
                    ticketed = count;
                    (*values_)[t] = 0; // rolled back
                    if (pick == 4)
                        heap_->checkpoint();
                    heap_->rollback();
                }
                if (ticket && pick == 3)
                    ticket->wait();
                if (ticket && ticket->ready())
                    disk_.marker("known", t << 32 | ticketed);
            }
        });
    }
    for (auto& each : threads)
        each.join();
    heap_->close();
    std::size_t seen = 0;
    std::array<std::uint64_t, k_threads> known{};
    after_power_losses(disk_.take_trace(), [&](const simulation::disk_operation& marker, const numbers* found) {
        ++seen;
        ASSERT_NE(found, nullptr);
        const std::size_t t = marker.bytes >> 32;
        known[t] = std::max(known[t], marker.bytes & 0xffff'ffffU);
        for (std::size_t each = 0; each < k_threads; ++each)
            EXPECT_GE((*found)[each], known[each]) << "thread " << each;
    });
    EXPECT_GT(seen, k_threads);
    for (std::size_t each = 0; each < k_threads; ++each)
        EXPECT_GT(known[each], 0U);
}

} // namespace
} // namespace remanence::test
