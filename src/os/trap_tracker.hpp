// The trap tier: pages are write-protected, and opened one by one at their first write. May use: base.
#pragma once

#include "os/page_scan.hpp"

namespace remanence::os {

result<std::unique_ptr<page_scanner>> make_trap_tracker(std::byte* base);

} // namespace remanence::os
