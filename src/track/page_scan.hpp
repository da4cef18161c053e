// Which pages of a mapping did the program write? Three trackers (*tiers*) answer behind one interface: scan, trap and
// fallback.
//
// Contract of all tiers: a page that was written since the last watch() (or since it was mapped) is reported. Other
// pages may be reported, too; each then costs a comparison and nothing else. mapped(), collect() and watch() must be
// called while nobody writes. declare(), make_private(), and the functions that replace memory may be called while other
// threads write.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace remanence::os {
class moving_mapping;
}

namespace remanence::track {

enum class tracker_choice { automatic, scan, trap, fallback };

/// Returns the choice of this name; nothing if there is none.
std::optional<tracker_choice> tracker_named(std::string_view name);

/// What a mapping contains before it is written to.
enum class page_contents { file, zeros };

/// A run of pages of a mapping, as offsets from its base.
using page_run = heap_range;

/// Called in a signal handler, with the address of a forbidden write. The process ends afterwards.
using stray_write_reporter = void (*)(const void* address);

class page_scanner {
public:
    page_scanner() = default;
    page_scanner(const page_scanner&) = delete;
    page_scanner& operator=(const page_scanner&) = delete;
    virtual ~page_scanner() = default;

    /// Notes a new mapping at [base+offset, +bytes). Must be called before anybody writes there.
    virtual result<void> mapped(std::uint64_t offset, std::uint64_t bytes, page_contents contents) = 0;
    /// Appends the written pages of [base, base+bytes) to `runs`, in no order. The tracker decides which: those that no
    /// collect() has reported yet, with others where most pages are written in each round (scan); all written since the
    /// last watch() (trap); or also earlier ones (fallback; see tells_rounds_apart()). Callers must cope with each.
    virtual result<void> collect(std::uint64_t bytes, std::vector<page_run>& runs) = 0;
    /// Appends the pages of `where` (sorted) that collect() would report, in no order, and with others. Changes nothing.
    /// Returns false if only collect() can tell.
    virtual result<bool> find_written(std::span<const page_run> /*where*/, std::vector<page_run>& /*runs*/) {
        return false;
    }
    /// As collect(), but only for `where` (sorted) and pages near it. Returns false, and does nothing, if this tier
    /// collects from all of memory only.
    virtual result<bool> collect_parts(std::span<const page_run> /*where*/, std::vector<page_run>& /*runs*/) {
        return false;
    }
    /// Begins a new round. Precondition: the pages reported so far were handled, and memory holds committed content.
    virtual void watch() {}

    /// Returns the bytes that a page had before its first write in this round, or null if the tracker has not copied
    /// them. Valid between a collect() and the next watch().
    [[nodiscard]] virtual const std::byte* old_bytes(std::uint64_t /*offset*/) const { return nullptr; }
    /// Lets system calls write to [base+offset, +bytes) until the next watch().
    virtual result<void> declare(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) { return {}; }
    /// Makes private copies of those pages in `where` that are still pages of the file. Their content stays the same.
    /// They then count as written.
    virtual result<void> make_private(page_run where) = 0;
    /// Moves the memory of `from`, which is anonymous, to `to`, where it counts as written. The contents of `from` are
    /// undefined afterwards. Nobody may use either meanwhile. If this tier cannot do it, fails and moves nothing.
    virtual result<void> move_pages(page_run from, std::uint64_t to);
    /// Allows or forbids writes. Has an effect only after report_stray_writes().
    virtual void allow_writes(bool /*allowed*/) {}
    /// From now on, a forbidden write calls `report` and ends the process. Returns false if this tier cannot detect
    /// one.
    virtual bool report_stray_writes(stray_write_reporter /*report*/) { return false; }

    // Replacing a range, or parts of it, by other memory while other threads may write there. Only one range at a time.
    // The caller must block signals meanwhile, and must not write there.

    /// Makes threads that write to `where` wait until let_writes_go_on(). System calls that write there fail with
    /// EFAULT.
    virtual result<void> pause_writes(page_run where) = 0;
    /// Moves a private mapping of a file, to which nobody has written, into the paused range. From then on it counts as
    /// mapped() there: earlier writes are not reported, later ones are. After a failure nothing has changed.
    virtual result<void> replace_paused(os::moving_mapping& by, std::uint64_t offset) = 0;
    virtual result<void> let_writes_go_on() = 0;

    /// True if collect() reports almost only pages written in this round. False if it may report pages that were
    /// written and committed long ago.
    [[nodiscard]] virtual bool tells_rounds_apart() const { return true; }

    [[nodiscard]] virtual const char* name() const = 0;
};

/// Creates a scanner for the mapping at `base`, a multiple of k_base_alignment. `automatic` chooses the scan tier
/// (userfaultfd write-protection and PAGEMAP_SCAN, Linux 6.7) if a self-test with real writes shows that it works on
/// this machine, otherwise the fallback (the private-copy bit of /proc/self/pagemap). The trap tier (protected pages
/// and a SIGSEGV handler) must be chosen explicitly, since system calls cannot write to its pages undeclared.
/// errc::not_supported if the machine does not support the chosen tier.
result<std::unique_ptr<page_scanner>> make_page_scanner(std::byte* base, tracker_choice choice);

} // namespace remanence::track
