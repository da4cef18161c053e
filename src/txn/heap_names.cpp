#include "txn/heap_names.hpp"

#include "recover/recovery.hpp"

#include <utility>

namespace remanence::txn {

namespace {

unexpected no_heap(const std::string& name, bool is_replaced) {
    return fail(errc::unlinked,
                name + (is_replaced ? " was replaced by another file" : " was removed") +
                    " while it was open, so that nobody could open what is committed to it. Copy what you need to "
                    "another heap, and close it.",
                name);
}

unexpected no_known_name(const std::string& name) {
    return fail(errc::unlinked,
                name +
                    " was removed while it was open. The heap's file has another name, which the system does not tell. "
                    "Give it this one again, or close it and open it under the other.",
                name);
}

unexpected no_log(const std::string& heap, const std::string& name) {
    return fail(errc::unlinked,
                "the redo log " + name + " was removed or replaced while " + heap +
                    " was open, so that a crash would lose what is committed. Close the heap, which brings all commits "
                    "into it, and open it again.",
                name);
}

unexpected log_in_the_way(const std::string& heap, const std::string& log, const std::string& wanted) {
    return fail(errc::log_foreign,
                "the redo log of " + heap + " is at " + log + ", and its place " + wanted +
                    " has another file. Move that file away.",
                wanted);
}

} // namespace

void heap_names::add_log(os::file& log) {
    log_ = &log;
    log_name_ = log_for(heap_name_);
}

result<bool> heap_names::are_as_known() {
    auto heap = heap_.is_at(heap_name_);
    if (!heap || !*heap || log_ == nullptr)
        return heap;
    return log_->is_at(log_name_);
}

// A process that has dropped its privileges may lack permission to look up the names. Then its commits go on without
// this check.
result<void> heap_names::find() {
    auto at_names = are_as_known();
    if (!at_names)
        return at_names.why().code == errc::permission_denied ? result<void>() : at_names.error();
    if (*at_names)
        return {};
    auto heap = find_heap();
    if (!heap)
        return heap.error();
    if (log_ != nullptr) {
        auto brought = bring_log(*heap);
        if (!brought && brought.why().code == errc::io)
            return health_.poison(brought.error()); // if a sync failed, it must not be repeated (I5)
        if (!brought)
            return brought;
    }
    heap_name_ = std::move(*heap);
    return {};
}

result<std::string> heap_names::find_heap() {
    REM_TRY(check_is_linked());
    auto heap = heap_.find_name();
    if (!heap)
        return heap.error();
    if (!heap->path.empty())
        return std::move(heap->path);
    if (log_ == nullptr) // the log would be created beside a name that the heap no longer has
        return no_known_name(heap_name_);
    return heap_name_;
}

// Makes the heap's new name durable before it renames the log. So after a power loss the log is beside the heap, or
// still has its former name.
result<void> heap_names::bring_log(const std::string& heap) {
    auto log = log_->find_name();
    if (!log)
        return log.error();
    const std::string wanted = log_for(heap);
    if (!log->exists)
        return no_log(heap, wanted);
    if (log->path.empty())
        return {}; // the log has a name that the system does not tell; the user who renamed it knows it
    REM_TRY(files_.sync_directory("store: sync directory of renamed heap", heap));
    auto is_there = log_->is_at(wanted); // true if both files, or their directory, were renamed
    if (!is_there)
        return is_there.error();
    if (!*is_there) {
        auto renamed = files_.rename_to_new("log: rename after heap", log->path, wanted);
        if (!renamed && renamed.why().code == errc::exists)
            return log_in_the_way(heap, log->path, wanted);
        if (!renamed)
            return renamed.error();
        REM_TRY(files_.sync_directory("log: sync directory of renamed log", wanted));
        is_there = log_->is_at(wanted); // false if another file got the log's former name, and was renamed instead
        if (!is_there)
            return is_there.error();
        if (!*is_there)
            return no_log(heap, wanted);
    }
    log_name_ = wanted;
    return {};
}

result<void> heap_names::check_is_linked() {
    auto heap = heap_.find_name();
    if (!heap)
        return heap.error();
    if (heap->exists)
        return {};
    auto is_replaced = files_.exists(heap_name_);
    return no_heap(heap_name_, is_replaced && *is_replaced);
}

// If another file has the heap's name, removes the log, which would be in that heap's way. Otherwise the log stays: if
// the heap was moved to another file system, the log belongs to the copy there.
result<void> heap_names::leave_unlinked(unexpected why) {
    auto is_replaced = files_.exists(heap_name_);
    if (is_replaced && *is_replaced)
        REM_TRY(recover::remove_log(files_, log_name_, *log_));
    return why;
}

result<void> heap_names::remove_log() {
    auto log = log_->find_name();
    if (!log)
        return log.error();
    return log->path.empty() ? result<void>() : recover::remove_log(files_, log->path, *log_);
}

result<void> heap_names::tell_what_is_left(unexpected why) {
    if (why.why().code != errc::unlinked && why.why().code != errc::log_foreign)
        return why;
    auto name = heap_.find_name();
    if (!name || name->path.empty())
        return {};
    const std::string log = log_for(name->path);
    auto is_left = files_.exists(log);
    if (!is_left || !*is_left)
        return {};
    return fail(
        errc::log_foreign,
        name->path + " is closed, and has all its commits; but " + log +
            " is not its redo log, and came there while it was open. Move that file away: unless it is a copy of that "
            "log, the heap does not open beside it.",
        log);
}

} // namespace remanence::txn
