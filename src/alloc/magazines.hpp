// Blocks that were freed and may be allocated again at once: a short stack for each size of the smallest blocks. Of this
// process only: the heap's own state has them in use, and does not hear of it when one leaves and another takes its place.
// Depends on slab_layout.
//
// What fits one block of a size fits all of them, since where a block begins follows from its size. In a heap that is full,
// allocating from slabs means to search one, and to put another into a list, for nearly every block; so programs that free
// as much as they allocate do neither.
//
//  M1  What lies here is a block of the heap, with just that size, and nobody's. So whoever asks for blocks is not told of
//      it, and it cannot be freed again.
//  M2  What the memory says of blocks is exact once all of these were really freed: before a commit. When the memory becomes
//      another, as in a rollback, they are forgotten.
//  M3  A heap does not grow while any lies here.
#pragma once

#include "alloc/slab_layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace remanence::alloc {

class magazines {
public:
    static constexpr std::uint32_t k_granules_max = 64; // of a block that is kept
    static constexpr std::uint32_t k_capacity = 15;     // of each size: with its count, two cache lines

    /// Null when there is none of this size, in granules.
    [[nodiscard]] void* take(std::uint32_t granules) {
        if (granules > k_granules_max)
            return nullptr;
        stack& from = all_[granules - 1];
        return from.count == 0 ? nullptr : std::exchange(from.blocks[--from.count], nullptr);
    }
    /// False when there is no room. It must not lie here already.
    [[nodiscard]] bool put(void* block, std::uint32_t granules) {
        if (granules > k_granules_max)
            return false;
        stack& onto = all_[granules - 1];
        if (onto.count == k_capacity)
            return false;
        onto.blocks[onto.count++] = block;
        sizes_ |= std::uint64_t{1} << (granules - 1);
        return true;
    }
    [[nodiscard]] bool holds(const void* block, std::uint32_t granules) const {
        if (granules > k_granules_max)
            return false;
        const stack& in = all_[granules - 1];
        return std::find(in.blocks.begin(), in.blocks.end(), block) != in.blocks.end();
    }
    /// False: perhaps it is.
    [[nodiscard]] bool is_surely_empty() const { return sizes_ == 0; }
    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (std::uint64_t left = sizes_; left != 0; left &= left - 1) {
            const auto index = static_cast<std::uint32_t>(std::countr_zero(left));
            sum += all_[index].count * (index + 1) * k_granule_bytes;
        }
        return sum;
    }
    void forget() {
        take_all([](void*, std::uint32_t) {});
    }
    /// Empties them: calls f(block, granules) with each, of each size in the order in which they came.
    template <class F>
    void take_all(const F& f) {
        for (; sizes_ != 0; sizes_ &= sizes_ - 1) {
            const auto granules = static_cast<std::uint32_t>(std::countr_zero(sizes_)) + 1;
            stack& from = all_[granules - 1];
            for (std::uint64_t i = 0; i < from.count; ++i)
                f(std::exchange(from.blocks[i], nullptr), granules);
            from.count = 0;
        }
    }

private:
    struct alignas(64) stack {
        std::uint64_t count = 0;
        std::array<void*, k_capacity> blocks{}; // the last in is the first out; null behind them
    };
    static_assert(sizeof(stack) == 128);

    std::uint64_t sizes_ = 0; // one bit for each that something was put into
    std::array<stack, k_granules_max> all_;
};
static_assert(magazines::k_granules_max <= 64, "a bit each");

} // namespace remanence::alloc
