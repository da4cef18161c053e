/// \file
/// The errors that a program can meet: stable codes, and one exception type that carries what happened, where, and what
/// to do next. Depends on the standard library only.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <system_error>

namespace remanence {

/// What went wrong. The numbers are stable across releases. docs/errors.md says what to do about each.
///
/// After a failed open the heap is closed, and nothing committed is lost. After a failed creation there is no file.
/// After any other failure the heap is usable, unless the comment on the code says otherwise. A commit that failed has
/// written nothing, memory keeps its changes, and the commit may be repeated. heap::write() that failed has rolled
/// back.
enum class errc : int {
    not_a_heap = 1, ///< the file is empty, something other than a heap, or not a regular file
    truncated = 2,  ///< the heap file, or a redo log that it needs, is shorter than the contents that it should have
    /// Written by a newer release with features that this one lacks, or in an older format.
    unsupported_format = 3,
    abi_mismatch = 4, ///< written by a program with another standard library layout
    /// A root is stored as another type than the program names, or a member of the type has changed; a migration found
    /// a change that is not automatic; or a rem::fragile holds an object of a class that is not registered. The root is
    /// unchanged.
    type_mismatch = 5,
    /// A checksum or a structure is wrong; the offset says where. Without an offset: the bytes of a fragile element do
    /// not parse, or the element was moved from; or a commit found that the bytes behind a block were overwritten
    /// (check_options::red_zones).
    corrupt = 6,
    /// The heap was not closed cleanly and its redo log is missing. If a heap was renamed while it was open and crashed
    /// before its next commit, the log still has the former name.
    log_missing = 7,
    /// The redo log beside the heap belongs to another heap, to another copy of it, or to an earlier session, or
    /// prevents the creation of a new log; or another file has replaced the log of an open heap. No file is removed. If
    /// close() throws this error, the heap is closed.
    log_foreign = 8,
    /// Another mapping is at the heap's base address, for instance a copy of the heap. The message names the mapping.
    /// Also thrown when an object that may contain addresses is to be found or made in a heap that is mapped at another
    /// address than its base.
    base_taken = 9,
    /// The operating system refused access to the file or its directory; or the process has changed its user and cannot
    /// open its own /proc/self/pagemap.
    permission_denied = 10,
    read_only_file_system = 11, ///< the file system cannot be written
    /// There is no such file, directory or log_options::log_directory; or no such root or part of one.
    not_found = 12,
    /// The disk or the quota is full, or a limit of files is reached (how many may be open; their size, if the program
    /// ignores SIGXFSZ). Nothing was changed on disk. If it happens within a write, so that it is unknown what was
    /// written, the code is `io`. Checkpoints, close() and recovery need no more space than was reserved for them.
    no_space = 13,
    /// Another process, or another handle of this one, has the heap open or creates it; a process died without closing
    /// the heap, and a child that it forked is still alive; or the log beside the heap is that of an open heap that was
    /// moved. For a shared heap: a process that is doing the first opening or the last closing of the heap did not
    /// finish within sharing_options::open_timeout. Also thrown by a migration while other processes have the heap
    /// open, by undo(), redo(), go_to() and restore() if they would remove a root to which a reference may exist, and by
    /// the locks of file_backed when others have locked it longer than file_backed_options::lock_timeout.
    /// The message names processes as far as /proc shows them: those of this user, in this container.
    in_use = 14,
    /// The handle is closed or moved from; the handle, or a commit_ticket, was inherited through fork(); the heap was
    /// destroyed in its own section, or while another thread was about to use it; or the heap is shared and open
    /// read-only, and no process that writes to it is left.
    closed = 15,
    exhausted = 16, ///< the heap's address range cannot grow any further
    /// An earlier write or sync failed, perhaps one that made lazy or asynchronous commits durable, and the message
    /// repeats that error; or memory ran out during a commit. The heap can be read, but accepts no commit until it is
    /// reopened or rebuilt.
    poisoned = 17,
    /// The file to be created exists, or another program's file is at NAME-new, where the new file is built; load():
    /// the heap has a root with the name of a root in the dump; keep(): another version has this name, or the version
    /// is kept under another name.
    exists = 18,
    /// A call that is not allowed while a section is open. close() throws this also while another thread's commit waits
    /// for the disk; undo() and its like throw it also in a group. The heap stays open.
    section_open = 19,
    /// A write section was to begin inside a read section of the same thread, or an exclusive lock inside a shared one
    /// while others use the heap; or a lock was to be ended, or used, that the thread does not hold any more.
    section_conflict = 20,
    read_only = 21, ///< the heap was opened read-only
    /// This release, program or machine lacks what the call or option needs, such as a tracker, or the part of the
    /// library that records histories. Also thrown for a dump or a migration of types that only a program can make,
    /// that have no schema in the heap, or whose objects are nested too deeply.
    not_supported = 22,
    /// An argument or option is out of its range, a savepoint has ended, or a dump is wrong at a line.
    invalid_argument = 23,
    /// The device or the operating system reported a failure. If a commit throws this, the heap is poisoned.
    io = 24,
    unnameable_type = 25, ///< a type local to a function or file cannot be stored as a root
    /// A commit would store a pointer that leaves the heap. A commit outside of write sections checks strings and
    /// containers in the heap that were default-constructed outside of write sections, or in a section of another heap:
    /// their memory is not in this heap. The checking library checks all pointers. Memory keeps its changes; close()
    /// leaves the heap open; a destructor discards the changes and reports that.
    foreign_pointer = 26,
    recovery_needed = 27, ///< opened read-only, but only a newer release can recover the heap
    rolled_back = 28,     ///< a nested section failed, so the outermost one was rolled back
    /// In the checking library: a declared section changed what it did not declare.
    undeclared_change = 29,
    /// The heap's file, or its log, was removed or replaced while the heap was open, so that no program could open what
    /// is committed; or a file was removed or replaced while it was being made or opened. No commit succeeds, and
    /// memory keeps its changes. If only the log is gone, close() applies all commits to the heap's file. Otherwise
    /// close() closes the heap, the file is lost, and its log is kept.
    unlinked = 30,
    /// The heap belongs to another application (check_options::application), or records none. The heap is neither
    /// recovered nor changed.
    wrong_application = 31,
    /// A shared heap: processes that were stopped in a read section or a checkpoint keep the redo log from being
    /// reused, and the log has reached log_options::log_bytes_max. The message names these processes; heap::readers()
    /// lists those in read sections.
    readers_behind = 32,
    /// Memory of a shared heap was changed, or heap::savepoint() was called, outside of any write section.
    outside_section = 33,
    no_step = 34, ///< the history (heap_options::history) has no such step or version
    /// The history has reached a limit and may not drop steps (when_full::refuse); nothing was written.
    history_full = 35,
    uncommitted = 36, ///< memory has uncommitted changes, which an undo would mix with those of the step
    /// No procedure (heap_options::procedures) has this name, or its inverse does what a step of a history cannot: it
    /// commits, rolls back, allocates or frees. Memory is as before, except for what the inverse has committed.
    no_procedure = 37,
    /// A call has used up the steps or bytes that its argument allows (object_view.hpp). Nothing has changed.
    limit_reached = 38,
    /// The system gives no more memory, address space or mappings. The number is that of REM_NO_MEMORY in remanence.h.
    no_memory = 1001,
};

/// Returns true if the error means that a heap's files are damaged or incomplete, rather than that the caller or the
/// system failed.
constexpr bool is_damage(errc code) noexcept {
    return code == errc::corrupt || code == errc::truncated || code == errc::log_missing || code == errc::log_foreign;
}

/// Returns the category of `errc`. Its messages are one general sentence per code.
const std::error_category& error_category() noexcept;
/// Returns the code in that category; lets std::error_code be compared with an errc.
std::error_code make_error_code(errc code) noexcept;

/// The exception that every public function throws when it fails, except allocation. what() names the file, the
/// operation and what to do next.
class error : public std::system_error {
public:
    /// Used by the library only.
    error(errc code, const std::string& message, std::string path = {}, int os_error = 0,
          std::uint64_t offset = k_no_offset);

