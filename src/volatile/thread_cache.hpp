// The part of a heap that a thread uses alone: for each class, the slab that it allocates from, and other slabs with
// free blocks. Depends on slab.hpp.
//
//  FR1  A thread cache belongs to a thread, which uses it alone; or it is vacant, and used under the heap's lock. A
//       thread that ends leaves its thread cache, with its slabs, vacant. The next new thread takes over the whole
//       thread cache; other threads remove single slabs from it when they need one.
//  FR2  bin::word is the word `word_index` of the current slab, or a word of zeros if there is no current slab.
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

/// The source of the blocks of a class.
struct bin {
    slab::word* word;
    std::byte* first; // the block of the word's lowest bit
    std::uint32_t block_bytes;
    std::uint32_t word_index;
    slab* current;

    /// Returns null if the word has no free block left.
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
    slab_caches* thread;          // null if it is vacant
    thread_cache* next_vacant;    // guarded by the heap's lock
    std::array<bin, k_class_count> bins;
    std::array<slab*, k_class_count> listed; // the first of each class's list

    alignas(64) std::atomic<slab*> told; // slabs with something to collect, a stack by slab::next_told (SL5)

    void format(heap* of, std::uint64_t number, const class_table& table);
    void leave_current(bin& which);
    void put_in_list(slab& which);
    void take_out_of_list(slab& which);
    /// Continues with the current slab's next word that has free blocks. Returns false if there is none, not even after
    /// collecting blocks that other threads have freed.
    [[nodiscard]] bool next_word(bin& which);
    /// Makes the class's first listed slab the current one. Returns false if there is none.
    [[nodiscard]] bool adopt_listed(std::uint32_t index);
};

/// Tells the owner that the slab has blocks to collect (SL1, SL5).
void tell_owner(slab& of);

} // namespace remanence::transient
