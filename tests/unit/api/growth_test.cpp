// Heaps that outgrow what was reserved for them, by far.

#include "unit/api/fixture.hpp"

#include <sys/stat.h>

namespace remanence::test {
namespace {

// On file systems that hold such files, in holes. Sanitizers look after all that memory.
TEST(growth_no_sanitizer, to_terabytes) {
    temp_dir dir;
    constexpr std::uint64_t k_blocks = 3;
    constexpr std::uint64_t k_step = 64 * GiB;
    heap h = heap::create(dir / "h", {.memory = {.reserve_bytes = 64 * MiB}});
    std::vector<std::uint64_t*> blocks;
    for (std::uint64_t i = 0; i < k_blocks; ++i) {
        blocks.push_back(h.get_allocator<std::uint64_t>().allocate(TiB / sizeof(std::uint64_t)));
        for (std::uint64_t at = 0; at < TiB; at += k_step)
            blocks[i][at / sizeof(std::uint64_t)] = i + at + 1;
        h.commit();
    }
    h.root<std::array<std::uint64_t*, k_blocks>>("blocks") = {blocks[0], blocks[1], blocks[2]};
    h.commit();
    blocks[2][TiB / sizeof(std::uint64_t) - 1] = 7;
    h.commit();
    h.close();
    struct stat file{};
    ASSERT_EQ(::stat((dir / "h").c_str(), &file), 0);
    EXPECT_GT(file.st_size, static_cast<off_t>(2 * TiB));
    EXPECT_LT(file.st_blocks * 512, static_cast<off_t>(64 * MiB));

    h = heap::open_existing(dir / "h", {.memory = {.reserve_bytes = 64 * MiB}});
    const auto& found = *h.find_root<std::array<std::uint64_t*, k_blocks>>("blocks");
    for (std::uint64_t i = 0; i < k_blocks; ++i) {
        for (std::uint64_t at = 0; at < TiB; at += k_step)
            ASSERT_EQ(found[i][at / sizeof(std::uint64_t)], i + at + 1);
        ASSERT_EQ(found[i][123'456'789], 0U);
    }
    EXPECT_EQ(found[2][TiB / sizeof(std::uint64_t) - 1], 7U);
    h.get_allocator<std::uint64_t>().deallocate(found[1], TiB / sizeof(std::uint64_t));
    h.checkpoint();
    EXPECT_EQ(found[2][TiB / sizeof(std::uint64_t) - 1],
              7U); // verify() would read what says of each page that it is unused
}

} // namespace
} // namespace remanence::test
