#include "store/chunk_map.hpp"

#include "base/checksum.hpp"

#include "support/seed.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace remanence::store {
namespace {

format::map_reference area() { return {8192, 4096UL * 200, 0, 0, 0, 0}; }

bool is_zero(const chunk_map& map, std::uint64_t chunk) { return map.place_of(chunk) == chunk_place::nowhere; }

constexpr std::uint64_t k_checkpoint_version = 3;

/// Of a heap of so many chunks, with one region.
result<chunk_map> read_map(os::file& file, const format::map_reference& where, std::uint64_t chunks,
                           std::uint64_t copy_b = 0) {
    format::superblock super{};
    super.chunk_bytes = 64 * KiB;
    super.image_bytes = chunks * super.chunk_bytes;
    super.checkpoint_version = k_checkpoint_version;
    super.map = where;
    super.region_count = 1;
    super.regions[0].bytes = super.image_bytes;
    super.copy_b_offsets[0] = copy_b;
    return chunk_map::read(file, super);
}

/// Writes the map where it is to be.
result<format::map_reference> write(chunk_map& map, os::file& file, format::map_reference into) {
    const chunk_map::placed placed = map.place(into);
    REM_TRY(file.write("test", placed.write.offset, placed.write.bytes));
    return placed.reference;
}

TEST(chunk_map, erasing_and_appending_agree_with_a_model) {
    simulation::simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    std::mt19937_64 random(test::random_seed());
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
                ASSERT_EQ(is_zero(map, c), c < model.size() && model[c]) << c;
            if (step % 20 == 0) {
                const auto before = where;
                where = *write(map, *file, where);
                EXPECT_NE(where.slot, before.slot); // I1
                EXPECT_FALSE(map.changed());
                auto read = read_map(*file, where, model.size());
                ASSERT_TRUE(read) << read.why().message;
                for (std::uint64_t c = 0; c < model.size(); ++c)
                    ASSERT_EQ(is_zero(*read, c), model[c]);
            }
        }
    }
}

TEST(chunk_map, damage_and_nonsense_are_corrupt_with_the_place) {
    simulation::simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    chunk_map map;
    map.append_zero_run(3, 4, 1);
    map.append_zero_run(9, 2, 1);
    auto where = *write(map, *file, area());
    const std::uint64_t at = where.area_offset + where.slot * where.slot_bytes;
    ASSERT_TRUE(read_map(*file, where, 11));
    auto short_heap = read_map(*file, where, 10); // its last run ends beyond
    ASSERT_FALSE(short_heap);
    EXPECT_EQ(short_heap.why().offset, at + sizeof(format::chunk_exception));
    std::byte b{0x55};
    ASSERT_TRUE(file->write("test", at + 50, {&b, 1}));
    auto damaged = read_map(*file, where, 11);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.why().code, errc::corrupt);
    EXPECT_EQ(damaged.why().offset, at);
    where.count = 5000; // beyond the file
    EXPECT_EQ(read_map(*file, where, 11).why().code, errc::truncated);
}

TEST(chunk_map, nonsense_under_a_fitting_checksum_is_corrupt_with_the_place) {
    using format::chunk_encoding;
    simulation::simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    const format::chunk_exception sound{3, 2, 0, 1, chunk_encoding::zero, 0, 0};
    const std::vector<format::chunk_exception> nonsense{
        {4, 1, 0, 1, chunk_encoding::zero, 0, 0},                        // overlaps the one before
        {5, 0, 0, 1, chunk_encoding::zero, 0, 0},                        // of no length
        {5, 12, 0, 1, chunk_encoding::zero, 0, 0},                       // longer than the heap
        {~std::uint64_t{0}, 2, 0, 1, chunk_encoding::zero, 0, 0},        // its end wraps around
        {10, 2, 0, 1, chunk_encoding::zero, 0, 0},                       // ends beyond the heap
        {5, 1, 0, 1, chunk_encoding::raw, 0, 0},                         // at a copy B that the region has not
        {5, 1, 0, 1, chunk_encoding::zero, 1, 0},                        // something where zeros belong
        {5, 1, 0, k_checkpoint_version + 1, chunk_encoding::zero, 0, 0}, // of a commit that the image does not hold
        {5, 1, 64 * KiB, 1, chunk_encoding::zero, 0, 0},                 // nothing, and yet a place
        {5, 1, 0, 1, chunk_encoding::zero, 0, 64 * KiB},                 // or a length
    };
    for (const format::chunk_exception& each : nonsense) {
        const std::array entries{sound, each};
        format::map_reference where = area();
        where.count = entries.size();
        where.checksum = checksum64(std::as_bytes(std::span(entries)), 0x6d6170);
        const std::uint64_t at = where.area_offset + where.slot * where.slot_bytes;
        ASSERT_TRUE(file->write("test", at, std::as_bytes(std::span(entries))));
        auto read = read_map(*file, where, 11);
        ASSERT_FALSE(read) << each.chunk;
        EXPECT_EQ(read.why().code, errc::corrupt);
        EXPECT_EQ(read.why().offset, at + sizeof each);
    }
}

