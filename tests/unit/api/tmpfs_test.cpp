// Heaps in a tmpfs, where a hole that is read through a mapping takes room, and ends the process with SIGBUS if there is none:
// so what is mapped has no holes.

#include "fixture.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace remanence::test {
namespace {

constexpr const char* k_tmpfs = "/dev/shm";

/// Bytes of the file that are in use.
std::uint64_t room_of(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

/// Of a heap of three million zeros, with another number here and there.
std::uint64_t room_that_reading_takes(const fs::path& path) {
    heap h = heap::create(path, small_heap());
    auto& list = h.root<numbers>("list");
    h.write([&] { list.resize(3'000'000); });
    for (int round = 1; round < 4; ++round) {
        h.write([&] {
            for (std::size_t i = 0; i < list.size(); i += 200'000)
                list[i] = static_cast<std::uint64_t>(round);
        });
    }
    h.close();
    h = heap::open(path, small_heap());
    const std::uint64_t before = room_of(path);
    std::uint64_t sum = 0;
    for (const std::uint64_t each : *h.find_root<numbers>("list"))
        sum += each;
    EXPECT_EQ(sum, 3 * 15U);
    h.write([&] { (*h.find_root<numbers>("list"))[7] = 1; });
    const std::uint64_t after = room_of(path);
    return after - before;
}

TEST(tmpfs, reading_a_heap_takes_no_room) {
    struct statfs info{};
    if (::statfs(k_tmpfs, &info) != 0 || info.f_type != TMPFS_MAGIC)
        GTEST_SKIP() << k_tmpfs << " is no tmpfs";
    const fs::path path = fs::path(k_tmpfs) / ("remanence-" + std::to_string(::getpid()));
    EXPECT_LE(room_that_reading_takes(path), 16 * KiB); // a superblock, checksums
    fs::remove(path);
    fs::remove(log_of(path));
}

} // namespace
} // namespace remanence::test
