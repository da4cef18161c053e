// Readers of a shared heap whose sections are long: checkpoints of other processes pass them, and they see their version. Those that
// are stopped, or processes stopped at a checkpoint, cost log, up to a limit.

#include "process/other_process.hpp"
#include "unit/api/fixture.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace remanence::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t k_long_count = 100'000; // 800 KB in chunks of 64 KiB

heap_options heap_with_short_log() {
    heap_options options = shared_heap();
    options.log.log_limit_bytes = 64 * KiB;
    options.memory.chunk_bytes = 64 * KiB;
    return options;
}

/// Changes pages here and there, rewrites chunks as a whole, so that they move, and back, and adds others.
void change_in_many_ways(numbers& list, std::uint64_t n) {
    for (std::size_t i = n % 512; i < list.size(); i += 3'000)
        list[i] = n;
    if (n % 3 == 0) {
        const std::size_t first = n * 7'919 % (list.size() - 20'000);
        for (std::size_t i = first; i < first + 20'000; ++i)
            list[i] = n + i;
    }
    if (n % 5 == 0)
        list.resize(list.size() + 1'000, n);
}

class slow_readers : public testing::Test {
protected:
    void see_their_version_while_checkpoints_pass(const heap_options& reading);

    temp_dir dir_;
    fs::path path_ = dir_ / "h";
    signals told_;
};

/// In three sections, with these options.
void slow_readers::see_their_version_while_checkpoints_pass(const heap_options& reading) {
    heap h = heap::open(path_, reading);
    auto& list = h.root<numbers>("numbers");
    h.write([&] {
        for (std::uint64_t i = 0; i < k_long_count; ++i)
            list.push_back(i * i);
    });
    other_process writer(h, [&] {
        heap_options options = heap_with_short_log();
        options.log.log_limit_bytes = 256 * KiB; // longer than any commit
        heap mine = heap::open(path_, options);
        auto& same = mine.root<numbers>("numbers");
        std::uint64_t used = 0;
        for (std::uint64_t n = 1, round = 0; round < 3; ++round) {
            told_.wait(static_cast<int>(2 * round));
            for (const std::uint64_t until = mine.stats().checkpoints + 15; mine.stats().checkpoints < until; ++n) {
                when_others_let([&] { mine.write(durability::lazy, [&] { change_in_many_ways(same, n); }); });
                used = std::max(used, mine.stats().log_used_bytes);
            }
            told_.set(static_cast<int>(2 * round + 1));
        }
        if (used >= 17 * options.log.log_limit_bytes) // commits wait at 16, and fail where nobody makes way
            throw std::runtime_error("the log grew to " + std::to_string(used));
        mine.close();
    });
    for (int round = 0; round < 3; ++round) {
        h.read([&] {
            const std::uint64_t version = h.version();
            const std::vector<std::uint64_t> before(list.begin(), list.end());
            told_.set(2 * round);
            while (!told_.is_set(2 * round + 1))
                ASSERT_TRUE(std::equal(list.begin(), list.end(), before.begin(), before.end())) << "in round " << round;
            EXPECT_TRUE(std::equal(list.begin(), list.end(), before.begin(), before.end()));
            EXPECT_EQ(h.version(), version);
            const auto readers = h.readers();
            ASSERT_EQ(readers.size(), 1U);
            EXPECT_EQ(readers[0].version, version);
            EXPECT_EQ(h.stats().readers, 1U);
            EXPECT_EQ(h.stats().oldest_read_version, version);
            EXPECT_GT(h.stats().oldest_read_age, 0ns);
        });
    }
    EXPECT_EQ(writer.wait(), 0);
    h.write([&] { list[7] = 7; }); // what was made private is no change of this process
    EXPECT_EQ(h.stats().readers, 0U);
    EXPECT_TRUE(h.verify().clean());
    std::vector<std::uint64_t> seen;
    h.read([&] { seen.assign(list.begin(), list.end()); });
    h.close();
    heap alone = heap::open(path_, small_heap());
    const auto* found = alone.find_root<numbers>("numbers");
    EXPECT_TRUE(std::equal(seen.begin(), seen.end(), found->begin(), found->end()));
}

TEST_F(slow_readers, see_their_version_while_many_checkpoints_pass_them) {
    see_their_version_while_checkpoints_pass(heap_with_short_log());
}

TEST_F(slow_readers, do_so_while_stray_writes_are_caught) {
    if (std::getenv("REMANENCE_TRACKING") != nullptr)
        GTEST_SKIP() << "another tracker is asked for";
    heap_options options = heap_with_short_log();
    options.tracker = tracking::trap;
    options.checks.catch_stray_writes = true;
    see_their_version_while_checkpoints_pass(options);
}

// As long as one of its threads is in a section, none of its process sees anything newer.
TEST_F(slow_readers, of_one_process_share_its_one_view) {
    heap h = heap::open(path_, heap_with_short_log());
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.resize(k_long_count); });
    other_process writer(h, [&] {
        heap mine = heap::open(path_, heap_with_short_log());
        auto& same = mine.root<numbers>("numbers");
        told_.wait(0);
        for (std::uint64_t n = 1; mine.stats().checkpoints < 5; ++n)
            when_others_let([&] { mine.write(durability::lazy, [&] { change_in_many_ways(same, n); }); });
        told_.set(1);
        mine.close();
    });
    h.lock_shared();
    const std::size_t size = list.size();
    told_.set(0);
    told_.wait(1);
    std::atomic<bool> is_newer = false;
    std::thread second([&] {
        EXPECT_FALSE(h.try_lock_shared()) << "there is a newer version";
        told_.set(2);
        h.read([&] { is_newer = list.size() > size; });
    });
    told_.wait(2);
    EXPECT_EQ(list.size(), size);
    h.unlock_shared();
    second.join();
    EXPECT_TRUE(is_newer);
    EXPECT_EQ(writer.wait(), 0);
    h.close();
}

