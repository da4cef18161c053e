// Allocators that lie in this heap but allocate elsewhere: in no heap, or in another one. They are parts of strings and
// containers, which may thus own memory of the process or of that other heap.
#pragma once

#include "txn/heap_memory.hpp"

#include <mutex>
#include <unordered_set>
#include <vector>

namespace remanence::detail {

/// The places in this heap where foreign allocators were made or used, and still exist. Any thread may call any
/// function.
class foreign_allocators {
public:
    /// Records the place of a foreign allocator; if memory is lacking, records nothing.
    void note(const void* place) noexcept;
    void forget(const void* place) noexcept;
    void forget() noexcept;
    /// Returns errc::foreign_pointer if an object in `memory`, the heap's memory, owns foreign memory. To be called,
    /// with the write lock held, before a commit of changes made outside of write sections: there, a
    /// default-constructed allocator belongs to no heap. Throws std::bad_alloc.
    [[nodiscard]] result<void> refuse_their_memory(txn::heap_memory& memory) const;

private:
    /// Returns the places, in no particular order.
    [[nodiscard]] std::vector<const void*> all() const;

    mutable std::mutex guards_places_;
    std::unordered_set<const void*> places_;
};

} // namespace remanence::detail
