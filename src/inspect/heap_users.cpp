#include "inspect/heap_users.hpp"

#include "os/lock_holders.hpp"
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
    if (*shared)
        return heap_users{heap_users::open_as::shared, (*shared)->version, std::move((*shared)->processes)};
    heap_users found;
    for (os::lock_holder& each : os::lock_holders(path))
        found.processes.push_back({{each.process, 0, {}, std::move(each.name)}});
    found.how = *is_exclusive             ? heap_users::open_as::exclusive
                : found.processes.empty() ? heap_users::open_as::closed
                                          : heap_users::open_as::read_only;
    return found;
}

} // namespace remanence::inspect
