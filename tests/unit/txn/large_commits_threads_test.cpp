// Commits so large that a thread makes their checksums while they are written.

#include "support/failing_files.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

namespace remanence::txn {
namespace {

constexpr std::uint64_t k_large_bytes = 8 * MiB;
constexpr std::uint64_t k_zeros_each = 7; // pages

class large_commits_threads : public testing::Test {
protected:
    void SetUp() override {
        open();
        std::optional<unexpected> why;
        block_ = static_cast<std::byte*>(engine_->memory().allocate(k_large_bytes, 16, why));
        ASSERT_NE(block_, nullptr);
    }
    void open() {
        engine_.reset();
        auto opened = engine::open(files_, "dir/heap", open_mode::open_or_create,
                                   {.reserve_bytes = 64 * MiB, .chunk_bytes = 64 * KiB}, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
    }
    /// All pages get other bytes, but for those that become zeros.
    void fill(unsigned value) {
        for (std::uint64_t page = 0; page < k_large_bytes / k_page_bytes; ++page)
            std::memset(block_ + page * k_page_bytes, filling(page, value), k_page_bytes);
    }
    void expect_filled(unsigned value) const {
        for (std::uint64_t page = 0; page < k_large_bytes / k_page_bytes; ++page) {
            for (const std::uint64_t at : {std::uint64_t{0}, k_page_bytes - 1})
                ASSERT_EQ(block_[page * k_page_bytes + at], std::byte(filling(page, value))) << page;
        }
    }
    void expect_sound() {
        auto report = engine_->verify();
        ASSERT_TRUE(report) << report.why().message;
        EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
    }

    simulation::simulated_disk disk_;
    test::failing_files files_{disk_};
    std::unique_ptr<engine> engine_;
    std::byte* block_ = nullptr;

private:
    static int filling(std::uint64_t page, unsigned value) {
        return (page + value) % k_zeros_each == 0 ? 0 : static_cast<int>(1 + (page + value) % 255);
    }
};

TEST_F(large_commits_threads, have_the_checksums_of_what_was_written) {
    for (const unsigned value : {1U, 2U, 3U}) {
        fill(value);
        const std::uint64_t logged = engine_->stats().logged_bytes;
        ASSERT_TRUE(engine_->commit());
        EXPECT_LT(engine_->stats().logged_bytes - logged, k_large_bytes / 100); // written whole
        expect_sound();
        ASSERT_TRUE(engine_->checkpoint());
        expect_sound();
    }
    ASSERT_TRUE(engine_->close());
    open();
    expect_sound();
    expect_filled(3);
}

TEST_F(large_commits_threads, that_cannot_be_written_leave_the_last_one) {
    fill(1);
    ASSERT_TRUE(engine_->commit());
    bool was_written = false;
    int writes = 0; // that succeeded
    for (; !was_written && !HasFailure(); ++writes) {
        ASSERT_TRUE(engine_->checkpoint());
        fill(2);
        files_.before_each([&, left = writes](std::string_view call) mutable {
            if (call == "write_direct" && left-- == 0)
                files_.fail_at(0, errc::io);
        });
        was_written = static_cast<bool>(engine_->commit());
        files_.before_each({});
        open();
        expect_filled(was_written ? 2 : 1);
        expect_sound();
    }
    EXPECT_GT(writes, 1);
}

} // namespace
} // namespace remanence::txn
