// Memory without a file, for allocators that may implement malloc(). These functions allocate nothing themselves,
// preserve errno, and return errors as errno numbers. Depends on the standard library only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace remanence::os {

/// Reserves addresses at a multiple of `alignment`, which is a power of two and at least a page. They are private and
/// inaccessible, and use no memory or swap. Returns null on failure.
std::byte* reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept;
/// Maps private memory at exactly this address, with these rights (mmap(2)), without setting memory or swap aside.
/// Returns 0 or errno; EEXIST means that something else is mapped there.
int map_where_free(std::byte* where, std::uint64_t bytes, int rights) noexcept;
/// Returns addresses at a multiple of 1 GiB where nothing is mapped, far from those that the system chooses. Does not
/// reserve them, since mappings count against limits (ulimit -v, mlockall()). Returns null on failure. Linux 4.17.
std::byte* find_free_addresses(std::uint64_t bytes) noexcept;
/// Reserves other addresses at a multiple of 1 GiB far from those that the system chooses: a heap that lies there can
/// have the same addresses in another process. Returns null on failure.
std::byte* reserve_far_addresses(std::uint64_t bytes) noexcept;
/// True for addresses that reserve_far_addresses() may return.
bool are_far(const std::byte* where) noexcept;
/// Reserves exactly these addresses. Returns 0 or errno; EEXIST means that something else is mapped there.
int reserve_addresses_at(std::byte* where, std::uint64_t bytes) noexcept;
/// Tells whether an address lies in a volatile heap of this process, for messages; null if there never was one.
inline constinit std::atomic<bool (*)(const void*) noexcept> is_in_volatile_heap = nullptr;
/// Unmaps pages, or releases reserved addresses.
void release_addresses(std::byte* where, std::uint64_t bytes) noexcept;
/// Whether addresses are reserved (held), or were only found to be free.
enum class addresses : std::uint8_t { held, found_free };
/// Makes pages at such addresses readable and writable. Returns 0 or errno, for instance ENOMEM; EEXIST means that
/// something else was mapped there meanwhile.
int make_writable(std::byte* where, std::uint64_t bytes, addresses are) noexcept;
/// Returns the memory of the pages to the kernel. The pages then read as zeros.
void give_memory_back(std::byte* where, std::uint64_t bytes) noexcept;
/// Moves the memory of pages to other pages, which are mapped, too. The contents of the old pages are undefined
/// afterwards. If the kernel moves none or only a part, copies the rest: before Linux 5.7, and when the process has too
/// many mappings.
void move_memory(std::byte* from, std::byte* to, std::uint64_t bytes) noexcept;
/// Returns the memory of writable pages to the kernel, and makes them one mapping with their neighbours again, even
/// after move_memory(). Returns 0; or errno, and nothing has changed.
int renew_memory(std::byte* where, std::uint64_t bytes) noexcept;
/// Binds the memory of these pages to a NUMA node. Returns 0 or errno: ENOSYS; EINVAL if the node does not exist.
int bind_to_node(std::byte* where, std::uint64_t bytes, unsigned node) noexcept;
/// Returns how many bytes of the range are in memory; 0 if that is unknown.
std::uint64_t resident_bytes(const std::byte* where, std::uint64_t bytes) noexcept;
/// Returns how many bytes of anonymous memory the process uses, copies of file pages included; 0 if the system does not
/// tell.
[[nodiscard]] std::uint64_t anonymous_bytes() noexcept;

/// Calls `at_exit` when a thread that called arm() ends, after the destructors of its thread_local objects.
class thread_exit_hook {
public:
    /// Must be called once, before arm().
    void create(void (*at_exit)(void*)) noexcept;
    /// Must be called again after each call of `at_exit`, since destructors may have allocated memory meanwhile.
    void arm() noexcept;

private:
    unsigned key_ = 0;
    bool exists_ = false;
};

/// Calls these functions around each fork() from now on. Must be called at most once in a process. During the fork the
/// thread blocks signals, since a handler might fork. It also holds the C library's lock on the list of streams, which
/// fork() acquires as well: otherwise a thread that holds that lock might wait for a lock that `before` has acquired.
void call_around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

/// Writes the message to standard error, and aborts the process.
[[noreturn]] void abort_with(const char* message, const void* address) noexcept;

} // namespace remanence::os
