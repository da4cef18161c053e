// The trap tier: pages are write-protected, and opened at their first write: one by one, or, behind others that are
// open, as many as there are before, if that is not many.
#pragma once

#include "track/page_scan.hpp"

namespace remanence::track {

result<std::unique_ptr<page_scanner>> make_trap_tracker(std::byte* base);

} // namespace remanence::track
