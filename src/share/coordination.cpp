// Attaching of a process to a shared heap, and the messages when that is refused.
#include "share/coordination.hpp"

#include "os/lock_holders.hpp"
#include "os/this_process.hpp"
#include "share/process_coordination.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace remanence::share {

namespace {

using namespace std::chrono_literals;

// The pause between two tries, while other processes are about to open or close.
constexpr std::chrono::nanoseconds k_between_tries = 10ms;

bool is_over(deadline until) { return until && std::chrono::steady_clock::now() >= *until; }

unexpected open_elsewhere(const std::string& path) {
    return fail(errc::in_use,
                path + " is open elsewhere without sharing: " + os::who_holds(path) + ". Close it there first.", path);
}

/// The process that holds the door may be stopped, or may have much to recover.
unexpected kept_out(const std::string& path) {
    return fail(
        errc::in_use,
        path + " is just being opened or closed by " +
            os::describe_holders(path, static_cast<std::int64_t>(lock_byte::k_door)) +
            ". open_timeout (heap_options::sharing) has passed. Let that process go on, or end it, and open the heap "
            "again.",
        path);
}

unexpected open_under_another_name(const std::string& path) {
    return fail(errc::in_use,
                path + " is shared under another name, or its coordination file " + path +
                    "-shm was removed or damaged while it was open: " + os::who_holds(path) +
                    ". Open it under the name by which they have it open, or close it there first.",
                path);
}

result<void> check_place(const os::file_identity& heap, const std::string& path, coordination::on where) {
    if (heap.reached_by.empty() || where == coordination::on::any)
        return {};
    return fail(errc::not_supported,
                path + " is on a file system of the kind " + heap.reached_by +
                    ", where processes cannot rely on each other's locks and memory. Copy the heap to a disk of this "
                    "machine, or open it in one process only; or, if you know that they can, set "
                    "heap_options::sharing.share_on_network.",
                path);
}

// Makes the object. No other process sees it yet.
result<std::unique_ptr<process_coordination>> make(os::file_system& files, os::file& heap, const std::string& path,
                                                   unsigned mode, coordination::on where) {
    auto identity = heap.identity();
    if (!identity)
        return identity.error();
    REM_TRY(check_place(*identity, path, where));
    auto boot = os::boot_number();
    if (!boot)
        return boot.error();
    auto locks = heap.open_locks();
    if (!locks)
        return locks.error();
    return std::make_unique<process_coordination>(
        std::move(*locks), coordination_file(files, path, mode, std::move(*identity), *boot), path);
}

} // namespace

result<coordination::attached> coordination::attach(os::file_system& files, os::file& heap, const std::string& path,
                                                    unsigned mode, deadline until, on where) {
    auto made = make(files, heap, path, mode, where);
    if (!made)
        return made.error();
    process_coordination& one = **made;
    for (;;) {
        auto arrived = one.places.attach(until);
        if (!arrived)
            return arrived.error();
        switch (*arrived) {
        case arrival::first:
            return attached{std::move(*made), role::first};
        case arrival::joined:
            one.come_in();
            one.steps->enter();
            return attached{std::move(*made), role::joined};
        case arrival::exclusive:
            return open_elsewhere(path);
        case arrival::other_name:
            return open_under_another_name(path);
        case arrival::kept_out:
            return kept_out(path);
        case arrival::not_yet:
            if (is_over(until))
                return open_elsewhere(path); // another process has locked the heap to read it
            std::this_thread::sleep_for(k_between_tries);
        }
    }
}

result<std::unique_ptr<coordination>> coordination::attach_to_read(os::file_system& files, os::file& heap,
                                                                   const std::string& path, deadline until, on where) {
    auto made = make(files, heap, path, 0, where);
    if (!made)
        return made.error();
    process_coordination& one = **made;
    one.is_guest = true;
    for (;;) {
        // Query the door before the slots: a process that is at the door now may hold a slot by the second query.
        auto at_door = one.locks->locked_by_others(lock_byte::k_door, 1);
        if (!at_door)
            return at_door.error();
        auto anybody = one.locks->locked_by_others(lock_byte::k_first_slot, k_slots);
        if (!anybody)
            return anybody.error();
        if (!*anybody && !*at_door)
            return std::unique_ptr<coordination>();
        if (!*anybody) {
            if (is_over(until))
                return kept_out(path);
            std::this_thread::sleep_for(k_between_tries);
            continue;
        }
        auto usable = one.file.open(os::access::read_only);
        if (!usable)
            return usable.error();
        if (*usable) {
            one.steps.emplace(one.file.memory().words, std::span(one.file.memory().slots), *one.locks, k_slots);
            return std::unique_ptr<coordination>(std::move(*made));
        }
        if (is_over(until)) // another process is about to become ready, or closes as the last one
            return *at_door ? kept_out(path) : open_under_another_name(path);
        std::this_thread::sleep_for(k_between_tries);
    }
}

result<void> coordination::remove_left_over(os::file_system& files, const std::string& path) {
    return coordination_file(files, path, 0, {}, {}).remove_old();
}

} // namespace remanence::share