TEST(chunk_map, an_encoding_that_this_release_lacks_is_unsupported_whatever_else_the_entry_says) {
    simulation::simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    for (const std::uint32_t encoding : {2U, 7U, ~0U}) {
        const std::array entries{
            format::chunk_exception{3, 2, 0, 1, format::chunk_encoding::zero, 0, 0},
            format::chunk_exception{5, 1, MiB, 9, format::chunk_encoding{encoding}, 3, 1000},
        };
        format::map_reference where = area();
        where.count = entries.size();
        where.checksum = checksum64(std::as_bytes(std::span(entries)), 0x6d6170);
        const std::uint64_t at = where.area_offset + where.slot * where.slot_bytes;
        ASSERT_TRUE(file->write("test", at, std::as_bytes(std::span(entries))));
        auto read = read_map(*file, where, 11);
        ASSERT_FALSE(read) << encoding;
        EXPECT_EQ(read.why().code, errc::unsupported_format);
        EXPECT_EQ(read.why().offset, at + sizeof entries[0]);
        EXPECT_NE(read.why().message.find("encoding " + std::to_string(encoding)), std::string::npos)
            << read.why().message;
        EXPECT_NE(read.why().message.find("Use a newer release"), std::string::npos) << read.why().message;
    }
}

/// As many exceptions as it takes: three chunks skipped, one stored, and so on from chunk 0.
chunk_map full_map() {
    chunk_map map;
    for (std::uint64_t run = 0; run < chunk_map::k_exceptions_max; ++run)
        map.append_zero_run(4 * run, 3, 1);
    return map;
}
constexpr std::uint64_t k_full_chunks = 4 * chunk_map::k_exceptions_max;

TEST(chunk_map, takes_exceptions_up_to_its_bound_and_is_read_back_so) {
    simulation::simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    chunk_map map = full_map();
    EXPECT_EQ(map.exceptions().size(), chunk_map::k_exceptions_max);
    const std::uint64_t bytes = chunk_map::k_exceptions_max * sizeof(format::chunk_exception);
    auto where = *write(map, *file, {8192, bytes, 0, 0, 0, 0}); // its place is just large enough
    auto read = read_map(*file, where, k_full_chunks);
    ASSERT_TRUE(read) << read.why().message;
    EXPECT_EQ(read->exceptions().size(), chunk_map::k_exceptions_max);
    for (std::uint64_t chunk = 0; chunk < k_full_chunks; ++chunk)
        ASSERT_EQ(is_zero(*read, chunk), chunk % 4 != 3) << chunk;
}

TEST(chunk_map, what_is_skipped_beyond_its_bound_counts_as_stored) {
    simulation::simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    chunk_map map = full_map();
    ASSERT_TRUE(write(map, *file, {8192, MiB, 0, 0, 0, 0}));
    map.append_zero_run(k_full_chunks, 3, 2);
    EXPECT_FALSE(map.changed());
    EXPECT_EQ(map.exceptions().size(), chunk_map::k_exceptions_max);
    for (std::uint64_t chunk = k_full_chunks; chunk < k_full_chunks + 4; ++chunk)
        EXPECT_FALSE(is_zero(map, chunk)) << chunk;
    for (std::uint64_t chunk = 0; chunk < 3; ++chunk) // a run that ends makes room for one
        map.erase(chunk);
    map.append_zero_run(k_full_chunks + 4, 2, 3);
    EXPECT_EQ(map.exceptions().size(), chunk_map::k_exceptions_max);
    EXPECT_TRUE(is_zero(map, k_full_chunks + 4) && is_zero(map, k_full_chunks + 5));
    EXPECT_FALSE(is_zero(map, k_full_chunks + 3));
}

