#include "store/chunk_map.hpp"

#include "os/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace remanence::store {
namespace {

format::map_reference area() { return {8192, 4096 * 200, 0, 0, 0, 0}; }

TEST(chunk_map, erasing_and_appending_agree_with_a_model) {
    os::simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int repeat = 0; repeat < 20; ++repeat) {
        chunk_map map;
        std::vector<bool> model; // true: zero
        format::map_reference where = area();
        for (int step = 0; step < 200; ++step) {
            if (model.empty() || random() % 3 == 0) {
                const std::uint64_t skipped = random() % 6;
                map.append_zero_run(model.size(), skipped, 1);
                model.insert(model.end(), skipped, true);
                model.push_back(false);
            } else {
                const std::uint64_t chunk = random() % model.size();
                map.erase(chunk);
                model[chunk] = false;
            }
            for (std::uint64_t c = 0; c < model.size() + 3; ++c)
                ASSERT_EQ(map.is_zero(c), c < model.size() && model[c]) << c;
            if (step % 20 == 0) {
                const auto before = where;
                where = *map.write(*file, where);
                EXPECT_NE(where.slot, before.slot); // I1
                EXPECT_FALSE(map.changed());
                auto read = chunk_map::read(*file, where, model.size());
                ASSERT_TRUE(read) << read.why().message;
                for (std::uint64_t c = 0; c < model.size(); ++c)
                    ASSERT_EQ(read->is_zero(c), model[c]);
            }
        }
    }
}

TEST(chunk_map, damage_and_nonsense_are_corrupt_with_the_place) {
    os::simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    chunk_map map;
    map.append_zero_run(3, 4, 1);
    map.append_zero_run(9, 2, 1);
    auto where = *map.write(*file, area());
    const std::uint64_t at = where.area_offset + where.slot * where.slot_bytes;
    ASSERT_TRUE(chunk_map::read(*file, where, 11));
    auto short_heap = chunk_map::read(*file, where, 10); // its last run ends beyond
    ASSERT_FALSE(short_heap);
    EXPECT_EQ(short_heap.why().offset, at + sizeof(format::chunk_exception));
    std::byte b{0x55};
    ASSERT_TRUE(file->write("test", at + 50, {&b, 1}));
    auto damaged = chunk_map::read(*file, where, 11);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.why().code, errc::corrupt);
    EXPECT_EQ(damaged.why().offset, at);
    where.count = 5000; // beyond the file
    EXPECT_EQ(chunk_map::read(*file, where, 11).why().code, errc::truncated);
}

TEST(chunk_map, keeps_its_bound_whatever_is_skipped_or_erased) {
    chunk_map map;
    std::uint64_t chunk = 0;
    for (std::uint64_t i = 0; i < chunk_map::k_exceptions_max + 10; ++i, chunk += 4)
        map.append_zero_run(chunk, 3, 1);
    EXPECT_LE(map.exceptions().size(), chunk_map::k_exceptions_max);
    EXPECT_FALSE(map.is_zero(chunk - 4)); // without room for it, it counts as stored
    for (std::uint64_t middle = 1; middle < 400; middle += 4)
        map.erase(middle); // each splits a run in two
    EXPECT_LE(map.exceptions().size(), chunk_map::k_exceptions_max);
    for (std::uint64_t middle = 1; middle < 400; middle += 4)
        EXPECT_FALSE(map.is_zero(middle));
    for (std::size_t i = 1; i < map.exceptions().size(); ++i) {
        ASSERT_GE(map.exceptions()[i].chunk, map.exceptions()[i - 1].chunk + map.exceptions()[i - 1].run_length);
    }
}

} // namespace
} // namespace remanence::store
