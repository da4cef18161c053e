// The allocator that puts containers into a heap. Thin: the memory comes from compiled code. Depends on the standard
// library only.
#pragma once

#include <remanence/detail/construct.hpp>

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace remanence {

namespace detail {

/// The start of every heap, in its own memory (src/format). Allocators point at it, never at anything outside (I6).
struct heap_header;

/// Memory from the heap. Throws std::bad_alloc, after which the heap is unchanged and usable.
[[nodiscard]] void* allocate(heap_header* where, std::size_t bytes, std::size_t alignment);
/// `block`, `bytes` and `alignment` as they were with allocate().
void deallocate(heap_header* where, void* block, std::size_t bytes, std::size_t alignment) noexcept;
/// The heap whose write section this thread is in, else the process's one exclusive heap, else null.
[[nodiscard]] heap_header* default_heap() noexcept;

[[nodiscard]] inline void* allocate_outside(std::size_t bytes, std::size_t alignment) {
    if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
        return ::operator new(bytes, std::align_val_t(alignment));
    return ::operator new(bytes);
}
inline void deallocate_outside(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        ::operator delete(block, bytes, std::align_val_t(alignment));
    } else {
        ::operator delete(block, bytes);
    }
}

} // namespace detail

/// Allocates in a heap, or by operator new when it belongs to none. Pointers are plain; two allocators are equal when
/// they belong to the same heap.
///
/// It never propagates, so that memory of one heap cannot come to be owned by an object of another: assignment and move
/// between heaps copy element by element. As for every such allocator, the behaviour of swap(), splice() and merge()
/// between containers of different heaps is undefined.
template <class T>
class allocator {
public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    using propagate_on_container_swap = std::false_type;
    using is_always_equal = std::false_type;

    /// Belongs to the heap whose write section this thread is in (the innermost), else to the process's one exclusive
    /// heap, else to none.
    allocator() noexcept : heap_(detail::default_heap()) {}
    /// Belongs to the heap with this header; null: to none. heap::get_allocator() is the usual way to one.
    explicit allocator(detail::heap_header* heap) noexcept : heap_(heap) {}
    template <class U>
    allocator(const allocator<U>& other) noexcept : heap_(other.heap()) {} // NOLINT(google-explicit-constructor)

    /// Throws std::bad_array_new_length when `count` objects exceed the address space, std::bad_alloc when there is no
    /// memory.
    // NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > max_size())
            throw std::bad_array_new_length();
        const std::size_t bytes = count * sizeof(T);
        void* block =
            heap_ != nullptr ? detail::allocate(heap_, bytes, alignof(T)) : detail::allocate_outside(bytes, alignof(T));
        return static_cast<T*>(block);
    }
    void deallocate(T* block, std::size_t count) noexcept {
        if (heap_ != nullptr) {
            detail::deallocate(heap_, block, count * sizeof(T), alignof(T));
        } else {
            detail::deallocate_outside(block, count * sizeof(T), alignof(T));
        }
    }
    [[nodiscard]] std::size_t max_size() const noexcept {
        return static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T);
    }
    // NOLINTEND(bugprone-sizeof-expression)

    /// Constructs an object whose parts all belong to this heap: containers and strings at any depth within aggregates,
    /// pairs, tuples, optionals, variants and arrays. What was built elsewhere is copied; what was built in this heap
    /// is moved, when it is an rvalue. Aggregates also take their members' values: `construct(p, "a", "b")`.
    template <class U, class... Args>
    void
    construct(U* where,
              Args&&... args) noexcept(detail::is_nothrow_constructible_using_v<U, allocator<std::byte>, Args...>) {
        // One allocator type for all, so that there is one instance for each U.
        detail::construct_using(where, allocator<std::byte>(*this), std::forward<Args>(args)...);
    }

    /// A copy of a container is an object of its own: it belongs where new objects belong now, not where its source
    /// lies. So a copy that a program makes on its stack, with no section open, does not silently take heap memory that
    /// would outlive it, and a copy of another heap's container inside a write section lands in the section's heap.
    [[nodiscard]] allocator select_on_container_copy_construction() const noexcept { return allocator(); }

    /// The header of the heap this allocates in; null when it uses operator new.
    [[nodiscard]] detail::heap_header* heap() const noexcept { return heap_; }

    template <class U>
    [[nodiscard]] friend bool operator==(const allocator& a, const allocator<U>& b) noexcept {
        return a.heap() == b.heap();
    }

private:
    detail::heap_header* heap_;
};

static_assert(sizeof(allocator<int>) == 8 && sizeof(void*) == 8, "stored in files: one 64-bit pointer");

} // namespace remanence
