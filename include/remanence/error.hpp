// The errors a user of Remanence can meet: stable codes, and one exception type that carries what happened,
// where, and what to do next. Depends on the standard library only.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <system_error>

namespace remanence {

/// What went wrong. The numbers are stable across releases. docs/errors.md says what to do about each.
///
/// An opening that fails leaves the heap closed, and loses nothing committed; a creation that fails leaves no file. After any other failure
/// the heap is usable, unless the code says otherwise: a commit has written nothing, memory keeps its changes, and the commit may be
/// repeated; heap::write() has rolled back.
enum class errc : int {
    not_a_heap = 1,         ///< the file is empty, something else than a heap, or no regular file
    truncated = 2,          ///< the heap file, or a redo log that it needs, ends before what it must hold
    unsupported_format = 3, ///< written by a newer release, with features this one lacks, or of an older format
    abi_mismatch = 4,       ///< written by a program with another standard library layout
    /// A root is stored as another type than the one asked for, or a member of the type has changed; or a migration met a change that
    /// is not automatic; or rem::fragile has an object of a class that is not registered. The root is as it was.
    type_mismatch = 5,
    /// A checksum or a structure is wrong; the offset says where. Without an offset: the bytes of a fragile element do not parse, or
    /// it was moved from, or a commit found that the bytes behind a block were written over (check_options::red_zones).
    corrupt = 6,
    /// The heap was not closed cleanly and its redo log is not there. A heap that was renamed while it was open, and crashed before
    /// its next commit, left its log with its former name.
    log_missing = 7,
    /// The redo log beside the heap belongs to another heap, to another copy of it, or to an earlier session, or is in the way of a
    /// new one; or another file came where the log of an open heap belongs. All files are kept. A close that throws this is done.
    log_foreign = 8,
    /// The heap's base address is used by another mapping, for instance by a copy of the heap. The message names the mapping. Or a
    /// heap that is mapped elsewhere for that reason cannot have, or make, an object that may hold addresses.
    base_taken = 9,
    /// The operating system refused access to the file or its directory; or the process has changed its user and cannot open its own
    /// /proc/self/pagemap.
    permission_denied = 10,
    read_only_file_system = 11, ///< the file system cannot be written
    not_found = 12, ///< no such file, directory or log_options::log_directory; or no such root, or part of one
    /// The disk, the quota or a limit of files is reached (how many may be open; their size, if the program ignores SIGXFSZ); nothing
    /// was changed on disk. Met within a write, where nobody knows what was written, it is `io`. Checkpoints, close() and recovery need
    /// no more space than was reserved for them.
    no_space = 13,
    /// Another process, or another handle of this one, has the heap open, or creates it; or a child lives that was forked by a process
    /// which died without closing it; or the log beside the heap is that of an open heap that was moved. Of a shared heap: a process
    /// that opens it first, or closes it last, did not end that within sharing::open_timeout. Also a migration while other
    /// processes have the heap open, and an undo, redo, go_to() or restore() that would take a root from who may have a reference to
    /// it. The message names processes as far as /proc shows them: those of this user, in this container.
    in_use = 14,
    /// The handle is closed, moved from, or inherited through fork, or a commit_ticket is; the heap was destroyed in its own section, or
    /// while another thread was about to use it; or nobody writes any more to a shared heap that is open read-only.
    closed = 15,
    exhausted = 16, ///< the heap's address range cannot grow any further
    /// An earlier write or sync failed, perhaps one that made lazy or asynchronous commits durable, and the message repeats it; or
    /// memory ran out in the midst of a commit. The heap can be read, and takes no commit until it is reopened or rebuilt.
    poisoned = 17,
    /// The file to be created is there already, or NAME-new, where it is built, is somebody else's; load(): the heap has such a
    /// root; keep(): a version has this name, or that version another one.
    exists = 18,
    /// Not allowed while a section is open: close(), also while another thread's commit waits for the disk; undo() and its like, also in
    /// a group. The heap stays open.
    section_open = 19,
    section_conflict = 20, ///< a write section was asked for inside a read section of the same thread
    read_only = 21,        ///< the heap was opened read-only
    /// This release, this program or this machine does not have it: a tracker, a part of the library that records histories; a dump or
    /// a migration of types that only a program can make, of which the heap has no schema, or whose objects lie too deep in each other.
    not_supported = 22,
    invalid_argument =
        23,  ///< an argument or option is out of its range, a savepoint has ended, a dump is wrong at a line
    io = 24, ///< the device or the operating system reported a failure; after a commit the heap is poisoned
    unnameable_type = 25, ///< a type local to a function or file cannot be stored as a root
    /// A commit would store a pointer that leaves the heap: outside write sections, one to memory of a string or container that was
    /// made by default there, or in a section of another heap; in a library that checks commits, any. Memory keeps its changes; a
    /// close leaves the heap open, a destructor discards them and says so.
    foreign_pointer = 26,
    recovery_needed = 27,   ///< opened read-only, but only a newer release can recover the heap
    rolled_back = 28,       ///< a nested section failed, so the outermost one was rolled back
    undeclared_change = 29, ///< a library that checks commits: a declared section changed what it did not declare
    /// The heap's file, or its log, was removed or replaced while it was open, so that nobody could open what is committed; or a file was,
    /// while it was being made or opened. No commit succeeds; memory keeps its changes. If only the log is gone, close() brings
    /// all commits into the heap; else close() closes it, the file is lost, and its log is kept.
    unlinked = 30,
    /// The heap is another application's (check_options::application), or does not say whose. It is neither recovered nor changed.
    wrong_application = 31,
    /// A shared heap: processes that are stopped, in a read section or at a checkpoint, keep the redo log from being reused, and it has
    /// reached log_options::log_bytes_max. The message names them, and heap::readers() those that read.
    readers_behind = 32,
    outside_section = 33, ///< memory of a shared heap was changed, or a savepoint asked for, outside any write section
    no_step = 34, ///< a history (heap_options::history) does not lead where it was to lead, or keeps no such version
    history_full = 35, ///< a history that keeps all its steps has no room for another one; nothing was written
    uncommitted = 36,  ///< memory holds changes that are not committed, which an undo would mix with the step
    /// A procedure (heap_options::procedures) is not known by this name, or its inverse does what a step of a history cannot: it
    /// commits, rolls back, allocates or frees. Memory is as before, but for what the inverse has committed.
    no_procedure = 37,
    /// The system gives no more memory, address space or mappings. The number is that of REM_NO_MEMORY.
    no_memory = 1001,
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
