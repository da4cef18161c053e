// malloc and its family, in two versions. Instrumented code calls softpm_..., which allocates in the current arena. The
// others replace the C library's functions, because uninstrumented code may free or enlarge blocks of instrumented
// code. Depends on memory, world and the C library's own names (__libc_...).
//
// The volatile arena adds a byte to each block, so that a pointer to the end of a block still points into the block.
#include "audit.hpp"
#include "call_sites.hpp"
#include "memory.hpp"
#include "shadow.hpp"
#include "world.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <new>

#include <unistd.h>

#define REM_EXPORT extern "C" [[gnu::visibility("default")]]

// In tests with AddressSanitizer, our malloc is in front of the sanitizer's: the linker redirects calls (--wrap).
#ifdef REMANENCE_SOFTPM_SANITIZED
#define REM_FRONT(name) __wrap_##name
#define REM_BEHIND(name) __real_##name
#else
#define REM_FRONT(name) name
#define REM_BEHIND(name) __libc_##name
#endif

extern "C" {
void* REM_BEHIND(malloc)(std::size_t bytes);
void* REM_BEHIND(calloc)(std::size_t count, std::size_t bytes);
void* REM_BEHIND(realloc)(void* block, std::size_t bytes);
void* REM_BEHIND(memalign)(std::size_t alignment, std::size_t bytes);
void REM_BEHIND(free)(void* block);
#ifdef REMANENCE_SOFTPM_SANITIZED
std::size_t REM_BEHIND(malloc_usable_size)(void* block);
#endif
}

namespace {

using namespace remanence::softpm;

constexpr std::size_t k_alignment = 16;

/// Allocates in this arena; for null, in the arena of the program's call site. Must be inlined, so that it sees the
/// call site of the exported function.
[[gnu::always_inline]] inline void* allocate(std::size_t bytes, std::size_t alignment = k_alignment,
                                             arena* in = nullptr) {
    const critical_section here;
    const void* const call_site = __builtin_return_address(0);
    if (in == nullptr && has_call_sites()) [[unlikely]]
        in = arena_of_call_site(address_of(call_site));
    if (in == nullptr)
        in = &current_arena();
    const std::size_t room = in == &volatile_arena() ? bytes + 1 : bytes;
    void* const got = room < bytes ? nullptr : in->allocate(room, alignment);
    if (got == nullptr) [[unlikely]]
        errno = ENOMEM;
    else if (has_call_sites()) [[unlikely]]
        note_call_site(got, address_of(call_site));
    if (got != nullptr && is_audit_on()) [[unlikely]]
        note_allocation(got, bytes, call_site);
    return got;
}

[[noreturn, gnu::cold]] void end_for_a_wild_pointer(const char* call, const void* pointer) {
    char text[160];
    const int bytes =
        std::snprintf(text, sizeof text,
                      "softpm: %s: no block begins at %p: it was freed before, or never allocated.\n", call, pointer);
    (void)!::write(STDERR_FILENO, text, static_cast<std::size_t>(bytes));
    std::abort();
}

/// Frees a block of an arena. Returns false if the block lies in no arena; then the caller must free it.
bool free_in_arena(void* pointer) {
    if (!is_in_window(address_of(pointer)))
        return false;
    arena* const of = arena_of(address_of(pointer));
    if (of == nullptr)
        return was_in_arena(address_of(pointer));
    const critical_section here;
    if (!of->free(pointer)) [[unlikely]]
        end_for_a_wild_pointer("free()", pointer);
    return true;
}

/// Moves a block. A block of a container's arena stays in that arena.
[[gnu::always_inline]] inline void* move(arena& of, void* pointer, std::size_t old_bytes, std::size_t bytes) {
    void* const got = allocate(bytes, k_alignment, &of == &volatile_arena() ? nullptr : &of);
    if (got == nullptr)
        return nullptr;
    const std::size_t kept = std::min(old_bytes, bytes);
    std::memcpy(got, pointer, kept);
    copy_marks(got, pointer, kept);
    std::free(pointer);
    return got;
}

/// Changes the size of a block in an arena.
[[gnu::always_inline]] inline void* reallocate(arena& of, void* pointer, std::size_t bytes) {
    block old;
    {
        const critical_section here;
        old = of.find(address_of(pointer));
    }
    if (old.begin != pointer)
        end_for_a_wild_pointer("realloc()", pointer);
    // Strictly less than old.bytes, because the arena may add a byte to the block (head of this file).
    if (bytes < old.bytes && bytes >= old.bytes / 4)
        return pointer;
    return move(of, pointer, old.bytes, bytes);
}

bool overflows(std::size_t count, std::size_t bytes) {
    std::size_t product = 0;
    if (!__builtin_mul_overflow(count, bytes, &product))
        return false;
    errno = ENOMEM;
    return true;
}

bool is_power_of_two(std::size_t number) { return number != 0 && (number & (number - 1)) == 0; }

[[gnu::always_inline]] inline char* copy_text(const char* text, std::size_t bytes) {
    auto* const got = static_cast<char*>(allocate(bytes + 1));
    if (got == nullptr)
        return nullptr;
    std::memcpy(got, text, bytes);
    got[bytes] = '\0';
    return got;
}

/// Copies a text that the C library has allocated to the current arena, and frees the original.
[[gnu::always_inline]] inline char* adopt(char* text) {
    if (text == nullptr)
        return nullptr;
    char* const got = copy_text(text, std::strlen(text));
    REM_BEHIND(free)(text);
    return got;
}

} // namespace

