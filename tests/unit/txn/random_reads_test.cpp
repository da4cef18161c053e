// What the kernel is told of heaps that are larger than memory.

#include "os/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace remanence::txn {
namespace {

constexpr const char* k_path = "dir/heap";
constexpr std::uint64_t k_large_block = 80 * MiB;

class random_reads : public testing::Test {
protected:
    random_reads() { disk_.limit_space(GiB); }
    void set_memory(const std::string& kibibytes) {
        const std::string text = "MemTotal: " + kibibytes + " kB\n";
        auto file = disk_.open_or_create("/proc/meminfo", 0644);
        ASSERT_TRUE(file);
        ASSERT_TRUE((*file)->write("test", 0, std::as_bytes(std::span(text))));
    }
    void open() {
        engine_.reset();
        auto opened = engine::open(disk_, k_path, open_mode::open_or_create, {.log_limit_bytes = 256 * MiB}, "abi");
        ASSERT_TRUE(opened) << opened.why().message;
        engine_ = std::move(*opened);
    }
    void commit() {
        auto done = engine_->commit();
        ASSERT_TRUE(done) << done.why().message;
    }
    /// Zeros but for a byte now and then.
    std::byte* allocate_large() {
        std::optional<failure> why;
        auto* const block = static_cast<std::byte*>(engine_->allocate(k_large_block, 16, why));
        EXPECT_NE(block, nullptr);
        for (std::uint64_t at = 0; at < k_large_block; at += MiB)
            block[at] = std::byte{1};
        return block;
    }
    /// Whether the kernel was told so of the mapping in which the address lies.
    static bool reads_are_random_at(const void* address) {
        std::ifstream maps("/proc/self/smaps");
        bool is_there = false;
        for (std::string line; std::getline(maps, line);) {
            std::uint64_t begin = 0;
            std::uint64_t end = 0;
            if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
                const auto at = reinterpret_cast<std::uintptr_t>(address);
                is_there = begin <= at && at < end;
            } else if (is_there && line.starts_with("VmFlags:")) {
                return line.find(" rr") != std::string::npos;
            }
        }
        ADD_FAILURE() << "no mapping there";
        return false;
    }

    os::simulated_disk disk_;
    std::unique_ptr<engine> engine_;
};

TEST_F(random_reads, are_expected_of_a_heap_that_is_larger_than_memory) {
    set_memory("65536");
    open();
    const std::byte* const block = allocate_large();
    EXPECT_FALSE(reads_are_random_at(block));
    commit();
    EXPECT_TRUE(reads_are_random_at(block));
    ASSERT_TRUE(engine_->close());
    open();
    EXPECT_TRUE(reads_are_random_at(block));
    EXPECT_EQ(block[MiB], std::byte{1});
}

TEST_F(random_reads, are_expected_of_what_is_mapped_later_too) {
    set_memory("65536");
    open();
    allocate_large();
    commit();
    std::optional<failure> why;
    auto* const small = static_cast<std::byte*>(engine_->allocate(8 * MiB, 16, why));
    ASSERT_NE(small, nullptr);
    std::memset(small, 2, 8 * MiB);
    EXPECT_TRUE(reads_are_random_at(small + 4 * MiB));
    commit();
    ASSERT_TRUE(engine_->checkpoint()); // maps it from the file
    EXPECT_TRUE(reads_are_random_at(small + 4 * MiB));
}

TEST_F(random_reads, are_not_expected_of_one_that_fits) {
    set_memory("1048576");
    open();
    const std::byte* const block = allocate_large();
    commit();
    EXPECT_FALSE(reads_are_random_at(block));
    ASSERT_TRUE(engine_->close());
    open();
    EXPECT_FALSE(reads_are_random_at(block));
}

} // namespace
} // namespace remanence::txn
