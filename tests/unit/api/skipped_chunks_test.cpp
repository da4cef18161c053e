// Heaps with many holes: the chunk map outgrows its first place.
#include "fixture.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

namespace remanence {
namespace {

constexpr std::size_t k_chunk = 64UL * 1024;

// Touches every other chunk of an array of `count` chunks.
void commit_with_holes(const std::filesystem::path& path, std::size_t count) {
    heap_options options;
    options.memory.chunk_bytes = k_chunk;
    {
        heap h = heap::create(path, options);
        std::byte* data = nullptr;
        h.write([&] {
            data = h.get_allocator().allocate(count * k_chunk);
            h.root<std::byte*>("data") = data;
        });
        h.write([&] {
            for (std::size_t i = 0; i < count; i += 2)
                data[i * k_chunk + 7] = std::byte{7};
        });
        h.checkpoint();
        data[3 * k_chunk] = std::byte{3};
        h.commit();
        h.close();
    }
    heap h = heap::open_existing(path);
    const std::byte* data = *h.find_root<std::byte*>("data");
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(data[i * k_chunk + 7], i % 2 == 0 ? std::byte{7} : std::byte{0}) << i;
    EXPECT_EQ(data[3 * k_chunk], std::byte{3});
    EXPECT_TRUE(h.verify().clean());
}

TEST(skipped_chunks, more_of_them_than_the_first_chunk_map_holds_survive_the_first_commit_of_a_session) {
    test::temp_dir dir;
    commit_with_holes(dir.path() / "h", 400);
}

// The map that recovery writes has no room in the place that the superblock names.
TEST(skipped_chunks, more_of_them_than_the_first_chunk_map_holds_survive_a_crash) {
    test::temp_dir dir;
    constexpr std::size_t k_count = 400;
    heap_options options;
    options.memory.chunk_bytes = k_chunk;
    {
        heap h = heap::create(dir / "running", options);
        auto& data = h.root<std::byte*>("data");
        h.write([&] { data = h.get_allocator().allocate(k_count * k_chunk); });
        h.write([&] {
            for (std::size_t i = 0; i < k_count; i += 2)
                data[i * k_chunk + 7] = std::byte{7};
        });
        test::fs::copy_file(dir / "running", dir / "h");
        test::fs::copy_file(test::log_of(dir / "running"), test::log_of(dir / "h"));
    }
    heap h = heap::open_existing(dir / "h", options);
    const std::byte* data = *h.find_root<std::byte*>("data");
    for (std::size_t i = 0; i < k_count; ++i)
        ASSERT_EQ(data[i * k_chunk + 7], i % 2 == 0 ? std::byte{7} : std::byte{0}) << i;
    EXPECT_TRUE(h.verify().clean());
}

} // namespace
} // namespace remanence
