#include "os/resident_pages.hpp"

#include "base/units.hpp"
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

} // namespace
} // namespace remanence::os
