#include "track/write_protect_scanner.hpp"

#include "base/range_list.hpp"
#include "base/undying.hpp"
#include "os/anonymous_memory.hpp"
#include "os/limits.hpp"
#include "os/memory.hpp"
#include "track/busy_tables.hpp"
#include "track/pagemap_scan.hpp"
#include "track/paused_writes.hpp"
#include "track/private_copies.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <span>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

namespace remanence::track {

// Kernel interface of Linux 6.7, which older headers do not declare (Documentation/admin-guide/mm/userfaultfd.rst).
namespace kernel {
constexpr std::uint64_t k_uffd_feature_wp_unpopulated = 1U << 13;
constexpr std::uint64_t k_uffd_feature_wp_async = 1U << 15;
} // namespace kernel

namespace {

constexpr std::size_t k_regions = 128;               // reported by one system call
constexpr std::uint64_t k_empty_bytes_min = 4 * MiB; // walking less takes less time than a system call
constexpr std::uint64_t k_gap_bytes_max = 256 * KiB; // scanning such a gap takes less time than a system call

// Before Linux 6.10 the kernel's fast path tested the wrong bit for the protection of a swapped page (fixed by commit
// 2c1f057e5be6), so it would miss writes.
bool fast_path_is_right() {
    utsname system{};
    int major = 0;
    int minor = 0;
    if (::uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &major, &minor) != 2)
        return false;
    return major > 6 || (major == 6 && minor >= 10);
}

/// The calls of this machine's kernel.
class own_page_tables final : public page_tables {
public:
    own_page_tables(shared_descriptor fault, shared_descriptor pagemap)
        : fault_(std::move(fault)), pagemap_(std::move(pagemap)) {}

    int watch_writes(std::uint64_t start, std::uint64_t bytes) override {
        uffdio_register range{};
        range.range = {start, bytes};
        range.mode = UFFDIO_REGISTER_MODE_WP;
        return ::ioctl(fault_->get(), UFFDIO_REGISTER, &range);
    }
    int stop_watching(std::uint64_t start, std::uint64_t bytes) override {
        uffdio_range range{start, bytes};
        return ::ioctl(fault_->get(), UFFDIO_UNREGISTER, &range);
    }
    int scan(kernel::pm_scan_arg& arguments) override {
        return ::ioctl(pagemap_->get(), kernel::k_pagemap_scan, &arguments);
    }
    [[nodiscard]] bool has_right_fast_path() const override { return fast_path_is_right(); }

private:
    shared_descriptor fault_;
    shared_descriptor pagemap_;
};

/// The kernel clears a page's protection at its first write. A scan reports unprotected pages and protects them again,
/// in one step, except those of busy tables.
class write_protect_scanner final : public page_scanner {
public:
    write_protect_scanner(std::byte* base, std::unique_ptr<page_tables> tables, os::fork_guard process)
        : base_(base), tables_(std::move(tables)), paused_(base, process) {}

    // Registers at the first collect() and not earlier: a registered file mapping loses fault-around, and a heap that
    // is only read never needs the registration.
    result<void> mapped(std::uint64_t, std::uint64_t, page_contents) override {
        registered_ = false;
        return {};
    }

    result<void> collect(std::uint64_t bytes, std::vector<page_run>& runs) override {
        if (!registered_) {
            if (tables_->watch_writes(reinterpret_cast<std::uint64_t>(base_), bytes) != 0)
                return tracker_failure("cannot register");
            registered_ = true;
        }
        if (!two_passes_) {
            auto all = report_and_protect({0, bytes}, k_any_page, runs);
            return all ? result<void>() : all.error();
        }
        for (auto* const scratch : {&unprotected_, &whole_tables_, &parts_, &written_, &spans_}) {
            scratch->clear();
            scratch->reserve(k_regions); // so that scans of a heap that does not change allocate nothing
        }
        REM_TRY(find_unprotected_or_report(bytes, runs));
        if (!busy_.ranges().empty())
            REM_TRY(report_busy(runs));
        split_at_tables();
        for (const page_run& span : spans_of(whole_tables_)) {
            auto has_pages = report_and_protect(span, k_any_page, runs);
            if (!has_pages)
                return has_pages.error();
            if (!*has_pages && span.bytes >= k_empty_bytes_min)
                empty_.push_back(span);
        }
        for (const page_run& span : spans_of(parts_)) {
            if (auto done = report_and_protect(span, k_any_place, runs); !done)
                return done.error();
        }
        sort_and_merge(empty_);
        for (const page_run& run : written_)
            busy_.note_written(run);
        return {};
    }
    // Pages that are mapped since the last collect() are not registered yet. Cold, since only shared heaps call these.
    [[gnu::cold]] result<bool> find_written(std::span<const page_run> where, std::vector<page_run>& runs) override {
        if (!registered_)
            return false;
        for (const page_run& span : spans_of(where))
            REM_TRY(report(span, runs));
        return true;
    }
    [[gnu::cold]] result<bool> collect_parts(std::span<const page_run> where, std::vector<page_run>& runs) override {
        if (!registered_)
            return false;
        written_.clear();
        for (const page_run& span : spans_of(where)) {
            if (auto done = report_and_protect(span, k_any_page, runs); !done)
                return done.error();
        }
        return true;
    }
    void watch() override { busy_.begin_round(); }

