// Heaps of which little is in memory, and in the file: what is done takes work for that, not for the addresses.

#include "os/file.hpp"
#include "support/failing_files.hpp"
#include "support/temp_dir.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::txn {
namespace {

class large_heaps_no_sanitizer : public testing::Test {
protected:
    static constexpr std::uint64_t k_budget = 2 * MiB;
    static constexpr std::uint64_t k_block_bytes = 256 * GiB;
    static constexpr int k_blocks = 4;

    void SetUp() override {
        auto opened = engine::open(files_, (directory_.path() / "heap").string(), open_mode::open_or_create,
                                   {.dirty_limit_bytes = k_budget}, "abi");
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
    /// Bytes that this process has read by system calls: of files, and of what the kernel tells of pages.
    static std::uint64_t bytes_read() {
        std::ifstream counts("/proc/self/io");
        std::string name;
        for (std::uint64_t count = 0; counts >> name >> count;)
            if (name == "rchar:")
                return count;
        return 0;
    }
    template <class F>
    void expect_little_work(const F& f) {
        std::uint64_t calls = 0;
        files_.before_each([&](std::string_view) { ++calls; });
        const std::uint64_t read_before = bytes_read();
        f();
        EXPECT_LT(bytes_read() - read_before, 16 * MiB) << "the page map of all has 2 GiB";
        EXPECT_LT(calls, 1000U) << "there are 4 million chunks";
        files_.before_each({});
    }

    test::temp_dir directory_;
    test::failing_files files_{os::posix_file_system()};
    std::unique_ptr<engine> engine_;
    std::vector<std::byte*> blocks_;
};

TEST_F(large_heaps_no_sanitizer, are_allocated_at_once) {
    expect_little_work([&] { allocate_all(); });
}

TEST_F(large_heaps_no_sanitizer, a_checkpoint_after_they_were_freed_is_quick) {
    allocate_all();
    auto done = engine_->commit();
    ASSERT_TRUE(done) << done.why().message;
    for (std::byte* block : blocks_)
        engine_->memory().deallocate(block, k_block_bytes, 16);
    ASSERT_TRUE(engine_->commit());
    expect_little_work([&] { ASSERT_TRUE(engine_->checkpoint()); });
}

} // namespace
} // namespace remanence::txn
