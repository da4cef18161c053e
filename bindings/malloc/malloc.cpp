// malloc and its family, on one volatile heap, for programs that are not compiled for Remanence. Depends on
// src/volatile.
//
// While a thread is in a scope of rem::new_in, its calls allocate in another heap (scopes.hpp).
//
// The first call of any of these functions makes the heap. The loader or the C library may make that call before
// main(). So nothing here may need constructors, or memory from another allocator.
#include "base/undying.hpp"
#include "os/quick_mutex.hpp"
#include "scopes.hpp"
#include "volatile/heap.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <mutex>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

#define REM_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

using remanence::transient::heap;
namespace rem = remanence;
namespace scopes = remanence::scopes;

constinit rem::undying<heap> the_heap;
constinit std::atomic<bool> is_open = false;
constinit rem::os::quick_mutex opening;

[[gnu::cold, gnu::noinline]] bool open_heap() {
    const std::scoped_lock lock(opening);
    for (const std::uint64_t bytes : {4 * rem::TiB, 64 * rem::GiB}) { // Valgrind leaves fewer addresses
        if (!is_open.load(std::memory_order_relaxed) &&
            the_heap.value.open({.reserve_bytes = bytes, .holds_no_addresses = true}) == 0)
            is_open.store(true, std::memory_order_release);
    }
    return is_open.load(std::memory_order_relaxed);
}

bool is_ready() { return is_open.load(std::memory_order_acquire) || open_heap(); }

void* or_enomem(void* got) {
    if (got == nullptr) [[unlikely]]
        errno = ENOMEM;
    return got;
}

/// Allocates at a multiple of a power of two. `caller` is the code that called the exported function.
void* allocate_aligned(std::size_t alignment, std::size_t bytes, const void* caller) {
    if (scopes::t_target != nullptr && scopes::leads_from(caller, bytes)) [[unlikely]]
        return or_enomem(scopes::allocate(bytes, alignment));
    return or_enomem(is_ready() ? the_heap.value.allocate(bytes, alignment) : nullptr);
}

void* allocate(std::size_t bytes, const void* caller) {
    if (scopes::t_target != nullptr) [[unlikely]]
        return allocate_aligned(alignof(std::max_align_t), bytes, caller);
    return or_enomem(is_ready() ? the_heap.value.allocate(bytes) : nullptr);
}

// Not inlined, so that free() needs no registers for it.
[[gnu::noinline]] void free_in_any_heap(void* block) {
    if (const auto* const theirs = scopes::heap_around(block)) {
        const scopes::pause paused;
        return theirs->free(block);
    }
    the_heap.value.free(block);
}

void free_block(void* block) {
    if (scopes::know_any()) [[unlikely]]
        return free_in_any_heap(block);
    the_heap.value.free(block);
}

// A size of 0 frees the block, as in glibc.
void* reallocate(void* block, std::size_t bytes, const void* caller) {
    if (block == nullptr)
        return allocate(bytes, caller);
    if (bytes == 0) {
        free_block(block);
        return nullptr;
    }
    if (const auto* const theirs = scopes::heap_around(block)) [[unlikely]] {
        const scopes::pause paused;
        return or_enomem(theirs->reallocate(block, bytes));
    }
    return or_enomem(the_heap.value.reallocate(block, bytes));
}

void* copy_of_text(const char* text, std::size_t length, const void* caller) {
    auto* const copy = static_cast<char*>(allocate(length + 1, caller));
    if (copy != nullptr) {
        std::memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

} // namespace

#define REM_CALLER __builtin_return_address(0)

REM_EXPORT void* malloc(std::size_t bytes) { return allocate(bytes, REM_CALLER); }

REM_EXPORT void free(void* block) {
    if (block != nullptr)
        free_block(block);
}

REM_EXPORT void* calloc(std::size_t count, std::size_t bytes) {
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return nullptr;
    }
    if (scopes::t_target != nullptr) [[unlikely]] {
        void* const got = allocate(all, REM_CALLER);
        return got != nullptr ? std::memset(got, 0, all) : nullptr;
    }
    return or_enomem(is_ready() ? the_heap.value.allocate_zeros(all) : nullptr);
}

REM_EXPORT void* realloc(void* block, std::size_t bytes) { return reallocate(block, bytes, REM_CALLER); }

