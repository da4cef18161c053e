// A shared heap, as its engine sees it: which process has the writer lock, and how memory follows what others commit. A part
// (parts.hpp); shared_heap.hpp implements it. Null in an engine whose heap only this process has.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "recover/scan.hpp"
#include "share/coordination.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace remanence::history {
struct commit_name;
}
namespace remanence::store {
class heap_file;
}
namespace remanence::view {
class memory_view;
}

namespace remanence::txn {

class checkpointer;
class health;
class heap_memory;
class reclaimer;
class session;
struct heap_locks;
struct open_request;
struct opened_heap;

/// Does to the history what other processes' commits did. Each function throws std::bad_alloc. After a failure the
/// history has no version.
class history_follower {
public:
    history_follower() = default;
    history_follower(const history_follower&) = delete;
    history_follower& operator=(const history_follower&) = delete;
    virtual ~history_follower() = default;
    /// Follows the next commit.
    virtual result<void> follow(const recover::scanned_record& record) = 0;
    /// Follows to a checkpoint that has passed this process: the records before it are gone.
    virtual result<void> follow_passed(const history::commit_name& checkpoint, std::uint64_t heap_bytes) = 0;
    /// Notes that another process's checkpoint covers the commits up to this one.
    virtual void note_checkpoint(std::uint64_t version) noexcept = 0;
};

/// Memory is changed only with the writer lock. It is read between begin_read() and end_read(), or with the writer
/// lock. Callers also hold the section lock.
class sharing {
public:
    /// `protocol` must outlive this object.
    explicit sharing(share::coordination& protocol) : protocol_(protocol) {}
    sharing(const sharing&) = delete;
    sharing& operator=(const sharing&) = delete;
    virtual ~sharing() = default;

    [[nodiscard]] share::coordination& protocol() const { return protocol_; }

    /// Waits for the writer lock, and follows what others have committed. Returns false at the deadline.
    /// errc::poisoned, also if another process has poisoned the heap. errc::outside_section if memory was changed
    /// meanwhile; those changes are undone.
    virtual result<bool> take_writer_lock(share::deadline until) = 0;
    /// Call it when everything is committed or rolled back.
    virtual void release_writer_lock() noexcept = 0;
    /// Begins to read, at this version or a newer one. Returns false if the view must catch_up() first. From any
    /// thread.
    [[nodiscard]] virtual bool begin_read(std::uint64_t at_least) = 0;
    virtual void end_read() noexcept = 0;
    /// If another process's checkpoint waits for threads that read here: makes private copies of what it is going to
    /// change. So the checkpoint goes on, and the threads still see their version. From any thread, also while others
    /// read. Throws std::bad_alloc; a failure changes nothing.
    virtual result<void> let_checkpoint_pass() = 0;
    /// Follows what others have committed. No thread may be in a section. errc::outside_section: as
    /// take_writer_lock().
    virtual result<void> catch_up() = 0;

    // For the engine and its parts, which hold both locks of the heap.

    /// From now on tells `history` what is followed. It must outlive this object, or its last use.
    virtual void tell(history_follower& history) = 0;
    /// After an open: follows from the held superblock to the visible commit.
    virtual result<void> begin(const share::current_checkpoint& current) = 0;
    /// Returns the state after the last commit here.
    [[nodiscard]] virtual share::visible_commit state() const = 0;
    void publish() { protocol_.publish(state()); }
    /// Brings the heap file, and only that, to the current superblock. Memory may have changes. The caller has the
    /// writer lock.
    virtual result<void> follow_superblock() = 0;
    /// Follows to what the files say. No other process has the heap any more.
    virtual result<void> catch_up_alone() = 0;
    /// Stops this process from following others, after a lack of memory. The others go on.
    virtual void fall_out() noexcept = 0;

private:
    share::coordination& protocol_;
};

/// The parts of an engine that sharing needs. It must not outlive them.
struct sharing_needs {
    heap_locks& locks;
    class health& health;
    class session& session;
    store::heap_file& store;
    view::memory_view& view;
    heap_memory& memory;
    reclaimer& space;
    checkpointer& checkpoints;
};

/// What sharing::processes links into a program. The first three are those of shared_opening.hpp.
struct sharing_part {
    result<void> (*create)(const open_request& request);
    result<opened_heap> (*open)(const open_request& request);
    result<opened_heap> (*open_as_guest)(const open_request& request,
                                         result<opened_heap> (*otherwise)(const open_request&));
    decltype(&share::coordination::remove_left_over) remove_left_over;
    std::unique_ptr<sharing> (*make)(share::coordination& protocol, const sharing_needs& needs);
};
extern const sharing_part k_sharing_part;

} // namespace remanence::txn
