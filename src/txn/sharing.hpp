// The interface through which an engine shares its heap: the writer lock, and following other processes' commits. This
// is a part (parts.hpp), implemented by shared_heap.hpp. An engine whose heap is not shared has a null pointer.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "recover/scan.hpp"
#include "share/coordination.hpp"

#include <atomic>
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

/// Replays the effect of other processes' commits on the history. Each function throws std::bad_alloc. After a failure
/// the history must not be used any more.
class history_follower {
public:
    history_follower() = default;
    history_follower(const history_follower&) = delete;
    history_follower& operator=(const history_follower&) = delete;
    virtual ~history_follower() = default;
    /// Follows the next commit.
    virtual result<void> follow(const recover::scanned_record& record) = 0;
    /// Follows to another process's checkpoint. Called if the records up to it have left the log before this process
    /// has followed them.
    virtual result<void> follow_passed(const history::commit_name& checkpoint, std::uint64_t heap_bytes) = 0;
    /// Notes that another process's checkpoint covers the commits up to this one.
    virtual void note_checkpoint(std::uint64_t version) noexcept = 0;
};

/// Is told which version memory shows.
class version_listener {
public:
    version_listener() = default;
    version_listener(const version_listener&) = delete;
    version_listener& operator=(const version_listener&) = delete;
    /// Called when this process has followed other processes, before it publishes, and before it releases the writer lock.
    virtual void shows(std::uint64_t version) noexcept = 0;

protected:
    ~version_listener() = default;
};

/// Memory may be changed only while the process holds the writer lock. It may be read between begin_read() and
/// end_read(), or with the writer lock. Callers also hold the section lock.
class sharing {
public:
    /// `protocol` must outlive this object.
    explicit sharing(share::coordination& protocol) : protocol_(protocol) {}
    sharing(const sharing&) = delete;
    sharing& operator=(const sharing&) = delete;
    virtual ~sharing() = default;

    [[nodiscard]] share::coordination& protocol() const { return protocol_; }

    /// From now on, `listener` is told which version memory shows; null: nobody. It must outlive this object or the next
    /// call, and no thread may be following or writing during a call with null.
    void tell_of_versions(version_listener* listener) noexcept { listener_ = listener; }

    /// Waits for the writer lock, and follows other processes' commits. Returns false at the deadline. errc::poisoned
    /// if this or another process has poisoned the heap. errc::outside_section if memory was changed outside any
    /// section; these changes are undone.
    virtual result<bool> take_writer_lock(share::deadline until) = 0;
    /// Acquires the writer lock without waiting, for a thread that reads. Returns false if another process has it, or has
    /// committed since this process has followed: the memory that the thread reads must not change.
    virtual result<bool> take_writer_lock_if_current() = 0;
    /// Releases the writer lock. All changes must be committed or rolled back.
    virtual void release_writer_lock() noexcept = 0;
    /// Begins to read, at this version or a newer one. Returns false if the caller must first call catch_up(). From any
    /// thread.
    [[nodiscard]] virtual bool begin_read(std::uint64_t at_least) = 0;
    virtual void end_read() noexcept = 0;
    /// If another process's checkpoint waits for threads that read here: makes private copies of all pages that the
    /// checkpoint will change. So the checkpoint can go on, and these threads still see their version. From any thread,
    /// even while others read. Throws std::bad_alloc; a failure changes nothing.
    virtual result<void> let_checkpoint_pass() = 0;
    /// Follows other processes' commits. No thread may be in a section. errc::outside_section as take_writer_lock().
    virtual result<void> catch_up() = 0;

    // For the engine and its parts, which hold both locks of the heap.

    // tell() to catch_up_alone(): as in follower.hpp.

    virtual void tell(history_follower& history) = 0;
    virtual result<void> begin(const share::current_checkpoint& current) = 0;
    [[nodiscard]] virtual share::visible_commit state() const = 0;
    void publish() {
        const share::visible_commit now = state();
        show(now.version); // first, or the listener would take the commit for another process's
        protocol_.publish(now);
    }
    virtual result<void> follow_superblock() = 0;
    virtual result<void> catch_up_alone() = 0;
    /// After a lack of memory: poisons the heap in this process only, and stops following others.
    virtual void fall_out() noexcept = 0;

protected:
    void show(std::uint64_t version) noexcept {
        if (version_listener* const listener = listener_)
            listener->shows(version);
    }

private:
    share::coordination& protocol_;
    std::atomic<version_listener*> listener_ = nullptr;
};

/// The parts of an engine that sharing uses. They must outlive it.
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

/// The functions that a program links if it uses sharing::processes. create, open and open_as_guest are those of
/// shared_opening.hpp.
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
