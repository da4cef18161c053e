// Slabs and returned blocks of threads that share an allocator. They are private to this process, not in the heap.
//
// There are 16 thread caches, each with its own mutex. A thread always uses the same one, perhaps together with other
// threads. So nothing need be done when a thread ends.
//
//  FN1  The allocator's lock is acquired before a thread cache's mutex, and no other lock after that mutex. A thread
//       cache gets or loses its slab only while both are held.
//  FN2  No block that the allocator keeps for reuse (magazines) or has yet to free (returned_blocks) lies in a lent
//       slab: lend() frees such blocks first, and a block in a lent slab is freed by the thread cache with that slab.
//  FN3  After settle() the allocator has all slabs and blocks, as if there were no thread caches. settle() must be
//       called before any code that reads the allocator as a whole, above all a commit (M2).
//  FN4  A returned block is freed by the allocator, which checks that it is a block, before it is allocated again (G1).
//  FN5  Before turn_on(), no thread cache holds slabs or blocks.
#pragma once

#include "alloc/lent_slab.hpp"
#include "alloc/returned_blocks.hpp"
#include "os/quick_mutex.hpp"
#include "txn/thread_caches.hpp"

#include <array>

namespace remanence::txn {

class slab_caches final : public thread_caches {
public:
    static constexpr std::size_t k_count = 16;

    explicit slab_caches(alloc::block_allocator& of) : of_(of) {}
    static std::unique_ptr<thread_caches> make(alloc::block_allocator& of) { return std::make_unique<slab_caches>(of); }

    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) override;
    [[nodiscard]] bool deallocate(void* address, std::size_t bytes) override;
    [[nodiscard]] bool is_quiet() override;
    void note_wait() override;
    [[nodiscard]] std::uint64_t lent_count() const override { return lent_count_; }
    [[nodiscard]] void* refill(std::size_t bytes, std::size_t alignment) override;
    [[nodiscard]] std::uint64_t take_block_count() override;
    void free_returned() override;
    void free(void* address, std::size_t bytes, std::size_t alignment) override;
    [[nodiscard]] std::optional<alloc::block> block_of(const void* address) override;

private:
    static constexpr std::uint32_t k_waits_until_on = 1024; // after so many waits, lending slabs costs little

    struct alignas(128) thread_cache { // two cache lines: processors fetch them in pairs
        os::quick_mutex mutex;
        alloc::lent_slab slab; // FN1
        alloc::returned_blocks returned;
        std::uint64_t blocks = 0;
    };

    /// Returns the index of this thread's thread cache. Threads get the thread caches in turn.
    [[nodiscard]] static std::size_t number_of_thread();
    [[nodiscard]] thread_cache& mine() { return all_[number_of_thread()]; }
    [[nodiscard]] thread_cache* owner_of(const void* address);
    /// Precondition: the mutex of `of` is locked.
    void take_back(thread_cache& of) {
        if (!of.slab.is_none())
            of_.take_back(of.slab);
    }
    bool free_returned(thread_cache& of);
    bool take_all_back() override;
    void forget_all() override;

    alloc::block_allocator& of_;
    std::uint64_t lent_count_ = 0;
    std::uint32_t waits_until_on_ = 0;
    std::array<thread_cache, k_count> all_;
};

} // namespace remanence::txn
