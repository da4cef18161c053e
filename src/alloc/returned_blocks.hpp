// Small blocks that were given back and are not free yet: a few blocks, which are freed together. The list exists in
// this process only; in the heap's own state its blocks are in use. Depends on the standard library only.
//
// Freeing a block takes some two hundred instructions, about as many as a processor can execute out of order. So if a
// program looked up a block, freed it, and continued with the next one, it would wait for memory twice for each block:
// at the look-up and at the freeing. When sixteen blocks are freed together, the waits at the freeing overlap.
//
//  G1  Whatever the program gives back is put here, even if it is no block. It is freed before anything is allocated,
//      and before a commit. So a wrong address is found before its memory is allocated, and before any harm is
//      committed. Until then, queries for blocks do not report such a block.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace remanence::alloc {

class returned_blocks {
public:
    static constexpr std::uint32_t k_capacity = 16;

    /// Adds a small block; `bytes` is the size of its allocation. There must be room. Returns true if no room is left
    /// now.
    [[nodiscard]] bool put(void* address, std::uint32_t bytes) {
        all_[count_++] = {address, bytes};
        return count_ == k_capacity;
    }
    [[nodiscard]] bool is_empty() const { return count_ == 0; }
    [[nodiscard]] bool is_full() const { return count_ == k_capacity; }
    [[nodiscard]] bool holds(const void* address) const {
        return std::any_of(all_.begin(), all_.begin() + count_, [&](const one& of) { return of.address == address; });
    }
    /// Calls f(address, bytes) with each.
    template <class F>
    void for_each(const F& f) const {
        for (std::uint32_t i = 0; i != count_; ++i)
            f(all_[i].address, all_[i].bytes);
    }
    void forget() { count_ = 0; }

private:
    struct one {
        void* address;
        std::uint32_t bytes;
    };
    std::array<one, k_capacity> all_{};
    std::uint32_t count_ = 0;
};

} // namespace remanence::alloc
