// Allocators that belong to no heap, or to another one, and lie in this heap: as parts of strings and containers that
// may own memory of the process, or of that other heap.
#pragma once

#include "txn/heap_memory.hpp"

#include <mutex>
#include <unordered_set>
#include <vector>

namespace remanence::detail {

/// The places where such allocators were made, or asked for memory, and still exist. Any thread may call it.
class foreign_allocators {
public:
    /// Notes nothing if there is no memory for it.
    void note(const void* place) noexcept;
    void forget(const void* place) noexcept;
    void forget() noexcept;
    /// To be called with the write lock held, before a commit of changes made outside of write sections, where a
    /// default-made allocator belongs to no heap. errc::foreign_pointer if an object in `memory`, the heap's memory,
    /// owns memory of such an allocator. Throws std::bad_alloc.
    [[nodiscard]] result<void> refuse_their_memory(txn::heap_memory& memory) const;

private:
    /// Returns the places in no order.
    [[nodiscard]] std::vector<const void*> all() const;

    mutable std::mutex guards_places_;
    std::unordered_set<const void*> places_;
};

} // namespace remanence::detail