REM_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes) {
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return nullptr;
    }
    return reallocate(block, all, REM_CALLER);
}

// As in glibc: rounds the alignment up to a power of two, and behaves like malloc() if malloc() aligns enough.
REM_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
    constexpr std::size_t k_most = std::size_t{1} << 63;
    if (alignment > k_most) {
        errno = EINVAL;
        return nullptr;
    }
    return alignment <= alignof(std::max_align_t) ? allocate(bytes, REM_CALLER)
                                                  : allocate_aligned(std::bit_ceil(alignment), bytes, REM_CALLER);
}

REM_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    if (rem::is_power_of_two(alignment))
        return allocate_aligned(alignment, bytes, REM_CALLER);
    errno = EINVAL;
    return nullptr;
}

REM_EXPORT int posix_memalign(void** into, std::size_t alignment, std::size_t bytes) {
    if (!rem::is_power_of_two(alignment) || alignment < sizeof(void*))
        return EINVAL;
    const int before = errno;
    void* const got = allocate_aligned(alignment, bytes, REM_CALLER);
    errno = before;
    if (got == nullptr)
        return ENOMEM;
    *into = got;
    return 0;
}

// The C library's own strdup() would call malloc() from the C library, whose calls do not lead into a scope's heap.
REM_EXPORT char* strdup(const char* text) {
    return static_cast<char*>(copy_of_text(text, std::strlen(text), REM_CALLER));
}

REM_EXPORT char* strndup(const char* text, std::size_t length) {
    return static_cast<char*>(copy_of_text(text, ::strnlen(text, length), REM_CALLER));
}

REM_EXPORT void* valloc(std::size_t bytes) { return allocate_aligned(rem::k_page_bytes, bytes, REM_CALLER); }

REM_EXPORT void* pvalloc(std::size_t bytes) {
    const std::size_t whole = rem::align_up(bytes, rem::k_page_bytes);
    if (whole >= bytes)
        return allocate_aligned(rem::k_page_bytes, whole, REM_CALLER);
    errno = ENOMEM;
    return nullptr;
}

// operator new and delete. They are here because the C++ library's operators would call malloc() without the address of
// their caller. And if another library replaces some of these operators, the two sets must not be mixed.

namespace {

/// Finds a function of the C++ library, even if a plugin has loaded that library in such a way that no other module
/// sees it.
void* function_of_cpp_library(const char* name) {
    void* const library = ::dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void* const found = library != nullptr ? ::dlsym(library, name) : nullptr;
    return found != nullptr ? found : ::dlsym(RTLD_NEXT, name);
}

/// Does what the C++ library does when memory is lacking: calls the program's handler and tries again, or throws. No
/// local object here may have a destructor, because this library has an unwinder of its own.
template <class... Arguments>
void* new_without_memory(const char* name, std::size_t bytes, Arguments... arguments) {
    using function = void*(std::size_t, Arguments...);
    auto* const next = reinterpret_cast<function*>(function_of_cpp_library(name));
    if (next == nullptr)
        rem::os::abort_with("operator new: there is no memory, and no C++ library", nullptr);
    scopes::t_wanted_again = bytes;
    return next(bytes, arguments...);
}

/// Returns null if memory is lacking; then the caller must call new_without_memory().
void* allocate_object(std::size_t bytes, const void* caller) {
    return allocate(std::max<std::size_t>(bytes, 1), caller);
}
void* allocate_object(std::size_t bytes, std::align_val_t alignment, const void* caller) {
    const auto value = static_cast<std::size_t>(alignment);
    return rem::is_power_of_two(value) ? allocate_aligned(value, std::max<std::size_t>(bytes, 1), caller) : nullptr;
}

/// True if operator new with these arguments is the one in this file. If the program has replaced it, the array and
/// nothrow variants call the program's operator.
template <class... Arguments>
bool is_own_new() {
    static const bool is_own = [] {
        void* (*volatile const found)(std::size_t, Arguments...) = &::operator new;
        Dl_info theirs{};
        Dl_info ours{};
        return ::dladdr(reinterpret_cast<void*>(found), &theirs) != 0 &&
               ::dladdr(reinterpret_cast<void*>(&or_enomem), &ours) != 0 && theirs.dli_fbase == ours.dli_fbase;
    }();
    return is_own;
}

} // namespace