TEST_F(slow_readers, hear_of_changes_outside_of_sections_in_what_was_made_private) {
    heap h = heap::open(path_, heap_with_short_log());
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.resize(k_long_count, 1); });
    other_process writer(h, [&] {
        heap mine = heap::open(path_, heap_with_short_log());
        auto& same = mine.root<numbers>("numbers");
        for (int round = 0; round < 2; ++round) {
            told_.wait(2 * round);
            for (const std::uint64_t until = mine.stats().checkpoints + 3; mine.stats().checkpoints < until;)
                when_others_let([&] {
                    mine.write(durability::lazy, [&] {
                        for (std::size_t i = 0; i < same.size(); i += 512)
                            ++same[i];
                    });
                });
            told_.set(2 * round + 1);
        }
        mine.close();
    });
    for (int round = 0; round < 2; ++round) {
        std::uint64_t version = 0;
        h.read([&] {
            version = h.version();
            if (round == 0)
                list[3] = 99; // before checkpoints pass, or after it
            told_.set(2 * round);
            told_.wait(2 * round + 1);
            if (round == 1)
                list[3] = 99;
        });
        try {
            h.read([] {});
            ADD_FAILURE() << "nobody told of it in round " << round;
        } catch (const error& e) {
            EXPECT_EQ(e.reason(), errc::outside_section) << e.what();
        }
        h.read([&] {
            EXPECT_EQ(list[3], 1U);
            EXPECT_GT(list[0], 3U);
            EXPECT_GT(h.version(), version);
        });
    }
    EXPECT_EQ(writer.wait(), 0);
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

