#include "api/outside_allocators.hpp"

namespace remanence::detail {

// A heap may be opened at the address of an earlier heap whose allocators still exist. So no two heaps ever have the
// same state number.
void outside_allocators::begin_new_state() noexcept {
    constexpr std::uintptr_t k_step = k_lies_in_other_heap + 1;
    constexpr std::uintptr_t k_states = k_owner_note_bits / k_step;
    static std::atomic<std::uintptr_t> begun = 0;
    state_.store(k_step * (1 + begun.fetch_add(1, std::memory_order_relaxed) % k_states), std::memory_order_relaxed);
}

} // namespace remanence::detail
