// The steps of opening and closing. The first process creates the coordination file, others join, and the last one
// removes the file. A process is "at the door" while it holds the lock k_door. It is "in" (attached) while it holds
// k_attach shared and the lock of a slot (layout.hpp): a slot describes one process in the coordination file.
//
//  AT1  The first process uses and changes nothing of the heap or of an old coordination file before it holds k_attach
//       exclusively. Then it first voids the old coordination file. No process maps a coordination file before it
//       holds k_attach.
//  AT2  Only a process at the door acquires k_attach exclusively, and k_attach alone tells whether anybody is in. So
//       if a process at the door finds k_attach locked exclusively, an exclusive heap holds that lock.
//  AT3  Processes that close are at the door one after the other. So the last one knows that it is the last.
//  AT4  A process that is in holds a slot. A process joins only if it finds another process's slot locked while it
//       holds k_attach. Otherwise the coordination file may belong to a session whose processes all died, and the heap
//       may have been open exclusively since then.
//  AT5  A guest only reads. It first acquires a lock that shows that it reads. Then it checks that the coordination
//       file still has its name and that anybody is in. A process that holds k_attach exclusively first removes that
//       file, then looks for locks of guests. It changes nothing while it finds any.
#pragma once

#include "base/result.hpp"
#include "os/byte_locks.hpp"
#include "share/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace remanence::share {

enum class arrival {
    first,      // alone, and at the door until become_ready()
    joined,     // attached beside others
    exclusive,  // another process has the heap open exclusively
    other_name, // others are in, but their coordination file does not have this name
    not_yet,    // another process is about to open, or is reading the heap: try again
    kept_out    // another process was at the door until the deadline
};

/// `Policy::locks` has the interface of os::byte_locks. `Policy::place` represents the coordination file, by its name:
/// remove_old(), create(), open() (returns false if there is no usable file), slot_to_try_first(), set_ready() and
/// remove().
template <class Policy>
class attachment {
public:
    /// `slot` is the slot of this process, if it is in already.
    attachment(typename Policy::locks& bytes, typename Policy::place& file, std::size_t slots, std::size_t slot = 0)
        : locks_(bytes), file_(file), slots_(slots), slot_(slot) {}

    /// Attaches, or returns why not. If another process is at the door, waits until the deadline.
    result<arrival> attach(const os::deadline& until) {
        // Try without the door first, so that a process that is stopped at the door does not keep others from joining.
        auto anybody = is_anybody_in();
        if (!anybody)
            return anybody.error();
        if (*anybody) {
            auto joined = try_join();
            if (!joined || *joined == arrival::joined || *joined == arrival::other_name)
                return joined;
        }
        auto at_door = locks_.lock(lock_byte::k_door, os::lock_kind::exclusive, until);
        if (!at_door)
            return at_door.error();
        if (!*at_door)
            return arrival::kept_out;
        auto alone = locks_.try_lock(lock_byte::k_attach, os::lock_kind::exclusive);
        if (!alone)
            return alone.error();
        if (*alone) {
            REM_TRY(file_.remove_old()); // AT1
            auto guests = has_guests();
            if (!guests)
                return guests.error();
            if (*guests) { // AT5: wait until their sections end
                locks_.unlock(lock_byte::k_attach);
                locks_.unlock(lock_byte::k_door);
                return arrival::not_yet;
            }
            REM_TRY(file_.create());
            return arrival::first;
        }
        auto joined = try_join(); // AT2
        locks_.unlock(lock_byte::k_door);
        return joined;
    }

    /// Ends the opening by the first process: calls `fill`, which writes the shared state, then lets others join.
    template <class F>
    result<void> become_ready(F&& fill) {
        REM_TRY(take_slot()); // AT4
        fill();
        file_.set_ready();
        auto shared = locks_.try_lock(lock_byte::k_attach, os::lock_kind::shared);
        if (!shared)
            return shared.error();
        locks_.unlock(lock_byte::k_door);
        return {};
    }

    /// Returns true if this is the last process: from now on it holds the heap exclusively. Returns false if others
    /// are in. Also returns false if guests are in their sections or the door is not free before the deadline: then
    /// this process leaves as if it had died, and the next one that opens the heap recovers it.
    result<bool> detach(const os::deadline& until) {
        auto at_door = locks_.lock(lock_byte::k_door, os::lock_kind::exclusive, until); // AT3
        if (!at_door)
            return at_door.error();
        if (!*at_door) {
            leave();
            return false;
        }
        auto alone = locks_.try_lock(lock_byte::k_attach, os::lock_kind::exclusive);
        if (!alone)
            return alone.error();
        if (*alone) {
            REM_TRY(file_.remove()); // AT1
            auto guests = has_guests();
            if (!guests)
                return guests.error();
            if (!*guests) // AT5
                return true;
        }
        leave();
        return false;
    }

    /// Releases all locks, the door last.
    void leave() {
        locks_.unlock(lock_byte::k_first_slot + slot_);
        locks_.unlock(lock_byte::k_attach);
        locks_.unlock(lock_byte::k_door);
    }

    [[nodiscard]] std::size_t slot() const { return slot_; }

private:
    result<bool> is_anybody_in() {
        auto locked = locks_.locked_by_others(lock_byte::k_first_slot, slots_);
        if (!locked)
            return locked.error();
        return locked->has_value();
    }

    result<bool> has_guests() {
        auto locked = locks_.locked_by_others(lock_byte::k_first_pin, lock_byte::k_guest_bytes);
        if (!locked)
            return locked.error();
        return locked->has_value();
    }

    /// Returns any arrival but `first`.
    result<arrival> try_join() {
        auto shared = locks_.try_lock(lock_byte::k_attach, os::lock_kind::shared);
        if (!shared)
            return shared.error();
        if (!*shared)
            return arrival::exclusive;
        auto anybody = is_anybody_in(); // AT4
        if (!anybody)
            return anybody.error();
        if (*anybody) {
            auto usable = file_.open();
            if (!usable)
                return usable.error();
            if (*usable) {
                REM_TRY(take_slot());
                return arrival::joined;
            }
        }
        locks_.unlock(lock_byte::k_attach);
        return *anybody ? arrival::other_name : arrival::not_yet;
    }

    result<void> take_slot() {
        const std::size_t first = file_.slot_to_try_first();
        for (std::size_t i = 0; i < slots_; ++i) {
            slot_ = (first + i) % slots_;
            auto got = locks_.try_lock(lock_byte::k_first_slot + slot_, os::lock_kind::exclusive);
            if (!got)
                return got.error();
            if (*got)
                return {};
        }
        return fail(errc::no_space, "the heap is open in " + std::to_string(slots_) +
                                        " processes, as many as it can be. Close it in one of them.");
    }

    typename Policy::locks& locks_;
    typename Policy::place& file_;
    std::size_t slots_;
    std::size_t slot_;
};

} // namespace remanence::share