    result<void> make_private(page_run where) override { return os::make_private(base_ + where.offset, where.bytes); }

    // The kernel ends the registration of what it moves. Before Linux 6.13 a protected page would stay protected, but
    // its next write would go unnoticed, so the protection ends first.
    result<void> move_pages(page_run from, std::uint64_t to) override {
        registered_ = false;
        if (tables_->stop_watching(reinterpret_cast<std::uint64_t>(base_) + from.offset, from.bytes) != 0)
            return tracker_failure("cannot end a registration");
        os::move_memory(base_ + from.offset, base_ + to, from.bytes);
        return {};
    }

    result<void> pause_writes(page_run where) override { return paused_.begin(where); }
    result<void> replace_paused(os::moving_mapping& by, std::uint64_t offset) override {
        REM_TRY(paused_.replace(by, offset));
        registered_ = false;
        return {};
    }
    result<void> let_writes_go_on() override { return paused_.end(); }

    [[nodiscard]] const char* name() const override { return "scan"; }

private:
    static constexpr std::uint64_t k_categories = kernel::k_page_is_written | kernel::k_page_is_file |
                                                  kernel::k_page_is_present | kernel::k_page_is_swapped |
                                                  kernel::k_page_is_pfnzero;
    // For `any_of`: the categories of which a place must have one.
    static constexpr std::uint64_t k_any_page = kernel::k_page_is_present | kernel::k_page_is_swapped;
    static constexpr std::uint64_t k_any_place = 0; // also one without a page

    /// True for pages that are not of the file and not the page of zeros, which can only be read.
    static bool is_private(std::uint64_t categories) {
        return (categories & k_any_page) != 0 &&
               (categories & (kernel::k_page_is_file | kernel::k_page_is_pfnzero)) == 0;
    }

    // Asks the kernel only for the property "written", since the kernel then uses a fast path. That path also reports
    // pages that were only read, and places without a page.
    result<void> find_unprotected(page_run where) {
        kernel::pm_scan_arg arguments{};
        arguments.flags = kernel::k_pm_scan_check_wpasync;
        arguments.category_mask = kernel::k_page_is_written;
        arguments.return_mask = kernel::k_page_is_written;
        return walk(where, arguments,
                    [&](page_run run, std::uint64_t) { append_run(unprotected_, run.offset, run.bytes); });
    }

    // Ranges in which the last scan found no page are walked once, not twice: the fast path would name all of them.
    result<void> find_unprotected_or_report(std::uint64_t bytes, std::vector<page_run>& runs) {
        std::uint64_t from = 0;
        for (page_run& each : empty_) {
            if (each.end() > bytes)
                break;
            REM_TRY(find_unprotected({from, each.offset - from}));
            from = each.end();
            auto has_pages = report_and_protect(each, k_any_page, runs);
            if (!has_pages)
                return has_pages.error();
            if (*has_pages)
                each.bytes = 0;
        }
        std::erase_if(empty_, [](const page_run& each) { return each.bytes == 0; });
        return find_unprotected({from, bytes - from});
    }

    // Leaves busy tables unprotected, so their pages are reported in each round.
    result<void> report_busy(std::vector<page_run>& runs) {
        std::vector<page_run> others = without(unprotected_, busy_.ranges());
        for (const page_run& busy : without(unprotected_, others))
            REM_TRY(report(busy, runs));
        unprotected_ = std::move(others);
        return {};
    }

