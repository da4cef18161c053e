// Write sections that do not wait for ever. Depends on Remanence and the standard library.
#pragma once

#include <remanence/remanence.hpp>

#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>

namespace news {

namespace rem = remanence;

/// Another process has held a file's writer lock for too long. Nothing was changed; the client may try again.
class busy : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// How long a call waits for another process's write section. These last as long as a sync of the disk, unless the
/// process was stopped.
inline constexpr std::chrono::seconds k_lock_wait{3};

[[noreturn]] inline void raise_busy(const rem::heap& of) {
    const auto writer = of.writer();
    throw busy(of.path().string() + " is held " +
               (writer ? "by process " + std::to_string(writer->process) : std::string("by another process")));
}

/// Runs `change` in a write section and commits. heap::write() would do the same, but wait without limit. What `change`
/// or the commit throws rolls the section back. Durable once this returns, if `until` says so. Errors: busy; those of
/// heap::commit().
template <class F>
void write_within(rem::heap& heap, rem::durability until, F&& change) {
    if (!heap.try_lock_for(k_lock_wait))
        raise_busy(heap);
    const std::unique_lock<rem::heap> section(heap, std::adopt_lock);
    change();
    heap.commit(until);
}

} // namespace news
