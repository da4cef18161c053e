// A heap that several processes share, as its engine sees it: whose turn it is to write, and how memory follows what others commit.
// A part (parts.hpp), which shared_heap.hpp has; null in an engine whose heap this process has for itself.
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

/// Does to the history what other processes' commits did. Each function throws std::bad_alloc; what fails leaves it of no version.
class history_follower {
public:
    history_follower() = default;
    history_follower(const history_follower&) = delete;
    history_follower& operator=(const history_follower&) = delete;
    virtual ~history_follower() = default;
    /// The next commit.
    virtual result<void> follow(const recover::scanned_record& record) = 0;
    /// A checkpoint that covers it has passed this process: its records are gone.
    virtual result<void> follow_passed(const history::commit_name& checkpoint, std::uint64_t heap_bytes) = 0;
    /// Another process's checkpoint covers the commits up to this one.
    virtual void note_checkpoint(std::uint64_t version) noexcept = 0;
};

/// Memory is changed with the writer lock only, and looked at between begin_read() and end_read(), or with the writer lock; callers hold the
/// lock of the sections besides.
class sharing {
public:
    /// `protocol` must outlive it.
    explicit sharing(share::coordination& protocol) : protocol_(protocol) {}
    sharing(const sharing&) = delete;
    sharing& operator=(const sharing&) = delete;
    virtual ~sharing() = default;

    [[nodiscard]] share::coordination& protocol() const { return protocol_; }

    /// Waits for the writer lock, and follows what others have committed. False at the deadline. errc::poisoned, also when the
    /// heap is so in another process; errc::outside_section when memory was changed meanwhile, which is undone then.
    virtual result<bool> take_writer_lock(share::deadline until) = 0;
    /// Everything is committed, or rolled back.
    virtual void release_writer_lock() noexcept = 0;
    /// A thread begins to read, at this version or a newer one. False: the view has to catch_up() first. From any thread.
    [[nodiscard]] virtual bool begin_read(std::uint64_t at_least) = 0;
    virtual void end_read() noexcept = 0;
    /// If a checkpoint of another process waits for the threads that read here: makes private what it is going to change, so that it can go
    /// on, and they see what they saw. From any thread, also while others read. Throws std::bad_alloc; a failure changes nothing.
    virtual result<void> let_apply_pass() = 0;
    /// Follows what others have committed. Nobody may be in a section. errc::outside_section: as take_writer_lock().
    virtual result<void> catch_up() = 0;

    // For the engine and its parts, which hold both locks of the heap.

    /// From now on `history` hears of what is followed. It must outlive this, or what is followed.
    virtual void tell(history_follower& history) = 0;
    /// After an open: from the superblock, which is held, to what is visible.
    virtual result<void> begin(const share::current_checkpoint& current) = 0;
    /// As of the last commit here.
    [[nodiscard]] virtual share::visible_commit state() const = 0;
    void publish() { protocol_.publish(state()); }
    /// With the writer lock, and changes in memory: the heap file is as of the current superblock, and only that.
    virtual result<void> follow_superblock() = 0;
    /// Nobody else has the heap any more: to what the files say.
    virtual result<void> catch_up_alone() = 0;
    /// A lack of memory keeps this process from following others any more. They go on.
    virtual void fall_out() noexcept = 0;

private:
    share::coordination& protocol_;
};

/// What it needs of an engine, and must not outlive.
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

/// What sharing::processes brings into a program: the first three are shared_opening.hpp's.
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
