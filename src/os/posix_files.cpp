// The real file system: names and directories, by Linux system calls. Each failure becomes a message that tells the
// user what to do.

#include "base/undying.hpp"
#include "os/descriptor.hpp"
#include "os/file.hpp"
#include "os/posix_file.hpp"
#include "os/system_failure.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace remanence::os {

namespace {

unexpected not_regular(const std::string& path) {
    return fail(errc::not_a_heap, path + " is not a regular file. A heap needs one; name another path.", path);
}

bool is_symbolic_link(const std::string& path) {
    struct stat info{};
    return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

/// Returns the error for a symbolic link to a file that does not exist. The system reports it as if the link did not
/// exist.
unexpected leads_nowhere(const std::string& path) {
    std::error_code unreadable;
    return fail(errc::not_found,
                path + " is a symbolic link to " + std::filesystem::read_symlink(path, unreadable).string() +
                    ", where no file is. Bring that file back, or remove the link, or name the file itself.",
                path, ENOENT);
}

class posix_files final : public file_system {
public:
    // Opens with O_NOATIME, so that reading does not even change the access time. The system refuses that flag unless
    // the user owns the file; then opens without it.
    result<std::unique_ptr<file>> open(const std::string& path, access mode) override {
        if (mode == access::read_write)
            return open_with(path, O_RDWR, 0);
        auto opened = open_with(path, O_RDONLY | O_NOATIME, 0);
        return opened || opened.why().os_error != EPERM ? std::move(opened) : open_with(path, O_RDONLY, 0);
    }

    result<std::unique_ptr<file>> open_or_create(const std::string& path, unsigned mode) override {
        return open_with(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode);
    }

    result<bool> exists(const std::string& path) override {
        struct stat info{};
        if (::stat(path.c_str(), &info) == 0)
            return true;
        if (errno != ENOENT)
            return system_failure(errno, "cannot inspect", path);
        if (is_symbolic_link(path))
            return leads_nowhere(path);
        return false;
    }

    result<bool> has_directory(const std::string& path) override {
        struct stat info{};
        if (::stat(path.c_str(), &info) == 0)
            return S_ISDIR(info.st_mode);
        if (errno == ENOENT || errno == ENOTDIR)
            return false;
        return system_failure(errno, "cannot inspect", path);
    }

    result<void> rename_to_new(call_site, const std::string& from, const std::string& to) override {
        if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
            return {};
        if (errno != EINVAL)
            return system_failure(errno, "cannot rename " + from + " to", to);
        // The file system does not support RENAME_NOREPLACE. link() does not replace a file either.
        if (::link(from.c_str(), to.c_str()) != 0)
            return system_failure(errno, "cannot rename " + from + " to", to);
        if (::unlink(from.c_str()) != 0)
            return system_failure(errno, "cannot remove", from);
        return {};
    }

    result<void> rename_over(call_site, const std::string& from, const std::string& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0)
            return system_failure(errno, "cannot rename " + from + " to", to);
        return {};
    }

    result<void> remove(call_site, const std::string& path, file& which) override {
        auto mine = which.is_at(path);
        if (!mine)
            return mine.error();
        if (!*mine)
            return {};
        if (::unlink(path.c_str()) == 0 || errno == ENOENT)
            return {};
        return system_failure(errno, "cannot remove", path);
    }

    result<void> sync_directory(call_site, const std::string& path) override {
        std::string::size_type slash = path.rfind('/');
        std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
        int descriptor = open_file(directory.c_str(), O_RDONLY | O_DIRECTORY);
        if (descriptor < 0)
            return system_failure(errno, "cannot open the directory", directory);
        int code = 0;
        do
            code = ::fsync(descriptor) == 0 ? 0 : errno;
        while (code == EINTR);
        ::close(descriptor);
        if (code != 0)
            return system_failure(code, "cannot sync the directory", directory);
        return {};
    }

private:
    static result<std::unique_ptr<file>> open_with(const std::string& path, int flags, unsigned mode) {
        // Tests before opening, since opening a device may have effects, and again afterwards, since the name may have
        // changed meanwhile. Without O_NONBLOCK, opening a FIFO would wait for its other end.
        struct stat info{};
        if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
            return not_regular(path);
        int descriptor = open_file(path.c_str(), flags | O_NONBLOCK, static_cast<mode_t>(mode));
        if (descriptor < 0 && errno == EWOULDBLOCK) { // a lease on a regular file: its holder is asked to end it
            descriptor = open_file(path.c_str(), flags, static_cast<mode_t>(mode));
        }
        const bool creates = (flags & O_CREAT) != 0;
        if (descriptor < 0 && errno == ENOENT && is_symbolic_link(path))
            return leads_nowhere(path);
        if (descriptor < 0 && errno == EROFS && creates) {
            return fail(errc::read_only_file_system,
                        "cannot create " + path + ": " + std::strerror(EROFS) +
                            ". Choose a place that can be written, or mount the file system writable.",
                        path, EROFS);
        }
        if (descriptor < 0)
            return system_failure(errno, creates ? "cannot create" : "cannot open", path);
        if (::fstat(descriptor, &info) != 0) {
            const int code = errno;
            ::close(descriptor);
            return system_failure(code, "cannot inspect", path);
        }
        std::unique_ptr<file> opened = posix_file_of(descriptor, info, path);
        if (!S_ISREG(info.st_mode))
            return not_regular(path);
        return opened;
    }
};

constinit undying<posix_files> the_posix_files;

} // namespace

file_system& posix_file_system() { return the_posix_files.value; }

} // namespace remanence::os
