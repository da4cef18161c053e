// Slabs and returned blocks of threads that share an allocator. Private to this process.
//
// A thread always uses the same thread cache, perhaps together with other threads: there are 16, each with its own
// mutex. So a thread that ends leaves nothing behind that must be found.
//
//  FN1  The allocator's lock comes before a thread cache's mutex, and no lock comes after that mutex. Which slab a
//       thread cache has changes only with both locked.
//  FN2  No block that the allocator keeps (magazines) or has yet to free (returned_blocks) lies in a lent slab.
//       lend() frees such blocks first, and a thread cache frees what lies in its slab.
//  FN3  After settle() the allocator has everything, as if there were no thread caches. It comes before anything that
//       looks at the allocator as a whole, above all a commit (M2).
//  FN4  A returned block is freed, and so found to be a block, before anybody gets it (G1).
//  FN5  Until turn_on(), no thread cache holds anything.
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
    static constexpr std::uint32_t k_waits_until_on = 1024; // so the cost of a search for a slab does not matter

    struct alignas(128) thread_cache { // two cache lines: processors fetch pairs
        os::quick_mutex mutex;
        alloc::lent_slab slab; // FN1
        alloc::returned_blocks returned;
        std::uint64_t blocks = 0;
    };

    /// The nth thread that comes here gets the nth thread cache, in turn.
    [[nodiscard]] static std::size_t number_of_thread();
    [[nodiscard]] thread_cache& mine() { return all_[number_of_thread()]; }
    [[nodiscard]] thread_cache* owner_of(const void* address);
    /// Precondition: its mutex is locked.
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
