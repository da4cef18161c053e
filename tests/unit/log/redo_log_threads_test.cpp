// Threads that wait for one log: they share writes, and failures. Run under the thread sanitizer, too.
#include "log/redo_log.hpp"

#include "support/failing_files.hpp"
#include "support/gate.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::log {
namespace {

class redo_log_threads : public testing::Test {
protected:
    void SetUp() override {
        files_.before_each([this](std::string_view call) {
            if (call != "write_durable")
                return;
            gate_.pass();
            if (ends_)
                std::exchange(ends_, {})();
        });
    }
    /// As a commit does it: one thread at a time submits, and waits when others may go on.
    result<void> append(durability how, std::size_t bytes = k_sector_bytes) {
        std::uint64_t version = 0;
        {
            const std::lock_guard section(section_);
            REM_TRY(log_->reserve(bytes));
            version = log_->appended_through() + 1;
            log_->append(page_aligned_bytes(bytes, static_cast<std::byte>(version)));
        }
        return log_->await(version, how);
    }
    void await_submitted(std::uint64_t version) {
        while (log_->appended_through() < version)
            std::this_thread::yield();
    }
    /// One thread is at the file; `count` others submit meanwhile. Returns what became of these.
    std::vector<result<void>> append_together(std::size_t count) {
        std::vector<result<void>> outcomes(count);
        gate_.shut();
        std::thread first([&] { EXPECT_TRUE(append(durability::durable)); });
        gate_.await_visitor();
        const std::uint64_t before = log_->appended_through();
        std::vector<std::thread> others;
        for (std::size_t i = 0; i < count; ++i)
            others.emplace_back([&, i] { outcomes[i] = append(durability::durable); });
        await_submitted(before + count);
        gate_.open();
        first.join();
        for (std::thread& each : others)
            each.join();
        return outcomes;
    }

    simulation::simulated_disk disk_;
    test::failing_files files_{disk_};
    test::gate gate_;
    std::function<void()> ends_; // what the thread does that is at the gate
    std::mutex section_;
    std::unique_ptr<redo_log> log_ = std::move(*redo_log::create(files_, "dir/h-log", {}, {1, {}}, 1, 0600, 0));
};

TEST_F(redo_log_threads, that_come_while_one_writes_share_the_next_write) {
    disk_.take_trace();
    for (const auto& each : append_together(5))
        EXPECT_TRUE(each);
    std::vector<std::uint64_t> writes;
    for (const auto& each : disk_.trace())
        if (each.is_write())
            writes.push_back(each.bytes);
    EXPECT_EQ(writes, (std::vector<std::uint64_t>{512, 5 * 512}));
    EXPECT_EQ(log_->durable_through(), 6U);
}

TEST_F(redo_log_threads, all_hear_of_the_failure_of_the_write_they_share) {
    files_.fail_at(1, errc::io); // the first write succeeds
    for (const auto& each : append_together(5)) {
        ASSERT_FALSE(each);
        EXPECT_EQ(each.why().code, errc::io);
    }
    EXPECT_EQ(log_->durable_through(), 1U);
    EXPECT_FALSE(append(durability::durable));
}

// As by pthread_exit(): it unwinds past everything, and nobody is left to finish the write.
TEST_F(redo_log_threads, all_hear_of_a_thread_that_ends_while_it_writes_for_them) {
    struct thread_ends {};
    result<void> other;
    gate_.shut();
    std::thread first([&] { EXPECT_THROW((void)append(durability::durable), thread_ends); });
    gate_.await_visitor();
    std::thread second([&] { other = append(durability::durable); });
    await_submitted(2);
    ends_ = [] { throw thread_ends(); };
    gate_.open();
    first.join();
    second.join();
    ASSERT_FALSE(other);
    EXPECT_EQ(other.why().code, errc::io);
    EXPECT_NE(other.why().message.find("dir/h-log: the thread that wrote it has ended"), std::string::npos);
    EXPECT_FALSE(append(durability::lazy));
}

TEST_F(redo_log_threads, grows_while_another_one_is_at_the_file) {
    gate_.shut();
    std::thread first([&] { EXPECT_TRUE(append(durability::durable)); });
    gate_.await_visitor();
    disk_.take_trace();
    EXPECT_TRUE(log_->reserve(4 * MiB)); // or it would wait for the gate
    log_->append(page_aligned_bytes(k_sector_bytes));
    gate_.open();
    first.join();
    ASSERT_TRUE(log_->await(2, durability::durable));
    EXPECT_EQ(std::string_view(disk_.trace().back().where), "log: sync buffered records"); // the zeros, too
    ASSERT_TRUE(append(durability::durable));
    EXPECT_EQ(std::string_view(disk_.trace().back().where), "log: sync record");
}

// Sizes and durabilities are mixed, the log grows and starts again; whatever is acknowledged is in the file at its place.
TEST_F(redo_log_threads, of_all_kinds_get_what_they_wait_for) {
    constexpr std::uint64_t k_rounds = 200;
    constexpr std::array k_all = {durability::durable, durability::lazy, durability::none, durability::durable};
    for (std::uint64_t restart = 0; restart < 2; ++restart) {
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < k_all.size(); ++t) {
            threads.emplace_back([&, t] {
                for (std::uint64_t i = 0; i < k_rounds; ++i) {
                    const durability how = k_all[(t + i / 50) % k_all.size()];
                    const std::uint64_t bytes = i % 20 == 0 ? 64 * KiB : k_sector_bytes;
                    EXPECT_TRUE(append(how, bytes));
                }
            });
        }
        for (std::thread& each : threads)
            each.join();
        ASSERT_TRUE(log_->await(log_->appended_through(), durability::durable));
        EXPECT_EQ(log_->durable_through(), log_->appended_through());
        std::vector<std::byte> all(log_->used_bytes());
        ASSERT_TRUE(log_->file().read(format::k_log_header_bytes, all));
        std::uint64_t records = 0;
        for (std::size_t at = 0; at < all.size(); at += k_sector_bytes) {
            if (at == 0 || all[at] != all[at - 1])
                ++records;
            const auto expected = static_cast<std::byte>(restart * k_rounds * k_all.size() + records);
            ASSERT_EQ(all[at], expected) << at;
        }
        EXPECT_EQ(records, k_rounds * k_all.size());
        log_->restart();
    }
}

} // namespace
} // namespace remanence::log
