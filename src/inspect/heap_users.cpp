#include "inspect/heap_users.hpp"

#include "os/lock_holders.hpp"
#include "share/layout.hpp"
#include "store/superblocks.hpp"

#include <utility>

namespace remanence::inspect {

namespace {

bool is_locked(os::byte_locks& locks, std::uint64_t first, std::uint64_t count = 1) {
    const auto found = locks.locked_by_others(first, count);
    return found && found->has_value();
}

/// Returns how the process that excludes all others has the heap open. If it also locks k_door, the heap is a shared
/// one: its first process is opening it, or its last one is closing it. The last one still has the lock of its slot.
result<heap_users::open_as> how_alone(os::file& file) {
    auto locks = file.open_locks();
    if (!locks)
        return locks.error();
    if (!is_locked(**locks, share::lock_byte::k_door))
        return heap_users::open_as::exclusive;
    return is_locked(**locks, share::lock_byte::k_first_slot, share::k_slots) ? heap_users::open_as::closing
                                                                              : heap_users::open_as::opening;
}

/// Fails only if the file is not a heap. Accepts a heap without a valid superblock, because the process that has it
/// open may be about to write one, or has damaged both.
result<void> expect_heap(os::file& file) {
    auto size = file.size();
    if (!size)
        return size.error();
    auto found = store::read_superblocks(file, *size);
    if (!found && found.why().code == errc::not_a_heap)
        return found.error();
    return {};
}

} // namespace

result<heap_users> users_of(os::file_system& files, const std::string& path) {
    auto file = files.open(path, os::access::read_only);
    if (!file)
        return file.error();
    REM_TRY(expect_heap(**file));
    auto is_exclusive = (*file)->is_locked_exclusively();
    if (!is_exclusive)
        return is_exclusive.error();
    auto shared =
        *is_exclusive ? result<std::optional<share::observation>>(std::nullopt) : share::observe(files, **file, path);
    if (!shared)
        return shared.error();
    std::vector<os::lock_holder> holders = os::lock_holders(path);
    if (*shared) {
        heap_users found{heap_users::open_as::shared, (*shared)->version, std::move((*shared)->processes)};
        for (os::lock_holder& each : holders) { // guests are found by their locks, since they have no slot
            if (!each.reader_lock)
                continue;
            share::observed_process& guest = found.processes.emplace_back();
            guest.who.process = each.process;
            guest.who.program = std::move(each.name);
            if (const auto byte = static_cast<std::uint64_t>(*each.reader_lock); byte < share::lock_byte::k_first_hold)
                guest.version = byte - share::lock_byte::k_first_pin;
        }
        return found;
    }
    heap_users found;
    if (*is_exclusive) {
        auto how = how_alone(**file);
        if (!how)
            return how.error();
        found.how = *how;
        // Drop processes that only wait to open the heap. These do not lock k_attach; at most they have locked a log.
        std::erase_if(holders, [](const os::lock_holder& each) {
            return !each.holds(static_cast<std::int64_t>(share::lock_byte::k_attach));
        });
    } else if (!holders.empty()) {
        found.how = heap_users::open_as::read_only;
    }
    for (os::lock_holder& each : holders)
        found.processes.push_back({{each.process, 0, {}, std::move(each.name)}});
    return found;
}

} // namespace remanence::inspect
