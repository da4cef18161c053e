// Finds the thread cache of a thread in a heap. Depends on thread_cache.hpp and os.
//
//  TH1  A heap's number is never used again. So no lookup finds the entry of a heap that was destroyed.
//  TH2  The mutex in threads.cpp guards the list of heaps and each thread's list of thread caches. It is locked before
//       a heap's lock, never after it. fork() locks both.
#pragma once

#include "volatile/thread_cache.hpp"

#include <array>
#include <cstdint>

// These variables are read at each allocation, also early in a thread, when the C library cannot allocate memory for
// them yet.
#define REM_QUICK_TLS [[gnu::tls_model("initial-exec")]]

namespace remanence::transient {

/// One of the heaps that this thread has used last.
struct known_thread_cache {
    std::uint64_t heap_number;
    thread_cache* mine; // null if this thread has none in that heap
};
inline constexpr std::size_t k_known_thread_caches = 8;
REM_QUICK_TLS extern constinit thread_local std::array<known_thread_cache, k_known_thread_caches> t_known_thread_caches;

/// All thread caches of a thread. Only that thread uses the table, so it finds a thread cache without a lock.
struct slab_caches {
    thread_cache* first; // the first of this thread's list (TH2)
    known_thread_cache*
        // by the heaps' numbers, with linear probing; may contain heaps that are gone (TH1). Null: there is only one
        // thread cache, or no memory
        table;
    std::size_t slots; // a power of two
    std::size_t used;
};

/// Returns the thread cache of this thread in a heap; null if it has none. O(1), but O(thread caches) if there is no
/// table.
[[nodiscard]] thread_cache* find_thread_cache(std::uint64_t heap_number) noexcept;
/// Returns the thread cache of this thread in a heap; gets one for it if it has none. Returns null if there is no
/// memory.
[[nodiscard]] thread_cache* find_or_take_thread_cache(heap& of) noexcept;

/// Adds the heap to the list that fork() and ending threads use; returns its number, from 1 on. Returns 0 if another
/// heap in the list has these addresses, even if it does not hold them.
[[nodiscard]] std::uint64_t register_heap(heap& which) noexcept;
/// Removes the heap from the list, and its thread caches from the lists of their threads.
void unregister_heap(heap& which) noexcept;

} // namespace remanence::transient
