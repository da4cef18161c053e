// The tiers against a model of what was written: the scan tier must report exactly that, the others at least that.

#include "support/seed.hpp"
#include "track/private_copies.hpp"
#include "unit/track/tracked_memory.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

namespace remanence::track {
namespace {

class page_scan : public testing::TestWithParam<tracker_choice> {
protected:
    void SetUp() override {
        if (auto missing = memory_.make(GetParam()); !missing.empty())
            GTEST_SKIP() << missing;
    }
    std::byte* base() { return memory_.base(); }
    void map_file(std::uint64_t first, std::uint64_t count) { memory_.map_file(first, count); }
    void map_zeros(std::uint64_t first, std::uint64_t count) { memory_.map_zeros(first, count); }
    void write(std::uint64_t page) { memory_.write(page); }
    std::set<std::uint64_t> collect() { return memory_.collect(); }
    page_scanner& scanner() { return memory_.scanner(); }
    int file() { return memory_.file(); }
    void expect_reported(const std::set<std::uint64_t>& written) {
        auto reported = collect();
        if (scanner().name() == std::string("scan")) {
            EXPECT_EQ(reported, written);
        } else {
            EXPECT_TRUE(std::includes(reported.begin(), reported.end(), written.begin(), written.end()));
        }
    }

    tracked_memory memory_;
};

TEST_P(page_scan, reports_random_writes_among_random_reads) {
    std::mt19937_64 random(test::random_seed());
    for (int round = 0; round < 40; ++round) {
        std::set<std::uint64_t> written;
        for (std::uint64_t i = random() % 60; i > 0; --i) {
            const std::uint64_t page = random() % k_pages;
            if (random() % 3 == 0) {
                (void)*static_cast<volatile std::byte*>(base() + page * k_page_bytes);
            } else {
                write(page);
                written.insert(page);
            }
        }
        expect_reported(written);
    }
    expect_reported({});
}

std::set<std::uint64_t> pages_of(const std::vector<page_run>& runs) {
    std::set<std::uint64_t> pages;
    for (const page_run& run : runs) {
        for (std::uint64_t at = run.offset; at < run.end(); at += k_page_bytes)
            pages.insert(at / k_page_bytes);
    }
    return pages;
}

// What is collected in parts is not lost elsewhere, and what is only found stays written.
TEST_P(page_scan, parts_are_found_and_collected_as_all_of_memory_is) {
    std::mt19937_64 random(test::random_seed());
    (void)collect();
    scanner().watch();
    for (int round = 0; round < 100; ++round) {
        std::set<std::uint64_t> written;
        for (std::uint64_t i = random() % 40; i > 0; --i)
            written.insert(random() % k_pages);
        for (const std::uint64_t page : written)
            write(page);
        std::vector<page_run> where;
        for (std::uint64_t page = random() % 90; page < k_pages; page += 2 + random() % 90) {
            const std::uint64_t end = std::min<std::uint64_t>(page + 1 + random() % 3, k_pages);
            where.push_back({page * k_page_bytes, (end - page) * k_page_bytes});
            page = end;
        }
        std::vector<page_run> found;
        const auto told = scanner().find_written(where, found);
        ASSERT_TRUE(told) << told.why().message;
        std::vector<page_run> collected;
        const auto parts = scanner().collect_parts(where, collected);
        ASSERT_TRUE(parts) << parts.why().message;
        ASSERT_EQ(*told, *parts);
        EXPECT_EQ(*told, scanner().name() == std::string("scan"));
        const std::set<std::uint64_t> asked_for = pages_of(where);
        const std::set<std::uint64_t> in_parts = pages_of(collected);
        std::set<std::uint64_t> reported = pages_of(found);
        for (const std::uint64_t page : written) {
            if (*told && asked_for.contains(page)) {
                EXPECT_TRUE(reported.contains(page)) << page;
                EXPECT_TRUE(in_parts.contains(page)) << page;
            }
        }
        if (scanner().name() == std::string("scan")) {
            EXPECT_TRUE(std::includes(written.begin(), written.end(), reported.begin(), reported.end()));
            for (const std::uint64_t page : in_parts)
                written.erase(page);
        }
        expect_reported(written); // also what was found, but not collected
        scanner().watch();
    }
}

// Until all of it was collected once, nothing is known of a part.
TEST_P(page_scan, a_part_that_was_mapped_anew_is_not_told_of_alone) {
    (void)collect();
    scanner().watch();
    map_file(0, 8);
    std::vector<page_run> runs;
    const std::vector<page_run> where{{0, k_page_bytes}};
    for (const auto& told : {scanner().find_written(where, runs), scanner().collect_parts(where, runs)}) {
        ASSERT_TRUE(told);
        EXPECT_FALSE(*told);
    }
    EXPECT_TRUE(runs.empty());
    write(3);
    expect_reported({3});
}

// A page of the file that the kernel moves just then was taken for a copy, so that its checksum was no longer compared.
TEST(private_copies_of_memory, are_no_pages_of_the_file_even_while_the_kernel_moves_them) {
    constexpr std::uint64_t k_file = std::uint64_t{1} << 61; // Documentation/admin-guide/mm/pagemap.rst
    constexpr std::uint64_t k_swapped = std::uint64_t{1} << 62;
    constexpr std::uint64_t k_present = std::uint64_t{1} << 63;
    EXPECT_FALSE(is_private_copy(0));
    EXPECT_FALSE(is_private_copy(k_file | k_present));
    EXPECT_FALSE(is_private_copy(k_file | k_swapped)); // it is moved
    EXPECT_TRUE(is_private_copy(k_present));
    EXPECT_TRUE(is_private_copy(k_swapped));
}

TEST(private_copies_of_memory, those_that_were_written_are_found_by_either_way) {
    tracked_memory memory;
    constexpr std::uint64_t k_all = 4 * k_pages; // more runs than one call reports
    ASSERT_EQ(memory.make(tracker_choice::fallback, k_all), "");
    std::set<std::uint64_t> written;
    for (std::uint64_t page = 1; page < k_all; page += page % 5 == 0 ? 3 : 2) {
        memory.write(page);
        written.insert(page);
    }
    (void)memory.read(0);
    (void)memory.read(k_all - 2);
    auto copies = private_copies::create(memory.base());
    ASSERT_TRUE(copies);
    std::vector<page_run> one_by_one;
    std::vector<page_run> sparse;
    ASSERT_TRUE(copies->append({0, k_all * k_page_bytes}, one_by_one));
    ASSERT_TRUE(copies->append_sparse({0, k_all * k_page_bytes}, sparse));
    EXPECT_TRUE(std::ranges::includes(pages_of(sparse), written));
    EXPECT_TRUE(std::ranges::includes(pages_of(one_by_one), pages_of(sparse)));
    EXPECT_FALSE(pages_of(sparse).contains(0));
    sparse.clear();
    ASSERT_TRUE(copies->append_sparse({5 * k_page_bytes, 3 * k_page_bytes}, sparse)); // nothing around it
    EXPECT_EQ(pages_of(sparse), (std::set<std::uint64_t>(written.lower_bound(5), written.lower_bound(8))));
}

std::size_t open_descriptors() {
    namespace fs = std::filesystem;
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST_P(page_scan, trackers_share_their_descriptors_and_tell_their_pages_apart) {
    const std::size_t before = open_descriptors();
    {
        std::vector<tracked_memory> others(20);
        for (tracked_memory& each : others)
            ASSERT_EQ(each.make(GetParam()), "");
        EXPECT_EQ(open_descriptors(), before + others.size()); // files to be mapped
        others[3].write(7);
        others[3].write(300);
        EXPECT_TRUE(others[3].collect().contains(7));
        for (tracked_memory& each : others)
            each.collect();
        others[4].write(8);
        write(9);
        EXPECT_TRUE(others[4].collect().contains(8));
        EXPECT_FALSE(others[5].collect().contains(8));
        expect_reported({9});
    }
    EXPECT_EQ(open_descriptors(), before);
    write(10); // those that it shared with trackers that are gone serve it still
    EXPECT_TRUE(collect().contains(10));
}

TEST_P(page_scan, of_a_forked_child_tells_what_the_child_writes) {
    write(1);
    const pid_t child = ::fork();
    if (child == 0) {
        tracked_memory own;
        bool right = own.make(GetParam()).empty();
        own.collect();
        own.write(5);
        own.write(400);
        const auto found = own.collect();
        right = right && found.contains(5) && found.contains(400) && !found.contains(6);
        ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    expect_reported({1});
}

TEST_P(page_scan, a_mapping_laid_anew_starts_clean_and_is_watched) {
    for (int round = 0; round < 4; ++round) {
        write(10);
        write(20);
        write(300);
        expect_reported({10, 20, 300});
        write(10);
        write(21);
        map_file(5, 10); // drops the write to 10
        expect_reported({21});
        write(12);
        map_zeros(300, 4);
        write(302);
        expect_reported({12, 302});
    }
}

TEST_P(page_scan, dropped_pages_are_reported_again_only_when_written_again) {
    write(7);
    write(400);
    expect_reported({7, 400});
    ASSERT_TRUE(os::drop_pages(base() + 7 * k_page_bytes, k_page_bytes));
    ASSERT_TRUE(os::drop_pages(base() + 400 * k_page_bytes, k_page_bytes));
    EXPECT_EQ(base()[7 * k_page_bytes], std::byte{'f'});
    EXPECT_EQ(base()[400 * k_page_bytes], std::byte{0});
    EXPECT_EQ(collect().count(7), 0U);
    write(7);
    write(400);
    expect_reported({7, 400});
}

TEST_P(page_scan, pages_filled_by_a_system_call_are_reported) {
    expect_reported({});
    ASSERT_TRUE(scanner().declare(30 * k_page_bytes, 3 * k_page_bytes));
    ASSERT_TRUE(scanner().declare(310 * k_page_bytes + 7, 5));
    ASSERT_EQ(::pread(file(), base() + 30 * k_page_bytes, 3 * k_page_bytes, 0), static_cast<ssize_t>(3 * k_page_bytes));
    ASSERT_EQ(::pread(file(), base() + 310 * k_page_bytes + 7, 5, 0), 5);
    expect_reported({30, 31, 32, 310});
}

TEST_P(page_scan, pages_made_private_stay_as_they_are_when_the_file_changes) {
    expect_reported({});
    write(7);
    write(7);
    ASSERT_TRUE(scanner().make_private({5 * k_page_bytes, 4 * k_page_bytes}));
    ASSERT_TRUE(scanner().make_private({254 * k_page_bytes, 4 * k_page_bytes})) << "in two mappings";
    const std::vector<char> other(k_page_bytes, 'g');
    for (const unsigned page : {4U, 5U, 6U, 7U, 8U, 255U})
        ASSERT_EQ(::pwrite(file(), other.data(), other.size(), static_cast<off_t>(page * k_page_bytes)),
                  static_cast<ssize_t>(other.size()));
    EXPECT_EQ(memory_.read(4), std::byte{'g'}) << "the file shows through";
    for (const unsigned page : {5U, 6U, 8U, 255U})
        EXPECT_EQ(memory_.read(page), std::byte{'f'});
    EXPECT_EQ(memory_.read(7), std::byte{'h'});
    EXPECT_EQ(memory_.read(256), std::byte{0});
    const auto reported = collect();
    for (const unsigned page : {5U, 6U, 7U, 8U, 254U, 255U})
        EXPECT_TRUE(reported.contains(page)) << page;
    write(6);
    expect_reported({6});
}

TEST_P(page_scan, more_runs_than_one_call_of_the_kernel_returns) {
    std::set<std::uint64_t> written;
    for (std::uint64_t page = 0; page < k_pages; page += 2) {
        write(page);
        written.insert(page);
    }
    expect_reported(written);
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // Linux 6.1
#endif

// Several page tables, and whatever the kernel and the program may do to pages between two scans. Advice that a kernel
// does not follow changes nothing, so its result is not tested.
TEST_P(page_scan, no_written_page_is_missed_whatever_else_happens_to_pages) {
    constexpr std::uint64_t k_all = 4096;
    constexpr std::uint64_t k_of_file = 2048;
    tracked_memory memory;
    ASSERT_EQ(memory.make(GetParam(), k_all, k_of_file), "");
    std::mt19937_64 random(test::random_seed());
    std::set<std::uint64_t> written;
    const auto range = [&](std::uint64_t pages_max) {
        const std::uint64_t first = random() % k_all;
        return std::pair(first, std::min(first + 1 + random() % pages_max, k_all));
    };
    const auto advise = [&](std::pair<std::uint64_t, std::uint64_t> pages, int advice) {
        (void)::madvise(memory.base() + pages.first * k_page_bytes, (pages.second - pages.first) * k_page_bytes,
                        advice);
    };
    for (int round = 0; round < 60; ++round) {
        for (int i = 0; i < 30; ++i) {
            const auto [first, end] = range(40);
            switch (random() % 9) {
            case 0: // dropped: what was written is lost, and memory reads as when it was mapped
                advise({first, end}, MADV_DONTNEED);
                written.erase(written.lower_bound(first), written.lower_bound(end));
                break;
            case 1:
                advise({first, end}, random() % 2 == 0 ? MADV_PAGEOUT : MADV_COLD);
                break;
            case 2: {
                const std::uint64_t table = random() % (k_all / 512) * 512;
                advise({table, table + 512}, random() % 2 == 0 ? MADV_COLLAPSE : MADV_HUGEPAGE);
                break;
            }
            case 3:
                if (const pid_t child = ::fork(); child == 0) {
                    for (std::uint64_t page = first; page < end; ++page)
                        memory.write(page);
                    ::_exit(0);
                } else {
                    int status = 0;
                    ASSERT_EQ(::waitpid(child, &status, 0), child);
                    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
                }
                break;
            case 4: { // mapped anew, as a view does it while threads run
                const std::uint64_t at = random() % k_of_file;
                auto aside = os::moving_mapping::create(k_page_bytes);
                ASSERT_TRUE(aside);
                ASSERT_NE(::mmap(aside->base(), k_page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                                 memory.file(), static_cast<off_t>(at * k_page_bytes)),
                          MAP_FAILED);
                ASSERT_TRUE(memory.scanner().pause_writes({at * k_page_bytes, k_page_bytes}));
                ASSERT_TRUE(memory.scanner().replace_paused(*aside, at * k_page_bytes));
                ASSERT_TRUE(memory.scanner().let_writes_go_on());
                written.erase(at);
                break;
            }
            case 5:
            case 6:
                for (std::uint64_t page = first; page < end; ++page)
                    (void)memory.read(page);
                break;
            default:
                for (std::uint64_t page = first; page < end; ++page) {
                    memory.write(page);
                    written.insert(page);
                }
            }
        }
        const auto reported = memory.collect();
        EXPECT_TRUE(std::ranges::includes(reported, written));
        written.clear();
    }
}

INSTANTIATE_TEST_SUITE_P(tiers, page_scan,
                         testing::Values(tracker_choice::scan, tracker_choice::trap, tracker_choice::fallback,
                                         tracker_choice::automatic),
                         [](const auto& tier) {
                             return tier.param == tracker_choice::scan       ? "scan"
                                    : tier.param == tracker_choice::trap     ? "trap"
                                    : tier.param == tracker_choice::fallback ? "fallback"
                                                                             : "automatic";
                         });

} // namespace
} // namespace remanence::track
