#include "os/page_scan.hpp"

#include "os/memory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace remanence::os {

namespace {

// Kernel interface of Linux 6.7, which older headers lack (Documentation/admin-guide/mm/pagemap.rst, userfaultfd.rst).
namespace kernel {
constexpr std::uint64_t k_uffd_feature_wp_unpopulated = 1U << 13;
constexpr std::uint64_t k_uffd_feature_wp_async = 1U << 15;
constexpr std::uint64_t k_page_is_written = 1U << 1;
constexpr std::uint64_t k_page_is_file = 1U << 2;
constexpr std::uint64_t k_page_is_present = 1U << 3;
constexpr std::uint64_t k_page_is_swapped = 1U << 4;
constexpr std::uint64_t k_page_is_pfnzero = 1U << 5;
constexpr std::uint64_t k_pm_scan_wp_matching = 1U << 0;
constexpr std::uint64_t k_pm_scan_check_wpasync = 1U << 1;

struct page_region {
    std::uint64_t start, end, categories;
};
struct pm_scan_arg {
    std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long k_pagemap_scan = _IOWR('f', 16, pm_scan_arg);

constexpr std::uint64_t k_pagemap_file_bit = std::uint64_t{1} << 61;
constexpr std::uint64_t k_pagemap_swapped_bit = std::uint64_t{1} << 62;
constexpr std::uint64_t k_pagemap_present_bit = std::uint64_t{1} << 63;
} // namespace kernel

class descriptor {
public:
    explicit descriptor(int value) : value_(value) {}
    descriptor(descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    ~descriptor() {
        if (value_ >= 0)
            ::close(value_);
    }
    [[nodiscard]] int get() const { return value_; }
    [[nodiscard]] bool valid() const { return value_ >= 0; }

private:
    int value_;
};

std::uint64_t kernel_page_bytes() {
    static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

unexpected tracker_failure(const char* operation) {
    int code = errno;
    return fail(errc::io,
                std::string("page tracking: ") + operation + ": " + std::strerror(code) +
                    ". Force the fallback tracker, or check vm.max_map_count and the seccomp profile.",
                {}, code);
}

unexpected no_pagemap() {
    const int code = errno;
    if (code != EACCES && code != EPERM)
        return tracker_failure("cannot open /proc/self/pagemap");
    return fail(errc::permission_denied,
                "page tracking: the system does not let this process open its own /proc/self/pagemap. If it has "
                "changed its user, "
                "call prctl(PR_SET_DUMPABLE, 1) afterwards, or open heaps before.",
                "/proc/self/pagemap", code);
}

void append(std::vector<page_run>& runs, std::uint64_t offset, std::uint64_t bytes) {
    if (!runs.empty() && runs.back().end() == offset) {
        runs.back().bytes += bytes;
    } else {
        runs.push_back({offset, bytes});
    }
}

/// Asynchronous write-protection: the kernel clears a page's protection at its first write, and the scan reports the
/// unprotected pages and protects them again in one step.
class write_protect_scanner final : public page_scanner {
public:
    static result<std::unique_ptr<page_scanner>> create(std::byte* base) {
        descriptor fault(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
        if (!fault.valid())
            return tracker_failure("userfaultfd is refused");
        uffdio_api api{};
        api.api = UFFD_API;
        api.features = kernel::k_uffd_feature_wp_async | kernel::k_uffd_feature_wp_unpopulated;
        if (::ioctl(fault.get(), UFFDIO_API, &api) != 0)
            return tracker_failure("asynchronous write-protection is missing");
        descriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
        if (!pagemap.valid())
            return no_pagemap();
        return std::unique_ptr<page_scanner>(new write_protect_scanner(base, std::move(fault), std::move(pagemap)));
    }

    // Registration waits for the first collect(): a registered file mapping loses fault-around, and a heap that is
    // only read never needs it.
    void mapped(std::uint64_t, std::uint64_t) override { registered_ = false; }

    result<void> collect(std::uint64_t bytes, std::vector<page_run>& runs) override {
        auto start = reinterpret_cast<std::uint64_t>(base_);
        if (!registered_) {
            uffdio_register range{};
            range.range = {start, bytes};
            range.mode = UFFDIO_REGISTER_MODE_WP;
            if (::ioctl(fault_.get(), UFFDIO_REGISTER, &range) != 0)
                return tracker_failure("cannot register");
            registered_ = true;
        }
        // Written, and a private copy: file pages and the zero page were merely read.
        kernel::pm_scan_arg scan{};
        scan.size = sizeof scan;
        scan.flags = kernel::k_pm_scan_wp_matching | kernel::k_pm_scan_check_wpasync;
        scan.end = start + bytes;
        scan.vec = reinterpret_cast<std::uint64_t>(regions_.data());
        scan.vec_len = regions_.size();
        scan.category_inverted = kernel::k_page_is_file | kernel::k_page_is_pfnzero;
        scan.category_mask = kernel::k_page_is_written | kernel::k_page_is_file | kernel::k_page_is_pfnzero;
        scan.category_anyof_mask = kernel::k_page_is_present | kernel::k_page_is_swapped;
        scan.return_mask = kernel::k_page_is_written;
        for (scan.start = start; scan.start < scan.end; scan.start = scan.walk_end) {
            runs.reserve(runs.size() + regions_.size()); // what the scan protects again must not get lost behind it
            int found = ::ioctl(pagemap_.get(), kernel::k_pagemap_scan, &scan);
            if (found < 0)
                return tracker_failure("cannot scan");
            for (int i = 0; i < found; ++i) {
                const kernel::page_region& region = regions_[static_cast<std::size_t>(i)];
                append(runs, region.start - start, region.end - region.start);
            }
        }
        return {};
    }

    [[nodiscard]] const char* name() const override { return "scan"; }

private:
    write_protect_scanner(std::byte* base, descriptor fault, descriptor pagemap)
        : base_(base), fault_(std::move(fault)), pagemap_(std::move(pagemap)) {}

    std::byte* base_;
    descriptor fault_;
    descriptor pagemap_;
    bool registered_ = false;
    std::array<kernel::page_region, 1024> regions_{};
};

/// Any Linux: a page of a private mapping that is present and no file page is a private copy, so it was written at
/// some time since it was last dropped. It stays reported until then.
class private_copy_scanner final : public page_scanner {
public:
    static result<std::unique_ptr<page_scanner>> create(std::byte* base) {
        descriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
        if (!pagemap.valid())
            return no_pagemap();
        return std::unique_ptr<page_scanner>(new private_copy_scanner(base, std::move(pagemap)));
    }

    void mapped(std::uint64_t, std::uint64_t) override {}

    result<void> collect(std::uint64_t bytes, std::vector<page_run>& runs) override {
        const std::uint64_t unit = kernel_page_bytes();
        const std::uint64_t first = reinterpret_cast<std::uint64_t>(base_) / unit;
        const std::uint64_t count = bytes / unit;
        for (std::uint64_t done = 0; done < count;) {
            std::uint64_t wanted = std::min<std::uint64_t>(entries_.size(), count - done);
            auto offset = static_cast<off_t>((first + done) * sizeof(std::uint64_t));
            ssize_t got = ::pread(pagemap_.get(), entries_.data(), wanted * sizeof(std::uint64_t), offset);
            if (got <= 0)
                return tracker_failure("cannot read /proc/self/pagemap");
            std::uint64_t read = static_cast<std::uint64_t>(got) / sizeof(std::uint64_t);
            for (std::uint64_t i = 0; i < read; ++i) {
                std::uint64_t entry = entries_[i];
                bool swapped = (entry & kernel::k_pagemap_swapped_bit) != 0;
                bool present = (entry & kernel::k_pagemap_present_bit) != 0;
                if (swapped || (present && (entry & kernel::k_pagemap_file_bit) == 0))
                    append(runs, (done + i) * unit, unit);
            }
            done += read;
        }
        return {};
    }

    [[nodiscard]] const char* name() const override { return "fallback"; }

private:
    private_copy_scanner(std::byte* base, descriptor pagemap) : base_(base), pagemap_(std::move(pagemap)) {}

    std::byte* base_;
    descriptor pagemap_;
    std::array<std::uint64_t, 4096> entries_{};
};

/// Real writes into a private file mapping and into anonymous memory, and what the scan tier makes of them.
bool scan_tier_works() {
    const std::uint64_t unit = kernel_page_bytes();
    descriptor file(::memfd_create("remanence-self-test", MFD_CLOEXEC));
    if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(4 * unit)) != 0)
        return false;
    void* area = ::mmap(nullptr, 8 * unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED)
        return false;
    auto* base = static_cast<std::byte*>(area);
    auto touch = [&](std::uint64_t page) { *static_cast<volatile std::byte*>(base + page * unit) = std::byte{1}; };
    auto look = [&](std::uint64_t page) { return *static_cast<const volatile std::byte*>(base + page * unit); };
    auto passes = [&] {
        if (::mmap(base, 4 * unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file.get(), 0) ==
            MAP_FAILED) {
            return false;
        }
        auto made = write_protect_scanner::create(base);
        if (!made)
            return false;
        page_scanner& scanner = **made;
        std::vector<page_run> runs;
        auto reports = [&](const std::vector<page_run>& expected) {
            runs.clear();
            return static_cast<bool>(scanner.collect(8 * unit, runs)) && runs == expected;
        };
        touch(1); // file pages 0-3, anonymous pages 4-7
        look(2);
        touch(5);
        look(6);
        if (!reports({{unit, unit}, {5 * unit, unit}}))
            return false;
        if (!reports({}))
            return false;
        look(1);
        look(3);
        if (!reports({}))
            return false;
        touch(0);
        touch(5);
        touch(6);
        return reports({{0, unit}, {5 * unit, 2 * unit}});
    };
    bool works = passes();
    ::munmap(area, 8 * unit);
    return works;
}

} // namespace

result<std::unique_ptr<page_scanner>> make_page_scanner(std::byte* base, tracker_choice choice) {
    static const bool scan_works = scan_tier_works(); // the kernel does not change under a process
    if (choice == tracker_choice::scan && !scan_works) {
        return fail(errc::not_supported,
                    "the scan tracker does not work here (it needs Linux 6.7 and userfaultfd). Use the "
                    "automatic choice.");
    }
    if (choice != tracker_choice::fallback && scan_works)
        return write_protect_scanner::create(base);
    return private_copy_scanner::create(base);
}

} // namespace remanence::os
