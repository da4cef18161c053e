// The allocator of a container whose bytes may be found at another address: that of a heap is kept as the distance to
// the heap's header, which lies in the same memory. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/detail/link.hpp>

namespace remanence::detail {

/// Allocators of other kinds are kept as they are.
template <class Alloc>
class kept_allocator {
public:
    explicit kept_allocator(const Alloc& alloc) noexcept : alloc_(alloc) {}
    kept_allocator(const kept_allocator&) = delete;
    kept_allocator& operator=(const kept_allocator&) = delete;
    ~kept_allocator() = default;

    [[nodiscard]] Alloc get() const noexcept { return alloc_; }
    void set(const Alloc& alloc) noexcept { alloc_ = alloc; }

private:
    [[no_unique_address]] Alloc alloc_;
};

template <class T>
class kept_allocator<allocator<T>> {
public:
    explicit kept_allocator(const allocator<T>& alloc) noexcept { set(alloc); }
    kept_allocator(const kept_allocator&) = delete;
    kept_allocator& operator=(const kept_allocator&) = delete;
    ~kept_allocator() = default;

    [[nodiscard]] allocator<T> get() const noexcept { return allocator<T>(heap_.get()); }
    void set(const allocator<T>& alloc) noexcept { heap_.set(alloc.heap()); }

private:
    link<heap_header> heap_; // null: none
};

} // namespace remanence::detail
