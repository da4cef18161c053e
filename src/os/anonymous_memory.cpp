#include "os/anonymous_memory.hpp"

#include "base/units.hpp"
#include "os/descriptor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

// Older headers do not define it.
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

// glibc exports these functions but no header declares them; they are null with other C libraries.
extern "C" [[gnu::weak]] void _IO_list_lock();   // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] void _IO_list_unlock(); // NOLINT(bugprone-reserved-identifier)

namespace remanence::os {

namespace {

struct place_range {
    std::uint64_t begin;
    std::uint64_t end;
};
// Both are without the bases of persistent heaps (os/memory.cpp), without AddressSanitizer's memory, and without the
// system's mappings when stacks have no limit (from 0x2aaa'aaaa'a000 on). They do not overlap, since a heap that holds no
// addresses would not keep others from its own.
constexpr place_range k_free{0x3000'0000'0000, 0x5000'0000'0000};
constexpr place_range k_far{0x2000'0000'0000, 0x2a00'0000'0000};
constexpr std::uint64_t k_free_alignment = GiB;
constexpr int k_free_tries = 16;

/// Restores errno when it is destroyed, since code that frees memory relies on an unchanged errno.
class kept_errno {
public:
    kept_errno() = default;
    kept_errno(const kept_errno&) = delete;
    kept_errno& operator=(const kept_errno&) = delete;
    ~kept_errno() { errno = was_; }

private:
    int was_ = errno;
};

} // namespace

std::byte* reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    const kept_errno kept;
    void* const got = ::mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        return nullptr;
    auto* const begin = static_cast<std::byte*>(got);
    const auto address = reinterpret_cast<std::uint64_t>(got);
    const std::uint64_t before = align_up(address, alignment) - address;
    if (before != 0)
        ::munmap(begin, before);
    if (before != alignment)
        ::munmap(begin + before + bytes, alignment - before);
    return begin + before;
}

void release_addresses(std::byte* where, std::uint64_t bytes) noexcept {
    const kept_errno kept;
    ::munmap(where, bytes);
}

int map_where_free(std::byte* where, std::uint64_t bytes, int rights) noexcept {
    const kept_errno kept;
    void* const got =
        ::mmap(where, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED)
        return errno;
    if (got == where)
        return 0;
    ::munmap(got, bytes); // before Linux 4.17 the kernel may choose another address
    return EEXIST;
}

namespace {

/// Reserves `bytes` at a random place of the range. Returns null if several places are taken. `code`: 0 or errno.
std::byte* reserve_in(place_range where, std::uint64_t bytes, int& code) noexcept {
#ifdef REMANENCE_TSAN_BASES // ThreadSanitizer does not support these ranges
    static_cast<void>(where);
    static_cast<void>(bytes);
    static_cast<void>(code);
#else
    if (bytes > where.end - where.begin - k_free_alignment)
        return nullptr;
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = reinterpret_cast<std::uint64_t>(&random) / k_free_alignment;
    const std::uint64_t places = (where.end - where.begin - bytes) / k_free_alignment;
    for (int i = 0; i != k_free_tries; ++i) {
        auto* const wanted =
            reinterpret_cast<std::byte*>(where.begin + std::rotr(random, i * 4) % places * k_free_alignment);
        code = reserve_addresses_at(wanted, bytes);
        if (code != EEXIST)
            return wanted;
    }
#endif
    return nullptr;
}

} // namespace

std::byte* find_free_addresses(std::uint64_t bytes) noexcept {
    const kept_errno kept;
    int code = 0;
    std::byte* const found = reserve_in(k_free, bytes, code);
    if (found != nullptr && code == 0)
        ::munmap(found, bytes);
    return found; // free, or a limit was met, which make_writable() will find
}

std::byte* reserve_far_addresses(std::uint64_t bytes) noexcept {
    const kept_errno kept;
    int code = 0;
    std::byte* const found = reserve_in(k_far, bytes, code);
    return code == 0 ? found : nullptr;
}

bool are_far(const std::byte* where) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(where);
    return address >= k_far.begin && address < k_far.end;
}

int reserve_addresses_at(std::byte* where, std::uint64_t bytes) noexcept {
    return map_where_free(where, bytes, PROT_NONE);
}

