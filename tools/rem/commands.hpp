// The subcommands: each prints to standard output and returns the exit code. What fails for want of the system, or of a
// heap, is thrown as `failed`.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace remanence::tool {

// Documented in rem.1 and in the help.
enum exit_code { exit_ok = 0, exit_error = 1, exit_usage = 2, exit_pointers = 3, exit_damage = 4 };

/// Ends the command: main prints the message and exits with the code that fits.
struct failed {
    failure why;
};

[[noreturn]] inline void fail_with(const failure& why) { throw failed{why}; }
template <class T>
T checked(result<T> done) {
    if (!done)
        fail_with(done.why());
    if constexpr (!std::is_void_v<T>)
        return std::move(*done);
}

/// As the library does it: the log lies beside the real file.
std::string real_path(const std::string& path);

/// Calls `look` with the heap as of its last commit; it may throw `failed`. When what it finds wrong may be the doing of
/// another program that writes to the heap, once more: up to `attempts` times. What it found on the way does not count
/// then. Returns the heap as it saw it last, with the problems that are damage; throws `failed` when there is none to show.
std::unique_ptr<inspect::inspection> inspect(const std::string& path, std::uint64_t attempts,
                                         const std::function<result<void>(inspect::inspection&)>& look);
constexpr std::uint64_t k_attempts = 100;      // of what reads little, or not all of it again
constexpr std::uint64_t k_attempts_at_all = 5; // of what reads the whole heap each time

int info(const std::string& file, bool as_json);
int ls(const std::string& file, bool as_json);
int stat(const std::string& file, bool as_json);
int verify(const std::string& file, bool with_pointers, bool as_json);
int copy(const std::string& file, const std::string& to, bool force);
int upgrade(const std::string& file, const std::string& application);

} // namespace remanence::tool
