// Which states a trace has, beside those that the harness of the toy notices the lack of.
#include "crash_states.hpp"

#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace remanence::crash {
namespace {

constexpr std::size_t k_sectors = 4;

/// A letter for each sector of the file: that of all its bytes, or ? when these are not the same; 0 for zeros.
std::string sectors_of(os::file_system& files) {
    auto file = std::move(*files.open("file", os::access::read_only));
    std::string letters;
    for (std::size_t i = 0; i < k_sectors; i++) {
        std::vector<std::byte> sector(k_sector_bytes);
        EXPECT_TRUE(file->read(i * k_sector_bytes, sector));
        const bool is_one = std::set(sector.begin(), sector.end()).size() == 1;
        const char letter = static_cast<char>(sector.front());
        letters += !is_one ? '?' : letter == 0 ? '0' : letter;
    }
    return letters;
}

/// What a power loss leaves of a durable file of `a`s after the first operations of a trace that overwrites it with `c`s.
/// The trace goes on with a write behind them.
std::map<state_class, std::set<std::string>> left_after(std::uint32_t operations, char c) {
    simulation::simulated_disk disk;
    const auto write = [&](os::file& file, std::uint64_t sector, char of) {
        const std::vector<std::byte> bytes(k_sectors * k_sector_bytes, static_cast<std::byte>(of));
        EXPECT_TRUE(file.write("test", sector * k_sector_bytes, bytes));
    };
    {
        auto file = std::move(*disk.open_or_create("file", 0600));
        write(*file, 0, 'a');
    }
    disk.take_trace();
    const auto start = disk.now();
    {
        auto file = std::move(*disk.open("file", os::access::read_write));
        write(*file, 0, c);
        write(*file, k_sectors, 'z');
    }
    const trace performed = disk.take_trace();
    disk.rewind({start.changes, start.inodes, 0});

    const crash_states states(performed, simulation::failed_sync::xfs, 1);
    simulation::crash_walk walk(disk, performed);
    walk.advance_to(operations);
    std::map<state_class, std::set<std::string>> found;
    for (crash_state tried{.position = operations}; states.has(tried); tried.number++) {
        const persisting kept = states.choose(tried, walk.pending());
        walk.build(kept.parts);
        found[kept.kind].insert(sectors_of(disk));
    }
    return found;
}

TEST(crash_states, tear_writes_whatever_their_bytes) {
    for (const char c : {'b', '\0'}) {
        const std::string letter(1, c == 0 ? '0' : c);
        SCOPED_TRACE(letter);
        auto newest = left_after(1, c);
        for (std::size_t kept = 1; kept < k_sectors; kept++) {
            const std::string torn = std::string(kept, letter[0]) + std::string(k_sectors - kept, 'a');
            EXPECT_TRUE(newest[state_class::torn].contains(torn)) << torn;
        }
        auto older = left_after(2, c);
        EXPECT_TRUE(older[state_class::torn_older].contains(letter + "aaa"));
    }
}

} // namespace
} // namespace remanence::crash
