// How our own containers declare what they are about to write, so that they work in declared sections. Depends on the
// standard library only.
#pragma once

#include <remanence/allocator.hpp>

#include <atomic>
#include <cstddef>

namespace remanence::detail {

class heap_impl; // src/api/heap_impl.hpp

/// The number of declared sections that are open in this process. The count that a thread reads includes at least the
/// sections that this thread is in.
extern std::atomic<unsigned> declared_sections;

/// Returns the open heap with this header if a declared section is open in it, else null.
[[nodiscard]] heap_impl* declared_heap(const heap_header* where) noexcept;
/// Declares the words of 8 bytes that contain a byte of [first, first+bytes), and no other memory. Does nothing for
/// bytes outside of the heap.
void declare(heap_impl* heap, const void* first, std::size_t bytes) noexcept;

/// Declares the writes of a container's operation. The container constructs a declarer from its allocator before the
/// operation, and calls it before each write. Memory that the operation allocates need not be declared. With other
/// allocators than Remanence's, a declarer does nothing.
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
