// The names of a heap's files while it is open. The next process that opens the heap must find it, and its log beside
// it. But somebody may rename, replace or remove the files meanwhile. So files are identified by their descriptors, and
// their names are looked up again before each commit.
//
// If a heap was renamed, commits go on, and the log is renamed after it. If heap or log no longer has a name, commits
// fail. The check takes one system call for each file, before a commit writes anything.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"
#include "txn/health.hpp"

#include <string>

namespace remanence::txn {

/// Callers hold the engine's at_store lock, except for is_at().
class heap_names {
public:
    /// `heap` is open at its path. `files` and `state` must outlive this object.
    heap_names(os::file_system& files, store::heap_file& heap, health& state)
        : files_(files), heap_(heap.file()), place_(heap.where_log_lies()), health_(state), heap_name_(heap.path()) {}

    /// Notes the log, which has just been created or opened. It must outlive this object.
    void add_log(os::file& log);

    /// Looks up the present names of heap and log, and renames the log to match the heap. errc::unlinked if heap or log
    /// has no name. errc::log_foreign if another file has the name that the log needs. After these errors nothing is
    /// lost, and the call may be repeated.
    result<void> find();
    /// Returns the name of the log of a heap with this name.
    [[nodiscard]] std::string log_for(const std::string& heap) const { return place_.path_for(heap); }
    /// Returns the heap's name at the last find().
    [[nodiscard]] const std::string& heap() const { return heap_name_; }
    /// errc::unlinked if the heap no longer has a name.
    result<void> check_is_linked();
    /// True if `path` names the heap's file. From any thread.
    result<bool> is_at(const std::string& path) { return heap_.is_at(path); }

    // The end of a session with a log.

    /// Closes a heap that no longer has a name. `why` is the error of find(), which this returns.
    result<void> leave_unlinked(unexpected why);
    result<void> remove_log();
    /// For a heap that was closed although find() failed with `why`: errc::log_foreign if the heap cannot be opened
    /// next, because another file has the name of its log. Returns `why` if that is another error than those of find().
    result<void> tell_what_is_left(unexpected why);

private:
    result<bool> are_as_known();
    result<std::string> find_heap();
    result<void> bring_log(const std::string& heap);

    os::file_system& files_;
    os::file& heap_;
    const store::log_place& place_;
    os::file* log_ = nullptr;
    health& health_;
    std::string heap_name_; // at the last find()
    std::string log_name_;  // at the last find(), if there is a log
};

} // namespace remanence::txn
