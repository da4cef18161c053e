#include "api/whole_heap.hpp"

#include "store/heap_creation.hpp"

#include <array>

namespace remanence::detail {

namespace {

result<void> refuse_if_there(os::file_system& files, const std::string& path, const char* what) {
    auto is_there = files.exists(path);
    if (!is_there)
        return is_there.error();
    if (*is_there)
        return fail(errc::exists, path + what + ". Name another file, or remove it.", path);
    return {};
}

/// Removes the files that an earlier call left behind in a crash. errc::in_use: such a call is still running.
result<void> remove_left_over(os::file_system& files, const std::string& path, const std::string& lock_of) {
    auto is_there = files.exists(path);
    if (!is_there)
        return is_there.error();
    if (!*is_there)
        return {};
    auto file = files.open(path, os::access::read_write);
    if (!file)
        return file.error();
    auto locked = (*file)->try_lock(os::lock_kind::exclusive);
    if (!locked)
        return locked.error();
    if (!*locked)
        return store::in_use(lock_of);
    return files.remove("branch: remove left over", path, **file);
}

using maker = std::function<result<void>(const std::string& building)>;

/// Removes what an earlier call left, makes the heap, and lets `give_name` name it. Nothing is left after a failure.
result<void> make_and_name(os::file_system& files, const std::string& path, std::string_view suffix, const maker& make,
                           const std::function<result<void>(const std::string& building)>& give_name) {
    const std::string building = path + std::string(suffix);
    const std::array<std::string, 3> unfinished{building, store::log_path(building), store::new_path(building)};
    for (const std::string& each : unfinished)
        REM_TRY(remove_left_over(files, each, path));
    // Errors are ignored here, because the first error is the one to report, and the next call removes what is left.
    const auto give_up = [&] {
        for (const std::string& each : unfinished)
            (void)remove_left_over(files, each, path);
    };
    try {
        auto made = make(building);
        if (made)
            made = give_name(building);
        if (!made)
            give_up();
        return made;
    } catch (...) {
        give_up();
        throw;
    }
}

} // namespace

result<void> make_whole_heap(os::file_system& files, const std::string& path, std::string_view suffix,
                             const maker& make) {
    REM_TRY(refuse_if_there(files, path, " exists"));
    REM_TRY(refuse_if_there(files, store::log_path(path), " is the redo log of a heap that is not there"));
    return make_and_name(files, path, suffix, make, [&](const std::string& building) -> result<void> {
        REM_TRY(files.rename_to_new("branch: rename", building, path));
        auto synced = files.sync_directory("branch: sync directory", path);
        if (!synced) // it has its name, durably or not
            (void)remove_left_over(files, path, path);
        return synced;
    });
}

result<void> replace_whole_heap(os::file_system& files, const std::string& path, std::string_view suffix,
                                const maker& make) {
    return make_and_name(files, path, suffix, make, [&](const std::string& building) -> result<void> {
        REM_TRY(files.rename_over("branch: rename over", building, path));
        return files.sync_directory("branch: sync directory", path);
    });
}

} // namespace remanence::detail