// ---- called by instrumented code ----

REM_EXPORT void* softpm_malloc(std::size_t bytes) { return allocate(bytes); }

REM_EXPORT void* softpm_calloc(std::size_t count, std::size_t bytes) {
    if (overflows(count, bytes))
        return nullptr;
    void* const got = allocate(count * bytes);
    return got == nullptr ? nullptr : std::memset(got, 0, count * bytes);
}

REM_EXPORT void* softpm_realloc(void* block, std::size_t bytes) {
    if (block == nullptr)
        return allocate(bytes);
    return std::realloc(block, bytes);
}

REM_EXPORT void* softpm_reallocarray(void* block, std::size_t count, std::size_t bytes) {
    return overflows(count, bytes) ? nullptr : softpm_realloc(block, count * bytes);
}

REM_EXPORT void* softpm_aligned_alloc(std::size_t alignment, std::size_t bytes) {
    if (is_power_of_two(alignment))
        return allocate(bytes, std::max(alignment, k_alignment));
    errno = EINVAL;
    return nullptr;
}

REM_EXPORT int softpm_posix_memalign(void** into, std::size_t alignment, std::size_t bytes) {
    if (!is_power_of_two(alignment) || alignment < sizeof(void*))
        return EINVAL;
    void* const got = allocate(bytes, std::max(alignment, k_alignment));
    if (got == nullptr)
        return ENOMEM;
    *into = got;
    set_mark(into, mark::pointer);
    return 0;
}

REM_EXPORT void* softpm_valloc(std::size_t bytes) { return allocate(bytes, k_page_bytes); }

REM_EXPORT void* softpm_new(std::size_t bytes) {
    for (;;) {
        if (void* const got = allocate(bytes))
            return got;
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr)
            throw std::bad_alloc();
        handler();
    }
}
REM_EXPORT void* softpm_new_nothrow(std::size_t bytes, const std::nothrow_t& /*tag*/) { return allocate(bytes); }
REM_EXPORT void* softpm_new_aligned(std::size_t bytes, std::size_t alignment) {
    if (void* const got = allocate(bytes, std::max(alignment, k_alignment)))
        return got;
    throw std::bad_alloc();
}

REM_EXPORT char* softpm_strdup(const char* text) { return copy_text(text, std::strlen(text)); }
REM_EXPORT char* softpm_strndup(const char* text, std::size_t longest) {
    return copy_text(text, ::strnlen(text, longest));
}

REM_EXPORT wchar_t* softpm_wcsdup(const wchar_t* text) {
    const std::size_t bytes = (std::wcslen(text) + 1) * sizeof *text;
    void* const got = allocate(bytes);
    return got == nullptr ? nullptr : static_cast<wchar_t*>(std::memcpy(got, text, bytes));
}

REM_EXPORT int softpm_vasprintf(char** into, const char* format, va_list arguments) {
    char* text = nullptr;
    const int bytes = ::vasprintf(&text, format, arguments);
    if (bytes < 0)
        return bytes;
    *into = adopt(text);
    set_mark(into, mark::pointer);
    return *into == nullptr ? -1 : bytes;
}
REM_EXPORT int softpm_vasprintf_chk(char** into, int /*flag*/, const char* format, va_list arguments) {
    return softpm_vasprintf(into, format, arguments);
}
REM_EXPORT int softpm_asprintf(char** into, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int bytes = softpm_vasprintf(into, format, arguments);
    va_end(arguments);
    return bytes;
}
REM_EXPORT int softpm_asprintf_chk(char** into, int /*flag*/, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int bytes = softpm_vasprintf(into, format, arguments);
    va_end(arguments);
    return bytes;
}

