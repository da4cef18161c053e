// The names of a heap's files while it is open, so that the next opener finds the heap, and its log beside it.
// Somebody may rename, replace or remove the files meanwhile. So files are known by their descriptors, and their
// names are looked up again.
//
// A heap that was renamed goes on, and its log follows it in its directory. If heap or log has no name, no commit is
// acknowledged. The check is one system call for each file, before a commit writes anything.
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

    /// From now on there is a log. It must outlive this object.
    void add_log(os::file& log);

    /// Looks up where heap and log are now, and gives the log the name that goes with the heap's. errc::unlinked if
    /// one of them has no name. errc::log_foreign if another file is in the log's place. Nothing is lost then, and
    /// the call may be repeated.
    result<void> find();
    /// Returns the name of the log of a heap with this name.
    [[nodiscard]] std::string log_for(const std::string& heap) const { return place_.path_for(heap); }
    /// Returns the name at the last find().
    [[nodiscard]] const std::string& heap() const { return heap_name_; }
    /// errc::unlinked if the heap has no name any more.
    result<void> check_is_linked();
    /// True if `path` names the heap's file. From any thread.
    result<bool> is_at(const std::string& path) { return heap_.is_at(path); }

    // The end of a session with a log.

    /// Ends a heap that nobody can open any more. `why` is the error of find().
    result<void> leave_unlinked(unexpected why);
    result<void> remove_log();
    /// Returns what the caller that closed the heap must know. `why` is the error of find(): heap or log were not in
    /// their places.
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
