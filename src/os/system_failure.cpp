#include "os/system_failure.hpp"

#include "os/limits.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>

namespace remanence::os {

unexpected system_failure(int code, const std::string& operation, const std::string& path, std::uint64_t offset) {
    auto text = [&](std::string_view advice) {
        return operation + " " + path + ": " + std::strerror(code) + ". " + std::string(advice);
    };
    if (const auto met = limit_met(code))
        return fail(met->code, text(met->advice), path, code, offset);
    switch (code) {
    case ENOENT:
    case ENOTDIR:
        return fail(errc::not_found, text("Check the name, and that its directory is there."), path, code, offset);
    case EACCES:
    case EPERM:
        return fail(errc::permission_denied, text("Give this user access to the file and its directory."), path, code,
                    offset);
    case EROFS:
        return fail(errc::read_only_file_system, text("Open it read-only, or mount the file system writable."), path,
                    code, offset);
    case EEXIST:
        return fail(errc::exists, text("Choose another name, or open the existing file."), path, code, offset);
    case ENAMETOOLONG:
        return fail(errc::io, text("Choose a shorter name."), path, code, offset);
    case ELOOP:
        return fail(errc::io, text("Name the file itself, not a symbolic link."), path, code, offset);
    case EISDIR:
        return fail(errc::not_a_heap, text("A heap is a file; name one."), path, code, offset);
    default:
        return fail(errc::io, text("The device or the system refuses; see the system's log."), path, code, offset);
    }
}

} // namespace remanence::os
