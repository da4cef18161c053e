// Which file a heap is, and which process has opened it; and the refusals that are about nothing else.
#pragma once

#include "os/file.hpp"
#include "os/memory.hpp"

#include <filesystem>
#include <utility>

namespace remanence::detail {

/// May be copied, and asked from any thread.
class heap_origin {
public:
    heap_origin(os::file_system& on, std::filesystem::path of, os::fork_guard process)
        : files(&on), path(std::move(of)), guard_(process) {}

    os::file_system* files;
    std::filesystem::path path;

    [[nodiscard]] bool same_process() const noexcept { return guard_.same_process(); }
    /// Throws errc::closed in a forked child.
    void check_process() const {
        if (!same_process()) [[unlikely]]
            raise_in_child();
    }
    /// errc::closed: the heap's destructor has begun.
    [[noreturn]] void raise_ended() const;
    [[noreturn]] void raise_read_only() const;

private:
    [[noreturn]] void raise_in_child() const;

    os::fork_guard guard_;
};

/// Absolute and without symbolic links, as far as the system tells: the log is made by name, later. The program may have changed
/// its directory by then, and whoever recovers the heap may use its real name.
std::filesystem::path real_path(const std::filesystem::path& path);

} // namespace remanence::detail
