// Which thread cache a thread has in which heap. Depends on thread_cache.hpp and os.
//
//  TH1  A heap's number is never used again, so an entry of a heap that was destroyed is found by nobody.
//  TH2  The mutex here guards the list of heaps and each thread's list of thread caches. It is locked before a heap's lock, never the other way
//       round. fork() takes both.
#pragma once

#include "volatile/thread_cache.hpp"

#include <array>
#include <cstdint>

// Read at each allocation, also before the C library has set up more than a thread's first memory.
#define REM_QUICK_TLS [[gnu::tls_model("initial-exec")]]

namespace remanence::transient {

/// Of this thread: the heaps that it used last.
struct known_thread_cache {
    std::uint64_t heap_number;
    thread_cache* mine; // null: it has none there
};
inline constexpr std::size_t k_known_thread_caches = 8;
REM_QUICK_TLS extern constinit thread_local std::array<known_thread_cache, k_known_thread_caches> t_known_thread_caches;

/// Of a thread: all of them. Its own thread alone uses the table, and so needs no lock to find a thread cache.
struct slab_caches {
    thread_cache* first; // of the list: TH2
    known_thread_cache*
        table; // by the heaps' numbers, with linear probing; also of heaps that are gone (TH1). Null: one thread cache, or no memory
    std::size_t slots; // a power of two
    std::size_t used;
};

/// That of this thread in a heap, if it has one. O(1), but O(thread caches) where there is no table.
[[nodiscard]] thread_cache* find_thread_cache(std::uint64_t heap_number) noexcept;
/// Likewise, or the one that the heap gives now. Null when there is no memory.
[[nodiscard]] thread_cache* find_or_take_thread_cache(heap& of) noexcept;

/// Takes the heap into the list that fork() and threads that end look at; its number, from 1 on. 0: one that is there already has these
/// addresses, though it may not hold them.
[[nodiscard]] std::uint64_t register_heap(heap& which) noexcept;
/// And out of it: no thread has a thread cache in it any more.
void unregister_heap(heap& which) noexcept;

} // namespace remanence::transient
