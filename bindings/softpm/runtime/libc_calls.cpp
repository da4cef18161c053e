// Replaces functions of the C library that the compiler cannot instrument: those that move or store pointers, or write
// other bytes where pointers may have been (pass/renamed_functions.hpp), and those whose argument is a lock. Depends on
// shadow.
#include "shadow.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <vector>

#include <pthread.h>
#include <sys/socket.h>
#include <threads.h>
#include <unistd.h>

#define REM_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

using namespace remanence::softpm;

template <class Result, class Character>
Result with_end(Result result, Character** end) {
    if (end != nullptr)
        set_mark(end, mark::pointer);
    return result;
}

template <class Bytes>
Bytes written(Bytes bytes, const void* into) {
    if (bytes > 0)
        clear_marks(into, static_cast<std::size_t>(bytes));
    return bytes;
}

/// Sorts by merging, as the C library does: stable, and without a wrong access if the program's function is
/// inconsistent.
class sorter {
public:
    using comparison = int (*)(const void*, const void*);

    sorter(std::byte* begin, std::size_t count, std::size_t bytes, comparison compare)
        : compare_(compare), order_(count), merged_(count) {
        for (std::size_t i = 0; i < count; ++i)
            order_[i] = begin + i * bytes;
        sort(0, count);
        std::vector<std::byte> elements(count * bytes);
        std::vector<std::uint8_t> marks(count * bytes / k_word_bytes);
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(elements.data() + i * bytes, order_[i], bytes);
            std::memcpy(marks.data() + i * bytes / k_word_bytes, marks_at(order_[i]), bytes / k_word_bytes);
        }
        std::memcpy(marks_at(begin), marks.data(), marks.size());
        std::memcpy(begin, elements.data(), elements.size());
    }

private:
    void sort(std::size_t begin, std::size_t end) {
        if (end - begin < 2)
            return;
        const std::size_t middle = begin + (end - begin) / 2;
        sort(begin, middle);
        sort(middle, end);
        std::size_t left = begin;
        std::size_t right = middle;
        for (std::size_t i = begin; i < end; ++i) {
            const bool is_left = left < middle && (right == end || compare_(order_[left], order_[right]) <= 0);
            merged_[i] = order_[is_left ? left++ : right++];
        }
        std::copy(merged_.begin() + static_cast<std::ptrdiff_t>(begin),
                  merged_.begin() + static_cast<std::ptrdiff_t>(end),
                  order_.begin() + static_cast<std::ptrdiff_t>(begin));
    }

    comparison compare_;
    std::vector<const std::byte*> order_;
    std::vector<const std::byte*> merged_;
};

} // namespace

REM_EXPORT void* softpm_memcpy(void* to, const void* from, std::size_t bytes) {
    copy_marks(to, from, bytes);
    return std::memcpy(to, from, bytes);
}
REM_EXPORT void* softpm_memmove(void* to, const void* from, std::size_t bytes) {
    copy_marks(to, from, bytes);
    return std::memmove(to, from, bytes);
}
REM_EXPORT void* softpm_mempcpy(void* to, const void* from, std::size_t bytes) {
    return static_cast<std::byte*>(softpm_memcpy(to, from, bytes)) + bytes;
}
REM_EXPORT void* softpm_memset(void* at, int byte, std::size_t bytes) {
    std::memset(at, byte, bytes);
    clear_marks(at, bytes);
    return at;
}
REM_EXPORT void softpm_bzero(void* at, std::size_t bytes) {
    ::explicit_bzero(at, bytes);
    clear_marks(at, bytes);
}

// Variants with checks, for _FORTIFY_SOURCE. They end the program as the C library's do.
REM_EXPORT void* softpm_memcpy_chk(void* to, const void* from, std::size_t bytes, std::size_t room) {
    if (bytes > room)
        std::abort();
    return softpm_memcpy(to, from, bytes);
}
REM_EXPORT void* softpm_memmove_chk(void* to, const void* from, std::size_t bytes, std::size_t room) {
    if (bytes > room)
        std::abort();
    return softpm_memmove(to, from, bytes);
}
REM_EXPORT void* softpm_mempcpy_chk(void* to, const void* from, std::size_t bytes, std::size_t room) {
    if (bytes > room)
        std::abort();
    return softpm_mempcpy(to, from, bytes);
}
REM_EXPORT void* softpm_memset_chk(void* at, int byte, std::size_t bytes, std::size_t room) {
    if (bytes > room)
        std::abort();
    return softpm_memset(at, byte, bytes);
}

REM_EXPORT void softpm_qsort(void* begin, std::size_t count, std::size_t bytes,
                             int (*compare)(const void*, const void*)) {
    if (bytes % k_word_bytes != 0 || address_of(begin) % k_word_bytes != 0) {
        std::qsort(begin, count, bytes, compare);
        clear_marks(begin, count * bytes);
    } else if (bytes != 0) {
        sorter(static_cast<std::byte*>(begin), count, bytes, compare);
    }
}

