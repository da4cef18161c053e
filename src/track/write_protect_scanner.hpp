// The scan tier: asynchronous write-protection and PAGEMAP_SCAN (Linux 6.7).
#pragma once

#include "track/page_scan.hpp"

namespace remanence::track {

/// The tier as such: whether it works on this machine, nobody has tried.
result<std::unique_ptr<page_scanner>> make_write_protect_scanner(std::byte* base);
/// Whether it does: real writes into a private file mapping and into anonymous memory. Tried once per process, since the
/// kernel does not change under it. Fails when a limit is met, of descriptors or of memory.
result<bool> scan_tier_works();

} // namespace remanence::track
