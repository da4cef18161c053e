// The trap tier: pages are write-protected, and opened at their first write. A page that follows open ones is opened
// together with as many as are open before it, up to a limit.
#pragma once

#include "track/page_scan.hpp"

namespace remanence::track {

result<std::unique_ptr<page_scanner>> make_trap_tracker(std::byte* base);

} // namespace remanence::track
