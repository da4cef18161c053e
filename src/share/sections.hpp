// The steps of reading, writing and checkpoints among attached processes. They use only the policy's atomics and
// locks, so tests can run them one at a time, in all orders, with a process dying at any step. By a pin a reader keeps
// a version readable; by a hold it keeps a superblock from being overwritten.
//
//  SH1  A reader's pin is visible before the reader loads the checkpoint's target. The target is visible before the
//       checkpointing process loads the pins. So at least one of the two sees the other, and no checkpoint changes in
//       place what a pinned version shows.
//  SH2  A hold is visible before its reader loads the current superblock a second time. Nothing that a held superblock
//       names is overwritten, nor is the log after it: only what `released` allows may be overwritten, and the next
//       superblock is written only after the last one was released.
//  SH3  Published numbers never decrease, even if a process dies.
//  SH4  A process is dead if the lock of its slot is free, since the kernel releases the locks of dead processes.
//       Process numbers are never used to decide this.
//  SH5  A guest may only read the coordination file, so its pins and holds are file locks. SH1 and SH2 hold for these,
//       too, since the kernel handles one lock request on a file at a time: if a process does not find a guest's lock,
//       it looked before the guest locked, so the guest sees what that process had published.
#pragma once

#include "base/result.hpp"
#include "share/coordination.hpp"
#include "share/layout.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace remanence::share {

/// `Policy::locks` has try_lock(), unlock() and locked_by_others(), as os::byte_locks.
template <class Policy>
class sections {
public:
    using locks = typename Policy::locks;

    /// `mine` is the index of this process's slot, whose byte is locked through `bytes`. For a guest (SH5) `mine` is
    /// slots.size().
    sections(control<Policy>& shared, std::span<slot<Policy>> slots, locks& bytes, std::size_t mine)
        : shared_(shared), slots_(slots), locks_(bytes), mine_(mine) {}

    /// Must be called before all others. Clears the pin and hold that a dead process left in this slot. From now on
    /// scans include the slot.
    void enter() {
        slots_[mine_].pin.store(k_none, std::memory_order_seq_cst);
        slots_[mine_].hold.store(k_none, std::memory_order_seq_cst);
        raise(shared_.slots_used, mine_ + 1);
    }
    void leave() {
        slots_[mine_].pin.store(k_none, std::memory_order_release);
        slots_[mine_].hold.store(k_none, std::memory_order_release);
    }

    [[nodiscard]] std::uint64_t visible() const { return shared_.visible.number_in(shared_.visible.look()); }
    [[nodiscard]] visible_commit commit() const {
        for (;;) {
            const std::uint64_t looked = shared_.visible.look();
            if (const auto found = shared_.visible.read(looked))
                return {.version = shared_.visible.number_in(looked),
                        .chain = (*found)[0],
                        .log_end = (*found)[1],
                        .image_bytes = (*found)[2],
                        .durable_through = shared_.durable_through.load(std::memory_order_acquire)};
        }
    }
    [[nodiscard]] std::uint64_t checkpoint_sequence() const {
        return shared_.current.number_in(shared_.current.look());
    }
    [[nodiscard]] current_checkpoint checkpoint() const { return read(shared_.current); }
    [[nodiscard]] current_checkpoint released() const { return read(shared_.released); }
    [[nodiscard]] std::uint64_t apply_target() const { return shared_.apply_target.load(std::memory_order_seq_cst); }
    [[nodiscard]] bool is_poisoned() const { return shared_.poison.load(std::memory_order_acquire) != 0; }
    void poison() { shared_.poison.store(1, std::memory_order_seq_cst); }

    /// Sets the state of the heap. For the first process, before others attach.
    void begin(const visible_commit& commit, const current_checkpoint& checkpoint) {
        raise(shared_.durable_through, commit.durable_through);
        raise(shared_.apply_target, checkpoint.version);
        shared_.visible.publish(commit.version, {commit.chain, commit.log_end, commit.image_bytes});
        shared_.current.publish(checkpoint.sequence, {checkpoint.version, checkpoint.log_begin});
        shared_.released.publish(checkpoint.sequence, {checkpoint.version, checkpoint.log_begin});
    }

