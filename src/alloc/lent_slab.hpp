// A slab that is lent to one thread: the thread allocates small blocks in the slab's holes, and frees them, without the
// heap's lock. Depends on slab_layout, bits and format.
//
//  L1  A lent slab is not the current one and in no list. So only its borrower changes its bits and its descriptor,
//      which always say what is in use. Only the heap's sum of allocated bytes is out of date until
//      slabs::take_back().
#pragma once

#include "alloc/bits.hpp"
#include "alloc/slab_layout.hpp"
#include "format/alloc_state.hpp"

#include <cstddef>
#include <cstdint>

namespace remanence::alloc {

/// Not thread-safe. slabs::lend() fills it, slabs::take_back() empties it.
class lent_slab {
public:
    [[nodiscard]] bool is_none() const { return first_ == nullptr; }
    [[nodiscard]] bool contains(const void* address) const {
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(first_) <
               (is_none() ? 0 : k_slab_bytes);
    }
    /// Allocates `granules` granules (8 bytes each) at a multiple of `alignment` granules, which must be
    /// natural_alignment() or more. Returns null if no hole behind the last allocation is long enough; then the thread
    /// needs another slab.
    [[nodiscard]] void* allocate(std::uint32_t granules, std::uint32_t alignment);
    /// Frees a block; the address must lie in the slab. Returns false, and has changed nothing, if no block of that
    /// many granules begins there.
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
    std::int64_t granules_ = 0; // granules allocated minus granules freed since the slab was lent
};

} // namespace remanence::alloc