REM_EXPORT long softpm_strtol(const char* text, char** end, int base) {
    return with_end(std::strtol(text, end, base), end);
}
REM_EXPORT long long softpm_strtoll(const char* text, char** end, int base) {
    return with_end(std::strtoll(text, end, base), end);
}
REM_EXPORT unsigned long softpm_strtoul(const char* text, char** end, int base) {
    return with_end(std::strtoul(text, end, base), end);
}
REM_EXPORT unsigned long long softpm_strtoull(const char* text, char** end, int base) {
    return with_end(std::strtoull(text, end, base), end);
}
REM_EXPORT double softpm_strtod(const char* text, char** end) { return with_end(std::strtod(text, end), end); }
REM_EXPORT float softpm_strtof(const char* text, char** end) { return with_end(std::strtof(text, end), end); }
REM_EXPORT long double softpm_strtold(const char* text, char** end) { return with_end(std::strtold(text, end), end); }
REM_EXPORT char* softpm_strtok_r(char* text, const char* between, char** rest) {
    return with_end(::strtok_r(text, between, rest), rest);
}
REM_EXPORT char* softpm_strsep(char** text, const char* between) { return with_end(::strsep(text, between), text); }

REM_EXPORT long softpm_wcstol(const wchar_t* text, wchar_t** end, int base) {
    return with_end(std::wcstol(text, end, base), end);
}
REM_EXPORT unsigned long softpm_wcstoul(const wchar_t* text, wchar_t** end, int base) {
    return with_end(std::wcstoul(text, end, base), end);
}
REM_EXPORT double softpm_wcstod(const wchar_t* text, wchar_t** end) { return with_end(std::wcstod(text, end), end); }
REM_EXPORT float softpm_wcstof(const wchar_t* text, wchar_t** end) { return with_end(std::wcstof(text, end), end); }
REM_EXPORT long double softpm_wcstold(const wchar_t* text, wchar_t** end) {
    return with_end(std::wcstold(text, end), end);
}
REM_EXPORT wchar_t* softpm_wcstok(wchar_t* text, const wchar_t* between, wchar_t** rest) {
    return with_end(std::wcstok(text, between, rest), rest);
}

REM_EXPORT ssize_t softpm_read(int file, void* into, std::size_t bytes) {
    return written(::read(file, into, bytes), into);
}
REM_EXPORT ssize_t softpm_read_chk(int file, void* into, std::size_t bytes, std::size_t room) {
    if (bytes > room)
        std::abort();
    return softpm_read(file, into, bytes);
}
REM_EXPORT ssize_t softpm_pread(int file, void* into, std::size_t bytes, off_t offset) {
    return written(::pread(file, into, bytes, offset), into);
}
REM_EXPORT ssize_t softpm_recv(int socket, void* into, std::size_t bytes, int flags) {
    return written(::recv(socket, into, bytes, flags), into);
}
REM_EXPORT std::size_t softpm_fread(void* into, std::size_t bytes, std::size_t count, std::FILE* from) {
    const std::size_t got = std::fread(into, bytes, count, from);
    clear_marks(into, got * bytes);
    return got;
}

// Each function that may be the first to use a lock marks that lock.
REM_EXPORT int softpm_mutex_init(pthread_mutex_t* lock, const pthread_mutexattr_t* how) {
    set_mark(lock, mark::mutex);
    return ::pthread_mutex_init(lock, how);
}
REM_EXPORT int softpm_mutex_lock(pthread_mutex_t* lock) {
    set_mark(lock, mark::mutex);
    return ::pthread_mutex_lock(lock);
}
REM_EXPORT int softpm_mutex_trylock(pthread_mutex_t* lock) {
    set_mark(lock, mark::mutex);
    return ::pthread_mutex_trylock(lock);
}
REM_EXPORT int softpm_mutex_timedlock(pthread_mutex_t* lock, const timespec* until) {
    set_mark(lock, mark::mutex);
    return ::pthread_mutex_timedlock(lock, until);
}
REM_EXPORT int softpm_condition_init(pthread_cond_t* condition, const pthread_condattr_t* how) {
    set_mark(condition, mark::condition);
    return ::pthread_cond_init(condition, how);
}
REM_EXPORT int softpm_condition_wait(pthread_cond_t* condition, pthread_mutex_t* lock) {
    set_mark(condition, mark::condition);
    return ::pthread_cond_wait(condition, lock);
}
REM_EXPORT int softpm_condition_timedwait(pthread_cond_t* condition, pthread_mutex_t* lock, const timespec* until) {
    set_mark(condition, mark::condition);
    return ::pthread_cond_timedwait(condition, lock, until);
}
REM_EXPORT int softpm_read_write_lock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* how) {
    set_mark(lock, mark::read_write_lock);
    return ::pthread_rwlock_init(lock, how);
}
REM_EXPORT int softpm_read_write_lock_read(pthread_rwlock_t* lock) {
    set_mark(lock, mark::read_write_lock);
    return ::pthread_rwlock_rdlock(lock);
}
REM_EXPORT int softpm_read_write_lock_write(pthread_rwlock_t* lock) {
    set_mark(lock, mark::read_write_lock);
    return ::pthread_rwlock_wrlock(lock);
}
REM_EXPORT int softpm_read_write_lock_try_read(pthread_rwlock_t* lock) {
    set_mark(lock, mark::read_write_lock);
    return ::pthread_rwlock_tryrdlock(lock);
}
REM_EXPORT int softpm_read_write_lock_try_write(pthread_rwlock_t* lock) {
    set_mark(lock, mark::read_write_lock);
    return ::pthread_rwlock_trywrlock(lock);
}

// Locks of <threads.h> are initialized by these functions only. In the C library they consist of locks of pthread.h.
REM_EXPORT int softpm_mtx_init(mtx_t* lock, int kind) {
    set_mark(lock, mark::mutex);
    return ::mtx_init(lock, kind);
}
REM_EXPORT int softpm_cnd_init(cnd_t* condition) {
    set_mark(condition, mark::condition);
    return ::cnd_init(condition);
}
