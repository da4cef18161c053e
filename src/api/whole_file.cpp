#include "api/whole_file.hpp"

#include "base/units.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

namespace remanence::detail {

whole_file::~whole_file() {
    std::error_code unknown;
    if (file_)
        std::filesystem::remove(unfinished_, unknown); // errors are ignored, because the first one was reported
}

result<void> whole_file::begin() {
    constexpr unsigned k_mode = 0666;
    std::optional<unsigned> former; // permissions of the file that will be replaced; nothing if there is none
    if (auto replaced = files_.open(path_, os::access::read_only)) {
        auto mode = (*replaced)->permissions();
        if (!mode)
            return mode.error();
        former = *mode;
    } else if (replaced.why().code != errc::not_found) {
        return replaced.error();
    }
    // After a power loss this may be a second name of the finished file itself. So the left-over file is removed, not
    // truncated.
    if (auto left = files_.open(unfinished_, os::access::read_write)) {
        REM_TRY(lock(**left));
        REM_TRY(files_.remove("file: remove what was left", unfinished_, **left));
    } else if (left.why().code != errc::not_found) {
        return left.error();
    }
    auto file = files_.open_or_create(unfinished_, former.value_or(k_mode));
    if (!file)
        return file.error();
    REM_TRY(lock(**file));
    auto bytes = (*file)->size();
    if (!bytes)
        return bytes.error();
    auto is_mine = (*file)->is_at(unfinished_);
    if (!is_mine)
        return is_mine.error();
    if (*bytes != 0 || !*is_mine) // this process has not made the file in begin()
        return written_by_another();
    file_ = std::move(*file);
    return former ? take_mode(*former) : result<void>();
}

result<void> whole_file::lock(os::file& unfinished) {
    auto locked = unfinished.try_lock(os::lock_kind::exclusive);
    if (!locked)
        return locked.error();
    return *locked ? result<void>() : written_by_another();
}

result<void> whole_file::written_by_another() const {
    return fail(errc::in_use, unfinished_ + " is being written by another process. Name another file.", path_);
}

/// Sets the permissions, whatever the umask is, and whatever a crash has left behind.
result<void> whole_file::take_mode(unsigned mode) {
    auto present = file_->permissions();
    if (!present)
        return present.error();
    if (*present == mode)
        return {};
    std::error_code why;
    std::filesystem::permissions(unfinished_, static_cast<std::filesystem::perms>(mode), why);
    if (why)
        return fail(errc::io,
                    "cannot give " + unfinished_ + " the permissions of " + path_ + ": " + why.message() +
                        ". Remove it, or write the file as its owner.",
                    path_);
    return {};
}

result<void> whole_file::put(std::string_view text) {
    pending_ += text;
    return pending_.size() < MiB ? result<void>() : write();
}

result<void> whole_file::finish(bool may_replace) {
    REM_TRY(write());
    REM_TRY(file_->sync("file: sync"));
    if (may_replace)
        REM_TRY(files_.rename_over("file: rename over", unfinished_, path_));
    else
        REM_TRY(files_.rename_to_new("file: rename to new", unfinished_, path_));
    file_.reset();
    return files_.sync_directory("file: sync directory", path_);
}

result<void> whole_file::write() {
    REM_TRY(file_->write("file: write", end_, std::as_bytes(std::span(pending_))));
    end_ += pending_.size();
    pending_.clear();
    return {};
}

} // namespace remanence::detail
