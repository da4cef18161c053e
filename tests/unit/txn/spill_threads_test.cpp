// Threads write to memory while another one's allocations spill it: nothing that they write gets lost.

#include "support/failing_files.hpp"
#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace remanence::txn {
namespace {

class spilling_threads : public testing::TestWithParam<track::tracker_choice> {
protected:
    void SetUp() override { open(); }
    void open() {
        engine_.reset();
        auto opened = engine::open(files_, "dir/heap", open_mode::open_or_create,
                                   {.reserve_bytes = 256 * MiB,
                                    .chunk_bytes = 64 * KiB,
                                    .log_limit_bytes = 256 * MiB,
                                    .dirty_limit_bytes = 512 * KiB,
                                    .tracker = GetParam()},
                                   "abi");
        if (!opened && opened.why().code == errc::not_supported)
            GTEST_SKIP() << opened.why().message;
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
    }
    std::uint64_t* allocate(std::uint64_t bytes) {
        std::optional<unexpected> why;
        return static_cast<std::uint64_t*>(engine_->memory().allocate(bytes, 16, why));
    }

    simulation::simulated_disk disk_;
    test::failing_files files_{disk_};
    std::unique_ptr<engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(trackers, spilling_threads,
                         testing::Values(track::tracker_choice::scan, track::tracker_choice::trap,
                                         track::tracker_choice::fallback));

/// A block that one thread writes to, and what it has written there.
class written_block {
public:
    static constexpr std::uint64_t k_words = 40 * KiB / sizeof(std::uint64_t);

