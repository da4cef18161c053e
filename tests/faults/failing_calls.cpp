#include "failing_calls.hpp"

#include "track/pagemap_scan.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

namespace remanence::faults {

failing_calls plan;

namespace {

/// Whether a descriptor is open: the kernel says so in any case.
constexpr std::string_view k_never_fails = "fcntl to find whether a descriptor is open";

std::mutex guards_plan; // a heap has threads of its own

/// The error with which this call fails; 0: it does not.
int strike(const char* call, bool can_be_short = false) {
    const std::lock_guard guard(guards_plan);
    if (!plan.armed || call == k_never_fails || (plan.code == k_short && !can_be_short) ||
        (plan.from_then_on && call == k_opens) || (plan.concerns != nullptr && !plan.concerns(call)))
        return 0;
    if (plan.left > 0) {
        plan.left--;
        return 0;
    }
    if (!plan.struck.empty() && !plan.from_then_on)
        return 0;
    if (plan.struck.empty())
        plan.struck = call;
    plan.unreadable |= call == std::string_view("pread") || call == std::string_view("fstat");
    return plan.code;
}

/// What a pwrite has returned, or a pread.
ssize_t note_transfer(std::string_view call, ssize_t done) {
    if (done > 0 && call.starts_with("pwrite")) {
        const std::lock_guard guard(guards_plan);
        plan.has_written = true;
    }
    return done;
}

/// What becomes of an mmap of memory that is to be used at \p where. Where a heap's memory cannot grow, its allocator first takes
/// back what threads keep, if they keep any, and then tries again.
void note_mapping(const void* where, bool has_failed) {
    const std::lock_guard guard(guards_plan);
    if (has_failed && plan.unmapped == nullptr) {
        plan.unmapped = where;
        plan.unmapped_by = std::this_thread::get_id();
    } else if (plan.unmapped_by == std::this_thread::get_id()) {
        plan.mapped_at_once = plan.unmapped == where && !has_failed;
        plan.unmapped_by = {};
    }
}

/// Where the library prepares what takes the place of other memory: beyond the addresses of heaps.
bool is_aside(const void* where) { return reinterpret_cast<std::uintptr_t>(where) >= 0x7000'0000'0000; }

const char* call_to_protect(void* where, std::size_t bytes, int rights) {
    static std::set<std::pair<void*, std::size_t>> closed;
    const std::lock_guard guard(guards_plan);
    if (rights != PROT_READ)
        return closed.erase({where, bytes}) != 0 ? k_opens.data() : "mprotect";
    closed.insert({where, bytes});
    return "mprotect to protect";
}

const char* read_from(off_t offset) {
    constexpr off_t k_longer_than_any_file = off_t{1} << 33;
    return offset >= k_longer_than_any_file ? "pread of the page map" : "pread";
}

const char* control(unsigned long request, const void* argument) {
    const bool looks_for_writes = request != track::kernel::k_pagemap_scan ||
                                  static_cast<const track::kernel::pm_scan_arg*>(argument)->flags != 0;
    return looks_for_writes ? "ioctl" : "ioctl to find private copies";
}

const char* write_to(std::size_t count, off_t offset) {
    constexpr std::size_t k_superblock = 4096; // two of them, at the beginning
    return count == k_superblock && (offset == 0 || offset == k_superblock) ? "pwrite of a superblock" : "pwrite";
}

/// As much as a call that does part of its work may do: entries of the page map have 8 bytes.
std::size_t part_of(std::size_t count, off_t offset) {
    return read_from(offset) == std::string_view("pread") ? count / 2 : (count / 2 + 7) / 8 * 8;
}

bool is_longer(int fd, off_t bytes) { return ::lseek(fd, 0, SEEK_END) > bytes; } // all else is by pread and pwrite

} // namespace
} // namespace remanence::faults

// NOLINTBEGIN(bugprone-reserved-identifier, bugprone-macro-parentheses, readability-identifier-naming): the linker's names,
// and a type as a macro's argument
#define REM_WRAP_AS(name, call, type, parameters, arguments)                                                           \
    extern "C" type __real_##name parameters;                                                                          \
    extern "C" type __wrap_##name parameters {                                                                         \
        if (const int code = remanence::faults::strike(call)) {                                                        \
            errno = code;                                                                                              \
            return static_cast<type>(-1);                                                                              \
        }                                                                                                              \
        return __real_##name arguments;                                                                                \
    }

#define REM_WRAP(name, type, parameters, arguments) REM_WRAP_AS(name, #name, type, parameters, arguments)

REM_WRAP_AS(open,
            (flags & O_DIRECT) != 0                        ? "open for O_DIRECT"
            : std::string_view(path).ends_with("/pagemap") ? "open of the page map"
            : std::string_view(path).ends_with("/statm")   ? "open of the memory in use"
            : std::string_view(path).ends_with("/boot_id") ? "open of the machine's start"
                                                           : "open",
            int, (const char* path, int flags, mode_t mode), (path, flags, mode))
REM_WRAP_AS(madvise, advice == MADV_DONTNEED ? "madvise to drop pages" : "madvise as a hint", int,
            (void* where, std::size_t bytes, int advice), (where, bytes, advice))
