// Allocators of no heap, or of another one, that lie in a heap, as parts of strings and containers there that may own memory of the
// process's, or of that heap.
#pragma once

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
    /// In no order. Throws std::bad_alloc.
    [[nodiscard]] std::vector<const void*> all() const;

private:
    mutable std::mutex guards_places_;
    std::unordered_set<const void*> places_;
};

} // namespace remanence::detail