#define REM_EXPORT_NEW [[gnu::visibility("default")]]

REM_EXPORT_NEW void* operator new(std::size_t bytes) {
    void* const got = allocate_object(bytes, REM_CALLER);
    return got != nullptr ? got : new_without_memory("_Znwm", bytes);
}
REM_EXPORT_NEW void* operator new[](std::size_t bytes) {
    if (!is_own_new<>())
        return ::operator new(bytes);
    void* const got = allocate_object(bytes, REM_CALLER);
    return got != nullptr ? got : new_without_memory("_Znwm", bytes);
}
REM_EXPORT_NEW void* operator new(std::size_t bytes, std::align_val_t alignment) {
    void* const got = allocate_object(bytes, alignment, REM_CALLER);
    return got != nullptr ? got : new_without_memory("_ZnwmSt11align_val_t", bytes, alignment);
}
REM_EXPORT_NEW void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    if (!is_own_new<std::align_val_t>())
        return ::operator new(bytes, alignment);
    void* const got = allocate_object(bytes, alignment, REM_CALLER);
    return got != nullptr ? got : new_without_memory("_ZnwmSt11align_val_t", bytes, alignment);
}

REM_EXPORT_NEW void* operator new(std::size_t bytes, const std::nothrow_t& none) noexcept {
    void* got = is_own_new<>() ? allocate_object(bytes, REM_CALLER) : nullptr;
    if (got == nullptr) // the C++ library's operator calls the throwing one, and catches its exception
        got = new_without_memory<const std::nothrow_t&>("_ZnwmRKSt9nothrow_t", bytes, none);
    scopes::t_wanted_again = 0;
    return got;
}
REM_EXPORT_NEW void* operator new[](std::size_t bytes, const std::nothrow_t& none) noexcept {
    void* got = is_own_new<>() ? allocate_object(bytes, REM_CALLER) : nullptr;
    if (got == nullptr)
        got = new_without_memory<const std::nothrow_t&>("_ZnamRKSt9nothrow_t", bytes, none);
    scopes::t_wanted_again = 0;
    return got;
}
REM_EXPORT_NEW void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& none) noexcept {
    void* got = is_own_new<std::align_val_t>() ? allocate_object(bytes, alignment, REM_CALLER) : nullptr;
    if (got == nullptr)
        got = new_without_memory<std::align_val_t, const std::nothrow_t&>("_ZnwmSt11align_val_tRKSt9nothrow_t", bytes,
                                                                          alignment, none);
    scopes::t_wanted_again = 0;
    return got;
}
REM_EXPORT_NEW void* operator new[](std::size_t bytes, std::align_val_t alignment,
                                    const std::nothrow_t& none) noexcept {
    void* got = is_own_new<std::align_val_t>() ? allocate_object(bytes, alignment, REM_CALLER) : nullptr;
    if (got == nullptr)
        got = new_without_memory<std::align_val_t, const std::nothrow_t&>("_ZnamSt11align_val_tRKSt9nothrow_t", bytes,
                                                                          alignment, none);
    scopes::t_wanted_again = 0;
    return got;
}

REM_EXPORT_NEW void operator delete(void* block) noexcept {
    if (block != nullptr)
        free_block(block);
}
REM_EXPORT_NEW void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
    if (block != nullptr)
        free_block(block);
}
// These operators call the two above through their public names, because a program may have replaced those two.
REM_EXPORT_NEW void operator delete[](void* block) noexcept { ::operator delete(block); }
REM_EXPORT_NEW void operator delete(void* block, std::size_t /*bytes*/) noexcept { ::operator delete(block); }
REM_EXPORT_NEW void operator delete[](void* block, std::size_t /*bytes*/) noexcept { ::operator delete[](block); }
REM_EXPORT_NEW void operator delete(void* block, const std::nothrow_t& /*none*/) noexcept { ::operator delete(block); }
REM_EXPORT_NEW void operator delete[](void* block, const std::nothrow_t& /*none*/) noexcept {
    ::operator delete[](block);
}
REM_EXPORT_NEW void operator delete[](void* block, std::align_val_t alignment) noexcept {
    ::operator delete(block, alignment);
}
REM_EXPORT_NEW void operator delete(void* block, std::size_t /*bytes*/, std::align_val_t alignment) noexcept {
    ::operator delete(block, alignment);
}
REM_EXPORT_NEW void operator delete[](void* block, std::size_t /*bytes*/, std::align_val_t alignment) noexcept {
    ::operator delete[](block, alignment);
}
REM_EXPORT_NEW void operator delete(void* block, std::align_val_t alignment, const std::nothrow_t& /*none*/) noexcept {
    ::operator delete(block, alignment);
}
REM_EXPORT_NEW void operator delete[](void* block, std::align_val_t alignment,
                                      const std::nothrow_t& /*none*/) noexcept {
    ::operator delete[](block, alignment);
}

