#include "os/resident_pages.hpp"

#include "base/units.hpp"
#include "os/pagemap_scan.hpp"
#include "support/temp_dir.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace remanence::os {
namespace {

/// A private mapping of a file of 64 pages.
class resident_pages : public testing::Test {
protected:
    resident_pages() {
        std::ofstream(dir_ / "file") << std::string(k_pages * page_, 'x');
        const int file = ::open((dir_ / "file").c_str(), O_RDONLY | O_CLOEXEC);
        ::fsync(file);
        base_ = static_cast<std::byte*>(::mmap(nullptr, k_pages * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
        ::close(file);
    }
    ~resident_pages() override { ::munmap(base_, k_pages * page_); }
    void write(std::uint64_t page) { base_[page * page_] = std::byte{'y'}; }
    [[nodiscard]] char read(std::uint64_t page) const { return static_cast<char>(base_[page * page_]); }

    static constexpr std::uint64_t k_pages = 64;
    const test::temp_dir dir_;
    const std::uint64_t page_ = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::byte* base_ = nullptr;
};

TEST_F(resident_pages, are_told_apart_by_whether_they_are_the_files) {
    EXPECT_EQ(count_resident(base_, k_pages * page_).bytes(), 0U);
    write(3);
    write(4);
    std::vector<resident_run> runs;
    add_resident_runs(base_, {2 * page_, 2 * page_}, runs); // not all of them
    ASSERT_FALSE(runs.empty());
    EXPECT_EQ(runs.back().pages, (heap_range{3 * page_, page_}));
    EXPECT_TRUE(runs.back().is_private);
    EXPECT_EQ(read(20), 'x'); // with neighbours, perhaps
    const resident_count found = count_resident(base_, k_pages * page_);
    EXPECT_EQ(found.private_bytes, 2 * page_);
    EXPECT_GE(found.file_bytes, page_);
    EXPECT_GE(resident_bytes_of_process(), found.bytes());
}

TEST_F(resident_pages, of_the_file_are_evicted_and_written_ones_are_not) {
    write(3);
    for (std::uint64_t page = 0; page < k_pages; ++page)
        EXPECT_EQ(read(page), page == 3 ? 'y' : 'x');
    page_out(base_, k_pages * page_);
    EXPECT_EQ(read(3), 'y');
    drop_unlocked_pages(base_ + 4 * page_, (k_pages - 4) * page_);
    EXPECT_EQ(count_resident(base_ + 4 * page_, (k_pages - 4) * page_).bytes(), 0U);
    EXPECT_EQ(read(3), 'y');
    EXPECT_EQ(read(5), 'x');
}

TEST_F(resident_pages, that_are_locked_stay) {
    if (::mlock(base_, page_) != 0)
        GTEST_SKIP() << "no page may be locked";
    write(0);
    drop_unlocked_pages(base_, page_);
    EXPECT_EQ(read(0), 'y');
    EXPECT_EQ(count_resident(base_, page_).bytes(), page_);
}

TEST(resident_zeros, that_were_only_read_take_no_memory) {
    constexpr std::uint64_t k_bytes = 64 * k_page_bytes;
    void* const mapped = ::mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const base = static_cast<std::byte*>(mapped);
    for (std::uint64_t at = 0; at != k_bytes; at += k_page_bytes)
        EXPECT_TRUE(*static_cast<volatile std::byte*>(base + at) == std::byte{0});
    kernel::pm_scan_arg nothing{};
    nothing.size = sizeof nothing;
    nothing.start = nothing.end = reinterpret_cast<std::uint64_t>(base);
    nothing.return_mask = kernel::k_page_is_present;
    const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const bool is_told = ::ioctl(pagemap, kernel::k_pagemap_scan, &nothing) == 0;
    ::close(pagemap);
    EXPECT_EQ(count_resident(base, k_bytes).bytes(), is_told ? 0 : k_bytes);
    base[3 * k_page_bytes] = std::byte{1};
    std::vector<resident_run> runs;
    add_resident_runs(base, {0, k_bytes}, runs);
    if (is_told) {
        ASSERT_EQ(runs.size(), 1U);
        EXPECT_EQ(runs[0].pages, (heap_range{3 * k_page_bytes, k_page_bytes}));
        EXPECT_TRUE(runs[0].is_private);
    }
    ::munmap(mapped, k_bytes);
}

} // namespace
} // namespace remanence::os