int make_writable(std::byte* where, std::uint64_t bytes, addresses are) noexcept {
    if (are == addresses::found_free)
        return map_where_free(where, bytes, PROT_READ | PROT_WRITE);
    const kept_errno kept;
    return ::mprotect(where, bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : errno;
}

void give_memory_back(std::byte* where, std::uint64_t bytes) noexcept {
    const kept_errno kept;
    if (::madvise(where, bytes, MADV_DONTNEED) != 0 && ::madvise(where, bytes, MADV_DONTNEED_LOCKED) != 0)
        // An older kernel refuses memory that mlockall() has locked. The caller relies on zeros.
        std::memset(where, 0, bytes);
}

void move_memory(std::byte* from, std::byte* to, std::uint64_t bytes) noexcept {
    const kept_errno kept;
    give_memory_back(to, bytes); // zeros, so that what has moved can be told
    if (::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != MAP_FAILED)
        return;
    // From Linux 6.17 on, the kernel may have moved a part, and unmapped pages behind that at the target.
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    for (std::uint64_t at = 0; at < bytes; at += page) {
        unsigned char in_memory = 0;
        if (::mincore(to + at, page, &in_memory) != 0 &&
            ::mmap(to + at, page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != to + at)
            abort_with("memory could not be moved, nor mapped again where it was to be", to + at);
        if (from[at] != std::byte{0} || std::memcmp(from + at, from + at + 1, page - 1) != 0)
            std::memcpy(to + at, from + at, page);
    }
}

int renew_memory(std::byte* where, std::uint64_t bytes) noexcept {
    const kept_errno kept;
    void* const got =
        ::mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return got == MAP_FAILED ? errno : 0;
}

int bind_to_node(std::byte* where, std::uint64_t bytes, unsigned node) noexcept {
    const kept_errno kept;
    constexpr std::size_t k_word_bits = sizeof(unsigned long) * CHAR_BIT;
    std::array<unsigned long, 16> nodes{}; // the most that kernels support: 1,024
    if (node >= nodes.size() * k_word_bits)
        return EINVAL;
    nodes[node / k_word_bits] = 1UL << (node % k_word_bits);
    const long code = ::syscall(SYS_mbind, where, bytes, MPOL_BIND, nodes.data(), nodes.size() * k_word_bits + 1, 0);
    return code == 0 ? 0 : errno;
}

std::uint64_t resident_bytes(const std::byte* where, std::uint64_t bytes) noexcept {
    const kept_errno kept;
    std::array<unsigned char, 4096> present;
    const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::uint64_t found = 0;
    for (std::uint64_t at = 0; at < bytes; at += present.size() * page) {
        const std::uint64_t some = std::min(bytes - at, present.size() * page);
        if (::mincore(const_cast<std::byte*>(where + at), some, present.data()) != 0)
            continue;
        found += static_cast<std::uint64_t>(
            std::count_if(present.begin(), present.begin() + static_cast<std::ptrdiff_t>(divide_up(some, page)),
                          [](unsigned char each) { return (each & 1U) != 0; }));
    }
    return found * page;
}

// Documentation/filesystems/proc.rst: total pages of the program, pages in memory, and those of them that are of files.
std::uint64_t anonymous_bytes() noexcept {
    const kept_errno kept;
    const descriptor opened(open_file("/proc/self/statm", O_RDONLY));
    if (!opened.valid())
        return 0;
    std::array<char, 128> text{};
    const ssize_t got = ::read(opened.get(), text.data(), text.size() - 1);
    if (got <= 0)
        return 0;
    char* next = nullptr;
    (void)std::strtoull(text.data(), &next, 10);
    const std::uint64_t resident = std::strtoull(next, &next, 10);
    const std::uint64_t of_files = std::strtoull(next, &next, 10);
    return (resident - std::min(resident, of_files)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void thread_exit_hook::create(void (*at_exit)(void*)) noexcept {
    static_assert(sizeof(pthread_key_t) == sizeof key_);
    exists_ = ::pthread_key_create(&key_, at_exit) == 0;
}

void thread_exit_hook::arm() noexcept {
    if (exists_) // without the key, `at_exit` is never called
        ::pthread_setspecific(key_, this);
}

namespace {

struct fork_calls {
    void (*before)();
    void (*in_parent)();
    void (*in_child)();
};
constinit fork_calls around_fork{};
// State of the current fork, guarded by the locks that fork_calls::before acquires.
constinit sigset_t mask_before_fork{};
constinit bool are_streams_locked = false;

void begin_fork() {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    const bool has_threads = __libc_single_threaded == 0 && _IO_list_lock != nullptr && _IO_list_unlock != nullptr;
    if (has_threads)
        _IO_list_lock();
    around_fork.before();
    mask_before_fork = before;
    are_streams_locked = has_threads;
}

void end_fork_in_parent() {
    const sigset_t before = mask_before_fork;
    const bool has_streams = are_streams_locked;
    around_fork.in_parent();
    if (has_streams)
        _IO_list_unlock();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// In the child, fork() itself has unlocked the list of streams.
void end_fork_in_child() {
    const sigset_t before = mask_before_fork;
    around_fork.in_child();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace

void call_around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
    around_fork = {before, in_parent, in_child};
    static_cast<void>(::pthread_atfork(begin_fork, end_fork_in_parent, end_fork_in_child));
}

void abort_with(const char* message, const void* address) noexcept {
    std::array<char, 256> text;
    std::size_t end = 0;
    const auto add = [&](const char* part) {
        const std::size_t length = std::min(std::strlen(part), text.size() - 1 - end);
        std::memcpy(text.data() + end, part, length);
        end += length;
    };
    add("remanence: ");
    add("0x");
    std::array<char, 17> digits{};
    auto value = reinterpret_cast<std::uint64_t>(address);
    for (int i = 15; i >= 0; --i, value /= 16)
        digits[static_cast<std::size_t>(i)] = "0123456789abcdef"[value % 16];
    add(digits.data() + std::min<std::size_t>(std::strspn(digits.data(), "0"), 15));
    add(": ");
    add(message);
    text[end++] = '\n';
    static_cast<void>(!::write(STDERR_FILENO, text.data(), end));
    std::abort();
}

} // namespace remanence::os