TEST(chunk_map, a_run_split_at_the_bound_keeps_its_longer_part) {
    const struct {
        std::uint64_t erased, kept_begin, kept_end;              // of a run of ten chunks
    } splits[] = {{3, 4, 10}, {6, 0, 6}, {0, 1, 10}, {9, 0, 9}}; // the last two split nothing and lose nothing
    for (const auto& split : splits) {
        chunk_map map = full_map();
        for (std::uint64_t chunk = k_full_chunks - 4; chunk < k_full_chunks; ++chunk)
            map.erase(chunk);
        map.append_zero_run(k_full_chunks, 10, 1);
        ASSERT_EQ(map.exceptions().size(), chunk_map::k_exceptions_max);
        map.erase(k_full_chunks + split.erased);
        EXPECT_TRUE(map.changed());
        EXPECT_EQ(map.exceptions().size(), chunk_map::k_exceptions_max);
        for (std::uint64_t chunk = 0; chunk < 10; ++chunk)
            EXPECT_EQ(is_zero(map, k_full_chunks + chunk), chunk >= split.kept_begin && chunk < split.kept_end)
                << chunk << " without " << split.erased;
        EXPECT_TRUE(is_zero(map, 0) && is_zero(map, k_full_chunks - 6)); // the others stay
    }
}

TEST(chunk_map, moving_agrees_with_a_model) {
    constexpr std::uint64_t k_chunk_bytes = 64 * KiB;
    constexpr std::uint64_t k_copy_b = 400 * MiB;
    simulation::simulated_disk disk;
    auto file = std::move(*disk.open_or_create("f", 0600));
    std::mt19937_64 random(test::random_seed());
    const auto location_of = [](std::uint64_t chunk) { return k_copy_b + chunk * k_chunk_bytes; };
    for (int repeat = 0; repeat < 20; ++repeat) {
        chunk_map map;
        std::vector<chunk_place> model;
        for (int step = 0; step < 300; ++step) {
            const std::uint64_t chunk = model.empty() ? 0 : random() % model.size();
            if (model.empty() || random() % 8 == 0) {
                const std::uint64_t skipped = random() % 6;
                map.append_zero_run(model.size(), skipped, 1);
                model.insert(model.end(), skipped, chunk_place::nowhere);
                model.push_back(chunk_place::copy_a);
            } else if (model[chunk] == chunk_place::nowhere) {
                map.erase(chunk);
                model[chunk] = chunk_place::copy_a;
            } else if (random() % 6 == 0) {
                std::uint64_t end = chunk;
                while (end < model.size() && end < chunk + 4 && model[end] != chunk_place::nowhere)
                    model[end++] = chunk_place::nowhere;
                ASSERT_TRUE(map.add_zero_run(chunk, end - chunk, 1));
            } else if (model[chunk] == chunk_place::copy_a) {
                map.move_to_copy_b(chunk, location_of(chunk), k_chunk_bytes, 2);
                model[chunk] = chunk_place::copy_b;
            } else {
                map.move_to_copy_a(chunk);
                model[chunk] = chunk_place::copy_a;
            }
            std::size_t runs = 0;
            for (std::uint64_t c = 0; c < model.size(); ++c) {
                ASSERT_EQ(map.place_of(c), model[c]) << c;
                runs += model[c] != chunk_place::copy_a && (c == 0 || model[c - 1] != model[c]) ? 1U : 0U;
            }
            ASSERT_EQ(map.exceptions().size(), runs) << "neighbours are one exception";
        }
        const auto where = *write(map, *file, {8192, MiB, 0, 0, 0, 0});
        auto read = read_map(*file, where, model.size(), k_copy_b);
        ASSERT_TRUE(read) << read.why().message;
        for (std::uint64_t c = 0; c < model.size(); ++c)
            ASSERT_EQ(read->place_of(c), model[c]) << c;
        if (std::ranges::count(model, chunk_place::copy_b) != 0) {
            EXPECT_EQ(read_map(*file, where, model.size(), k_copy_b + 64 * KiB).why().code, errc::corrupt);
            EXPECT_EQ(read_map(*file, where, model.size()).why().code, errc::corrupt);
        }
    }
}

TEST(chunk_map, chunks_move_back_and_forth_in_a_full_one) {
    chunk_map map = full_map();
    map.move_to_copy_b(3, MiB, 64 * KiB, 1);
    EXPECT_EQ(map.place_of(3), chunk_place::copy_b);
    EXPECT_EQ(map.exceptions().size(), chunk_map::k_exceptions_max + 1);
    map.move_to_copy_a(3);
    EXPECT_EQ(map.place_of(3), chunk_place::copy_a);
    EXPECT_EQ(map.exceptions().size(), chunk_map::k_exceptions_max);
}

} // namespace
} // namespace remanence::store
