// How our own containers tell a heap what they are about to write, so that they work in declared sections. Depends on
// the standard library only.
#pragma once

#include <remanence/allocator.hpp>

#include <atomic>
#include <cstddef>

namespace remanence::detail {

class heap_impl; // src/api/heap_impl.hpp

/// How many declared sections are open in this process. A thread knows of those that it works in.
extern std::atomic<unsigned> declared_sections;

/// The open heap with this header if a declared section is open in it, else null.
[[nodiscard]] heap_impl* declared_heap(const heap_header* where) noexcept;
/// Declares [first, first+bytes), and nothing beside it, in words of 8 bytes; nothing where that does not lie in the heap.
void declare(heap_impl* heap, const void* first, std::size_t bytes) noexcept;

/// Made at the beginning of an operation that writes, with the container's allocator; then called before each write.
/// Memory that is allocated in the operation needs no call. For any allocator but remanence's it does nothing.
template <class Alloc>
class declarer {
public:
    explicit declarer(const Alloc&) noexcept {}
    void operator()(const void*, std::size_t) const noexcept {}
};

template <class T>
class declarer<allocator<T>> {
public:
    explicit declarer(const allocator<T>& where) noexcept {
        if (declared_sections.load(std::memory_order_relaxed) != 0) [[unlikely]] {
            if (where.heap() != nullptr)
                heap_ = declared_heap(where.heap());
        }
    }
    void operator()(const void* first, std::size_t bytes) const noexcept {
        if (heap_ != nullptr) [[unlikely]]
            declare(heap_, first, bytes);
    }

private:
    heap_impl* heap_ = nullptr;
};

} // namespace remanence::detail
