#include "api/whole_heap.hpp"

#include "store/heap_copy.hpp"
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

/// Removes what an earlier call left, makes the heap, and gives it its name. Nothing is left after a failure.
result<void> make_and_name(os::file_system& files, const std::string& path, std::string_view suffix, const maker& make,
                           store::existing there) {
    const bool replaces = there == store::existing::replaced;
    const std::string building = path + std::string(suffix);
    const std::array<std::string, 3> unfinished{building, store::log_path(building), store::new_path(building)};
    for (const std::string& each : unfinished)
        REM_TRY(remove_left_over(files, each, path));
    bool has_name = false;
    // Errors are ignored here, because the first error is the one to report, and the next call removes what is left.
    const auto give_up = [&] {
        for (const std::string& each : unfinished)
            (void)remove_left_over(files, each, path);
        if (has_name && !replaces) // durably or not
            (void)remove_left_over(files, path, path);
    };
    try {
        auto made = make(building);
        if (made)
            made = replaces ? files.rename_over("branch: rename over", building, path)
                            : files.rename_to_new("branch: rename", building, path);
        has_name = static_cast<bool>(made);
        if (made)
            made = files.sync_directory("branch: sync directory", path);
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
    return make_and_name(files, path, suffix, make, store::existing::refused);
}

result<void> replace_whole_heap(os::file_system& files, const std::string& path, std::string_view suffix,
                                const maker& make) {
    return make_and_name(files, path, suffix, make, store::existing::replaced);
}

} // namespace remanence::detail
