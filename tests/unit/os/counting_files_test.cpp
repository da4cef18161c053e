#include "os/counting_files.hpp"

#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace remanence::os {
namespace {

TEST(counting_files, count_every_write_and_each_wait_for_the_device) {
    simulation::simulated_disk disk;
    counting_files files(disk);
    auto file = files.open_or_create("a", 0600);
    ASSERT_TRUE(file);
    alignas(4096) static const std::byte bytes[8192]{};
    ASSERT_TRUE((*file)->write("test: write", 0, {bytes, 100}));
    ASSERT_TRUE((*file)->write_direct("test: direct", 4096, {bytes, 4096}));
    EXPECT_EQ(files.written_bytes(), 4196U);
    EXPECT_EQ(files.syncs(), 0U);
    ASSERT_TRUE((*file)->write_durable("test: durable", "test: sync", 8192, {bytes, 512}));
    ASSERT_TRUE((*file)->sync("test: sync"));
    ASSERT_TRUE(files.sync_directory("test: directory", "a"));
    EXPECT_EQ(files.written_bytes(), 4708U);
    EXPECT_EQ(files.syncs(), 3U);
    ASSERT_TRUE((*file)->reserve("test: reserve", 0, 100'000));
    ASSERT_TRUE((*file)->resize("test: resize", 10));
    EXPECT_EQ(files.written_bytes(), 4708U);
    auto again = files.open("a", access::read_only);
    ASSERT_TRUE(again);
    EXPECT_EQ(*(*again)->size(), 10U);
    EXPECT_EQ((*again)->path(), (*file)->path());
}

} // namespace
} // namespace remanence::os
