// Which pages of a mapping did the program write? Two tiers behind one interface. May use: base.
//
// Contract of both: a page that was written since the last collect() that reported it (or since it was mapped) is
// reported; a page that was not may be reported too, which costs its reader a comparison and nothing else.
#pragma once

#include "base/result.hpp"
#include "base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace remanence::os {

enum class tracker_choice { automatic, scan, fallback };

/// A run of pages of a mapping, as offsets from its base.
using page_run = byte_range;

class page_scanner {
public:
    page_scanner() = default;
    page_scanner(const page_scanner&) = delete;
    page_scanner& operator=(const page_scanner&) = delete;
    virtual ~page_scanner() = default;

    /// A mapping was laid (anew) over [base+offset, +bytes): to be called before the next collect().
    virtual void mapped(std::uint64_t offset, std::uint64_t bytes) = 0;
    /// Appends the written pages of [base, base+bytes) to `runs`, in address order, and starts a new round.
    virtual result<void> collect(std::uint64_t bytes, std::vector<page_run>& runs) = 0;
    [[nodiscard]] virtual const char* name() const = 0;
};

/// A scanner for the mapping at `base`. `automatic` takes the scan tier (userfaultfd write-protection and
/// PAGEMAP_SCAN, Linux 6.7) when a self-test by real writes shows that it works here, else the fallback (the
/// private-copy bit of /proc/self/pagemap). A tier forced that the machine lacks is errc::not_supported.
result<std::unique_ptr<page_scanner>> make_page_scanner(std::byte* base, tracker_choice choice);

} // namespace remanence::os