// The C library enlarges the line by realloc(), which is the function of this file.
REM_EXPORT ssize_t softpm_getdelim(char** line, std::size_t* room, int end, std::FILE* from) {
    constexpr std::size_t k_first_room = 120;
    if (*line == nullptr) {
        *line = static_cast<char*>(allocate(k_first_room));
        if (*line == nullptr)
            return -1;
        *room = k_first_room;
    }
    set_mark(line, mark::pointer);
    return ::getdelim(line, room, end, from);
}
REM_EXPORT ssize_t softpm_getline(char** line, std::size_t* room, std::FILE* from) {
    return softpm_getdelim(line, room, '\n', from);
}
REM_EXPORT char* softpm_realpath(const char* path, char* into) {
    return into != nullptr ? ::realpath(path, into) : adopt(::realpath(path, nullptr));
}
REM_EXPORT char* softpm_realpath_chk(const char* path, char* into, std::size_t /*room*/) {
    return softpm_realpath(path, into);
}
REM_EXPORT char* softpm_getcwd(char* into, std::size_t room) {
    return into != nullptr ? ::getcwd(into, room) : adopt(::getcwd(nullptr, room));
}
REM_EXPORT char* softpm_getcwd_chk(char* into, std::size_t room, std::size_t /*known*/) {
    return softpm_getcwd(into, room);
}

// ---- replace the C library's functions ----
// All of these are critical sections, whoever calls them (W1).

REM_EXPORT void* REM_FRONT(malloc)(std::size_t bytes) {
    const critical_section here;
    return REM_BEHIND(malloc)(bytes);
}
REM_EXPORT void* REM_FRONT(calloc)(std::size_t count, std::size_t bytes) {
    const critical_section here;
    return REM_BEHIND(calloc)(count, bytes);
}
REM_EXPORT void* REM_FRONT(memalign)(std::size_t alignment, std::size_t bytes) {
    const critical_section here;
    return REM_BEHIND(memalign)(alignment, bytes);
}
REM_EXPORT void* REM_FRONT(aligned_alloc)(std::size_t alignment, std::size_t bytes) {
    return REM_FRONT(memalign)(alignment, bytes);
}
REM_EXPORT void* REM_FRONT(valloc)(std::size_t bytes) { return REM_FRONT(memalign)(k_page_bytes, bytes); }
REM_EXPORT int REM_FRONT(posix_memalign)(void** into, std::size_t alignment, std::size_t bytes) {
    if (!is_power_of_two(alignment) || alignment < sizeof(void*))
        return EINVAL;
    void* const got = REM_FRONT(memalign)(alignment, bytes);
    if (got == nullptr)
        return ENOMEM;
    *into = got;
    return 0;
}
REM_EXPORT void REM_FRONT(free)(void* block) {
    if (block == nullptr || free_in_arena(block))
        return;
    const critical_section here;
    REM_BEHIND(free)(block);
}
REM_EXPORT void* REM_FRONT(realloc)(void* block, std::size_t bytes) {
    arena* const of = block == nullptr ? nullptr : arena_of(address_of(block));
    if (of == nullptr) {
        const critical_section here;
        return REM_BEHIND(realloc)(block, bytes);
    }
    if (bytes != 0)
        return reallocate(*of, block, bytes);
    std::free(block); // the C library frees it, too
    return nullptr;
}
REM_EXPORT void* REM_FRONT(reallocarray)(void* block, std::size_t count, std::size_t bytes) {
    return overflows(count, bytes) ? nullptr : REM_FRONT(realloc)(block, count * bytes);
}
// The C library's own function cannot be called from here. But its result can be computed: the word before the block
// holds the size, with flags.
REM_EXPORT std::size_t REM_FRONT(malloc_usable_size)(void* block) {
    arena* const of = block == nullptr ? nullptr : arena_of(address_of(block));
    if (of == nullptr) {
        if (block == nullptr)
            return 0;
#ifdef REMANENCE_SOFTPM_SANITIZED
        return REM_BEHIND(malloc_usable_size)(block);
#else
        std::size_t size = 0;
        std::memcpy(&size, static_cast<const std::byte*>(block) - sizeof size, sizeof size);
        return (size & ~std::size_t{7}) - ((size & 2U) != 0 ? 2 * sizeof size : sizeof size);
#endif
    }
    const critical_section here;
    return of->find(address_of(block)).bytes;
}
