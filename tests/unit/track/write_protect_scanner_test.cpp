// The scan tier on models of the kernels from Linux 6.7 on, which differ in what they call written.

#include "track/write_protect_scanner.hpp"

#include "base/units.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace remanence::track {
namespace {

constexpr std::uint64_t k_table_pages = 512;
constexpr std::uint64_t k_tables = 24;
constexpr std::uint64_t k_all_pages = k_tables * k_table_pages;
constexpr std::uint64_t k_all_bytes = k_all_pages * k_page_bytes;
constexpr std::uint64_t k_of_file = k_all_pages / 2; // the pages before it are mapped from a file
constexpr std::uint64_t k_base = 64 * GiB;           // never accessed

struct kernel_version {
    const char* name;
    bool calls_missing_tables_written;
    bool calls_empty_places_written; // without the fast path
    bool has_right_fast_path;
};
constexpr std::array k_kernels{
    kernel_version{"v6_18", true, true, true},
    kernel_version{"with_holes_of_no_category", false, true, true},
    kernel_version{"with_empty_places_of_no_category", false, false, true},
    kernel_version{"v6_7", true, true, false},
};

/// Page tables as the kernel keeps them for a range that is registered for asynchronous write-protection.
class model_tables {
public:
    enum class kind : unsigned char { none, marker, of_file, zeros, copy, swapped };
    struct entry {
        kind is = kind::none;
        bool is_protected = false;
    };

    explicit model_tables(kernel_version version) : version_(version) {}

    void read(std::uint64_t page) {
        entry& at = touch(page);
        if (at.is == kind::swapped)
            at.is = kind::copy;
        else if (at.is == kind::none || at.is == kind::marker)
            at = {page < k_of_file ? kind::of_file : kind::zeros, at.is == kind::marker};
    }
    void write(std::uint64_t page) {
        entry& at = touch(page);
        faults_ += at.is_protected ? 1 : 0;
        at = {kind::copy, false};
    }
    void swap_out(std::uint64_t page) {
        if (has_table(page) && at(page).is == kind::copy)
            at(page).is = kind::swapped;
    }
    // MADV_DONTNEED: protection stays in mappings of files only.
    void drop(std::uint64_t page) {
        if (!has_table(page))
            return;
        const bool stays = page < k_of_file && at(page).is_protected;
        at(page) = {stays ? kind::marker : kind::none, stays};
    }
    [[nodiscard]] bool has_table(std::uint64_t page) const { return !tables_[page / k_table_pages].empty(); }
    [[nodiscard]] std::uint64_t tables() const {
        return static_cast<std::uint64_t>(
            std::ranges::count_if(tables_, [](const auto& each) { return !each.empty(); }));
    }
    [[nodiscard]] unsigned calls() const { return calls_; }
    /// Returns how many writes met the protection.
    [[nodiscard]] unsigned faults() const { return faults_; }

    int scan(kernel::pm_scan_arg& arguments) {
        ++calls_;
        auto* const regions = reinterpret_cast<kernel::page_region*>(arguments.vec);
        const bool protects = (arguments.flags & kernel::k_pm_scan_wp_matching) != 0;
        const bool is_fast = arguments.category_mask == kernel::k_page_is_written &&
                             arguments.category_anyof_mask == 0 && arguments.return_mask == kernel::k_page_is_written;
        std::uint64_t count = 0;
        std::uint64_t address = arguments.start;
        for (; address < arguments.end; address += k_page_bytes) {
            const std::uint64_t page = (address - k_base) / k_page_bytes;
            const std::uint64_t is = categories(page, is_fast);
            if ((is & arguments.category_mask) != arguments.category_mask ||
                (arguments.category_anyof_mask != 0 && (is & arguments.category_anyof_mask) == 0))
                continue;
            const std::uint64_t told = is & arguments.return_mask;
            if (count > 0 && regions[count - 1].end == address && regions[count - 1].categories == told) {
                regions[count - 1].end += k_page_bytes;
            } else if (count == arguments.vec_len) {
                break;
            } else {
                regions[count++] = {address, address + k_page_bytes, told};
            }
            if (protects)
                protect(touch(page));
        }
        arguments.walk_end = address;
        return static_cast<int>(count);
    }
    [[nodiscard]] bool has_right_fast_path() const { return version_.has_right_fast_path; }

private:
    entry& at(std::uint64_t page) { return tables_[page / k_table_pages][page % k_table_pages]; }
    entry& touch(std::uint64_t page) {
        tables_[page / k_table_pages].resize(k_table_pages);
        return at(page);
    }
    static void protect(entry& place) {
        place.is_protected = true;
        if (place.is == kind::none)
            place.is = kind::marker;
    }
    std::uint64_t categories(std::uint64_t page, bool is_fast) {
        if (!has_table(page))
            return version_.calls_missing_tables_written ? kernel::k_page_is_written : 0;
        const entry& place = at(page);
        const std::uint64_t written = place.is_protected ? 0 : kernel::k_page_is_written;
        switch (place.is) {
        case kind::none:
            return is_fast || version_.calls_empty_places_written ? kernel::k_page_is_written : 0;
        case kind::marker:
            return kernel::k_page_is_swapped;
        case kind::of_file:
            return written | kernel::k_page_is_present | kernel::k_page_is_file;
        case kind::zeros:
            return written | kernel::k_page_is_present | kernel::k_page_is_pfnzero;
        case kind::copy:
            return written | kernel::k_page_is_present;
        case kind::swapped:
            return is_fast && !version_.has_right_fast_path ? 0 : written | kernel::k_page_is_swapped;
        }
        return 0;
    }

