#include "history/name_of_history.hpp"

#include "format/history_event.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace remanence::history {

result<found_file> find_file(os::file_system& files, const std::string& path, os::access mode) {
    auto is_taken = is_name_taken(files, path);
    if (!is_taken)
        return is_taken.error();
    if (!*is_taken)
        return found_file{false, nullptr};
    auto file = files.open(path, mode);
    if (file)
        return found_file{true, std::move(*file)};
    const errc code = file.why().code; // errc::not_found: a dangling symbolic link, or removed just now
    return code == errc::not_a_heap || code == errc::not_found ? found_file{true, nullptr}
                                                               : result<found_file>(file.error());
}

result<std::unique_ptr<os::file>> find_history(os::file_system& files, const std::string& path,
                                               const std::array<std::uint8_t, 16>& heap, os::access mode) {
    auto found = find_file(files, path, mode);
    if (!found)
        return found.error();
    if (found->file == nullptr)
        return std::unique_ptr<os::file>();
    format::history_header head{};
    auto size = found->file->size();
    if (!size)
        return size.error();
    if (*size < sizeof head)
        return std::unique_ptr<os::file>();
    REM_TRY(found->file->read(0, std::as_writable_bytes(std::span(&head, 1))));
    const bool is_its = head.magic == format::k_history_magic && head.uuid == heap;
    return is_its ? std::move(found->file) : std::unique_ptr<os::file>();
}

result<void> remove_history(os::file_system& files, const std::string& path, os::file& file) {
    REM_TRY(files.remove("history: remove ended history", path, file));
    return files.sync_directory("history: sync directory of ended history", path);
}

result<bool> is_name_taken(os::file_system& files, const std::string& path) {
    auto is_there = files.exists(path);
    if (!is_there && is_there.why().code == errc::not_found)
        return true;
    return is_there;
}

result<void> set_aside(os::file_system& files, const std::string& path, const std::string& unfit) {
    std::string to = unfit;
    for (std::uint64_t next = 2;; ++next) {
        auto moved = files.rename_over("history: set aside unfit file", path, to);
        if (moved)
            return {};
        auto is_taken = is_name_taken(files, to); // perhaps by a directory, which a file cannot replace
        if (!is_taken || !*is_taken)
            return moved.error();
        to = unfit + "-" + std::to_string(next);
    }
}

} // namespace remanence::history
