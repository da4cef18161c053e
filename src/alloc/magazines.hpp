// Freed blocks that may be allocated again at once: a short stack for each size of the smallest blocks. The stacks
// exist in this process only. In the heap's own state their blocks are in use; that state does not change when a block
// enters or leaves a stack. Depends on slab_layout.
//
// Each block of a size is as good as any other, since the size decides the alignment. In a full heap, an allocation
// from slabs has to search a slab, and to put another one into a list, for nearly every block. With magazines, programs
// that free as much as they allocate avoid both.
//
//  M1  In the heap's state, a block in a magazine is a block with exactly that size. But it is free: no query for
//      blocks reports it, and it cannot be freed again.
//  M2  The heap's state says exactly which blocks are in use only after all blocks in magazines were really freed,
//      which happens before a commit. When the memory is replaced, as in a rollback, the magazines forget their blocks.
//  M3  A heap does not grow while a magazine has blocks.
#pragma once

#include "alloc/slab_layout.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace remanence::alloc {

class magazines {
public:
    static constexpr std::uint32_t k_granules_max = 64; // the size of the largest block in a magazine
    static constexpr std::uint32_t k_capacity = 15;     // blocks of each size: with their count, two cache lines

    /// Returns null if there is no block of this size. The size is in granules.
    [[nodiscard]] void* take(std::uint32_t granules) {
        if (granules > k_granules_max)
            return nullptr;
        stack& from = all_[granules - 1];
        return from.count() == 0 ? nullptr : from.pop();
    }
    /// Returns false if there is no room. The block must not be in a magazine already.
    [[nodiscard]] bool put(void* block, std::uint32_t granules) {
        if (granules > k_granules_max)
            return false;
        stack& onto = all_[granules - 1];
        if (onto.count() == k_capacity)
            return false;
        onto.push(block);
        sizes_ |= std::uint64_t{1} << (granules - 1);
        return true;
    }
    [[nodiscard]] bool holds(const void* block, std::uint32_t granules) const {
        return granules <= k_granules_max && all_[granules - 1].holds(block);
    }
    /// Returns false if there may be blocks.
    [[nodiscard]] bool is_surely_empty() const { return sizes_ == 0; }
    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (std::uint64_t left = sizes_; left != 0; left &= left - 1) {
            const auto index = static_cast<std::uint32_t>(std::countr_zero(left));
            sum += std::uint64_t{all_[index].count()} * (index + 1) * k_granule_bytes;
        }
        return sum;
    }
    void forget() {
        take_all([](void*, std::uint32_t) {});
    }
    /// Removes all blocks: calls f(block, granules) with each; blocks of one size come in the order of their put().
    template <class F>
    void take_all(const F& f) {
        for (; sizes_ != 0; sizes_ &= sizes_ - 1) {
            const auto granules = static_cast<std::uint32_t>(std::countr_zero(sizes_)) + 1;
            all_[granules - 1].take_all([&](void* block) { f(block, granules); });
        }
    }

private:
    /// A stack: last in, first out. Addresses are stored in halves. Each deallocation must know if the block is in the
    /// stack already; four vector comparisons of the lower halves usually prove that it is not.
    class alignas(64) stack {
    public:
        [[nodiscard]] std::uint32_t count() const { return count_; }
        void push(const void* block) {
            const auto address = reinterpret_cast<std::uint64_t>(block);
            low_[count_] = static_cast<std::uint32_t>(address);
            high_[count_++] = static_cast<std::uint32_t>(address >> 32);
        }
        [[nodiscard]] void* pop() {
            --count_;
            void* const block = at(count_);
            low_[count_] = k_none;
            return block;
        }
        [[nodiscard]] bool holds(const void* block) const {
            using four [[gnu::vector_size(16)]] = std::uint32_t;
            static_assert(sizeof low_ == 4 * sizeof(four));
            const four wanted = four{} + static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(block));
            const auto is_in = [&](std::size_t quarter) {
                four low;
                std::memcpy(&low, low_.data() + 4 * quarter, sizeof low);
                return low == wanted;
            };
            const auto alike = is_in(0) | is_in(1) | is_in(2) | is_in(3);
            std::uint64_t halves[2];
            std::memcpy(halves, &alike, sizeof halves);
            return (halves[0] | halves[1]) != 0 && is_among(block);
        }
        /// Removes all blocks: calls f(block) with each, in the order of push().
        template <class F>
        void take_all(const F& f) {
            for (std::uint32_t i = 0; i != count_; ++i) {
                void* const block = at(i);
                low_[i] = k_none;
                f(block);
            }
            count_ = 0;
        }

    private:
        static constexpr std::uint32_t k_none = 1; // blocks never begin at an odd address

        [[nodiscard]] void* at(std::uint32_t index) const {
            return reinterpret_cast<void*>(std::uint64_t{high_[index]} << 32 | low_[index]);
        }
        [[gnu::cold]] [[nodiscard]] bool is_among(const void* block) const {
            std::uint32_t i = 0;
            while (i != count_ && at(i) != block)
                ++i;
            return i != count_;
        }

        std::array<std::uint32_t, 16> low_ = [] {
            std::array<std::uint32_t, 16> none{};
            none.fill(k_none);
            return none;
        }();
        std::array<std::uint32_t, k_capacity> high_{};
        std::uint32_t count_ = 0;
    };
    static_assert(sizeof(stack) == 128);

    std::uint64_t sizes_ = 0; // one bit for each size that had a block
    std::array<stack, k_granules_max> all_;
};
static_assert(magazines::k_granules_max <= 64, "a bit each");

} // namespace remanence::alloc