    kernel_version version_;
    std::array<std::vector<entry>, k_tables> tables_;
    unsigned calls_ = 0;
    unsigned faults_ = 0;
};

class model_calls final : public page_tables {
public:
    explicit model_calls(model_tables& model) : model_(model) {}
    int watch_writes(std::uint64_t start, std::uint64_t bytes) override {
        return start == k_base && bytes == k_all_bytes ? 0 : -1;
    }
    int stop_watching(std::uint64_t, std::uint64_t) override { return 0; }
    int scan(kernel::pm_scan_arg& arguments) override { return model_.scan(arguments); }
    [[nodiscard]] bool has_right_fast_path() const override { return model_.has_right_fast_path(); }

private:
    model_tables& model_;
};

class on_kernel : public testing::TestWithParam<kernel_version> {
protected:
    void SetUp() override {
        auto made =
            make_write_protect_scanner(reinterpret_cast<std::byte*>(k_base), std::make_unique<model_calls>(memory_));
        ASSERT_TRUE(made);
        scanner_ = std::move(*made);
    }
    static std::set<std::uint64_t> pages_of(const std::vector<page_run>& runs) {
        std::set<std::uint64_t> pages;
        for (const page_run& run : runs)
            for (std::uint64_t at = run.offset; at < run.end(); at += k_page_bytes)
                EXPECT_TRUE(pages.insert(at / k_page_bytes).second) << "reported twice";
        return pages;
    }
    /// The next round begins.
    std::set<std::uint64_t> collect() {
        std::vector<page_run> runs;
        EXPECT_TRUE(scanner_->collect(k_all_bytes, runs));
        scanner_->watch();
        return pages_of(runs);
    }

    model_tables memory_{GetParam()};
    std::unique_ptr<page_scanner> scanner_;
};

TEST_P(on_kernel, what_was_written_is_reported_once_whatever_else_happens_to_pages) {
    std::mt19937_64 random(test::random_seed());
    std::set<std::uint64_t> written;
    for (int round = 0; round < 300; ++round) {
        const std::uint64_t first = random() % k_all_pages;
        const std::uint64_t width = random() % 4 == 0 ? k_all_pages : 700; // most rounds touch one or two tables
        for (std::uint64_t i = random() % 400; i > 0; --i) {
            const std::uint64_t page = (first + random() % width) % k_all_pages;
            switch (random() % 6) {
            case 0:
            case 1:
                memory_.read(page);
                break;
            case 2:
            case 3:
                memory_.write(page);
                written.insert(page);
                break;
            case 4:
                memory_.swap_out(page);
                break;
            default:
                memory_.drop(page);
                written.erase(page);
            }
        }
        EXPECT_EQ(collect(), written);
        written.clear();
    }
}

TEST_P(on_kernel, a_scan_makes_no_page_tables) {
    memory_.write(3);
    memory_.read(10 * k_table_pages + 7);
    for (int i = 0; i < 3; ++i)
        (void)collect();
    EXPECT_EQ(memory_.tables(), 2U);
}

// The fast path reports each place without a page again, and each run of such places may cost a call.
TEST_P(on_kernel, pages_that_are_read_here_and_there_cost_later_scans_no_calls) {
    if (!GetParam().calls_empty_places_written || !GetParam().has_right_fast_path)
        GTEST_SKIP() << "this kernel gives no markers to places without a page";
    for (std::uint64_t page = 0; page < k_of_file; page += 97)
        memory_.read(page);
    (void)collect(); // protects the pages
    (void)collect(); // and the places between them
    const unsigned before = memory_.calls();
    memory_.write(1000);
    EXPECT_EQ(collect(), (std::set<std::uint64_t>{1000}));
    EXPECT_LE(memory_.calls() - before, 3U); // all, the page, and the tables that nobody has touched
}

TEST_P(on_kernel, a_table_written_in_each_round_is_not_protected_each_time) {
    if (!GetParam().has_right_fast_path)
        GTEST_SKIP() << "busy tables are told apart by the fast path only";
    constexpr unsigned k_rounds = 60;
    std::set<std::uint64_t> all;
    for (std::uint64_t page = 0; page < k_table_pages; ++page)
        all.insert(page);
    for (unsigned round = 0; round < k_rounds; ++round) {
        for (const std::uint64_t page : all)
            memory_.write(page);
        memory_.write(5 * k_table_pages + round);
        auto expected = all;
        expected.insert(5 * k_table_pages + round);
        EXPECT_EQ(collect(), expected);
    }
    EXPECT_LT(memory_.faults(), k_rounds * k_table_pages / 3);
    int rounds = 0;
    for (; !collect().empty(); ++rounds)
        ASSERT_LT(rounds, 10) << "nothing is written anymore";
    memory_.write(7);
    EXPECT_EQ(collect(), (std::set<std::uint64_t>{7}));
}

TEST_P(on_kernel, memory_that_is_filled_once_is_reported_once) {
    for (std::uint64_t page = 0; page < 4 * k_table_pages; ++page)
        memory_.write(page);
    EXPECT_EQ(collect().size(), 4 * k_table_pages);
    EXPECT_TRUE(collect().empty());
    EXPECT_TRUE(collect().empty());
}

INSTANTIATE_TEST_SUITE_P(kernels, on_kernel, testing::ValuesIn(k_kernels),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

} // namespace
} // namespace remanence::track
