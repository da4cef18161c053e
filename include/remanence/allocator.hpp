// The allocator that puts containers into a heap. Thin: the memory comes from compiled code. Depends on the standard
// library only.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/types/detail/construct.hpp>
#include <remanence/types/detail/outside_block.hpp>
#include <remanence/types/detail/owner_note.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace remanence {

namespace detail {

// Places are numbers: g++ warns of pointers to what has not been constructed yet.

/// The owner that an allocator at `place` keeps, if it is to have the heap of this one. Notes it if it is strange there.
[[nodiscard]] heap_header* owner_at(heap_header* owner, std::uintptr_t place) noexcept;
/// The same of one that is made by default: its heap is default_heap().
[[nodiscard]] heap_header* default_owner_at(std::uintptr_t place) noexcept;
inline constexpr std::uintptr_t k_nowhere = 0;
/// The same of a copy of the allocator at `from`; k_nowhere, when that says nothing of where this owner belongs.
[[nodiscard]] inline heap_header* owner_of_copy(heap_header* owner, std::uintptr_t from,
                                                std::uintptr_t place) noexcept {
    const bool is_as_before =
        are_near(from, place) || (note_of(owner) == 0 && are_near(reinterpret_cast<std::uintptr_t>(owner), place));
    return is_as_before && !is_strange(owner) ? owner : owner_at(owner, place);
}
/// Whether one was noted ever: until then, as in most programs, none has to be forgotten.
extern std::atomic<bool> was_any_noted;
void forget_noted_at(const void* place) noexcept;
/// Of one that is gone.
inline void forget_if_noted(const heap_header* owner, const void* place) noexcept {
    if (is_strange(owner) && was_any_noted.load(std::memory_order_relaxed)) [[unlikely]]
        forget_noted_at(place);
}
/// Of different owners with the same header: whether the one may free what the other allocated.
[[nodiscard]] bool share_memory(heap_header* owner, heap_header* other) noexcept;

/// Memory from the heap. Throws std::bad_alloc, after which the heap is unchanged and usable.
[[nodiscard]] void* allocate(heap_header* owner, std::size_t bytes, std::size_t alignment);
/// `block`, `bytes` and `alignment` as they were with allocate().
void deallocate(heap_header* owner, void* block, std::size_t bytes, std::size_t alignment) noexcept;
/// The heap that default-made allocators of this thread belong to now; null: none.
[[nodiscard]] heap_header* default_heap() noexcept;
/// Throws errc::invalid_argument: containers of different heaps cannot exchange their memory.
[[noreturn]] void refuse_to_swap_allocators();
/// The same: nor can one list take nodes of another.
[[noreturn]] void refuse_to_move_nodes();

/// Of what a std::list allocates. libstdc++ compares its allocators by != before splice() and merge(), and ends the process without a word
/// when they differ.
template <class T>
inline constexpr bool is_list_node_v = false;
#if defined(_GLIBCXX_DEBUG)
template <class T>
inline constexpr bool is_list_node_v<std::__cxx1998::_List_node<T>> = true;
#elif defined(__GLIBCXX__)
template <class T>
inline constexpr bool is_list_node_v<std::_List_node<T>> = true;
#endif

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

template <class Alloc>
class kept_allocator;

} // namespace detail

