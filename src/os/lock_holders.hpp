// Finds the processes that lock a heap's file, for the message to a process that cannot acquire the lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::os {

/// The byte of a file that is locked. No file contains data there, so this lock never conflicts with locks on data.
inline constexpr std::int64_t k_lock_offset = std::int64_t{1} << 62;
/// Bytes from here up to k_lock_offset are for shared locks of processes that read while others write. An exclusive
/// lock of the file includes them.
inline constexpr std::int64_t k_first_reader_lock = std::int64_t{1} << 61;

struct lock_holder {
    int process;
    std::string name;                        // of its program, as the kernel records it: the first 15 characters
    std::optional<std::int64_t> reader_lock; // first byte of its reader lock, if it has one
    bool is_this_process;
    char state = 0; // of its main thread, from /proc/PID/stat; 0 means unknown
    std::vector<std::pair<std::int64_t, std::int64_t>> locks{}; // first and last byte, from k_first_reader_lock on
    [[nodiscard]] bool holds(std::int64_t byte) const;
};

/// True if the process is stopped, by a signal or by a debugger.
[[nodiscard]] constexpr bool is_stopped(char state) noexcept { return state == 'T' || state == 't'; }
/// Returns the state of a process, as lock_holder::state.
[[nodiscard]] char state_of_process(int process);

/// Returns the processes that have the file open and locked, this one included, ordered by process number. Finds only
/// those that the kernel shows to this process, and so none of other users or containers. Reads much of /proc: for
/// error paths.
std::vector<lock_holder> lock_holders(const std::string& path);

/// Returns, for example, "another process, 12 (bookd), holds its lock", or that the kernel does not tell which process
/// does.
std::string who_holds(const std::string& path);
/// Returns, for example, "another process, 12 (bookd), which is stopped": the processes that have locked this byte, and
/// their state, as far as the kernel tells.
std::string describe_holders(const std::string& path, std::int64_t byte);

} // namespace remanence::os
