// What a thread has of a heap: for each class the slab that it allocates from, and those with free blocks. Depends on slab.hpp.
//
//  FR1  A thread cache belongs to a thread, which alone uses it, or is vacant and used under the heap's lock. A thread that ends leaves its
//       thread cache with the slabs in it; the next thread takes the whole of it, and others take single slabs out of it when they need one.
//  FR2  bin::word is the current slab's word with the number word_index, or a word of zeros when there is no current slab.
#pragma once

#include "volatile/slab.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace remanence::transient {

class heap;
struct slab_caches;

/// What blocks of a class are taken from.
struct bin {
    slab::word* word;
    std::byte* first; // the block of the word's lowest bit
    std::uint32_t block_bytes;
    std::uint32_t word_index;
    slab* current;

    /// Null when the word is used up.
    [[nodiscard]] void* take() const {
        const std::uint64_t free = word->free.load(std::memory_order_relaxed);
        if (free == 0) [[unlikely]]
            return nullptr;
        word->free.store(free & (free - 1), std::memory_order_relaxed);
        return first + static_cast<std::uint64_t>(std::countr_zero(free)) * block_bytes;
    }
};

struct alignas(64) thread_cache {
    heap* home;
    std::uint64_t heap_number;
    const class_table* classes;
    thread_cache* next_of_thread; // guarded by the mutex of threads.cpp, as is `thread`
    slab_caches* thread;          // null: none has it
    thread_cache* next_vacant;    // guarded by the heap's lock
    std::array<bin, k_class_count> bins;
    std::array<slab*, k_class_count> listed; // the first of each class's list

    alignas(64) std::atomic<slab*> told; // slabs with something to collect, a stack by slab::next_told (SL5)

    void format(heap* of, std::uint64_t number, const class_table& table);
    void leave_current(bin& which);
    void put_in_list(slab& which);
    void take_out_of_list(slab& which);
    /// Goes on with the current slab's next word that has free blocks. False: it has none, also none that others have freed.
    [[nodiscard]] bool next_word(bin& which);
    /// The class's first listed slab becomes its current one. False: there is none.
    [[nodiscard]] bool adopt_listed(std::uint32_t index);
};

/// Tells the owner that there is something to collect (SL1, SL5).
void tell_owner(slab& of);

} // namespace remanence::transient
