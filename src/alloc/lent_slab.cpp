#include "alloc/lent_slab.hpp"

#include "alloc/slabs.hpp"

namespace remanence::alloc {

void* lent_slab::allocate(std::uint32_t granules, std::uint32_t alignment) {
    auto begin = static_cast<std::uint32_t>(align_up(hole_begin_, alignment));
    if (is_none() || descriptor_->count < granules)
        return nullptr;
    if (begin + granules > hole_end_) {
        const hole next = find_hole(used_, hole_end_, granules, alignment);
        if (next.length() == 0)
            return nullptr;
        begin = static_cast<std::uint32_t>(align_up(next.begin, alignment));
        hole_end_ = next.end;
    }
    hole_begin_ = begin + granules;
    set_bits(used_, begin, hole_begin_);
    set_bit(starts_, begin);
    descriptor_->count -= granules;
    granules_ += granules;
    return first_ + begin * k_granule_bytes;
}

bool lent_slab::deallocate(const void* address, std::uint32_t granules) {
    const auto at = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - first_);
    const auto begin = static_cast<std::uint32_t>(at / k_granule_bytes);
    const std::uint32_t end = begin + granules;
    if (!is_aligned(at, k_granule_bytes) || end > k_slab_granules || !is_block(used_, starts_, {begin, end}))
        return false;
    clear_bits(used_, begin, end);
    clear_bit(starts_, begin);
    descriptor_->count += granules;
    granules_ -= granules;
    if (end == hole_begin_)
        hole_begin_ = begin; // the block freed last is allocated first
    return true;
}

} // namespace remanence::alloc
