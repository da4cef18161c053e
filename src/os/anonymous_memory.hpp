// Memory of no file for allocators that may stand behind malloc(): these functions take no memory themselves, keep errno, and
// tell failures as errno's numbers. Depends on the standard library only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remanence::os {

/// Address space at a multiple of `alignment`, a power of two of a page or more: private, inaccessible, without memory or swap
/// set aside. Null when there is none.
std::byte* reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept;
/// Maps private memory exactly there, with these rights (mmap(2)), without memory or swap set aside. 0, or errno; EEXIST: something else is
/// there.
int map_where_free(std::byte* where, std::uint64_t bytes, int rights) noexcept;
/// Addresses at a multiple of 1 GiB where nothing is mapped, far from where the system puts what may lie anywhere. They stay free, since
/// what is mapped counts against limits (ulimit -v, mlockall's). Null when there are none. Linux 4.17.
std::byte* find_free_addresses(std::uint64_t bytes) noexcept;
/// Unmaps pages, or what is held.
void release_addresses(std::byte* where, std::uint64_t bytes) noexcept;
/// Whether addresses are reserved, or were free.
enum class addresses : std::uint8_t { held, found_free };
/// Makes pages of such addresses readable and writable. 0, or ENOMEM and the like; EEXIST: something else lies at these by now.
int make_writable(std::byte* where, std::uint64_t bytes, addresses are) noexcept;
/// Gives the pages' memory back; they read as zeros.
void give_memory_back(std::byte* where, std::uint64_t bytes) noexcept;
/// Moves the memory of pages to others; it reads as zeros where it was. 0, or errno: nothing has changed then. Linux 5.7.
int move_memory(std::byte* from, std::byte* to, std::uint64_t bytes) noexcept;
/// Gives the memory of writable pages back, and makes them one mapping with those around them, whatever moved here. 0, or errno: nothing
/// has changed then.
int renew_memory(std::byte* where, std::uint64_t bytes) noexcept;
/// Memory of these pages will be of that NUMA node, and no other. 0, or errno: ENOSYS, EINVAL when there is no such node.
int bind_to_node(std::byte* where, std::uint64_t bytes, unsigned node) noexcept;
/// How much of the range has memory behind it. 0 when that cannot be told.
std::uint64_t resident_bytes(const std::byte* where, std::uint64_t bytes) noexcept;
/// Of the process, in memory: its own pages, and its copies of those of files. 0 when the system does not tell.
[[nodiscard]] std::uint64_t anonymous_bytes() noexcept;

/// Calls `at_exit` when the thread that arm()s it ends, behind the destructors of its thread_local objects.
class thread_exit_hook {
public:
    /// Once, before arm().
    void create(void (*at_exit)(void*)) noexcept;
    /// Again after each time it was called: destructors may have taken memory since.
    void arm() noexcept;

private:
    unsigned key_ = 0;
    bool exists_ = false;
};

/// Calls these around each fork(), from now on; once in a process. Meanwhile the thread takes no signal, whose handler might fork, and
/// has the C library's list of streams locked, which fork() locks, too: who has a stream may wait for what `before` locks.
void call_around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

/// Says it on the standard error output, and ends the process.
[[noreturn]] void abort_with(const char* message, const void* address) noexcept;

} // namespace remanence::os
