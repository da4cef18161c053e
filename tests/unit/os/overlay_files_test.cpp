#include "os/overlay_files.hpp"

#include "os/memory.hpp"
#include "support/seed.hpp"
#include "support/temp_dir.hpp"
#include "unit/testing/disk_script.hpp"

#include <cstring>
#include <fstream>
#include <random>

namespace remanence::os {
namespace {

constexpr const char* k_path = "dir/file";

void fill(file_system& files, std::string_view contents) {
    auto file = std::move(*files.open_or_create(k_path, 0600));
    ASSERT_TRUE(file->write("test", 0, simulation::bytes_of(contents)));
}

std::string text_of(file& from) {
    std::string text(static_cast<std::size_t>(*from.size()), '?');
    EXPECT_TRUE(from.read(0, std::as_writable_bytes(std::span(text))));
    return text;
}

TEST(overlay_files, show_what_was_written_and_leave_the_file_below_alone) {
    simulation::simulated_disk disk;
    fill(disk, "0123456789");
    const auto operations = disk.trace().size();
    overlay_files overlay(disk);
    auto file = std::move(*overlay.open(k_path, access::read_write));
    ASSERT_TRUE(file->write("test", 3, simulation::bytes_of("abc")));
    ASSERT_TRUE(file->write_direct("test", 9, simulation::bytes_of("xyz")));
    ASSERT_TRUE(file->sync("test"));
    EXPECT_EQ(text_of(*file), "012abc678xyz");
    EXPECT_EQ(simulation::text_of(disk, k_path), "0123456789");
    EXPECT_EQ(disk.trace().size(), operations);
}

TEST(overlay_files, removed_names_are_gone_here_only) {
    simulation::simulated_disk disk;
    fill(disk, "x");
    overlay_files overlay(disk);
    ASSERT_TRUE(*overlay.exists(k_path));
    auto file = std::move(*overlay.open(k_path, access::read_only));
    ASSERT_TRUE(overlay.remove("test", "dir/other", *file));
    EXPECT_TRUE(*overlay.exists(k_path));
    ASSERT_TRUE(overlay.remove("test", k_path, *file));
    EXPECT_FALSE(*overlay.exists(k_path));
    EXPECT_EQ(overlay.open(k_path, access::read_only).why().code, errc::not_found);
    EXPECT_TRUE(*disk.exists(k_path));
}

TEST(overlay_files, make_no_names) {
    simulation::simulated_disk disk;
    fill(disk, "x");
    overlay_files overlay(disk);
    EXPECT_EQ(overlay.open_or_create("dir/other", 0600).why().code, errc::not_supported);
    EXPECT_EQ(overlay.rename_to_new("test", k_path, "dir/other").why().code, errc::not_supported);
    EXPECT_EQ(overlay.rename_over("test", k_path, "dir/other").why().code, errc::not_supported);
    EXPECT_FALSE(*disk.exists("dir/other"));
}

TEST(overlay_files, lock_shared_so_that_lookers_do_not_exclude_each_other_but_writers) {
    simulation::simulated_disk disk;
    fill(disk, "x");
    overlay_files one(disk);
    overlay_files two(disk);
    auto first = std::move(*one.open(k_path, access::read_write));
    auto second = std::move(*two.open(k_path, access::read_write));
    auto writer = std::move(*disk.open(k_path, access::read_write));
    EXPECT_TRUE(*first->try_lock(lock_kind::exclusive));
    EXPECT_TRUE(*second->try_lock(lock_kind::exclusive));
    EXPECT_FALSE(*writer->try_lock(lock_kind::exclusive));
}

TEST(overlay_files, reads_beyond_the_end_are_truncated) {
    simulation::simulated_disk disk;
    fill(disk, "0123456789");
    overlay_files overlay(disk);
    auto file = std::move(*overlay.open(k_path, access::read_write));
    std::byte bytes[4];
    EXPECT_EQ(file->read(8, bytes).why().code, errc::truncated);
    ASSERT_TRUE(file->reserve("test", 0, 12));
    ASSERT_TRUE(file->read(8, bytes));
    EXPECT_EQ(std::memcmp(bytes, "89\0\0", 4), 0);
}

// Random operations, side by side with a string that shows what the file must be.
TEST(overlay_files, behave_as_a_file_does) {
    std::mt19937 random(test::random_seed());
    auto below_max = [&](std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end)(random); };
    for (int round = 0; round < 50; ++round) {
        simulation::simulated_disk disk;
        std::string model(static_cast<std::size_t>(below_max(40'000)), 'b');
        fill(disk, model);
        overlay_files overlay(disk);
        auto file = std::move(*overlay.open(k_path, access::read_write));
        for (int step = 0; step < 60; ++step) {
            const auto offset = static_cast<std::size_t>(below_max(40'000));
            const auto bytes = static_cast<std::size_t>(1 + below_max(step % 3 == 0 ? 20'000 : 300));
            switch (below_max(3)) {
            case 0: {
                const std::string written(bytes, static_cast<char>('c' + step % 20));
                if (model.size() < offset + bytes)
                    model.resize(offset + bytes);
                model.replace(offset, bytes, written);
                ASSERT_TRUE(file->write("test", offset, simulation::bytes_of(written)));
                break;
            }
            case 1:
                for (std::size_t at = offset; at < std::min(model.size(), offset + bytes); ++at)
                    model[at] = '\0';
                ASSERT_TRUE(file->punch("test", offset, bytes));
                break;
            case 2:
                model.resize(offset);
                ASSERT_TRUE(file->resize("test", offset));
                break;
            default:
                model.resize(std::max(model.size(), offset + bytes));
                ASSERT_TRUE(file->reserve("test", offset, bytes));
            }
            ASSERT_EQ(*file->size(), model.size()) << "step " << step;
            ASSERT_TRUE(text_of(*file) == model) << "step " << step;
            const auto at = static_cast<std::size_t>(below_max(model.size()));
            std::string part(static_cast<std::size_t>(below_max(model.size() - at)), '?');
            ASSERT_TRUE(file->read(at, std::as_writable_bytes(std::span(part))));
            ASSERT_TRUE(part == model.substr(at, part.size())) << "step " << step;
        }
    }
}

// The same, and mapped: from a file of the real file system.
TEST(overlay_files, are_mapped_as_they_read) {
    std::mt19937 random(test::random_seed());
    auto below_max = [&](std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end)(random); };
    test::temp_dir dir;
    const std::string path = (dir / "file").string();
    constexpr std::uint64_t k_pages = 12;
    for (int round = 0; round < 50; ++round) {
        std::ofstream(path, std::ios::trunc) << std::string(static_cast<std::size_t>(below_max(40'000)), 'b');
        overlay_files overlay(posix_file_system());
        auto file = std::move(*overlay.open(path, access::read_write));
        for (int step = 0; step < 6; ++step) {
            const std::uint64_t offset = below_max(40'000);
            const std::uint64_t bytes = 1 + below_max(9'000);
            const std::string written(static_cast<std::size_t>(bytes), static_cast<char>('c' + step));
            ASSERT_TRUE(step % 3 == 0   ? file->write("test", offset, simulation::bytes_of(written))
                        : step % 3 == 1 ? file->punch("test", offset, bytes)
                                        : file->resize("test", offset));
        }
        std::string model = text_of(*file);
        model.resize(static_cast<std::size_t>(k_pages * k_page_bytes));
        const std::uint64_t first = below_max(k_pages - 1);
        const std::uint64_t pages = 1 + below_max(k_pages - 1 - first);
        auto place = std::move(*reservation::elsewhere(k_pages * k_page_bytes));
        const std::uint64_t offset = first * k_page_bytes;
        ASSERT_TRUE(
            file->map_private(place.base(), static_cast<std::size_t>(pages * k_page_bytes), offset, access::read_only));
        EXPECT_EQ(std::memcmp(place.base(), model.data() + offset, static_cast<std::size_t>(pages * k_page_bytes)), 0)
            << "round " << round << ", pages " << first << " to " << first + pages;
    }
}

} // namespace
} // namespace remanence::os
