// The file of a heap, and the process that has opened it; also the errors that depend on these two only.
#pragma once

#include "os/file.hpp"
#include "os/memory.hpp"

#include <filesystem>
#include <utility>

namespace remanence::detail {

/// Ends all scopes of new_in that this thread is in. t_end_new_scopes points to such a function; outside of scopes it
/// is null.
using scopes_end = void (*)() noexcept;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local scopes_end t_end_new_scopes;
/// To be called before the library allocates memory of its own.
inline void end_new_scopes() noexcept {
    if (t_end_new_scopes != nullptr) [[unlikely]]
        std::exchange(t_end_new_scopes, nullptr)();
}

[[noreturn]] void raise_in_new_scope(const char* what);
/// Throws errc::invalid_argument, and ends the scopes.
inline void refuse_in_new_scope(const char* what) {
    if (t_end_new_scopes != nullptr) [[unlikely]]
        raise_in_new_scope(what);
}

/// Objects can be copied. Any thread may call any function.
class heap_origin {
public:
    heap_origin(os::file_system& on, std::filesystem::path of, os::fork_guard process)
        : files(&on), path(std::move(of)), guard_(process) {}

    os::file_system* files;
    std::filesystem::path path;

    [[nodiscard]] bool same_process() const noexcept { return guard_.same_process(); }
    /// Throws errc::closed in a forked child. In a scope of new_in, throws errc::invalid_argument and ends the scopes.
    void check_process() const {
        if (!same_process()) [[unlikely]]
            raise_in_child();
        refuse_in_new_scope(path.c_str());
    }
    /// errc::closed: the heap's destructor has begun.
    [[noreturn]] void raise_ended() const;
    [[noreturn]] void raise_read_only() const;

private:
    [[noreturn]] void raise_in_child() const;

    os::fork_guard guard_;
};

/// Returns an absolute path without symbolic links, as far as the system can resolve them. That is needed because the
/// log is created later, by name, when the program may have changed its current directory. And a process that recovers
/// the heap may open it by its real name.
std::filesystem::path real_path(const std::filesystem::path& path);

} // namespace remanence::detail
