// Commits of several threads: they share writes and failures, and others work while they wait. Run under the thread
// sanitizer, too.

#include "api/heap_impl.hpp"
#include "support/failing_files.hpp"
#include "support/gate.hpp"
#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"
#include "unit/api/fixture.hpp"

#include <array>
#include <random>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace remanence::test {
namespace {

/// A heap on a simulated disk, whose durable writes wait while the gate is shut.
class group_commit_threads : public testing::Test {
protected:
    void SetUp() override {
        files_.before_each([this](std::string_view call) {
            if (call == "write_durable")
                gate_.pass();
        });
        heap_ = open(files_);
        values_ = &heap_->root<numbers>("values", k_threads, std::uint64_t{0});
    }
    heap open(os::file_system& files) { return detail::open(files, "/disk/h", small_heap()); }
    /// Thread `t` commits its value.
    void commit(std::size_t t, std::uint64_t value) {
        heap_->write([&] { (*values_)[t] = value; });
    }
    void await_version(std::uint64_t version) {
        while (heap_->version() < version)
            std::this_thread::yield();
    }

    static constexpr std::size_t k_threads = 6;
    simulation::simulated_disk disk_;
    failing_files files_{disk_};
    gate gate_;
    std::optional<heap> heap_;
    numbers* values_ = nullptr;
};

TEST_F(group_commit_threads, that_come_while_one_waits_for_the_device_share_the_next_write) {
    const std::uint64_t before = heap_->version();
    disk_.take_trace();
    gate_.shut();
    std::vector<std::thread> threads;
    threads.emplace_back([&] { commit(0, 1); });
    gate_.await_visitor();
    for (std::size_t t = 1; t < k_threads; ++t)
        threads.emplace_back([&, t] { commit(t, 1); });
    await_version(before + k_threads);
    heap_->read(
        [&] { EXPECT_EQ(std::count(values_->begin(), values_->end(), 1U), k_threads); }); // nobody holds the lock
    gate_.open();
    for (auto& each : threads)
        each.join();
    std::size_t writes = 0;
    for (const auto& each : disk_.trace())
        writes += each.is_write() ? 1U : 0U;
    EXPECT_EQ(writes, 2U);
    heap_->close();
    EXPECT_EQ(std::count_if(disk_.trace().begin(), disk_.trace().end(),
                            [](const auto& each) { return each.where == std::string_view("log: record"); }),
              2);
}

TEST_F(group_commit_threads, all_hear_when_the_write_they_share_fails_and_what_was_acknowledged_stays) {
    commit(0, 1);
    const std::uint64_t before = heap_->version();
    gate_.shut();
    std::array<std::optional<caught>, k_threads> got;
    std::vector<std::thread> threads;
    threads.emplace_back([&] { got[0] = error_of([&] { commit(0, 2); }); });
    gate_.await_visitor();
    for (std::size_t t = 1; t < k_threads; ++t)
        threads.emplace_back([&, t] { got[t] = error_of([&] { commit(t, 2); }); });
    await_version(before + k_threads);
    disk_.fail_at(2, errc::io); // the first one's write succeeds, and makes itself durable
    gate_.open();
    for (auto& each : threads)
        each.join();
    EXPECT_FALSE(got[0]);
    for (std::size_t t = 1; t < k_threads; ++t)
        EXPECT_EQ(got[t]->code, errc::io) << t;
    EXPECT_EQ(error_of([&] { commit(1, 3); })->code, errc::poisoned);
    EXPECT_EQ(error_of([&] { heap_->sync(); })->code, errc::poisoned);
    EXPECT_EQ(heap_->version(), before + 1);
    EXPECT_EQ(values_->at(2), 2U); // memory stays readable
    EXPECT_EQ(error_of([&] { heap_->close(); })->code, errc::poisoned);
    heap again = open(disk_);
    const auto& kept = *again.find_root<numbers>("values");
    EXPECT_EQ(kept[0], 2U);
    EXPECT_EQ(std::count(kept.begin(), kept.end(), 0U), k_threads - 1); // the write that failed wrote nothing here
    EXPECT_TRUE(again.verify().clean());
}

TEST_F(group_commit_threads, a_heap_is_not_closed_while_a_commit_waits) {
    gate_.shut();
    std::thread other([&] { commit(0, 1); });
    gate_.await_visitor();
    EXPECT_TRUE(is_error(error_of([&] { heap_->close(); }), errc::section_open, "/disk/h", "End every section first"));
    gate_.open();
    other.join();
    heap_->close();
}

TEST_F(group_commit_threads, a_close_beside_a_commit_that_ends_closes_or_says_why_not) {
    heap_->close();
    for (std::uint64_t round = 1; round <= 500; ++round) {
        heap_.emplace(open(files_));
        values_ = heap_->find_root<numbers>("values");
        gate_.shut();
        std::thread other([&] { commit(0, round); });
        gate_.await_visitor();
        gate_.open(); // the commit ends while close() is called over and over
        while (const auto why = error_of([&] { heap_->close(); }))
            ASSERT_EQ(why->code, errc::section_open);
        other.join();
    }
    EXPECT_EQ(open(disk_).find_root<numbers>("values")->at(0), 500U);
}

TEST_F(group_commit_threads, within_an_outer_section_a_commit_waits_with_the_lock_held) {
    gate_.shut();
    std::thread other([&] {
        heap_->lock();
        (*values_)[0] = 1;
        heap_->commit();
        (*values_)[0] = 2;
        heap_->rollback();
        heap_->unlock();
    });
    gate_.await_visitor();
    EXPECT_FALSE(heap_->try_lock_shared());
    gate_.open();
    other.join();
    EXPECT_EQ((*values_)[0], 1U);
}

// On real files. Each thread keeps a count of its own and one that all share; every so often a section throws, a checkpoint
// comes between, or a commit waits for less.
TEST(group_commit_on_files_threads, keeps_every_commit_of_all_threads) {
    const auto seed = test::random_seed();
    temp_dir dir;
    constexpr std::size_t k_threads = 4;
    constexpr int k_commits = 100;
    heap h =
        heap::create(dir / "h", {.log = {.log_limit_bytes = 100 * KiB, .lazy_interval = std::chrono::milliseconds(5)},
                                 .memory = {.reserve_bytes = 64 * MiB}});
    auto& counts = h.root<numbers>("counts", k_threads + 1, std::uint64_t{0});
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < k_threads; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937_64 random(seed + t);
            for (int i = 0; i < k_commits;) {
                const auto pick = random() % 10;
                if (pick == 0) {
                    EXPECT_THROW(h.write([&] {
                        ++counts[t];
                        throw std::runtime_error("rolled back");
                    }),
                                 std::runtime_error);
                    continue;
                }
                if (pick == 1 && random() % 10 == 0)
                    h.checkpoint();
                if (pick == 2)
                    h.sync();
                const durability until = pick < 7   ? durability::durable
                                         : pick < 9 ? durability::lazy
                                                    : durability::none;
                h.write(until, [&] {
                    ++counts[t];
                    ++counts[k_threads];
                });
                ++i;
            }
        });
    }
    for (auto& each : threads)
        each.join();
    EXPECT_EQ(h.version(), h.stats().commits);
    h.close();
    heap again = heap::open_existing(dir / "h", small_heap());
    const auto& kept = *again.find_root<numbers>("counts");
    for (std::size_t t = 0; t < k_threads; ++t)
        EXPECT_EQ(kept[t], static_cast<std::uint64_t>(k_commits));
    EXPECT_EQ(kept[k_threads], k_threads * k_commits);
    EXPECT_TRUE(again.verify().clean());
}

} // namespace
} // namespace remanence::test
