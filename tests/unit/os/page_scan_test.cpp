// Both tiers against a model of what was written: the scan tier must report exactly that, the fallback at least that.

#include "os/page_scan.hpp"

#include "os/memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <set>

namespace remanence::os {
namespace {

constexpr std::uint64_t k_pages = 512;
constexpr std::uint64_t k_bytes = k_pages * k_page_bytes;
constexpr std::uint64_t k_file_pages = 256; // the first half is a private file mapping, the second anonymous

class page_scan : public testing::TestWithParam<tracker_choice> {
protected:
    void SetUp() override {
        auto place = reservation::at_random(16 * MiB);
        ASSERT_TRUE(place);
        place_.emplace(std::move(*place));
        file_ = ::memfd_create("test", MFD_CLOEXEC);
        ASSERT_EQ(::ftruncate(file_, k_bytes), 0);
        std::vector<char> filled(k_bytes, 'f');
        ASSERT_EQ(::pwrite(file_, filled.data(), filled.size(), 0), static_cast<ssize_t>(filled.size()));
        auto made = make_page_scanner(base(), GetParam());
        if (!made && made.why().code == errc::not_supported)
            GTEST_SKIP() << made.why().message;
        ASSERT_TRUE(made) << made.why().message;
        scanner_ = std::move(*made);
        map_file();
        map_zeros(k_file_pages, k_pages - k_file_pages);
    }
    void TearDown() override {
        scanner_.reset();
        ::close(file_);
    }
    std::byte* base() { return place_->base(); }
    void map_file(std::uint64_t first = 0, std::uint64_t count = k_file_pages) {
        void* where = base() + first * k_page_bytes;
        ASSERT_EQ(::mmap(where, count * k_page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                         file_, static_cast<off_t>(first * k_page_bytes)),
                  where);
        ASSERT_TRUE(scanner_->mapped(first * k_page_bytes, count * k_page_bytes, page_contents::file));
    }
    void map_zeros(std::uint64_t first, std::uint64_t count) {
        ASSERT_TRUE(map_anonymous(base() + first * k_page_bytes, count * k_page_bytes));
        ASSERT_TRUE(scanner_->mapped(first * k_page_bytes, count * k_page_bytes, page_contents::zeros));
    }
    void write(std::uint64_t page) {
        auto* at = static_cast<volatile std::byte*>(base() + page * k_page_bytes + page % k_page_bytes);
        *at = static_cast<std::byte>(static_cast<unsigned>(*at) + 1);
    }
    std::set<std::uint64_t> collect() {
        std::vector<page_run> runs;
        auto done = scanner_->collect(k_bytes, runs);
        EXPECT_TRUE(done) << done.why().message;
        std::set<std::uint64_t> pages;
        std::uint64_t end = 0;
        for (const page_run& run : runs) {
            EXPECT_GE(run.offset, end) << "not in address order";
            end = run.end();
            for (std::uint64_t at = run.offset; at < run.end(); at += k_page_bytes)
                pages.insert(at / k_page_bytes);
        }
        scanner_->watch();
        return pages;
    }
    void expect_reported(const std::set<std::uint64_t>& written) {
        auto reported = collect();
        if (scanner_->name() == std::string("scan")) {
            EXPECT_EQ(reported, written);
        } else {
            EXPECT_TRUE(std::includes(reported.begin(), reported.end(), written.begin(), written.end()));
        }
    }

    std::optional<reservation> place_;
    int file_ = -1;
    std::unique_ptr<page_scanner> scanner_;
};

TEST_P(page_scan, reports_random_writes_among_random_reads) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
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
    ASSERT_TRUE(drop_pages(base() + 7 * k_page_bytes, k_page_bytes));
    ASSERT_TRUE(drop_pages(base() + 400 * k_page_bytes, k_page_bytes));
    EXPECT_EQ(base()[7 * k_page_bytes], std::byte{'f'});
    EXPECT_EQ(base()[400 * k_page_bytes], std::byte{0});
    EXPECT_EQ(collect().count(7), 0U);
    write(7);
    write(400);
    expect_reported({7, 400});
}

TEST_P(page_scan, pages_filled_by_a_system_call_are_reported) {
    expect_reported({});
    ASSERT_TRUE(scanner_->announce(30 * k_page_bytes, 3 * k_page_bytes));
    ASSERT_TRUE(scanner_->announce(310 * k_page_bytes + 7, 5));
    ASSERT_EQ(::pread(file_, base() + 30 * k_page_bytes, 3 * k_page_bytes, 0), static_cast<ssize_t>(3 * k_page_bytes));
    ASSERT_EQ(::pread(file_, base() + 310 * k_page_bytes + 7, 5, 0), 5);
    expect_reported({30, 31, 32, 310});
}

TEST_P(page_scan, more_runs_than_one_call_of_the_kernel_returns) {
    std::set<std::uint64_t> written;
    for (std::uint64_t page = 0; page < k_pages; page += 2) {
        write(page);
        written.insert(page);
    }
    expect_reported(written);
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
} // namespace remanence::os
