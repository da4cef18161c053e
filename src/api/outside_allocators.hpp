// Allocators that allocate in a heap but lie outside of it, as parts of containers in the process's memory.
#pragma once

#include <remanence/allocator.hpp>

#include <atomic>
#include <cstdint>

namespace remanence::detail {

/// The state number that such an allocator stores when it is made (allocator.hpp). Each rollback changes the number,
/// because a rollback may free the allocator's blocks and give them to objects of the heap. Any thread may call any
/// function.
class outside_allocators {
public:
    outside_allocators() noexcept {
        begin_new_state();
        first_ = state();
    }

    [[nodiscard]] std::uintptr_t state() const noexcept { return state_.load(std::memory_order_relaxed); }
    /// True if an allocator with this owner may still own blocks, because it lies in the heap or was made after the
    /// last rollback.
    [[nodiscard]] bool is_of_this_state(const heap_header* owner) const noexcept {
        const std::uintptr_t note = note_of(owner);
        return note <= k_lies_in_other_heap || note == state();
    }
    void begin_new_state() noexcept;
    [[nodiscard]] bool has_rolled_back() const noexcept { return state() != first_; }

private:
    std::atomic<std::uintptr_t> state_;
    std::uintptr_t first_;
};

} // namespace remanence::detail
