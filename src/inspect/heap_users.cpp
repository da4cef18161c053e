#include "inspect/heap_users.hpp"

#include "os/lock_holders.hpp"
#include "share/layout.hpp"
#include "store/superblocks.hpp"

#include <utility>

namespace remanence::inspect {

namespace {

/// Whoever is about to make a superblock, or has damaged both, has it open nevertheless.
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
        for (os::lock_holder& each : holders) { // guests have no slot to note something in
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
    for (os::lock_holder& each : holders)
        found.processes.push_back({{each.process, 0, {}, std::move(each.name)}});
    found.how = *is_exclusive             ? heap_users::open_as::exclusive
                : found.processes.empty() ? heap_users::open_as::closed
                                          : heap_users::open_as::read_only;
    return found;
}

} // namespace remanence::inspect
