// The system calls of the scan tier, behind an interface.
#pragma once

#include "os/pagemap_scan.hpp"

#include <cstdint>

namespace remanence::track {

namespace kernel {
using namespace os::kernel; // NOLINT(google-build-using-namespace)
}

/// The system calls by which the scan tier asks for and changes page tables. Tests put models of other kernels in their
/// place. The functions return -1, and set errno, if the call fails.
class page_tables {
public:
    page_tables() = default;
    page_tables(const page_tables&) = delete;
    page_tables& operator=(const page_tables&) = delete;
    virtual ~page_tables() = default;

    /// Registers a range for asynchronous write-protection (UFFDIO_REGISTER).
    virtual int watch_writes(std::uint64_t start, std::uint64_t bytes) = 0;
    /// Ends that for a part of the range, and the protection of its pages (UFFDIO_UNREGISTER).
    virtual int stop_watching(std::uint64_t start, std::uint64_t bytes) = 0;
    /// PAGEMAP_SCAN.
    virtual int scan(kernel::pm_scan_arg& arguments) = 0;
    /// True if the kernel's fast path for PAGE_IS_WRITTEN does not miss swapped pages.
    [[nodiscard]] virtual bool has_right_fast_path() const = 0;
};

} // namespace remanence::track
