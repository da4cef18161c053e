// A slab that is lent to one thread: small blocks come from its holes, and go back there, without the heap's lock. Depends on
// slab_layout, bits and format.
//
//  L1  A lent slab is neither the current one nor in a list, so nobody but its borrower changes its bits or its descriptor. What is in
//      use, they say at any time. Only the sum of allocated bytes lags behind, until slabs::take_back().
#pragma once

#include "alloc/bits.hpp"
#include "alloc/slab_layout.hpp"
#include "format/alloc_state.hpp"

#include <cstddef>
#include <cstdint>

namespace remanence::alloc {

/// Not thread-safe. Made and ended by slabs::lend() and take_back().
class lent_slab {
public:
    [[nodiscard]] bool is_none() const { return first_ == nullptr; }
    [[nodiscard]] bool contains(const void* address) const {
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(first_) <
               (is_none() ? 0 : k_slab_bytes);
    }
    /// At a multiple of `alignment` granules: natural_alignment() or more. Null when no hole that follows is long enough; then another
    /// slab is due.
    [[nodiscard]] void* allocate(std::uint32_t granules, std::uint32_t alignment);
    /// An address that it contains. False, and nothing has changed, when no block of that many granules begins there.
    [[nodiscard]] bool deallocate(const void* address, std::uint32_t granules);

private:
    friend class slabs;

    std::byte* first_ = nullptr;
    format::page_descriptor* descriptor_ = nullptr;
    std::uint64_t* used_ = nullptr;
    std::uint64_t* starts_ = nullptr;
    std::uint32_t page_ = 0;
    std::uint32_t hole_begin_ = 0;
    std::uint32_t hole_end_ = 0;
    std::int64_t granules_ = 0; // allocated since it was lent, less those that were freed
};

} // namespace remanence::alloc
