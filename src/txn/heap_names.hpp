// The names of a heap's files while it is open, so that whoever opens the heap next finds it, and its log beside it.
// Somebody may rename, replace or remove the files meanwhile: they are known by what is open, and their names are
// looked up again.
//
// A heap that was renamed goes on, and its log follows it, in the directory where it lies. Without a name, of the heap or of its log, no commit is
// acknowledged. The look is one system call for each file, before a commit writes anything.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"
#include "txn/health.hpp"

#include <string>

namespace remanence::txn {

/// Callers hold the engine's at_store lock, but for is_at().
class heap_names {
public:
    /// `heap` is open at its path, and `files` and `state` must outlive this.
    heap_names(os::file_system& files, store::heap_file& heap, health& state)
        : files_(files), heap_(heap.file()), place_(heap.where_log_lies()), health_(state), heap_name_(heap.path()) {}

    /// From now on there is a log. It must outlive this.
    void add_log(os::file& log);

    /// Looks up where heap and log are now, and gives the log the name that goes with the heap's. errc::unlinked when one of them is nowhere;
    /// errc::log_foreign when another file is where the log belongs. Nothing is lost then, and it may be repeated.
    result<void> find();
    /// What its log is called, or would be, when the heap has this name.
    [[nodiscard]] std::string log_for(const std::string& heap) const { return place_.path_for(heap); }
    /// As of the last find().
    [[nodiscard]] const std::string& heap() const { return heap_name_; }
    /// errc::unlinked when the heap has no name any more.
    result<void> check_is_linked();
    /// Whether `path` names the heap's file. From any thread.
    result<bool> is_at(const std::string& path) { return heap_.is_at(path); }

    // The end of a session with a log.

    /// Of a heap that nobody can open any more, for the reason `why` that find() has told.
    result<void> leave_unlinked(unexpected why);
    result<void> remove_log();
    /// Returns what whoever closed the heap must know, after find() said by `why` that heap or log were not in their places.
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
    std::string heap_name_; // as of the last find()
    std::string log_name_;  // likewise, if there is a log
};

} // namespace remanence::txn
