// Tells AddressSanitizer or Valgrind which memory belongs to blocks, so that they find uses of freed blocks. In builds
// without that sanitizer and without REMANENCE_VALGRIND these functions do nothing. Depends on the standard library
// only.
#pragma once

#include <cstddef>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define REM_MARKS_FOR_ASAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define REM_MARKS_FOR_ASAN
#endif

#ifdef REM_MARKS_FOR_ASAN
#include <sanitizer/asan_interface.h>
#endif
#ifdef REMANENCE_VALGRIND
#include <valgrind/memcheck.h>
#endif

namespace remanence::os {

#if defined REM_MARKS_FOR_ASAN || defined REMANENCE_VALGRIND
inline constexpr bool k_marks_memory = true;
#else
inline constexpr bool k_marks_memory = false;
#endif

/// Marks a part of a block that the program must not use.
inline void forbid_memory([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef REM_MARKS_FOR_ASAN
    __asan_poison_memory_region(start, bytes);
#endif
#ifdef REMANENCE_VALGRIND
    static_cast<void>(VALGRIND_MAKE_MEM_NOACCESS(start, bytes));
#endif
}

/// Marks a range whose contents the program may use.
inline void allow_memory([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef REM_MARKS_FOR_ASAN
    __asan_unpoison_memory_region(start, bytes);
#endif
#ifdef REMANENCE_VALGRIND
    static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(start, bytes));
#endif
}

/// Marks a block that is about to be returned to the program.
inline void mark_allocated([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef REM_MARKS_FOR_ASAN
    __asan_unpoison_memory_region(start, bytes);
#endif
#ifdef REMANENCE_VALGRIND
    VALGRIND_MALLOCLIKE_BLOCK(start, bytes, 0, 0);
#endif
}

/// Marks a freed block. Must be called before another thread can allocate its memory.
inline void mark_freed([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef REM_MARKS_FOR_ASAN
    __asan_poison_memory_region(start, bytes);
#endif
#ifdef REMANENCE_VALGRIND
    VALGRIND_FREELIKE_BLOCK(start, 0);
#endif
}

/// Marks a block that has changed its length in place.
inline void mark_resized([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t old_bytes,
                         [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef REM_MARKS_FOR_ASAN
    if (bytes < old_bytes)
        __asan_poison_memory_region(static_cast<const std::byte*>(start) + bytes, old_bytes - bytes);
    else
        __asan_unpoison_memory_region(start, bytes);
#endif
#ifdef REMANENCE_VALGRIND
    VALGRIND_RESIZEINPLACE_BLOCK(start, old_bytes, bytes, 0);
#endif
}

} // namespace remanence::os
