// Checkpoints that a thread of the heap's carries out while commits go on: held up, failing, waited for, and told of. Run
// under the thread sanitizer, too.

#include "api/heap_impl.hpp"
#include "support/failing_files.hpp"
#include "support/gate.hpp"
#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"
#include "unit/api/fixture.hpp"

#include <atomic>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>

namespace remanence::test {
namespace {

/// Of the threads of a test; those of the heap are not.
thread_local bool is_thread_of_test = false;

/// A heap on a simulated disk, whose own threads come to a gate before each write; or, `held_at_progress_`, when they
/// report what they wrote, and so between two steps.
class background_checkpoint_threads : public testing::Test {
protected:
    static constexpr std::uint64_t k_limit = 24 * KiB;
    static constexpr std::size_t k_values = 100'000;

    void SetUp() override {
        is_thread_of_test = true;
        files_.before_each([this](std::string_view call) {
            if (!is_thread_of_test && call == "write")
                gate_.pass();
        });
        heap_ = open(files_);
        values_ = &heap_->root<numbers>("values", k_values, std::uint64_t{0});
        heap_->checkpoint();
    }
    heap open(os::file_system& files) {
        heap_options options = small_heap();
        options.log.log_limit_bytes = k_limit;
        options.on_progress = [this](const progress& now) {
            const std::lock_guard guard(reports_mutex_);
            reports_.push_back(now);
            reporters_.push_back(std::this_thread::get_id());
        };
        return detail::open(files, "/disk/h", options);
    }
    /// The next number, to all over the place.
    void commit() {
        ++last_;
        for (std::size_t i = 0; i < 8; ++i)
            (*values_)[(last_ * 977 + i * 9973) % k_values] = last_;
        (*values_)[0] = last_;
        heap_->commit();
        acknowledged_ = last_;
    }
    /// Until a checkpoint is under way, which waits at the gate.
    void begin_checkpoint() {
        gate_.shut();
        while (heap_->stats().checkpoint_total_bytes == 0)
            commit();
        gate_.await_visitor();
    }
    /// Until its pages are written; nodes and superblock are not told of.
    void wait_for_pages() {
        heap_stats now = heap_->stats();
        while (now.checkpoint_done_bytes != now.checkpoint_total_bytes)
            now = heap_->stats();
    }
    /// What is left on the disk.
    void expect_acknowledged() {
        heap_.reset();
        heap again = open(disk_);
        const auto& kept = *again.find_root<numbers>("values");
        EXPECT_EQ(kept[0], acknowledged_);
        for (std::uint64_t n = acknowledged_ > 50 ? acknowledged_ - 50 : 1; n <= acknowledged_; ++n)
            EXPECT_GE(kept[(n * 977) % k_values], n);
        EXPECT_TRUE(again.verify().clean());
    }

