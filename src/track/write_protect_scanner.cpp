#include "track/write_protect_scanner.hpp"

#include "base/undying.hpp"
#include "os/limits.hpp"
#include "os/memory.hpp"
#include "track/pagemap_scan.hpp"
#include "track/paused_writes.hpp"
#include "track/private_copies.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fcntl.h>
#include <linux/userfaultfd.h>
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

constexpr std::size_t k_regions = 1024;              // reported by one system call
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

/// The kernel clears a page's protection at its first write. A scan reports unprotected pages and protects them again,
/// in one step.
class write_protect_scanner final : public page_scanner {
public:
    write_protect_scanner(std::byte* base, shared_descriptor fault, shared_descriptor pagemap, os::fork_guard process)
        : base_(base), fault_(std::move(fault)), pagemap_(std::move(pagemap)), paused_(base, process) {}

    // Registers at the first collect() and not earlier: a registered file mapping loses fault-around, and a heap that
    // is only read never needs the registration.
    result<void> mapped(std::uint64_t, std::uint64_t, page_contents) override {
        registered_ = false;
        return {};
    }

    result<void> collect(std::uint64_t bytes, std::vector<page_run>& runs) override {
        auto start = reinterpret_cast<std::uint64_t>(base_);
        if (!registered_) {
            uffdio_register range{};
            range.range = {start, bytes};
            range.mode = UFFDIO_REGISTER_MODE_WP;
            if (::ioctl(fault_->get(), UFFDIO_REGISTER, &range) != 0)
                return tracker_failure("cannot register");
            registered_ = true;
        }
        if (!two_passes_)
            return report_and_protect({0, bytes}, runs);
        unprotected_.clear();
        REM_TRY(find_unprotected(bytes));
        for (std::size_t i = 0; i < unprotected_.size();) {
            page_run span = unprotected_[i];
            for (++i; i < unprotected_.size() && unprotected_[i].offset - span.end() <= k_gap_bytes_max; ++i)
                span.bytes = unprotected_[i].end() - span.offset;
            REM_TRY(report_and_protect(span, runs));
        }
        return {};
    }

    result<void> make_private(page_run where) override { return os::make_private(base_ + where.offset, where.bytes); }

    result<void> pause_writes(page_run where) override { return paused_.begin(where); }
    result<void> replace_paused(os::moving_mapping& by, std::uint64_t offset) override {
        REM_TRY(paused_.replace(by, offset));
        registered_ = false;
        return {};
    }
    result<void> let_writes_go_on() override { return paused_.end(); }

    [[nodiscard]] const char* name() const override { return "scan"; }

private:
    // Asks the kernel only for the property "written", since the kernel then uses a fast path. That path also reports
    // pages that were only read, and addresses without a page if the page table has entries beside them.
    result<void> find_unprotected(std::uint64_t bytes) {
        kernel::pm_scan_arg arguments{};
        arguments.flags = kernel::k_pm_scan_check_wpasync;
        arguments.category_mask = kernel::k_page_is_written;
        arguments.return_mask = kernel::k_page_is_written;
        return walk({0, bytes}, arguments, unprotected_);
    }

    // Also protects pages that were only read (the zero page and pages of the file), so that the fast path no longer
    // reports them.
    result<void> report_and_protect(page_run where, std::vector<page_run>& runs) {
        kernel::pm_scan_arg arguments{};
        arguments.flags = kernel::k_pm_scan_check_wpasync | kernel::k_pm_scan_wp_matching;
        arguments.category_mask = kernel::k_page_is_written;
        arguments.category_anyof_mask = kernel::k_page_is_present | kernel::k_page_is_swapped;
        arguments.return_mask = kernel::k_page_is_written | kernel::k_page_is_file | kernel::k_page_is_pfnzero;
        return walk(where, arguments, runs);
    }

    result<void> walk(page_run where, kernel::pm_scan_arg& arguments, std::vector<page_run>& runs) {
        const auto start = reinterpret_cast<std::uint64_t>(base_);
        regions_.resize(k_regions);
        arguments.size = sizeof arguments;
        arguments.end = start + where.end();
        arguments.vec = reinterpret_cast<std::uint64_t>(regions_.data());
        arguments.vec_len = regions_.size();
        for (arguments.start = start + where.offset; arguments.start < arguments.end;
             arguments.start = arguments.walk_end) {
            reserve_more(runs, regions_.size()); // allocated first: pages that the scan protects must not be lost
            const int found = ::ioctl(pagemap_->get(), kernel::k_pagemap_scan, &arguments);
            if (found < 0)
                return tracker_failure("cannot scan");
            for (int i = 0; i < found; ++i) {
                const kernel::page_region& region = regions_[static_cast<std::size_t>(i)];
                if ((region.categories & (kernel::k_page_is_file | kernel::k_page_is_pfnzero)) == 0)
                    append_run(runs, region.start - start, region.end - region.start);
            }
        }
        return {};
    }

    static void reserve_more(std::vector<page_run>& runs, std::size_t more) {
        if (runs.capacity() - runs.size() < more)
            runs.reserve(std::max(runs.size() + more, 2 * runs.capacity()));
    }

    std::byte* base_;
    shared_descriptor fault_;
    shared_descriptor pagemap_;
    paused_writes paused_;
    const bool two_passes_ = fast_path_is_right();
    bool registered_ = false;
    std::vector<page_run> unprotected_;        // scratch of collect()
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
    auto process = os::fork_guard::create();
    if (!process)
        return process.error();
    return std::unique_ptr<page_scanner>(
        new write_protect_scanner(base, std::move(*fault), std::move(*pagemap), *process));
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
