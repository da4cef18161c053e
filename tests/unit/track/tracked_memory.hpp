// Memory as a view has it, half of a file and half of zeros, and a tracker of it.
#pragma once

#include "os/memory.hpp"
#include "track/page_scan.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace remanence::track {

constexpr std::uint64_t k_pages = 512;
constexpr std::uint64_t k_file_pages = 256; // the first half is a private file mapping, the second anonymous

class tracked_memory {
public:
    tracked_memory() = default;
    tracked_memory(const tracked_memory&) = delete;
    tracked_memory& operator=(const tracked_memory&) = delete;
    ~tracked_memory() {
        scanner_.reset();
        if (file_ >= 0)
            ::close(file_);
    }

    /// Empty, or why there is no such tracker here.
    std::string make(tracker_choice choice, std::uint64_t pages = k_pages, std::uint64_t file_pages = k_file_pages) {
        pages_ = pages;
        auto place = os::reservation::at_random(align_up(pages * k_page_bytes, GiB));
        EXPECT_TRUE(place) << place.why().message;
        place_.emplace(std::move(*place));
        file_ = ::memfd_create("test", MFD_CLOEXEC);
        EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(file_pages * k_page_bytes)), 0);
        const std::vector<char> filled(k_page_bytes, 'f');
        for (std::uint64_t page = 0; page < file_pages; ++page) {
            EXPECT_EQ(::pwrite(file_, filled.data(), filled.size(), static_cast<off_t>(page * k_page_bytes)),
                      static_cast<ssize_t>(filled.size()));
        }
        auto made = make_page_scanner(base(), choice);
        if (!made && made.why().code == errc::not_supported)
            return made.why().message;
        EXPECT_TRUE(made) << made.why().message;
        scanner_ = std::move(*made);
        if (file_pages > 0)
            map_file(0, file_pages);
        if (pages > file_pages)
            map_zeros(file_pages, pages - file_pages);
        return {};
    }

    std::byte* base() { return place_->base(); }
    page_scanner& scanner() { return *scanner_; }
    int file() const { return file_; }

    void map_file(std::uint64_t first, std::uint64_t count) {
        void* where = base() + first * k_page_bytes;
        ASSERT_EQ(::mmap(where, count * k_page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                         file_, static_cast<off_t>(first * k_page_bytes)),
                  where);
        ASSERT_TRUE(scanner_->mapped(first * k_page_bytes, count * k_page_bytes, page_contents::file));
    }
    void map_zeros(std::uint64_t first, std::uint64_t count) {
        ASSERT_TRUE(os::map_anonymous(base() + first * k_page_bytes, count * k_page_bytes));
        ASSERT_TRUE(scanner_->mapped(first * k_page_bytes, count * k_page_bytes, page_contents::zeros));
    }
    /// One byte of each page.
    std::byte read(std::uint64_t page) { return *byte_of(page); }
    void write(std::uint64_t page) { *byte_of(page) = static_cast<std::byte>(static_cast<unsigned>(read(page)) + 1); }
    /// What was written in this round; the next one begins.
    std::set<std::uint64_t> collect() {
        std::vector<page_run> runs;
        auto done = scanner_->collect(pages_ * k_page_bytes, runs);
        EXPECT_TRUE(done) << done.why().message;
        std::set<std::uint64_t> pages;
        for (const page_run& run : runs) {
            for (std::uint64_t at = run.offset; at < run.end(); at += k_page_bytes)
                pages.insert(at / k_page_bytes);
        }
        scanner_->watch();
        return pages;
    }

private:
    volatile std::byte* byte_of(std::uint64_t page) { return base() + page * k_page_bytes + page % k_page_bytes; }

    std::uint64_t pages_ = 0;
    std::optional<os::reservation> place_;
    int file_ = -1;
    std::unique_ptr<page_scanner> scanner_;
};

} // namespace remanence::track
