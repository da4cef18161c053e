// The trap tier: pages are write-protected, and opened at their first write. If the pages before such a page are open,
// pages behind it are opened together with it: as many as are open before it, up to a limit.
#pragma once

#include "track/page_scan.hpp"

namespace remanence::track {

result<std::unique_ptr<page_scanner>> make_trap_tracker(std::byte* base);

} // namespace remanence::track
