// The steps of opening and closing: who is first and makes the coordination file, who joins, who is the last and removes it.
//
//  AT1  Nothing of the heap or of an old coordination file is used or changed before the first has the file for itself; what an old
//       coordination file says is void before anything else is done, and nobody maps one before he holds k_attach.
//  AT2  k_attach is taken exclusively only by who is at the door, and k_attach alone says whether anybody is in. So who is at the door and is
//       kept out by an exclusive lock is kept out by an exclusive heap.
//  AT3  Of those that close, one after the other is at the door: the last one knows that he is.
//  AT4  Who is in holds a slot. Who joins has seen another one's while he held k_attach: otherwise the coordination file may be that of a
//       session whose members have died, after which an exclusive heap was open.
//  AT5  A guest, who only reads, looks whether the coordination file is still at its name, and anybody is in, once he has a lock that
//       says that he reads. Who has k_attach exclusively has removed that file before he looks for such locks, and changes nothing while
//       there are any.
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
    joined,     // in
    exclusive,  // somebody has the heap to himself
    other_name, // others are in, whose coordination file is not at this name
    not_yet,    // somebody else is about to open, or looks at the heap: to be tried again
    kept_out    // somebody is at the door, and has not left it in time
};

/// `Policy::locks` as os::byte_locks; `Policy::place` is the name of the coordination file: remove_old(), create(), open() (false: nothing
/// that can be used is there), slot_to_try_first(), set_ready() and remove().
template <class Policy>
class attachment {
public:
    /// `slot`: of who is in already.
    attachment(typename Policy::locks& bytes, typename Policy::place& file, std::size_t slots, std::size_t slot = 0)
        : locks_(bytes), file_(file), slots_(slots), slot_(slot) {}

    /// Waits at the door until then.
    result<arrival> attach(const os::deadline& until) {
        // So a process that is stopped at the door keeps nobody from joining.
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
            if (*guests) { // AT5: until their sections have ended
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

    /// The first: `fill` writes what others find, who get in then.
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

    /// True: the last one, who has the file for himself from now on. If guests are in their sections nobody is: then the next one
    /// that opens the heap recovers it. So it is, too, when the door was not free until then: this one leaves as if he had died.
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

    /// What is held is let go of, the door last.
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

    /// Anything but the first.
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