    result<void> report(page_run where, std::vector<page_run>& runs) {
        kernel::pm_scan_arg arguments{};
        arguments.category_mask = kernel::k_page_is_written;
        arguments.category_anyof_mask = k_any_page;
        arguments.return_mask = k_categories;
        return walk(where, arguments, [&](page_run run, std::uint64_t categories) {
            if (is_private(categories))
                append_run(runs, run.offset, run.bytes);
        });
    }

    // A place without a page gets a marker, a protected entry of the page table, so that the fast path no longer reports
    // it. But only in a table that has other protected entries: a table of which nothing is protected may not exist, and
    // tables of markers would take memory for ranges that nobody uses.
    void split_at_tables() {
        for (const page_run& range : unprotected_) {
            const std::uint64_t begin = std::min(align_up(range.offset, busy_tables::k_table_bytes), range.end());
            const std::uint64_t end = std::max(align_down(range.end(), busy_tables::k_table_bytes), begin);
            append_part(parts_, range.offset, begin);
            append_part(whole_tables_, begin, end);
            append_part(parts_, end, range.end());
        }
    }
    static void append_part(std::vector<page_run>& parts, std::uint64_t begin, std::uint64_t end) {
        if (begin < end)
            append_run(parts, begin, end - begin);
    }

    // Also protects pages that were only read (the zero page and pages of the file), so that the fast path no longer
    // reports them. Returns whether it has protected anything.
    result<bool> report_and_protect(page_run where, std::uint64_t any_of, std::vector<page_run>& runs) {
        kernel::pm_scan_arg arguments{};
        arguments.flags = kernel::k_pm_scan_check_wpasync | kernel::k_pm_scan_wp_matching;
        arguments.category_mask = kernel::k_page_is_written;
        arguments.category_anyof_mask = any_of;
        arguments.return_mask = k_categories;
        // Allocated first: pages that the scan protects must not be lost.
        const auto allocate = [&] {
            for (auto* const list : {&runs, &written_})
                reserve_more(*list, k_regions);
        };
        bool is_any = false;
        REM_TRY(walk(where, arguments, allocate, [&](page_run run, std::uint64_t categories) {
            is_any = true;
            if (is_private(categories)) {
                append_run(runs, run.offset, run.bytes);
                append_run(written_, run.offset, run.bytes);
            }
        }));
        return is_any;
    }

    template <class F>
    result<void> walk(page_run where, kernel::pm_scan_arg& arguments, const F& found) {
        return walk(where, arguments, [] {}, found);
    }

    /// Calls `found(run, categories)` for each region that the kernel reports, and `before()` before each system call.
    template <class G, class F>
    result<void> walk(page_run where, kernel::pm_scan_arg& arguments, const G& before, const F& found) {
        const auto start = reinterpret_cast<std::uint64_t>(base_);
        regions_.resize(k_regions);
        arguments.size = sizeof arguments;
        arguments.end = start + where.end();
        arguments.vec = reinterpret_cast<std::uint64_t>(regions_.data());
        arguments.vec_len = regions_.size();
        for (arguments.start = start + where.offset; arguments.start < arguments.end;
             arguments.start = arguments.walk_end) {
            before();
            const int count = tables_->scan(arguments);
            if (count < 0)
                return tracker_failure("cannot scan");
            for (const kernel::page_region& region : std::span(regions_).first(static_cast<std::size_t>(count)))
                found(page_run{region.start - start, region.end - region.start}, region.categories);
        }
        return {};
    }

    /// Joins ranges with small gaps between them.
    const std::vector<page_run>& spans_of(std::span<const page_run> ranges) {
        spans_.clear();
        for (const page_run& range : ranges) {
            if (!spans_.empty() && range.offset - spans_.back().end() <= k_gap_bytes_max)
                spans_.back().bytes = range.end() - spans_.back().offset;
            else
                spans_.push_back(range);
        }
        return spans_;
    }

    static void reserve_more(std::vector<page_run>& runs, std::size_t more) {
        if (runs.capacity() - runs.size() < more)
            runs.reserve(std::max(runs.size() + more, 2 * runs.capacity()));
    }