    static constexpr std::uint64_t k_no_offset = ~std::uint64_t{0}; ///< returned by offset() when there is none

    /// Returns the message: file, operation, what to do next.
    [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
    /// Returns the code.
    [[nodiscard]] errc reason() const noexcept { return static_cast<errc>(code().value()); }
    /// Returns the file that the error is about; empty when it is about none.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Returns `errno` of the system call that failed; 0 when none did.
    [[nodiscard]] int os_error() const noexcept { return os_error_; }
    /// Returns the offset in the file path(), in bytes; `k_no_offset` when there is none.
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

private:
    std::string message_; // std::system_error would add the code's general sentence to it
    std::string path_;
    int os_error_;
    std::uint64_t offset_;
};

/// The exception that allocation throws when the heap's address range is used up (`errc::exhausted`). The heap stays
/// usable.
class heap_exhausted : public std::bad_alloc {
public:
    /// Used by the library only.
    explicit heap_exhausted(std::string message) : message_(std::move(message)) {}
    /// Returns the message: file, operation, what to do next.
    [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
    /// Returns errc::exhausted.
    [[nodiscard]] std::error_code code() const noexcept { return make_error_code(errc::exhausted); }

private:
    std::string message_;
};

} // namespace remanence

/// Makes errc usable where a std::error_code is expected.
template <>
struct std::is_error_code_enum<remanence::errc> : std::true_type {};
