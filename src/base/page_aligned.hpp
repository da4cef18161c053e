// Vectors of bytes that begin at a page, as direct writes want them.
#pragma once

#include "base/units.hpp"

#include <cstddef>
#include <new>
#include <vector>

namespace remanence {

template <class T>
struct page_aligned_allocator {
    using value_type = T;
    page_aligned_allocator() = default;
    template <class U>
    page_aligned_allocator(const page_aligned_allocator<U>&) {} // NOLINT(google-explicit-constructor)
    [[nodiscard]] T* allocate(std::size_t n) {
        return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{k_page_bytes}));
    }
    void deallocate(T* at, std::size_t n) noexcept {
        ::operator delete(at, n * sizeof(T), std::align_val_t{k_page_bytes});
    }
    friend bool operator==(const page_aligned_allocator&, const page_aligned_allocator&) { return true; }
};

using page_aligned_bytes = std::vector<std::byte, page_aligned_allocator<std::byte>>;

} // namespace remanence