REM_WRAP(sync_file_range, int, (int fd, off_t from, off_t bytes, unsigned flags), (fd, from, bytes, flags))
REM_WRAP(fsync, int, (int fd), (fd))
REM_WRAP(fdatasync, int, (int fd), (fd))
REM_WRAP_AS(ftruncate, remanence::faults::is_longer(fd, bytes) ? "ftruncate to cut off" : "ftruncate", int,
            (int fd, off_t bytes), (fd, bytes))
REM_WRAP_AS(fallocate, (mode & FALLOC_FL_PUNCH_HOLE) != 0 ? "fallocate to punch" : "fallocate", int,
            (int fd, int mode, off_t offset, off_t bytes), (fd, mode, offset, bytes))
REM_WRAP_AS(fcntl,
            command == F_GETFD ? remanence::faults::k_never_fails.data()
            : command == F_OFD_SETLK && static_cast<const struct flock*>(argument)->l_type == F_UNLCK
                ? "fcntl to unlock"
                : "fcntl",
            int, (int fd, int command, void* argument), (fd, command, argument))
REM_WRAP(fstat, int, (int fd, struct stat* into), (fd, into))
REM_WRAP(stat, int, (const char* path, struct stat* into), (path, into))
REM_WRAP(link, int, (const char* from, const char* to), (from, to))
REM_WRAP(renameat2, int, (int a, const char* from, int b, const char* to, unsigned flags), (a, from, b, to, flags))
REM_WRAP(rename, int, (const char* from, const char* to), (from, to))
REM_WRAP(unlink, int, (const char* path), (path))
REM_WRAP_AS(ioctl, remanence::faults::control(request, argument), int, (int fd, unsigned long request, void* argument),
            (fd, request, argument))
REM_WRAP_AS(memfd_create, "memfd_create to try a tracker", int, (const char* name, unsigned flags), (name, flags))
REM_WRAP(getrandom, ssize_t, (void* into, std::size_t bytes, unsigned flags), (into, bytes, flags))

// But for what the standard library waits with: the kernel fails none of those so.
extern "C" long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
extern "C" long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (const int code = number == SYS_futex ? 0 : remanence::faults::strike("syscall")) {
        errno = code;
        return -1;
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

// As Linux does it: whatever it says, the descriptor is closed.
extern "C" int __real_close(int fd);
extern "C" int __wrap_close(int fd) {
    const int done = __real_close(fd);
    if (const int code = remanence::faults::strike("close")) {
        errno = code;
        return -1;
    }
    return done;
}

extern "C" int __real_mprotect(void* where, std::size_t bytes, int rights);
extern "C" int __wrap_mprotect(void* where, std::size_t bytes, int rights) {
    const char* const call = remanence::faults::call_to_protect(where, bytes, rights);
    if (const int code = remanence::faults::strike(call)) {
        errno = code;
        return -1;
    }
    return __real_mprotect(where, bytes, rights);
}

extern "C" void* __real_mmap(void* where, std::size_t bytes, int rights, int flags, int fd, off_t offset);
extern "C" void* __wrap_mmap(void* where, std::size_t bytes, int rights, int flags, int fd, off_t offset) {
    const std::string_view call = rights == PROT_NONE                  ? "mmap to reserve"
                                  : remanence::faults::is_aside(where) ? "mmap aside"
                                                                       : remanence::faults::k_maps;
    const int code = remanence::faults::strike(call.data());
    if (call == remanence::faults::k_maps)
        remanence::faults::note_mapping(where, code != 0);
    if (code != 0) {
        errno = code;
        return MAP_FAILED;
    }
    return __real_mmap(where, bytes, rights, flags, fd, offset);
}

extern "C" void* __real_mremap(void* from, std::size_t before, std::size_t after, int flags, void* to);
extern "C" void* __wrap_mremap(void* from, std::size_t before, std::size_t after, int flags, void* to) {
    if (const int code = remanence::faults::strike("mremap")) {
        if ((flags & MREMAP_DONTUNMAP) != 0 && !remanence::faults::plan.from_then_on) {
            // As the kernel does that finds in the midst of it that there may be no more mappings.
            const std::size_t moved = after / 2 / 4096 * 4096;
            __real_mremap(from, moved, moved, flags, to);
            ::munmap(static_cast<char*>(to) + moved, after - moved);
        }
        errno = code;
        return MAP_FAILED;
    }
    return __real_mremap(from, before, after, flags, to);
}

#define REM_WRAP_TRANSFER(name, call, buffer)                                                                          \
    extern "C" ssize_t __real_##name(int fd, buffer* bytes, std::size_t count, off_t offset);                          \
    extern "C" ssize_t __wrap_##name(int fd, buffer* bytes, std::size_t count, off_t offset) {                         \
        const char* const which = call;                                                                                \
        const int code = remanence::faults::strike(which, count > 1);                                                  \
        if (code > 0) {                                                                                                \
            errno = code;                                                                                              \
            return -1;                                                                                                 \
        }                                                                                                              \
        return remanence::faults::note_transfer(                                                                       \
            which,                                                                                                     \
            __real_##name(fd, bytes,                                                                                   \
                          code == remanence::faults::k_short ? remanence::faults::part_of(count, offset) : count,      \
                          offset));                                                                                    \
    }
REM_WRAP_TRANSFER(pread, remanence::faults::read_from(offset), void)
REM_WRAP_TRANSFER(pwrite, remanence::faults::write_to(count, offset), const void)
// NOLINTEND(bugprone-reserved-identifier, bugprone-macro-parentheses, readability-identifier-naming)
