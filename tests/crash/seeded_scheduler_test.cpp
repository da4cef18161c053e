// Scheduled threads: how they wait for each other, and that the seed says who goes on.
#include "testing/seeded_scheduler.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace remanence::os {
namespace {

class scheduled_threads : public testing::Test {
protected:
    void SetUp() override {
        auto opened = scheduler_.open_or_create("file", 0600);
        ASSERT_TRUE(opened);
        file_ = std::move(*opened);
    }
    /// An operation, and a letter for who did it.
    void write(char who) {
        const std::array byte{std::byte{1}};
        ASSERT_TRUE(file_->write("test: write", order_.size(), byte));
        order_ += who;
    }
    /// The order in which the program and two others write, each in pieces.
    std::string order_of(std::uint64_t seed) {
        order_.clear();
        scheduler_.begin(seed);
        for (const char who : {'a', 'b'}) {
            scheduler_.add([this] { return order_.size() < 30; },
                           [this, who] {
                               write(who);
                               write(who);
                           });
        }
        for (int i = 0; i < 10; ++i) {
            scheduler_.come_by();
            write('p');
        }
        scheduler_.end();
        return order_;
    }

    simulation::simulated_disk disk_;
    simulation::seeded_scheduler scheduler_{disk_};
    std::unique_ptr<file> file_;
    std::string order_;
};

TEST_F(scheduled_threads, go_on_in_an_order_that_the_seed_says) {
    std::set<std::string> all;
    bool was_interrupted = false;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const std::string order = order_of(seed);
        EXPECT_EQ(order, order_of(seed)) << seed;
        all.insert(order);
        was_interrupted = was_interrupted || order.find("apa") != std::string::npos;
    }
    EXPECT_GT(all.size(), 20U);
    EXPECT_TRUE(was_interrupted); // one of them in its midst, by the program
}

TEST_F(scheduled_threads, get_done_with_what_they_are_at) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const std::string order = order_of(seed);
        EXPECT_EQ(std::ranges::count(order, 'p'), 10);
        EXPECT_EQ(std::ranges::count(order, 'a') % 2, 0) << order;
        EXPECT_EQ(std::ranges::count(order, 'b') % 2, 0) << order;
    }
}

// Whoever has what the program waits for is in its midst.
TEST_F(scheduled_threads, are_waited_for) {
    std::uint64_t met = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::mutex mutex;
        std::atomic<std::uint32_t> turn = 0;
        std::atomic<bool> is_at_it = false;
        bool holds = false;
        order_.clear();
        scheduler_.begin(seed);
        scheduler_.add([this] { return order_.find('a') == std::string::npos; },
                       [&] {
                           const std::lock_guard guard(mutex);
                           holds = true;
                           write('a');
                           write('a');
                           holds = false;
                       });
        scheduler_.add([this] { return order_.find('b') == std::string::npos; },
                       [&] {
                           is_at_it = true;
                           write('b');
                           write('b');
                           is_at_it = false;
                           ++turn;
                           turn.notify_all();
                       });
        for (int i = 0; i < 6; ++i)
            write('p');
        met += holds || is_at_it ? 1U : 0U;
        {
            const std::lock_guard guard(mutex);
            EXPECT_FALSE(holds);
        }
        if (is_at_it)
            turn.wait(0);
        EXPECT_FALSE(is_at_it);
        scheduler_.end();
    }
    EXPECT_GT(met, 10U);
}

// Each holds what the other waits for.
TEST_F(scheduled_threads, that_all_wait_for_each_other_are_told_of) {
    GTEST_FLAG_SET(death_test_style, "fast");
    std::mutex first;
    std::mutex second;
    const auto meet = [&] {
        scheduler_.begin(7);
        scheduler_.add([] { return true; },
                       [&] {
                           const std::lock_guard holds(second);
                           write('a');
                           const std::lock_guard wants(first);
                       });
        const std::lock_guard holds(first);
        while (order_.find('a') == std::string::npos)
            write('p');
        const std::lock_guard wants(second);
    };
    EXPECT_DEATH(meet(), "seed 7 (.|\n)*thread 0: waits for a lock, after \"test: write\""
                         "(.|\n)*thread 1: waits for a lock, after \"test: write\"");
}

TEST_F(scheduled_threads, of_no_scheduler_wait_as_ever) {
    EXPECT_FALSE(simulation::seeded_scheduler::let_others_go_on(""));
    scheduler_.begin(1);
    EXPECT_FALSE(simulation::seeded_scheduler::let_others_go_on("")); // there are none
    std::thread([] { EXPECT_FALSE(simulation::seeded_scheduler::let_others_go_on("")); }).join();
    write('p');
    scheduler_.end();
    write('p');
    EXPECT_EQ(order_, "pp");
}

} // namespace
} // namespace remanence::os
