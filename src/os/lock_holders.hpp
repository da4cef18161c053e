// Which processes hold the lock of a heap's file, for the message of who cannot have it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::os {

/// The byte of a file that is locked. No file has data there, so that it never collides with locks on ranges in use.
inline constexpr std::int64_t k_lock_offset = std::int64_t{1} << 62;
/// Bytes from here up to that one are for shared locks of those that read while others write. Whoever locks the file exclusively
/// locks them, too.
inline constexpr std::int64_t k_first_reader_lock = std::int64_t{1} << 61;

struct lock_holder {
    int process;
    std::string name;                        // of its program, as the kernel has it: the first 15 characters
    std::optional<std::int64_t> reader_lock; // the first byte, if it holds one of those
    bool is_this_process;
    char state = 0; // of its main thread, as the kernel has it in /proc/PID/stat; 0: unknown
    std::vector<std::pair<std::int64_t, std::int64_t>> locks{}; // first and last byte, from k_first_reader_lock on
    [[nodiscard]] bool holds(std::int64_t byte) const;
};

/// Whether it is, by a signal or by a debugger.
[[nodiscard]] constexpr bool is_stopped(char state) noexcept { return state == 'T' || state == 't'; }
/// Of this process, as above.
[[nodiscard]] char state_of_process(int process);

/// Those that have the file open and locked, this process among them, in the order of their numbers. Only processes that the
/// kernel shows to this one: none of another user, nor of other containers. Walks /proc: for error paths.
std::vector<lock_holder> lock_holders(const std::string& path);

/// "another process, 12 (bookd), holds its lock": those that hold a file's lock, as far as the kernel tells, or that it does not.
std::string who_holds(const std::string& path);
/// "another process, 12 (bookd), which is stopped": those that hold a lock on this byte of the file, and what they do, as far as the kernel
/// tells.
std::string describe_holders(const std::string& path, std::int64_t byte);

} // namespace remanence::os
