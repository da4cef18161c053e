// The scan tier: asynchronous write-protection and PAGEMAP_SCAN (Linux 6.7).
#pragma once

#include "track/page_scan.hpp"

namespace remanence::track {

/// Makes the tier without a test whether it works on this machine.
result<std::unique_ptr<page_scanner>> make_write_protect_scanner(std::byte* base);
/// True if the tier works, tested by real writes to a private file mapping and to anonymous memory. Tested once per
/// process, since the kernel does not change. Fails if a limit of descriptors or of memory is met.
result<bool> scan_tier_works();

} // namespace remanence::track
