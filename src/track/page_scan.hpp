// Which pages of a mapping did the program write? Three tiers behind one interface.
//
// Contract of all: a page that was written since the last watch() (or since it was mapped) is reported; a page that was
// not may be reported too, which costs its reader a comparison and nothing else. mapped(), collect() and watch() are
// called while nobody writes; declare(), make_private(), and what replaces memory, also while others do.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace remanence::os {
class moving_mapping;
}

namespace remanence::track {

enum class tracker_choice { automatic, scan, trap, fallback };

/// By its name here; nothing when there is none of that name.
std::optional<tracker_choice> tracker_named(std::string_view name);

/// What a mapping holds before anybody writes to it.
enum class page_contents { file, zeros };

/// A run of pages of a mapping, as offsets from its base.
using page_run = heap_range;

/// Called in the handler of a signal, with the address of a write that is not allowed; the process dies of it afterwards.
using stray_write_reporter = void (*)(const void* address);

class page_scanner {
public:
    page_scanner() = default;
    page_scanner(const page_scanner&) = delete;
    page_scanner& operator=(const page_scanner&) = delete;
    virtual ~page_scanner() = default;

    /// A mapping was laid (anew) over [base+offset, +bytes): to be called before anybody writes there.
    virtual result<void> mapped(std::uint64_t offset, std::uint64_t bytes, page_contents contents) = 0;
    /// Appends pages of [base, base+bytes) that were written to `runs`, in address order: those of which no collect()
    /// told yet, or all since the last watch().
    virtual result<void> collect(std::uint64_t bytes, std::vector<page_run>& runs) = 0;
    /// A new round: what was collected is done with, and memory holds committed content.
    virtual void watch() {}

    /// The bytes of a page as they were before it was first written in this round, when they were kept; else null.
    /// Valid between a collect() and the next watch().
    [[nodiscard]] virtual const std::byte* old_bytes(std::uint64_t /*offset*/) const { return nullptr; }
    /// System calls may write into [base+offset, +bytes) until the next watch().
    virtual result<void> declare(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) { return {}; }
    /// Memory at `base` plus these offsets becomes the process's own, where it is the file's, with the content that it has. It counts
    /// as written.
    virtual result<void> make_private(page_run where) = 0;
    /// From now on writes are allowed, or not. Only what report_stray_writes() was called for acts upon it.
    virtual void allow_writes(bool /*allowed*/) {}
    /// A write that is not allowed is reported, and ends the process. False: this tier cannot notice one.
    virtual bool report_stray_writes(stray_write_reporter /*report*/) { return false; }

    // Other memory takes the place of a range, or of pieces of it, while other threads may write there: one range at a time, and no
    // signals are to be taken by the caller meanwhile, nor may he write there.

    /// Whoever writes to [base+offset, +bytes) from now on waits until they may go on; system calls that write there fail with
    /// EFAULT.
    virtual result<void> pause_writes(page_run where) = 0;
    /// A private mapping of a file, in which nobody has written, takes its place in the paused range. It is as if it had been
    /// mapped() there: what is written when they go on is reported, and what was written before is not. After a failure nothing has
    /// changed.
    virtual result<void> replace_paused(os::moving_mapping& by, std::uint64_t offset) = 0;
    virtual result<void> let_writes_go_on() = 0;

    /// Whether collect() tells of little else than what was written in this round; else a page may be told of although it was
    /// written, and committed, long ago.
    [[nodiscard]] virtual bool tells_rounds_apart() const { return true; }

    [[nodiscard]] virtual const char* name() const = 0;
};

/// A scanner for the mapping at `base`, which is a multiple of k_base_alignment. `automatic` takes the scan tier
/// (userfaultfd write-protection and PAGEMAP_SCAN, Linux 6.7) when a self-test by real writes shows that it works here,
/// else the fallback (the private-copy bit of /proc/self/pagemap). The trap tier (protected pages and a handler of
/// SIGSEGV) must be asked for, since system calls cannot write into its pages undeclared. A tier forced that the
/// machine lacks is errc::not_supported.
result<std::unique_ptr<page_scanner>> make_page_scanner(std::byte* base, tracker_choice choice);

} // namespace remanence::track
