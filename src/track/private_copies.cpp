#include "track/private_copies.hpp"

#include "base/range_list.hpp"
#include "base/undying.hpp"
#include "os/held_across_fork.hpp"
#include "os/limits.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <span>
#include <unistd.h>

namespace remanence::track {

namespace {

// Documentation/admin-guide/mm/pagemap.rst
constexpr std::uint64_t k_file_bit = std::uint64_t{1} << 61;
constexpr std::uint64_t k_swapped_bit = std::uint64_t{1} << 62;
constexpr std::uint64_t k_present_bit = std::uint64_t{1} << 63;

constexpr std::size_t k_entries = 4096;         // read by one call
constexpr std::size_t k_regions_reported = 512; // by one system call

std::mutex opening; // guards process_descriptor::get()
const os::held_across_fork<opening> k_opening_held;

} // namespace

// While the kernel moves a page to compact memory, the page's entry says "swapped", whether the page is a private copy
// or the file's.
bool is_private_copy(std::uint64_t entry) {
    return (entry & k_file_bit) == 0 && (entry & (k_present_bit | k_swapped_bit)) != 0;
}

[[gnu::cold]] unexpected tracker_failure(const char* operation) {
    const int code = errno;
    const bool is_of_disk = code == ENOSPC || code == EDQUOT; // PAGEMAP_SCAN and reads of pagemap never return these
    const auto met = is_of_disk ? std::nullopt : os::limit_met(code);
    return fail(met ? met->code : errc::io,
                std::string("page tracking: ") + operation + ": " + std::strerror(code) + ". " +
                    std::string(met ? met->advice : "Force the fallback tracker, or check the seccomp profile."),
                {}, code);
}

[[gnu::cold]] result<shared_descriptor> process_descriptor::get(result<os::descriptor> (*open)()) {
    const std::lock_guard guard(opening);
    auto last = last_.lock();
    if (!last || !last->process.same_process()) {
        auto process = os::fork_guard::create();
        if (!process)
            return process.error();
        auto value = open();
        if (!value)
            return value.error();
        last = std::make_shared<const opened>(opened{std::move(*value), *process});
        last_ = last;
    }
    return shared_descriptor(last, &last->value);
}

namespace {

constinit undying<process_descriptor> own_pagemap;

result<os::descriptor> open_own_pagemap() {
    os::descriptor opened(os::open_file("/proc/self/pagemap", O_RDONLY));
    if (opened.valid())
        return opened;
    const int code = errno;
    if (code != EACCES && code != EPERM)
        return tracker_failure("cannot open /proc/self/pagemap");
    return fail(errc::permission_denied,
                "page tracking: the system does not let this process open its own /proc/self/pagemap. If it has "
                "changed its user, "
                "call prctl(PR_SET_DUMPABLE, 1) afterwards, or open heaps before.",
                "/proc/self/pagemap", code);
}

} // namespace

result<shared_descriptor> open_pagemap() { return own_pagemap.value.get(open_own_pagemap); }

std::uint64_t kernel_page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

result<private_copies> private_copies::create(std::byte* base) {
    auto pagemap = open_pagemap();
    if (!pagemap)
        return pagemap.error();
    return private_copies(base, std::move(*pagemap));
}

result<void> private_copies::append(page_run where, std::vector<page_run>& runs) {
    entries_.resize(k_entries);
    const std::uint64_t unit = kernel_page_bytes();
    const std::uint64_t base = reinterpret_cast<std::uint64_t>(base_) / unit;
    const std::uint64_t end = where.end() / unit;
    for (std::uint64_t page = where.offset / unit; page < end;) {
        const std::uint64_t wanted = std::min<std::uint64_t>(entries_.size(), end - page);
        const auto offset = static_cast<off_t>((base + page) * sizeof(std::uint64_t));
        const ssize_t got = ::pread(pagemap_->get(), entries_.data(), wanted * sizeof(std::uint64_t), offset);
        if (got <= 0)
            return tracker_failure("cannot read /proc/self/pagemap");
        const std::uint64_t read = static_cast<std::uint64_t>(got) / sizeof(std::uint64_t);
        for (std::uint64_t i = 0; i < read; ++i) {
            if (is_private_copy(entries_[i]))
                append_run(runs, (page + i) * unit, unit);
        }
        page += read;
    }
    return {};
}

result<void> private_copies::append_sparse(page_run where, std::vector<page_run>& runs) {
    if (!scans_ || where.bytes == 0)
        return append(where, runs);
    const auto base = reinterpret_cast<std::uint64_t>(base_);
    regions_.resize(k_regions_reported);
    kernel::pm_scan_arg arguments{};
    arguments.size = sizeof arguments;
    arguments.end = base + where.end();
    arguments.vec = reinterpret_cast<std::uint64_t>(regions_.data());
    arguments.vec_len = regions_.size();
    arguments.category_inverted = kernel::k_page_is_file | kernel::k_page_is_pfnzero;
    arguments.category_mask = arguments.category_inverted;
    arguments.category_anyof_mask = kernel::k_page_is_present | kernel::k_page_is_swapped;
    arguments.return_mask = kernel::k_page_is_present | kernel::k_page_is_written; // a marker is neither
    for (arguments.start = base + where.offset; arguments.start < arguments.end; arguments.start = arguments.walk_end) {
        const int found = ::ioctl(pagemap_->get(), kernel::k_pagemap_scan, &arguments);
        if (found < 0) {
            scans_ = false;
            return append({arguments.start - base, arguments.end - arguments.start}, runs);
        }
        for (const kernel::page_region& region : std::span(regions_).first(static_cast<std::size_t>(found))) {
            if (region.categories != 0)
                append_run(runs, region.start - base, region.end - region.start);
        }
    }
    return {};
}

} // namespace remanence::track
