// Collects what no root reaches in steps, so that a server can do it between requests. heap::collect() does it at once.
// Depends on the standard library only.
#pragma once

#include <remanence/heap.hpp>

#include <chrono>
#include <memory>

namespace remanence {

namespace detail {
class incremental_collection;
} // namespace detail

/// One collection of a heap in steps:
///
///     rem::collector collection(heap);
///     while (!collection.step(5ms))
///         serve_requests();
///
/// The first step commits, in a write section. The next ones look for blocks that no root reached then, while the
/// program goes on, and commits: they read memory as it was. What was unreached then stays so. The last steps free these
/// blocks, in a write section each; in a heap with a history one step frees all, so that the collection is one step of
/// the history. Blocks that were freed or resized since the first step, and those allocated since, are left alone: what
/// became unreached since is for the next collection. As heap::collect() does, it runs no destructors, and leaves
/// nothing behind when the process ends in the middle.
///
/// The caller promises, from the first step until step() returns true, what heap::collect() demands for one call: no
/// thread relies on an object to which only a variable of the program points. What a request makes and puts into a
/// container, all between two steps, is safe. Threads change memory only in write sections while a step runs.
///
/// Meanwhile pages that commits change are copied, so memory is O(blocks and pages changed); frees and commits take
/// longer; checkpoint() gives no space back, and shrink() is refused (errc::in_use). If an undo, a redo, go_to() or
/// restore() makes memory another state, or there is no memory for a copy, the next step begins again. A rollback does
/// not matter. A heap has one collector at a time.
///
/// The snapshot at the beginning is that of Yuasa, Real-time garbage collection on general-purpose machines (Journal of
/// Systems and Software 11, 1990), with pages copied before a commit instead of pointers noted before each write.
///
/// One thread at a time may use a collector. The heap may close, or move to another handle, before it.
class collector {
public:
    /// Does nothing yet but wait for write sections. Errors: errc::closed; errc::section_conflict in a read section.
    explicit collector(heap& of);
    collector(const collector&) = delete;
    collector& operator=(const collector&) = delete;
    /// Ends the collection; what is freed by then stays freed.
    ~collector();

    /// Does a part of the collection that takes about `budget`, or a small part if that is 0. Returns true if the
    /// collection is done; then further calls do nothing. The first step, and those that free, add a commit to the budget;
    /// one step makes tables in O(blocks), some 10 ns for each; and where the heap has a history, the last step takes
    /// O(blocks freed).
    ///
    /// Errors: those of heap::collect(), at the first step; errc::section_open inside a section of this thread;
    /// errc::not_supported for a heap with sharing::processes; errc::in_use while another collector is at work on the
    /// heap; errc::closed after the heap was closed; those of a commit. Then the next step begins again.
    bool step(std::chrono::nanoseconds budget);
    /// Returns what was freed so far.
    [[nodiscard]] leak_report freed() const;

private:
    std::unique_ptr<detail::incremental_collection> state_;
};

} // namespace remanence
