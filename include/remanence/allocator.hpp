// The allocator that puts containers into a heap. Thin: the memory comes from compiled code. Depends on the standard
// library only.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/types/detail/construct.hpp>
#include <remanence/types/detail/outside_block.hpp>

#include <cstddef>
#include <cstdint>
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
/// The heap that default-made allocators of this thread belong to now; null: none.
[[nodiscard]] heap_header* default_heap() noexcept;
/// Of one that was made at this place, or asked for memory there: if the place lies in a heap, an object of the heap may have
/// memory that belongs to none, which a commit of changes made outside write sections looks for.
void note_allocator_of_no_heap(const void* place) noexcept;
/// Throws errc::invalid_argument: containers of different heaps cannot exchange their memory.
[[noreturn]] void refuse_to_swap_allocators();

/// While it lives, default-made allocators of this thread belong to this heap, or to none, unless a write section or another
/// of these began later. To be destroyed by the thread that made it.
class default_heap_scope {
public:
    explicit default_heap_scope(heap_header* heap) noexcept;
    default_heap_scope(const default_heap_scope&) = delete;
    default_heap_scope& operator=(const default_heap_scope&) = delete;
    ~default_heap_scope();

private:
    friend heap_header* default_heap() noexcept;

    heap_header* heap_;
    std::uint64_t moment_; // of the thread, in which it began
    default_heap_scope* outer_;
};

} // namespace detail

/// Allocates in a heap, or by operator new when it belongs to none. Pointers are plain; two allocators are equal when
/// they belong to the same heap. One that is made by default belongs to the heap of what this thread entered last and has not
/// left: the construction of an object in a heap (heap::make(), heap::root(), an element of a container), a write section, a
/// scope `in`. Outside of all these it belongs to none. Read sections do not count.
///
/// It never propagates, so that memory of one heap cannot come to be owned by an object of another: assignment and move
/// between heaps copy element by element. So do swap(a, b) with containers of namespace remanence. The member function
/// swap() of the standard's containers cannot: between heaps it ends the process by an `error` that says so. Their splice() and
/// merge(), and node handles, are not for containers of different heaps.
template <class T>
class allocator {
public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    /// So that a container's swap() hands its allocators to ours, which refuses different ones.
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    /// Belongs to the heap of the innermost construction, write section or scope `in` of this thread, else to none.
    allocator() noexcept : allocator(detail::default_heap()) {}
    /// Belongs to the heap with this header; null: to none. heap::get_allocator() is the usual way to one.
    explicit allocator(detail::heap_header* heap) noexcept : heap_(heap) {
        if (heap_ == nullptr)
            detail::note_allocator_of_no_heap(this);
    }
    allocator(const allocator& other) noexcept : allocator(other.heap()) {}
    template <class U>
    allocator(const allocator<U>& other) noexcept : allocator(other.heap()) {} // NOLINT(google-explicit-constructor)
    allocator& operator=(const allocator&) noexcept = default;
    ~allocator() = default;

    /// Throws std::bad_array_new_length when `count` objects exceed the address space, std::bad_alloc when there is no
    /// memory.
    // NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > max_size())
            throw std::bad_array_new_length();
        const std::size_t bytes = count * sizeof(T);
        if (heap_ != nullptr)
            return static_cast<T*>(detail::allocate(heap_, bytes, alignof(T)));
        detail::note_allocator_of_no_heap(this); // one that lay in the heap when it was opened
        return static_cast<T*>(detail::allocate_outside(bytes, alignof(T)));
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
    /// is moved, when it is an rvalue. Aggregates also take their members' values: `construct(p, "a", "b")`. Classes that
    /// cannot be taken apart make their parts in this heap by default.
    template <class U, class... Args>
    void
    construct(U* where,
              Args&&... args) noexcept(detail::is_nothrow_constructible_using_v<U, allocator<std::byte>, Args...>) {
        // One allocator type for all, so that there is one instance for each U.
        if constexpr (detail::may_make_allocators<U, allocator<std::byte>>()) {
            const detail::default_heap_scope parts_belong_here(heap_);
            detail::construct_using(where, allocator<std::byte>(*this), std::forward<Args>(args)...);
        } else {
            detail::construct_using(where, allocator<std::byte>(*this), std::forward<Args>(args)...);
        }
    }

    /// A copy of a container is an object of its own: it belongs where new objects belong now, not where its source
    /// lies. So a copy that a program makes outside write sections is its own, which no rollback takes away, and a copy of
    /// another heap's container inside a write section lands in the section's heap.
    [[nodiscard]] allocator select_on_container_copy_construction() const noexcept { return allocator(); }

    /// The header of the heap this allocates in; null when it uses operator new.
    [[nodiscard]] detail::heap_header* heap() const noexcept { return heap_; }

    template <class U>
    [[nodiscard]] friend bool operator==(const allocator& a, const allocator<U>& b) noexcept {
        return a.heap() == b.heap();
    }
    /// Of equal ones only: there is nothing to do then. Throws errc::invalid_argument.
    friend void swap(allocator& a, allocator& b) { // NOLINT(performance-noexcept-swap)
        if (a != b) [[unlikely]]
            detail::refuse_to_swap_allocators();
    }

private:
    detail::heap_header* heap_;
};

static_assert(sizeof(allocator<int>) == 8 && sizeof(void*) == 8, "stored in files: one 64-bit pointer");

} // namespace remanence
