// Allocators of no heap, or of another one, that lie in a heap, as parts of strings and containers there that may own memory of the
// process's, or of that heap.
#pragma once

#include "txn/heap_memory.hpp"

#include <mutex>
#include <unordered_set>
#include <vector>

namespace remanence::detail {

/// Where such allocators were made, or asked for memory, and were not destroyed since. Any thread.
class strange_allocators {
public:
    /// Without memory for it, nothing is noted.
    void note(const void* place) noexcept;
    void forget(const void* place) noexcept;
    void forget() noexcept;
    /// To be called with the write lock held, before a commit of what was changed outside write sections, where a default-made
    /// allocator belongs to no heap: errc::foreign_pointer when an object in `memory`, which is the heap's, has memory of such an
    /// allocator. Throws std::bad_alloc.
    [[nodiscard]] result<void> refuse_their_memory(txn::heap_memory& memory) const;

private:
    /// In no order.
    [[nodiscard]] std::vector<const void*> all() const;

    mutable std::mutex guards_places_;
    std::unordered_set<const void*> places_;
};

} // namespace remanence::detail
