// The errors a user of Remanence can meet: stable codes, and one exception type that carries what happened,
// where, and what to do next. Depends on the standard library only.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <system_error>

namespace remanence {

/// What went wrong. The numbers are stable across releases; docs/errors.md lists cause and remedy of each.
enum class errc : int {
    not_a_heap = 1,             ///< the file is empty or something else than a heap
    truncated = 2,              ///< the file ends before what its superblock promises
    unsupported_format = 3,     ///< written by a newer release, with features this one lacks, or of an older format
    abi_mismatch = 4,           ///< written by a program with another standard library layout
    type_mismatch = 5,          ///< a root is stored as another type than the one asked for
    corrupt = 6,                ///< a checksum or a structure is wrong; the offset says where
    log_missing = 7,            ///< the heap was not closed cleanly and its redo log is not there
    log_foreign = 8,            ///< the redo log beside the heap belongs to another heap, or to another copy of it
    base_taken = 9,             ///< the heap's base address is used by another mapping
    permission_denied = 10,     ///< the operating system refused access
    read_only_file_system = 11, ///< the file system cannot be written
    not_found = 12,             ///< no such file, or its directory is missing
    no_space = 13,              ///< the disk, the quota or a limit of files is reached; nothing was changed on disk
    in_use = 14,                ///< another process, or this one, has the heap open
    closed = 15,                ///< the heap handle is closed, moved from, or inherited through fork
    exhausted = 16,             ///< the heap's address range cannot grow any further
    poisoned = 17,              ///< an earlier write or sync failed; the heap must be reopened
    exists = 18,                ///< the file to be created is there already
    section_open = 19,          ///< not allowed while a read or write section is open
    section_conflict = 20,      ///< a write section was asked for inside a read section of the same thread
    read_only = 21,             ///< the heap was opened read-only
    not_supported = 22,         ///< asked for something this release does not have
    invalid_argument = 23,      ///< an argument or option is out of its range
    io = 24,                    ///< the device or the operating system reported a failure
    unnameable_type = 25,       ///< a type local to a function or file cannot be stored as a root
    foreign_pointer = 26,       ///< a library that checks commits: the heap would hold a pointer that leaves it
    recovery_needed = 27,       ///< opened read-only, but only a newer release can recover the heap
    rolled_back = 28,           ///< a nested section failed, so the outermost one was rolled back
    undeclared_change = 29,     ///< a library that checks commits: a declared section changed what it did not announce
    unlinked = 30,              ///< the heap's file, or its log, was removed or replaced while it was open
    wrong_application = 31, ///< the heap is another application's (check_options::application), or does not say whose
    readers_behind = 32,    ///< a shared heap: other processes read versions so old that the log cannot be reused
    outside_section = 33, ///< memory of a shared heap was changed, or a savepoint asked for, outside any write section
    no_step = 34,         ///< a history (heap_options::history) does not lead where it was to lead
    history_full = 35,    ///< a history that keeps all its steps has no room for another one; nothing was written
    uncommitted = 36,     ///< memory holds changes that are not committed, which an undo would mix with the step
    no_procedure = 37, ///< a procedure (heap_options::procedures) is not known by this name, or is no step of a history
    no_memory =
        1001, ///< the system gives no more memory, address space or mappings; the number is that of REM_NO_MEMORY
};

/// Whether an error says that a heap's files are not whole, rather than that the caller or the system failed.
constexpr bool is_damage(errc code) noexcept {
    return code == errc::corrupt || code == errc::truncated || code == errc::log_missing || code == errc::log_foreign;
}

/// The category of `errc`; its messages are one general sentence per code.
const std::error_category& error_category() noexcept;
std::error_code make_error_code(errc code) noexcept;

/// Thrown by every public function that fails. `what()` names the file, the operation and what to do next.
class error : public std::system_error {
public:
    error(errc code, const std::string& message, std::string path = {}, int os_error = 0,
          std::uint64_t offset = k_no_offset);

    static constexpr std::uint64_t k_no_offset = ~std::uint64_t{0};

    [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
    [[nodiscard]] errc reason() const noexcept { return static_cast<errc>(code().value()); }
    /// The file concerned; empty when the error concerns none.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// `errno` of the system call that failed; 0 when none did.
    [[nodiscard]] int os_error() const noexcept { return os_error_; }
    /// Byte offset in the file named by `path()`; `k_no_offset` when it has none.
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

private:
    std::string message_; // std::system_error would add the code's general sentence to it
    std::string path_;
    int os_error_;
    std::uint64_t offset_;
};

/// Thrown by allocation when the heap's address range is used up (`errc::exhausted`). The heap stays usable.
class heap_exhausted : public std::bad_alloc {
public:
    explicit heap_exhausted(std::string message) : message_(std::move(message)) {}
    [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
    [[nodiscard]] std::error_code code() const noexcept { return make_error_code(errc::exhausted); }

private:
    std::string message_;
};

} // namespace remanence

template <>
struct std::is_error_code_enum<remanence::errc> : std::true_type {};
