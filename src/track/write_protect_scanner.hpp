// The scan tier: asynchronous write-protection and PAGEMAP_SCAN (Linux 6.7).
#pragma once

#include "track/page_scan.hpp"
#include "track/pagemap_scan.hpp"

namespace remanence::track {

/// Creates the tier without testing whether it works on this machine.
result<std::unique_ptr<page_scanner>> make_write_protect_scanner(std::byte* base);
/// The same, by these system calls.
result<std::unique_ptr<page_scanner>> make_write_protect_scanner(std::byte* base, std::unique_ptr<page_tables> tables);
/// True if the tier works on this machine, tested by real writes to a private file mapping and to anonymous memory. The
/// test runs once in a process, since the kernel does not change. Fails if a limit on descriptors or memory is met.
result<bool> scan_tier_works();

} // namespace remanence::track
