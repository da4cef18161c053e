// Small blocks that were given back and are not free yet: a few, which are freed together. Of this process only: the heap's own
// state has them in use. Depends on the standard library only.
//
// To free one takes some two hundred instructions, about as many as a processor looks ahead. A program that frees one after the
// other, each behind a look-up, would wait for memory once more for each; with this, only for each sixteenth.
//
//  G1  What lies here is what somebody gave back, whether it is a block or not. It is freed before anything is allocated, and
//      before a commit; so what is none is found before anybody gets it, or any harm is kept. Until then whoever asks for
//      blocks is not told of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace remanence::alloc {

class returned_blocks {
public:
    static constexpr std::uint32_t k_capacity = 16;

    /// Of a small block, in bytes as it was allocated. There must be room. Whether there is none left now.
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