    // Reading.

    bool pin(std::uint64_t version) {
        if (!note(&slot<Policy>::pin, lock_byte::k_first_pin, version))
            return false;
        if (shared_.apply_target.load(std::memory_order_seq_cst) <= version)
            return true;
        unpin();
        return false;
    }
    void unpin() { forget(&slot<Policy>::pin, lock_byte::k_first_pin); }
    void raise_pin(std::uint64_t version) {
        if (!is_guest())
            return slots_[mine_].pin.store(version, std::memory_order_release);
        if (note(&slot<Policy>::pin, lock_byte::k_first_pin, version))
            locks_.unlock(lock_byte::k_first_pin, version);
    }

    current_checkpoint hold() {
        for (;;) {
            const std::uint64_t looked = shared_.current.look();
            if (!note(&slot<Policy>::hold, lock_byte::k_first_hold, shared_.current.number_in(looked)))
                continue;
            if (shared_.current.look(std::memory_order_seq_cst) != looked) { // SH2
                if (is_guest()) // a guest's next hold is another lock, so release this one
                    let_go();
                continue;
            }
            if (const auto found = shared_.current.read(looked))
                return made_of(looked, *found);
        }
    }
    void let_go() { forget(&slot<Policy>::hold, lock_byte::k_first_hold); }

    // Writing.

    /// Returns nothing if another process has the writer lock.
    result<std::optional<coordination::turn>> try_take_writer() {
        auto got = locks_.try_lock(lock_byte::k_writer, os::lock_kind::exclusive);
        if (!got)
            return got.error();
        if (!*got)
            return std::optional<coordination::turn>();
        return std::optional(shared_.is_writing.load(std::memory_order_seq_cst) != 0 ? coordination::turn::take_over
                                                                                     : coordination::turn::clean);
    }
    void begin_writing() { shared_.is_writing.store(1, std::memory_order_seq_cst); }
    void publish(const visible_commit& commit) {
        raise(shared_.durable_through, commit.durable_through);
        // If the version was published before, only its durability is new; once for each version `log_end` may be new,
        // too.
        if (commit.version != visible() || commit.log_end != this->commit().log_end)
            shared_.visible.publish(commit.version, {commit.chain, commit.log_end, commit.image_bytes});
    }
    void end_writing() { shared_.is_writing.store(0, std::memory_order_seq_cst); }
    void release_writer() { locks_.unlock(lock_byte::k_writer); }

    // Checkpoints.

    result<bool> try_take_checkpoint() { return locks_.try_lock(lock_byte::k_checkpoint, os::lock_kind::exclusive); }
    void declare_apply(std::uint64_t version) { raise(shared_.apply_target, version); }
    [[nodiscard]] bool may_apply() {
        const std::uint64_t target = shared_.apply_target.load(std::memory_order_seq_cst);
        return none_alive_has(&slot<Policy>::pin, target) && no_guest_has(lock_byte::k_first_pin, target) &&
               is_all_released();
    }
    void publish_checkpoint(const current_checkpoint& made) {
        shared_.current.publish(made.sequence, {made.version, made.log_begin});
    }
    [[nodiscard]] bool may_release() {
        const std::uint64_t sequence = checkpoint_sequence();
        return none_alive_has(&slot<Policy>::hold, sequence) && no_guest_has(lock_byte::k_first_hold, sequence);
    }
    void release() {
        const current_checkpoint now = checkpoint();
        if (now.sequence != shared_.released.number_in(shared_.released.look()))
            shared_.released.publish(now.sequence, {now.version, now.log_begin});
    }
    void release_checkpoint() { locks_.unlock(lock_byte::k_checkpoint); }