TEST_F(slow_readers, that_are_stopped_cost_as_much_log_as_the_options_say) {
    heap_options options = heap_with_short_log();
    options.log.log_bytes_max = 256 * KiB;
    heap h = heap::open(path_, options);
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.resize(20'000); });
    const auto commit_until_refused = [&](int process, const char* doing) {
        std::uint64_t n = 0;
        for (int i = 0; i < 5'000; ++i) {
            try {
                h.write(durability::lazy, [&] {
                    ++n;
                    for (std::size_t each = 0; each < list.size(); each += 512)
                        list[each] = n;
                });
            } catch (const error& e) {
                EXPECT_EQ(e.reason(), errc::readers_behind);
                const std::string what = e.what();
                EXPECT_NE(what.find("process " + std::to_string(process)), std::string::npos) << what;
                EXPECT_NE(what.find(doing), std::string::npos) << what;
                return true;
            }
        }
        return false;
    };
    other_process reader(h, [&] {
        heap mine = heap::open(path_, options);
        mine.read([&] {
            told_.set(0);
            told_.wait(1);
        });
        mine.close();
    });
    told_.wait(0);
    reader.stop();
    ASSERT_TRUE(commit_until_refused(reader.id(), "reads version"));
    EXPECT_GE(h.stats().log_used_bytes, options.log.log_bytes_max);
    EXPECT_LT(h.stats().log_used_bytes, 2 * options.log.log_bytes_max);
    EXPECT_EQ(h.stats().readers, 1U);
    told_.set(1);
    reader.go_on();
    EXPECT_EQ(reader.wait(), 0);
    h.write([&] { ++list[1]; });
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

class at_a_checkpoint : public slow_readers {
protected:
    /// A process that is stopped at a checkpoint, which nobody else keeps from going on.
    std::unique_ptr<other_process> stopped_checkpointer();
    /// Of the `n`th version; changes all pages.
    static void commit(heap& h, std::uint64_t n) {
        auto& list = h.root<numbers>("numbers");
        h.write(durability::lazy, [&] {
            for (std::size_t i = 0; i < list.size(); i += 512)
                list[i] = n;
        });
    }

    const heap_options options_ = heap_with_short_log();
    const std::uint64_t default_log_bytes_max_ = 16 * options_.log.log_limit_bytes;
};

std::unique_ptr<other_process> at_a_checkpoint::stopped_checkpointer() {
    std::optional<heap> first = heap::open(path_, options_);
    first->write([&] { first->root<numbers>("numbers").resize(60'000); });
    other_process reader(*first, [&] {
        heap mine = heap::open(path_, options_);
        mine.read([&] {
            told_.set(0);
            told_.wait(1);
        });
    });
    told_.wait(0);
    reader.stop();
    first.reset();
    auto checkpointer = std::make_unique<other_process>([&] {
        heap mine = heap::open(path_, options_);
        for (std::uint64_t n = 1; mine.stats().checkpoint_total_bytes == 0; ++n)
            commit(mine, n);
        told_.set(2);
        told_.wait(3);
        mine.close();
    });
    told_.wait(2);
    checkpointer->stop();
    reader.kill();
    return checkpointer;
}

TEST_F(at_a_checkpoint, who_is_stopped_is_told_of) {
    const auto checkpointer = stopped_checkpointer();
    heap h = heap::open(path_, options_);
    std::optional<std::string> refused;
    std::uint64_t n = 1'000'000;
    for (int i = 0; i < 5'000 && !refused; ++i) {
        try {
            commit(h, ++n);
        } catch (const error& e) {
            EXPECT_EQ(e.reason(), errc::readers_behind);
            refused = e.what();
        }
    }
    ASSERT_TRUE(refused);
    EXPECT_NE(refused->find("process " + std::to_string(checkpointer->id())), std::string::npos) << *refused;
    EXPECT_NE(refused->find("carries out a checkpoint"), std::string::npos) << *refused;
    EXPECT_THROW(commit(h, ++n), error);
    EXPECT_GE(h.stats().log_used_bytes, default_log_bytes_max_);
    checkpointer->kill(); // who dies leaves his checkpoint to others
    for (int i = 0; i < 20; ++i)
        commit(h, ++n);
    EXPECT_LT(h.stats().log_used_bytes, default_log_bytes_max_);
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

TEST_F(at_a_checkpoint, who_goes_on_lets_those_go_on_who_wait) {
    const auto checkpointer = stopped_checkpointer();
    heap h = heap::open(path_, options_);
    std::uint64_t n = 1'000'000;
    while (h.stats().log_used_bytes < default_log_bytes_max_ - 64 * KiB)
        commit(h, ++n);
    h.write(durability::lazy, [&] { // so much that what the checkpoint frees is not enough
        auto& list = h.root<numbers>("numbers");
        for (std::size_t i = 0; i < list.size(); ++i)
            if (i % 512 < 200)
                list[i] = n;
    });
    ASSERT_GE(h.stats().log_used_bytes, default_log_bytes_max_ + 96 * KiB);
    const pid_t committer = ::gettid();
    std::atomic<bool> goes_on = false;
    std::atomic<bool> commits = false;
    std::thread later([&] {
        commits.wait(false);
        EXPECT_TRUE(comes_true([&] { return is_asleep(::getpid(), committer); })); // as it waits for the checkpoint
        goes_on = true;
        checkpointer->go_on();
    });
    commits = true;
    commits.notify_all();
    EXPECT_NO_THROW(commit(h, ++n));
    EXPECT_TRUE(goes_on) << "the commit did not wait";
    later.join();
    EXPECT_LT(h.stats().log_used_bytes, default_log_bytes_max_);
    told_.set(3);
    EXPECT_EQ(checkpointer->wait(), 0);
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

TEST_F(slow_readers, limit_the_log_of_heaps_that_are_shared_only) {
    const auto refusal = [&](const heap_options& options) {
        try {
            const heap h = heap::open(path_, options);
            return errc{};
        } catch (const error& e) {
            return e.reason();
        }
    };
    heap_options options = small_heap();
    options.log.log_limit_bytes = 64 * KiB;
    options.log.log_bytes_max = 128 * KiB;
    EXPECT_EQ(refusal(options), errc::invalid_argument);
    options.access = sharing::processes;
    EXPECT_EQ(refusal(options), errc{});
    options.log.log_bytes_max = 128 * KiB - 1;
    EXPECT_EQ(refusal(options), errc::invalid_argument);
}

} // namespace
} // namespace remanence::test
