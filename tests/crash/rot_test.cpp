// A block that was synced rots: the heap says so, or it does not matter. One thing cannot be told: a rotten last record
// looks as if the power had failed while it was written (docs/format.md, "Damage is told from a crash").
//
// A run: 10,000 bits and sectors in 10 workloads; 614 were refused, 3,020 found by verify, 6,022 harmless, 344 last records taken for torn, and
// none unnoticed.
#include "options.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

namespace remanence::crash {
namespace {

enum class verdict { refused, found_by_verify, harmless, last_commits_lost, unnoticed };

class bit_rot : public testing::TestWithParam<workload> {};

/// A page of zeros, which may be a hole: it has no checksum. What comes up there is found where the heap reads it as zeros.
bool is_hole(simulation::simulated_disk& disk, const std::string& path, std::uint64_t offset,
             std::uint64_t file_bytes) {
    const std::uint64_t begin = align_down(offset, k_page_bytes);
    std::vector<std::byte> page(std::min(k_page_bytes, file_bytes - begin));
    auto file = disk.open(path, os::access::read_only);
    if (!file || !(*file)->read(begin, page))
        return false;
    return std::all_of(page.begin(), page.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// What becomes of the heap as it is now; `made`: the promises, the last one in force.
verdict open_and_judge(simulation::simulated_disk& disk, const workload& tested, const history& made) {
    auto opened = tested.open(disk, session::k_path);
    if (!opened)
        return verdict::refused;
    auto problems = (*opened)->verify();
    if (!problems || !problems->empty())
        return verdict::found_by_verify;
    const promise& last = made.back();
    const auto holds = [&](const promise& each, std::uint64_t version) {
        return (*opened)->version() == version && each.content_of(version) != nullptr &&
               !each.content_of(version)->difference((*opened)->base());
    };
    for (std::uint64_t version = last.acknowledged; version <= last.in_flight; ++version) {
        if (holds(last, version)) // a later one, if a background thread made it durable
            return verdict::harmless;
    }
    // The last record says which commits were durable before it. Those after them may have been in flight with it.
    const auto begun = std::find_if(made.rbegin(), made.rend(), [&](const promise& each) {
        return each.in_flight == last.acknowledged && each.acknowledged < last.acknowledged;
    });
    for (std::uint64_t version = begun != made.rend() ? begun->acknowledged : last.acknowledged;
         version < last.acknowledged; ++version) {
        if (holds(*begun, version))
            return verdict::last_commits_lost;
    }
    return verdict::unnoticed;
}

TEST_P(bit_rot, of_a_synced_block_is_noticed_or_does_not_matter) {
    const workload& tested = GetParam();
    simulation::simulated_disk disk;
    history made{promise{}};
    {
        session program(disk, tested.open, made, options().seed);
        tested.phases[0](program);
    }
    const auto start = disk.now();
    const auto files = disk.files();
    const std::string log = std::string(session::k_path) + "-log";
    generator random(options().seed);
    std::map<verdict, std::uint64_t> counted;
    std::map<verdict, std::uint64_t> holes; // of those, where there were zeros
    const std::uint64_t tries =
        std::max<std::uint64_t>(options().states / 20, 200); // fewer may all hit what nobody reads
    for (std::uint64_t i = 0; i < tries; i++) {
        const auto file = std::next(files.begin(), static_cast<std::ptrdiff_t>(random.below(files.size())));
        // Half of the places are among the first pages, where superblocks, map, header and records lie.
        const std::uint64_t reach =
            random.below(2) == 0 ? std::min<std::uint64_t>(file->second, 80 * KiB) : file->second;
        std::uint64_t offset = random.below(reach);
        const bool in_hole = is_hole(disk, file->first, offset, file->second);
        if (random.below(4) == 0) { // all of a sector
            offset = align_down(offset, k_sector_bytes);
            for (std::uint64_t at = offset; at < std::min(offset + k_sector_bytes, file->second); at++)
                disk.rot(file->first, at, static_cast<std::byte>(random.next()));
        } else {
            disk.rot(file->first, offset, static_cast<std::byte>(1U << random.below(8)));
        }
        const verdict found = open_and_judge(disk, tested, made);
        counted[found]++;
        holes[found] += in_hole ? 1 : 0;
        EXPECT_NE(found, verdict::unnoticed) << file->first << " at " << offset << ", seed " << options().seed;
        if (found == verdict::last_commits_lost) {
            EXPECT_EQ(file->first, log) << offset;
        }
        (void)disk.take_trace();
        disk.rewind(start);
    }
    EXPECT_GT(counted[verdict::refused] + counted[verdict::found_by_verify], 0U);
    std::cout << tested.name << ": refused " << counted[verdict::refused] << ", found by verify "
              << counted[verdict::found_by_verify] << ", harmless " << counted[verdict::harmless]
              << ", last commits taken for torn " << counted[verdict::last_commits_lost] << ", unnoticed "
              << counted[verdict::unnoticed] << "; where there were zeros: found by verify "
              << holes[verdict::found_by_verify] << ", harmless " << holes[verdict::harmless] << "; seed "
              << options().seed << '\n';
}

std::vector<workload> with_files_at_rest() {
    std::vector<workload> chosen;
    for (const workload& each : engine_workloads())
        if (each.phases.size() == 1 && each.cost == 1 && each.after_failed_sync == simulation::failed_sync::xfs)
            chosen.push_back(each);
    return chosen;
}

INSTANTIATE_TEST_SUITE_P(workloads, bit_rot, testing::ValuesIn(with_files_at_rest()),
                         [](const auto& instance) { return instance.param.name; });

} // namespace
} // namespace remanence::crash
