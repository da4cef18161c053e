// Memory without a file, for allocators that may stand behind malloc(). These functions allocate nothing themselves,
// keep errno, and return errors as errno numbers. Depends on the standard library only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remanence::os {

/// Reserves addresses at a multiple of `alignment`, a power of two of at least a page. They are private and
/// inaccessible, without memory or swap set aside. Returns null if there are none.
std::byte* reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept;
/// Maps private memory exactly there, with these rights (mmap(2)), without memory or swap set aside. Returns 0 or
/// errno; EEXIST: something else is there.
int map_where_free(std::byte* where, std::uint64_t bytes, int rights) noexcept;
/// Returns addresses at a multiple of 1 GiB where nothing is mapped, far from those that the system chooses. Does not
/// reserve them, since mappings count against limits (ulimit -v, mlockall's). Returns null if there are none. Linux
/// 4.17.
std::byte* find_free_addresses(std::uint64_t bytes) noexcept;
/// Unmaps pages, or releases reserved addresses.
void release_addresses(std::byte* where, std::uint64_t bytes) noexcept;
/// Whether addresses are reserved (held), or were found free.
enum class addresses : std::uint8_t { held, found_free };
/// Makes pages of such addresses readable and writable. Returns 0 or errno, as ENOMEM; EEXIST: something else is there
/// by now.
int make_writable(std::byte* where, std::uint64_t bytes, addresses are) noexcept;
/// Gives the pages' memory back; they read as zeros.
void give_memory_back(std::byte* where, std::uint64_t bytes) noexcept;
/// Moves the memory of pages to other pages. The old ones then read as zeros. Returns 0, or errno if nothing has
/// changed. Linux 5.7.
int move_memory(std::byte* from, std::byte* to, std::uint64_t bytes) noexcept;
/// Gives the memory of writable pages back, and makes them one mapping with their neighbours, whatever was moved there.
/// Returns 0, or errno if nothing has changed.
int renew_memory(std::byte* where, std::uint64_t bytes) noexcept;
/// Binds the memory of these pages to that NUMA node. Returns 0 or errno: ENOSYS; EINVAL if there is no such node.
int bind_to_node(std::byte* where, std::uint64_t bytes, unsigned node) noexcept;
/// Returns how many bytes of the range are in memory; 0 if that is unknown.
std::uint64_t resident_bytes(const std::byte* where, std::uint64_t bytes) noexcept;
/// Returns how many bytes of anonymous memory the process uses, copies of file pages included; 0 if the system does not
/// tell.
[[nodiscard]] std::uint64_t anonymous_bytes() noexcept;

/// Calls `at_exit` when a thread that called arm() ends, after the destructors of its thread_local objects.
class thread_exit_hook {
public:
    /// Call it once, before arm().
    void create(void (*at_exit)(void*)) noexcept;
    /// Call it again after each call of `at_exit`: destructors may have allocated memory since.
    void arm() noexcept;

private:
    unsigned key_ = 0;
    bool exists_ = false;
};

/// Calls these around each fork() from now on. Call it once in a process. During the fork the thread blocks signals,
/// since a handler might fork. It also holds the C library's lock on the list of streams, which fork() takes, too: a
/// thread with a stream may wait for what `before` locks.
void call_around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

/// Writes the message to standard error, and aborts the process.
[[noreturn]] void abort_with(const char* message, const void* address) noexcept;

} // namespace remanence::os
