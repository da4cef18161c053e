// An allocator that counts the elements that it has constructed and not destroyed.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace counting_test {

struct counts {
    int constructed = 0;
};
inline counts elsewhere; // of allocators that nobody gave counts

template <class T>
struct counting {
    using value_type = T;
    counting() noexcept : all(&elsewhere) {}
    explicit counting(counts& of_all) noexcept : all(&of_all) {}
    template <class U>
    counting(const counting<U>& other) noexcept : all(other.all) {} // NOLINT(google-explicit-constructor)
    T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
    void deallocate(T* block, std::size_t count) noexcept { std::allocator<T>().deallocate(block, count); }
    template <class U, class... Args>
    void construct(U* at, Args&&... args) {
        ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
        ++all->constructed;
    }
    template <class U>
    void destroy(U* at) noexcept {
        std::destroy_at(at);
        --all->constructed;
    }
    template <class U>
    friend bool operator==(const counting& a, const counting<U>& b) noexcept {
        return a.all == b.all;
    }
    counts* all;
};

} // namespace counting_test
