// Which front a thread has in which heap. Depends on front.hpp and os.
//
//  TH1  A heap's number is never used again, so an entry of a heap that was destroyed is found by nobody.
//  TH2  The mutex here guards the list of heaps and each thread's list of fronts. It is locked before a heap's lock, never the other way
//       round. fork() takes both.
#pragma once

#include "volatile/front.hpp"

#include <array>
#include <cstdint>

// Read at each allocation, also before the C library has set up more than a thread's first memory.
#define REM_QUICK_TLS [[gnu::tls_model("initial-exec")]]

namespace remanence::transient {

/// Of this thread: the heaps that it used last.
struct known_front {
    std::uint64_t heap_number;
    front* mine; // null: it has none there
};
inline constexpr std::size_t k_known_fronts = 8;
REM_QUICK_TLS extern constinit thread_local std::array<known_front, k_known_fronts> t_known_fronts;

/// Of a thread: all of them. Its own thread alone uses the table, and so needs no lock to find a front.
struct thread_fronts {
    front* first; // of the list: TH2
    known_front*
        table; // by the heaps' numbers, with linear probing; also of heaps that are gone (TH1). Null: one front, or no memory
    std::size_t slots; // a power of two
    std::size_t used;
};

/// That of this thread in a heap, if it has one. O(1), but O(fronts) where there is no table.
[[nodiscard]] front* find_front(std::uint64_t heap_number) noexcept;
/// Likewise, or the one that the heap gives now. Null when there is no memory.
[[nodiscard]] front* find_or_take_front(heap& of) noexcept;

/// Takes the heap into the list that fork() and threads that end look at; its number, from 1 on. 0: one that is there already has these
/// addresses, though it may not hold them.
[[nodiscard]] std::uint64_t register_heap(heap& which) noexcept;
/// And out of it: no thread has a front in it any more.
void unregister_heap(heap& which) noexcept;

} // namespace remanence::transient