REM_EXPORT std::size_t malloc_usable_size(void* block) {
    if (block == nullptr)
        return 0;
    const auto* const theirs = scopes::heap_around(block);
    return theirs != nullptr ? theirs->usable_bytes(block) : the_heap.value.usable_bytes(block);
}

// Returns glibc's numbers about its arenas, as far as they apply here. Blocks of more than 64 KiB count as the "mapped"
// ones.
REM_EXPORT struct mallinfo2 mallinfo2() {
    struct mallinfo2 all{};
    if (!is_ready())
        return all;
    const rem::transient::heap_usage used = the_heap.value.usage();
    all.hblks = used.large_blocks;
    all.hblkhd = used.large_bytes;
    all.uordblks = used.usable_bytes - std::min(used.large_bytes, used.usable_bytes);
    // counts resident memory only, not reserved addresses
    all.fordblks = used.resident_bytes - std::min(used.usable_bytes, used.resident_bytes);
    all.arena = all.uordblks + all.fordblks;
    return all;
}

REM_EXPORT struct mallinfo mallinfo() {
    const struct mallinfo2 all = mallinfo2();
    const auto as_int = [](std::size_t value) { return static_cast<int>(std::min<std::size_t>(value, INT_MAX)); };
    struct mallinfo few{};
    few.arena = as_int(all.arena);
    few.hblks = as_int(all.hblks);
    few.hblkhd = as_int(all.hblkhd);
    few.uordblks = as_int(all.uordblks);
    few.fordblks = as_int(all.fordblks);
    return few;
}

REM_EXPORT void malloc_stats() {
    std::array<char, 256> text{};
    if (!is_ready())
        return;
    const rem::transient::heap_usage used = the_heap.value.usage();
    const int bytes = std::snprintf(
        text.data(), text.size(),
        "remanence: blocks %llu bytes, of these large %llu in %llu; free %llu; memory %llu bytes\n",
        static_cast<unsigned long long>(used.usable_bytes), static_cast<unsigned long long>(used.large_bytes),
        static_cast<unsigned long long>(used.large_blocks), static_cast<unsigned long long>(used.free_bytes),
        static_cast<unsigned long long>(used.resident_bytes));
    if (bytes > 0)
        static_cast<void>(::syscall(SYS_write, STDERR_FILENO, text.data(), bytes)); // not a cancellation point
}

REM_EXPORT int malloc_info(int options, std::FILE* into) {
    if (options != 0)
        return EINVAL;
    const struct mallinfo2 all = mallinfo2();
    const rem::transient::heap_usage used = is_ready() ? the_heap.value.usage() : rem::transient::heap_usage{};
    std::fprintf(into, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n");
    for (const rem::transient::heap_usage::size_class& each : used.classes) {
        if (each.slab_bytes != 0)
            std::fprintf(into, "  <size bytes=\"%llu\" blocks=\"%llu\" memory=\"%llu\"/>\n",
                         static_cast<unsigned long long>(each.block_bytes),
                         static_cast<unsigned long long>(each.blocks),
                         static_cast<unsigned long long>(each.slab_bytes));
    }
    std::fprintf(
        into,
        "</sizes>\n</heap>\n<total type=\"rest\" count=\"0\" size=\"%zu\"/>\n"
        "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n<system type=\"current\" size=\"%llu\"/>\n</malloc>\n",
        all.fordblks, all.hblks, all.hblkhd, static_cast<unsigned long long>(used.resident_bytes));
    return 0;
}

REM_EXPORT int malloc_trim(std::size_t /*pad*/) {
    if (is_ready())
        the_heap.value.trim();
    return 1;
}
