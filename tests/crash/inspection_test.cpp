// In each state that a power loss leaves, what an inspection tells of the heap, without touching it, is what the next
// open then finds.
//
// A long run: 12,771 heaps, 4,112 of them to be recovered; version and memory were the same.
#include "inspect/inspection.hpp"
#include "options.hpp"
#include "workloads.hpp"

#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>

namespace remanence::crash {
namespace {

struct counts {
    std::uint64_t inspected = 0;
    std::uint64_t to_be_recovered = 0;
    std::uint64_t torn_superblocks = 0;
    std::uint64_t torn_before_the_log = 0;
};

std::uint64_t checksum_of(inspect::inspection& heap) {
    std::uint64_t sum = 0;
    auto read = heap.read({0, heap.store().image().bytes()},
                          [&](std::uint64_t, std::span<const std::byte> bytes) { sum = checksum64(bytes, sum); });
    EXPECT_TRUE(read) << read.why().message;
    return sum;
}

std::uint64_t checksum_of(const std::byte* memory, std::uint64_t bytes) {
    std::uint64_t sum = 0;
    for (std::uint64_t at = 0; at < bytes; at += MiB) // pieces as inspection::read() hands them over
        sum = checksum64({memory + at, static_cast<std::size_t>(std::min(MiB, bytes - at))}, sum);
    return sum;
}

/// Opens as `open` does, after an inspection with which it must agree. With a history, an empty heap's header is committed then.
open_function inspected(open_function open, counts& count, bool has_history) {
    return [open = std::move(open), &count, has_history](os::file_system& files,
                                                         const std::string& path) -> result<std::unique_ptr<store>> {
        const bool is_there = *files.exists(path);
        std::uint64_t version = 0;
        std::uint64_t bytes = 0;
        std::uint64_t sum = 0;
        if (is_there) {
            auto heap = inspect::inspection::open(files, path, {});
            EXPECT_TRUE(heap) << heap.why().message;
            if (!heap)
                return heap.error();
            auto parts = (*heap)->check_all({});
            EXPECT_TRUE(parts) << parts.why().message;
            const bool torn = (*heap)->torn_superblock().has_value();
            const bool torn_before_the_log = // by the first commit of a session, which needs a region
                (*heap)->problems().size() == 1 &&
                (*heap)->problems().front().message.find("the other one rules") != std::string::npos;
            EXPECT_TRUE((*heap)->problems().empty() || torn_before_the_log) << (*heap)->problems().front().message;
            version = (*heap)->version();
            bytes = (*heap)->store().image().bytes();
            sum = checksum_of(**heap);
            ++count.inspected;
            count.to_be_recovered += ((*heap)->super().flags & format::k_flag_clean) == 0 ? 1U : 0U;
            count.torn_superblocks += torn ? 1U : 0U;
            count.torn_before_the_log += torn_before_the_log ? 1U : 0U;
        }
        auto opened = open(files, path);
        if (opened && is_there) {
            EXPECT_EQ((*opened)->version(), bytes == 0 && has_history ? version + 1 : version);
            if (bytes != 0) { // else the header is made in memory
                EXPECT_EQ(checksum_of((*opened)->base(), bytes), sum);
            }
        }
        return opened;
    };
}

TEST(inspection_after_power_loss, tells_what_the_next_open_finds) {
    counts count;
    const std::uint64_t states_max = options().states / 80; // each is read three times
    const std::uint64_t states_min = options().states / 100;
    for (workload each : engine_workloads()) {
        if (each.name == "replaced") // opening it may put another heap there first
            continue;
        SCOPED_TRACE(each.name);
        const bool has_history =
            each.name.find("undo") != std::string::npos || each.name.find("history") != std::string::npos;
        each.open = inspected(std::move(each.open), count, has_history);
        const std::uint64_t states = std::max(states_max / each.cost, states_min);
        const auto report = explore(each, {.seed = options().seed, .states = states});
        EXPECT_EQ(report.violation, "");
        if (HasFailure())
            break;
    }
    std::cout << count.inspected << " heaps inspected and then opened, " << count.to_be_recovered
              << " of them to be recovered, " << count.torn_superblocks << " with a torn superblock, and "
              << count.torn_before_the_log << " with one torn before there was a log, which counts as damage\n";
    EXPECT_GT(count.to_be_recovered, 25 * states_min);
}

} // namespace
} // namespace remanence::crash