    written_block(std::uint64_t* at, unsigned seed) : at_(at), copy_(k_words), random_(test::seed_or(seed)) {}
    /// Whether all that was written is there.
    bool write_some() {
        for (int i = 0; i < 50; ++i) {
            const std::size_t word = random_() % k_words;
            if (at_[word] != copy_[word])
                return false;
            at_[word] = copy_[word] = random_() % 4 == 0 ? 0 : random_();
        }
        return true;
    }
    [[nodiscard]] bool is_whole() const { return std::memcmp(at_, copy_.data(), k_words * sizeof *at_) == 0; }

private:
    std::uint64_t* at_;
    std::vector<std::uint64_t> copy_;
    std::mt19937_64 random_;
};

TEST_P(spilling_threads, what_they_write_meanwhile_is_committed) {
    constexpr unsigned k_threads = 3;
    constexpr unsigned k_blocks = 5; // of each
    for (int round = 0; round < 2; ++round) {
        std::vector<std::vector<written_block>> blocks(k_threads);
        for (unsigned thread = 0; thread < k_threads; ++thread) {
            for (unsigned i = 0; i < k_blocks; ++i)
                blocks[thread].emplace_back(allocate(written_block::k_words * sizeof(std::uint64_t)), 7 * thread + i);
        }
        std::atomic<bool> is_over = false;
        std::atomic<unsigned> lost = 0;
        std::vector<std::thread> writers;
        for (unsigned thread = 0; thread < k_threads; ++thread) {
            writers.emplace_back([&, thread] {
                while (!is_over) {
                    for (written_block& each : blocks[thread])
                        lost += each.write_some() ? 0 : 1;
                }
            });
        }
        const std::uint64_t before = engine_->stats().spilled_bytes;
        std::vector<std::uint64_t*> filled;
        for (std::uint64_t i = 0; i < 150; ++i) {
            filled.push_back(allocate(30 * KiB));
            std::memset(filled.back(), static_cast<int>(i), 30 * KiB);
        }
        is_over = true;
        for (std::thread& each : writers)
            each.join();
        EXPECT_GT(engine_->stats().spilled_bytes, before + 2 * MiB);
        EXPECT_EQ(lost, 0U);
        const auto expect_all = [&] {
            for (const auto& of_thread : blocks) {
                for (const written_block& each : of_thread)
                    EXPECT_TRUE(each.is_whole());
            }
            for (std::size_t i = 0; i < filled.size(); ++i)
                EXPECT_EQ(reinterpret_cast<unsigned char*>(filled[i])[17 * KiB], i % 256);
        };
        expect_all();
        auto done = engine_->commit();
        ASSERT_TRUE(done) << done.why().message;
        expect_all();
        open(); // as after a kill
        expect_all();
    }
}

TEST_P(spilling_threads, system_calls_may_write_to_what_was_touched_whatever_others_spill) {
    constexpr std::uint64_t k_bytes = 64 * KiB;
    std::vector<std::uint64_t*> blocks;
    for (int i = 0; i < 400; ++i)
        blocks.push_back(allocate(k_bytes));
    const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(zeros, 0);
    std::atomic<bool> is_over = false;
    std::thread other([&] {
        std::vector<std::uint64_t*> own;
        for (int i = 0; i < 30; ++i)
            own.push_back(allocate(k_bytes));
        while (!is_over) {
            for (std::uint64_t* each : own) {
                std::memset(each, 1, k_bytes);
                (void)engine_->memory().declare(each, k_bytes);
            }
        }
    });
    int refused = 0;
    for (std::uint64_t* each : blocks) {
        std::memset(each, 2, k_bytes);
        ASSERT_TRUE(engine_->memory().touch(each, k_bytes));
        refused += ::read(zeros, each, k_bytes) == static_cast<ssize_t>(k_bytes) ? 0 : 1;
    }
    is_over = true;
    other.join();
    ::close(zeros);
    EXPECT_EQ(refused, 0);
    EXPECT_GT(engine_->stats().spilled_bytes, 0U);
}

TEST_P(spilling_threads, several_may_allocate_beyond_the_budget) {
    constexpr unsigned k_threads = 4;
    constexpr std::uint64_t k_words = 20 * KiB / sizeof(std::uint64_t);
    std::vector<std::vector<std::uint64_t*>> blocks(k_threads);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < k_threads; ++thread) {
        threads.emplace_back([&, thread] {
            for (std::uint64_t i = 0; i < 150; ++i) {
                std::uint64_t* const block = allocate(k_words * sizeof(std::uint64_t));
                for (std::uint64_t word = 0; word < k_words; ++word)
                    block[word] = thread * 1000 + i + word;
                blocks[thread].push_back(block);
            }
        });
    }
    for (std::thread& each : threads)
        each.join();
    EXPECT_GT(engine_->stats().spilled_bytes, 4 * MiB);
    auto done = engine_->commit();
    ASSERT_TRUE(done) << done.why().message;
    open();
    for (unsigned thread = 0; thread < k_threads; ++thread) {
        for (std::uint64_t i = 0; i < blocks[thread].size(); ++i) {
            for (std::uint64_t word = 0; word < k_words; ++word)
                ASSERT_EQ(blocks[thread][i][word], thread * 1000 + i + word);
        }
    }
}

// The memory of zeros is given back, whether those who write are paused altogether or chunk by chunk.
TEST_P(spilling_threads, what_they_write_to_zeros_meanwhile_stays) {
    constexpr std::uint64_t k_bytes = 4 * MiB;
    constexpr std::uint64_t k_page_words = k_page_bytes / sizeof(std::uint64_t);
    for (const bool is_by_the_side : {true, false}) {
        std::uint64_t* const other = allocate(2 * MiB); // to be declared, for the engine to look
        std::uint64_t* const block = allocate(k_bytes);
        std::atomic<bool> is_over = false;
        std::atomic<unsigned> lost = 0;
        std::atomic<std::uint64_t> written = 0;
        std::vector<std::thread> writers;
        for (unsigned thread = 1; thread < 3; ++thread) {
            // Writes one word of a page that is zeros otherwise, for a moment. No atomic one: of such a write the thread sanitizer
            // holds a lock, while it is paused.
            writers.emplace_back([&, thread] {
                std::mt19937_64 random(test::seed_or(thread));
                while (!is_over) {
                    volatile std::uint64_t& word =
                        block[random() % (k_bytes / k_page_bytes - 1) * k_page_words + thread * k_page_words / 3];
                    word = thread;
                    for (int i = 0; i < 50; ++i)
                        lost += word == thread ? 0 : 1;
                    word = 0;
                    ++written;
                }
            });
        }
        for (int round = 0; round < 60; ++round) {
            for (std::uint64_t page = 0; page < k_bytes / k_page_bytes; ++page)
                const_cast<volatile std::uint64_t&>(block[page * k_page_words]) = 0;
            if (is_by_the_side)
                (void)engine_->spill_excess();
            else
                ASSERT_TRUE(engine_->memory().declare(other, 2 * MiB));
        }
        is_over = true;
        for (std::thread& each : writers)
            each.join();
        EXPECT_GT(written, 0U);
        EXPECT_EQ(lost, 0U);
    }
}

// He may be faster than any spilling.
TEST_P(spilling_threads, who_writes_without_allocating_waits_while_the_side_spills) {
    constexpr std::uint64_t k_bytes = 2 * MiB;
    std::uint64_t* const block = allocate(k_bytes);
    std::memset(block, 1, 768 * KiB); // more than the budget, by half of it
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> written = 0;
    std::thread writer([&] {
        while (!is_over)
            block[k_bytes / sizeof *block - 1] = ++written;
    });
    while (written == 0)
        std::this_thread::yield();
    int writes = 0;
    int moves = 0;
    files_.before_each([&](std::string_view call) {
        if (!call.starts_with("write"))
            return;
        const std::uint64_t before = written;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++writes;
        moves += written != before ? 1 : 0;
    });
    EXPECT_FALSE(engine_->spill_excess());
    files_.before_each({});
    is_over = true;
    writer.join();
    EXPECT_GE(writes, 4);
    EXPECT_LE(moves, 1); // he counts before he writes
    EXPECT_GE(engine_->stats().spilled_bytes, 512 * KiB);
    auto done = engine_->commit();
    ASSERT_TRUE(done) << done.why().message;
    EXPECT_EQ(block[k_bytes / sizeof *block - 1], written);
}

} // namespace
} // namespace remanence::txn
