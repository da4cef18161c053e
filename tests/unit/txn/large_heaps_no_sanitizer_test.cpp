// Heaps of which little is in memory, and in the file: what is done takes time for that, not for the addresses.

#include "os/file.hpp"
#include "support/temp_dir.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace remanence::txn {
namespace {

class large_heaps_no_sanitizer : public testing::Test {
protected:
    static constexpr std::uint64_t k_budget = 2 * MiB;
    static constexpr std::uint64_t k_block_bytes = 256 * GiB;
    static constexpr int k_blocks = 4;

    void SetUp() override {
        auto opened = engine::open(os::posix_file_system(), (directory_.path() / "heap").string(),
                                   open_mode::open_or_create, {.dirty_limit_bytes = k_budget}, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
    }
    void allocate_all() {
        for (int i = 0; i < k_blocks; ++i) {
            std::optional<unexpected> why;
            auto* const block = static_cast<std::byte*>(engine_->memory().allocate(k_block_bytes, 16, why));
            ASSERT_NE(block, nullptr) << why->why().message;
            block[0] = block[k_block_bytes - 1] = std::byte{1};
            blocks_.push_back(block);
        }
    }
    template <class F>
    static double seconds_of(F&& f) {
        const auto start = std::chrono::steady_clock::now();
        f();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

    test::temp_dir directory_;
    std::unique_ptr<engine> engine_;
    std::vector<std::byte*> blocks_;
};

TEST_F(large_heaps_no_sanitizer, are_allocated_at_once) {
    EXPECT_LT(seconds_of([&] { allocate_all(); }), 1.5);
}

TEST_F(large_heaps_no_sanitizer, a_checkpoint_after_they_were_freed_is_quick) {
    allocate_all();
    auto done = engine_->commit();
    ASSERT_TRUE(done) << done.why().message;
    for (std::byte* block : blocks_)
        engine_->memory().deallocate(block, k_block_bytes, 16);
    ASSERT_TRUE(engine_->commit());
    EXPECT_LT(seconds_of([&] { ASSERT_TRUE(engine_->checkpoint()); }), 4);
}

} // namespace
} // namespace remanence::txn