    std::byte* base_;
    std::unique_ptr<page_tables> tables_;
    paused_writes paused_;
    const bool two_passes_ = tables_->has_right_fast_path();
    bool registered_ = false;
    busy_tables busy_;
    // Scratch of collect().
    std::vector<page_run> unprotected_;
    std::vector<page_run> whole_tables_; // the parts of them that are whole tables
    std::vector<page_run> parts_;        // the other parts
    std::vector<page_run> written_;      // those of them that were written
    std::vector<page_run> spans_;
    std::vector<page_run> empty_;              // large ranges in which the last collect() found no page; sorted
    std::vector<kernel::page_region> regions_; // scratch of walk()
};

/// Returns the result of a failed step of the test: the error if a limit was met, since that says nothing about the
/// kernel; otherwise "does not work".
result<bool> works_not(unexpected why) {
    return os::limit_met(why.why().os_error) ? result<bool>(std::move(why)) : result<bool>(false);
}

result<bool> passes_self_test(std::byte* base, std::uint64_t unit, int file) {
    if (::mmap(base, 4 * unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) == MAP_FAILED)
        return works_not(tracker_failure("cannot map a file to try it"));
    auto made = make_write_protect_scanner(base);
    if (!made)
        return works_not(made.error());
    auto touch = [&](std::uint64_t page) { *static_cast<volatile std::byte*>(base + page * unit) = std::byte{1}; };
    auto look = [&](std::uint64_t page) { return *static_cast<const volatile std::byte*>(base + page * unit); };
    std::vector<page_run> runs;
    result<void> collected;
    auto reports = [&](const std::vector<page_run>& expected) {
        runs.clear();
        collected = (*made)->collect(8 * unit, runs);
        return static_cast<bool>(collected) && runs == expected;
    };
    touch(1); // file pages 0-3, anonymous pages 4-7
    look(2);
    touch(5);
    look(6);
    bool is_right = reports({{unit, unit}, {5 * unit, unit}}) && reports({});
    if (is_right) {
        look(1);
        look(3);
        is_right = reports({});
    }
    if (is_right) {
        touch(0);
        touch(5);
        touch(6);
        is_right = reports({{0, unit}, {5 * unit, 2 * unit}});
    }
    return collected ? result<bool>(is_right) : works_not(collected.error());
}

result<bool> try_scan_tier() {
    const std::uint64_t unit = kernel_page_bytes();
    os::descriptor file(os::open_above_standard([] { return ::memfd_create("remanence-self-test", MFD_CLOEXEC); }));
    if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(4 * unit)) != 0)
        return works_not(tracker_failure("cannot make a file to try it"));
    void* area = ::mmap(nullptr, 8 * unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED)
        return works_not(tracker_failure("cannot map memory to try it"));
    auto works = passes_self_test(static_cast<std::byte*>(area), unit, file.get());
    ::munmap(area, 8 * unit);
    return works;
}

constinit undying<process_descriptor> own_userfaultfd;

result<os::descriptor> open_own_userfaultfd() {
    os::descriptor fault(os::open_above_standard(
        [] { return static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)); }));
    if (!fault.valid())
        return tracker_failure("cannot open a userfaultfd");
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = kernel::k_uffd_feature_wp_async | kernel::k_uffd_feature_wp_unpopulated;
    if (::ioctl(fault.get(), UFFDIO_API, &api) != 0)
        return tracker_failure("cannot set up a userfaultfd");
    return fault;
}

// All heaps share this descriptor, and each registers its own range with it. A registration ends with its mapping.
result<shared_descriptor> open_userfaultfd() { return own_userfaultfd.value.get(open_own_userfaultfd); }

} // namespace

result<std::unique_ptr<page_scanner>> make_write_protect_scanner(std::byte* base) {
    auto fault = open_userfaultfd();
    if (!fault)
        return fault.error();
    auto pagemap = open_pagemap();
    if (!pagemap)
        return pagemap.error();
    return make_write_protect_scanner(base, std::make_unique<own_page_tables>(std::move(*fault), std::move(*pagemap)));
}

result<std::unique_ptr<page_scanner>> make_write_protect_scanner(std::byte* base, std::unique_ptr<page_tables> tables) {
    auto process = os::fork_guard::create();
    if (!process)
        return process.error();
    return std::unique_ptr<page_scanner>(new write_protect_scanner(base, std::move(tables), *process));
}

result<bool> scan_tier_works() {
    // No lock, and no initializer that waits: a forked child might wait for a thread that exists only in its parent.
    enum answer : signed char { unknown, no, yes };
    static std::atomic<answer> known = unknown;
    answer first = known;
    if (first == unknown) {
        auto works = try_scan_tier();
        if (!works)
            return works.error();
        const answer mine = *works ? yes : no;
        if (known.compare_exchange_strong(first, mine))
            first = mine;
    }
    return first == yes;
}

} // namespace remanence::track