    simulation::simulated_disk disk_;
    failing_files files_{disk_};
    gate gate_;
    std::mutex reports_mutex_;
    std::vector<progress> reports_;
    std::vector<std::thread::id> reporters_;
    std::optional<heap> heap_;
    numbers* values_ = nullptr;
    std::uint64_t last_ = 0;
    std::uint64_t acknowledged_ = 0;
};

TEST_F(background_checkpoint_threads, commits_go_on_while_one_is_held_up) {
    begin_checkpoint();
    const auto before = heap_->stats();
    EXPECT_LT(before.checkpoint_done_bytes, before.checkpoint_total_bytes);
    const std::uint64_t first = last_;
    while (heap_->stats().log_used_bytes < k_limit + k_limit / 2) {
        commit();
        heap_->write(durability::lazy, [&] { (*values_)[1] = last_; });
        heap_->write(declared, [&] {
            heap_->touch(&(*values_)[2], sizeof(std::uint64_t));
            (*values_)[2] = last_;
        });
        (*values_)[3] = last_ + 1;
        heap_->rollback();
        EXPECT_LT((*values_)[3], last_ + 1);
    }
    EXPECT_GT(last_, first + 2);
    EXPECT_EQ(heap_->stats().checkpoints, before.checkpoints);
    gate_.open();
    while (heap_->stats().checkpoints == before.checkpoints) // until one finds it done, or waits for it
        commit();
    EXPECT_LT(heap_->stats().log_used_bytes, 2 * k_limit);
    expect_acknowledged();
}

TEST_F(background_checkpoint_threads, a_commit_that_finds_twice_the_limit_takes_part_and_goes_on) {
    std::atomic<bool> is_held = false;
    gate held;
    held.shut();
    heap_.reset();
    heap_options options = small_heap();
    options.log.log_limit_bytes = k_limit;
    options.on_progress = [&](const progress&) { // between two steps
        if (!is_thread_of_test) {
            is_held = true;
            held.pass();
        }
    };
    heap_ = detail::open(files_, "/disk/h", options);
    values_ = heap_->find_root<numbers>("values");
    std::uint64_t record_bytes = 0;
    while (!is_held) {
        const std::uint64_t before = heap_->stats().log_used_bytes;
        commit();
        const std::uint64_t after = heap_->stats().log_used_bytes;
        record_bytes = std::max(record_bytes, after > before ? after - before : 0);
    }
    const std::uint64_t checkpoints = heap_->stats().checkpoints;
    for (int i = 0; i < 400; ++i) { // which the thread makes none of
        commit();
        ASSERT_LE(heap_->stats().log_used_bytes, 4 * k_limit + record_bytes);
    }
    EXPECT_GT(heap_->stats().checkpoints, checkpoints + 2);
    EXPECT_TRUE(heap_->verify().clean());
    held.open();
    heap_->close();
    expect_acknowledged();
}

TEST_F(background_checkpoint_threads, a_failure_is_heard_by_the_next_commit_and_by_close) {
    for (const bool closes : {false, true}) {
        begin_checkpoint();
        disk_.fail_at(0, errc::io);
        gate_.open();
        std::optional<caught> got;
        while (!got && !closes)
            got = error_of([&] { commit(); });
        if (closes)
            got = error_of([&] { heap_->close(); });
        ASSERT_TRUE(got);
        EXPECT_TRUE(got->code == errc::poisoned || got->code == errc::io) << got->what;
        if (!closes) {
            EXPECT_TRUE(is_error(error_of([&] { commit(); }), errc::poisoned, "/disk/h", "Close it and open it again"));
            EXPECT_EQ(error_of([&] { heap_->close(); })->code, errc::poisoned);
        }
        disk_.work_again();
        expect_acknowledged();
        heap_ = open(files_);
        values_ = heap_->find_root<numbers>("values");
        last_ = acknowledged_;
    }
}

TEST_F(background_checkpoint_threads, close_destructor_and_checkpoint_wait_for_the_one_under_way) {
    for (const std::string_view how : {"close", "destructor", "checkpoint"}) {
        begin_checkpoint();
        std::atomic<bool> ended = false;
        std::thread other([&] {
            is_thread_of_test = true;
            if (how == "close")
                heap_->close();
            else if (how == "destructor")
                heap_.reset();
            else
                heap_->checkpoint();
            ended = true;
        });
        EXPECT_FALSE(ended);
        gate_.open();
        other.join();
        if (how == "checkpoint") {
            EXPECT_EQ(heap_->stats().log_used_bytes, 0U);
            EXPECT_EQ(heap_->stats().before_image_bytes, 0U);
        } else {
            EXPECT_FALSE(disk_.files().contains("/disk/h-log"));
        }
        expect_acknowledged();
        heap_ = open(files_);
        values_ = heap_->find_root<numbers>("values");
    }
}

TEST_F(background_checkpoint_threads, verify_in_the_midst_of_one_finds_nothing_wrong) {
    begin_checkpoint();
    std::thread other([&] {
        is_thread_of_test = true;
        EXPECT_TRUE(heap_->verify().clean());
    });
    gate_.open();
    other.join();
    commit();
    EXPECT_TRUE(heap_->verify().clean());
    expect_acknowledged();
}

TEST_F(background_checkpoint_threads, progress_is_reported_by_the_thread_up_to_the_end) {
    reports_.clear();
    reporters_.clear();
    begin_checkpoint();
    const std::uint64_t total = heap_->stats().checkpoint_total_bytes;
    EXPECT_TRUE(reports_.empty());
    gate_.open();
    wait_for_pages();
    heap_->close();
    ASSERT_FALSE(reports_.empty());
    EXPECT_EQ(reports_[0].what, progress::phase::checkpoint);
    EXPECT_EQ(reports_[0].bytes_total, total);
    EXPECT_NE(reporters_[0], std::this_thread::get_id());
    const auto last = std::find_if(reports_.begin(), reports_.end(),
                                   [](const progress& each) { return each.bytes_done == each.bytes_total; });
    EXPECT_NE(last, reports_.end());
    expect_acknowledged();
}

// Threads that commit, ask, look and apply, all at once.
TEST_F(background_checkpoint_threads, nothing_is_lost_whatever_is_done_beside_them) {
    constexpr int k_threads = 3;
    const auto seed = test::random_seed();
    std::vector<std::uint64_t> counts(k_threads);
    std::vector<std::thread> threads;
    for (int t = 0; t < k_threads; ++t) {
        threads.emplace_back([&, t] {
            is_thread_of_test = true;
            std::mt19937_64 random(seed + static_cast<unsigned>(t));
            std::uint64_t& count = counts[static_cast<std::size_t>(t)];
            for (int i = 0; i < 150; ++i) {
                const auto pick = random() % 20;
                if (pick == 0) {
                    EXPECT_TRUE(heap_->verify().clean());
                }
                if (pick == 1)
                    heap_->checkpoint();
                if (pick < 4) {
                    const heap_stats now = heap_->stats();
                    EXPECT_LE(now.checkpoint_done_bytes, now.checkpoint_total_bytes);
                    EXPECT_LE(now.checkpoint_total_bytes, now.heap_bytes);
                }
                const durability how = pick < 10   ? durability::durable
                                       : pick < 15 ? durability::lazy
                                                   : durability::none;
                heap_->write(how, [&] {
                    ++count;
                    for (std::size_t j = 0; j < 30; ++j)
                        (*values_)[(random() % (k_values / 4)) * 4 + static_cast<std::size_t>(t)] = count;
                    (*values_)[static_cast<std::size_t>(t)] = count;
                });
            }
        });
    }
    for (auto& each : threads)
        each.join();
    EXPECT_GT(heap_->stats().checkpoints, 3U);
    const std::vector<std::uint64_t> expected(values_->begin(), values_->end());
    heap_->close();
    heap again = open(disk_);
    const auto& kept = *again.find_root<numbers>("values");
    for (int t = 0; t < k_threads; ++t)
        EXPECT_EQ(kept[static_cast<std::size_t>(t)], counts[static_cast<std::size_t>(t)]);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), kept.begin(), kept.end()));
    EXPECT_TRUE(again.verify().clean());
}

} // namespace
} // namespace remanence::test