/// Allocates in a heap, or by operator new when it belongs to none. Pointers are plain; two allocators are equal when
/// they belong to the same heap. One that is made by default belongs to the heap of what this thread entered last and has not
/// left: the construction of an object in a heap (heap::make(), heap::root(), an element of a container), a write section, a
/// scope `in`. Outside of all these it belongs to none. Read sections do not count.
///
/// It never propagates, so that memory of one heap cannot come to be owned by an object of another: assignment and move
/// between heaps copy element by element. So do swap(a, b) with containers of namespace remanence. The member function
/// swap() of the standard's containers cannot: between heaps it ends the process by an `error` that says so, as splice() and merge() of
/// lists do. merge() of others, and node handles, are not for containers of different heaps.
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
    allocator() noexcept : owner_(detail::default_owner_at(reinterpret_cast<std::uintptr_t>(this))) {}
    /// Belongs to the heap with this header; null: to none. heap::get_allocator() is the usual way to one.
    explicit allocator(detail::heap_header* heap) noexcept
        : owner_(detail::owner_of_copy(heap, detail::k_nowhere, reinterpret_cast<std::uintptr_t>(this))) {}
    allocator(const allocator& other) noexcept
        : owner_(detail::owner_of_copy(other.owner_, reinterpret_cast<std::uintptr_t>(&other),
                                       reinterpret_cast<std::uintptr_t>(this))) {}
    template <class U>
    allocator(const allocator<U>& other) noexcept // NOLINT(google-explicit-constructor)
        : owner_(detail::owner_of_copy(other.owner_, reinterpret_cast<std::uintptr_t>(&other),
                                       reinterpret_cast<std::uintptr_t>(this))) {}
    allocator& operator=(const allocator& other) noexcept { // NOLINT(cert-oop54-cpp): nothing happens then
        owner_ = detail::owner_of_copy(other.owner_, reinterpret_cast<std::uintptr_t>(&other),
                                       reinterpret_cast<std::uintptr_t>(this));
        return *this;
    }
    ~allocator() { detail::forget_if_noted(owner_, this); }

    /// Throws std::bad_array_new_length when `count` objects exceed the address space, std::bad_alloc when there is no
    /// memory.
    // NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > max_size())
            throw std::bad_array_new_length();
        const std::size_t bytes = count * sizeof(T);
        // It may have lain in the heap when that was opened, or committed without memory.
        if (detail::is_strange(owner_))
            (void)detail::owner_at(owner_, reinterpret_cast<std::uintptr_t>(this));
        if (owner_ != nullptr)
            return static_cast<T*>(detail::allocate(owner_, bytes, alignof(T)));
        return static_cast<T*>(detail::allocate_outside(bytes, alignof(T)));
    }
    void deallocate(T* block, std::size_t count) noexcept {
        if (owner_ != nullptr) {
            detail::deallocate(owner_, block, count * sizeof(T), alignof(T));
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
            const detail::default_heap_scope parts_belong_here(heap());
            detail::construct_using(where, as_kept<std::byte>(owner_), std::forward<Args>(args)...);
        } else if constexpr (detail::uses_deeply_v<U, allocator<std::byte>>) {
            detail::construct_using(where, as_kept<std::byte>(owner_), std::forward<Args>(args)...);
        } else { // a number has no use for one
            std::construct_at(where, std::forward<Args>(args)...);
        }
    }

    /// A copy of a container is an object of its own: it belongs where new objects belong now, not where its source
    /// lies. So a copy that a program makes outside write sections is its own, which no rollback takes away, and a copy of
    /// another heap's container inside a write section lands in the section's heap.
    [[nodiscard]] allocator select_on_container_copy_construction() const noexcept { return allocator(); }

    /// The header of the heap this allocates in; null when it uses operator new.
    [[nodiscard]] detail::heap_header* heap() const noexcept { return detail::header_of_owner(owner_); }

    /// Whether each may free what the other allocated: both belong to the same heap, and neither to a state of it that a
    /// rollback has ended (see `detail::owner_at`).
    template <class U>
    [[nodiscard]] bool operator==(const allocator<U>& other) const noexcept {
        return owner_ == other.owner_ || (heap() == other.heap() && detail::share_memory(owner_, other.owner_));
    }
    /// Only splice() and merge() ask. Throws errc::invalid_argument instead of telling that they differ.
    friend bool operator!=(const allocator& a, const allocator& b)
        requires detail::is_list_node_v<T>
    {
        if (!(a == b)) [[unlikely]]
            detail::refuse_to_move_nodes();
        return false;
    }
    /// Of equal ones only: there is nothing to do then. Throws errc::invalid_argument.
    friend void swap(allocator& a, allocator& b) { // NOLINT(performance-noexcept-swap)
        if (a != b) [[unlikely]]
            detail::refuse_to_swap_allocators();
    }

private:
    template <class U>
    friend class allocator;
    template <class Alloc>
    friend class detail::kept_allocator;

    struct as_kept_tag {};
    /// With the very owner, for a moment.
    allocator(as_kept_tag, detail::heap_header* owner) noexcept : owner_(owner) {}
    template <class U>
    [[nodiscard]] static allocator<U> as_kept(detail::heap_header* owner) noexcept {
        return allocator<U>(typename allocator<U>::as_kept_tag(), owner);
    }

    detail::heap_header* owner_;
};

static_assert(sizeof(allocator<int>) == 8 && sizeof(void*) == 8, "stored in files: one 64-bit pointer");

} // namespace remanence