    // Live processes.

    [[nodiscard]] bool is_alive(std::size_t index) const {
        if (index == mine_)
            return true;
        auto locked = locks_.locked_by_others(lock_byte::k_first_slot + index, 1);
        return !locked || locked->has_value(); // if the lock cannot be queried, the process may live
    }
    [[nodiscard]] std::size_t slots_used() const {
        return static_cast<std::size_t>(
            std::min<std::uint64_t>(shared_.slots_used.load(std::memory_order_seq_cst), slots_.size()));
    }

private:
    using word = typename Policy::word;

    static void raise(word& value, std::uint64_t to) {
        for (std::uint64_t seen = value.load(std::memory_order_relaxed);
             seen < to && !value.compare_exchange(seen, to, std::memory_order_seq_cst);) {
        }
    }

    static current_checkpoint made_of(std::uint64_t looked, const typename control<Policy>::checkpoint::fields& found) {
        return {.sequence = control<Policy>::checkpoint::number_in(looked), .version = found[0], .log_begin = found[1]};
    }
    static current_checkpoint read(const typename control<Policy>::checkpoint& published) {
        for (;;) {
            const std::uint64_t looked = published.look();
            if (const auto found = published.read(looked))
                return made_of(looked, *found);
        }
    }

    [[nodiscard]] bool is_guest() const { return mine_ >= slots_.size(); }

    /// Sets a pin or a hold. Returns false if a guest cannot lock the byte: the heap is open exclusively, or the kernel
    /// has no memory.
    bool note(word slot<Policy>::* what, std::uint64_t first_byte, std::uint64_t number) {
        if (is_guest()) {
            auto locked = locks_.try_lock(first_byte + number, os::lock_kind::shared);
            return locked && *locked;
        }
        // SH1: an exchange, since a plain store could become visible only after the caller's next load.
        (void)(slots_[mine_].*what).exchange(number, std::memory_order_seq_cst);
        return true;
    }
    void forget(word slot<Policy>::* what, std::uint64_t first_byte) {
        if (is_guest())
            locks_.unlock(first_byte, lock_byte::k_first_hold - lock_byte::k_first_pin);
        else
            (slots_[mine_].*what).store(k_none, std::memory_order_release);
    }

    /// SH5: true if no guest locks any of the `less_than` bytes from `first_byte` on. Dead guests have no locks.
    [[nodiscard]] bool no_guest_has(std::uint64_t first_byte, std::uint64_t less_than) const {
        if (less_than == 0)
            return true;
        auto locked = locks_.locked_by_others(first_byte, less_than);
        return locked && !locked->has_value();
    }

    bool none_alive_has(word slot<Policy>::* what, std::uint64_t less_than) {
        for (std::size_t i = 0, count = slots_used(); i < count; ++i)
            if ((slots_[i].*what).load(std::memory_order_seq_cst) < less_than && !clear_if_dead(i))
                return false;
        return true;
    }

    /// If the process of that slot is dead, clears its pin and hold, and locks its byte meanwhile.
    bool clear_if_dead(std::size_t index) {
        if (index == mine_)
            return false;
        const std::uint64_t byte = lock_byte::k_first_slot + index;
        auto got = locks_.try_lock(byte, os::lock_kind::exclusive);
        if (!got || !*got)
            return false;
        slots_[index].pin.store(k_none, std::memory_order_seq_cst);
        slots_[index].hold.store(k_none, std::memory_order_seq_cst);
        locks_.unlock(byte);
        return true;
    }

    /// SH2: true if the last checkpoint is released. Releases it if the process that made it died before.
    bool is_all_released() {
        if (shared_.released.number_in(shared_.released.look()) == checkpoint_sequence())
            return true;
        if (!may_release())
            return false;
        release();
        return true;
    }

    control<Policy>& shared_;
    std::span<slot<Policy>> slots_;
    locks& locks_;
    std::size_t mine_;
};

} // namespace remanence::share
