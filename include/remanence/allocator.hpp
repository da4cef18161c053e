// The allocator that puts containers into a heap. Thin templates; compiled code allocates the memory. Depends on the
// standard library only.
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

// The addresses of allocators are passed as integers, since g++ warns about pointers to objects that are not
// constructed yet.

/// Returns the owner that an allocator at `place` must store to allocate in the heap of `owner`. If the allocator lies
/// in a heap that is not its own (it is *strange* there: owner_note.hpp), records it with the heap in which it lies.
[[nodiscard]] heap_header* owner_at(heap_header* owner, std::uintptr_t place) noexcept;
/// Returns the owner of a default-constructed allocator at `place`: that of default_heap().
[[nodiscard]] heap_header* default_owner_at(std::uintptr_t place) noexcept;
inline constexpr std::uintptr_t k_nowhere = 0;
/// Returns the owner for a copy, at `place`, of the allocator at `from`. If `from` is k_nowhere, the source's place
/// says nothing about its heap.
[[nodiscard]] inline heap_header* owner_of_copy(heap_header* owner, std::uintptr_t from,
                                                std::uintptr_t place) noexcept {
    const bool is_as_before =
        are_near(from, place) || (note_of(owner) == 0 && are_near(reinterpret_cast<std::uintptr_t>(owner), place));
    return is_as_before && !is_strange(owner) ? owner : owner_at(owner, place);
}
/// True once an allocator was recorded by owner_at(). Until then, as in most programs, there is no record to remove.
extern std::atomic<bool> was_any_noted;
void forget_noted_at(const void* place) noexcept;
/// Removes the record of an allocator that is destroyed, if there is one.
inline void forget_if_noted(const heap_header* owner, const void* place) noexcept {
    if (is_strange(owner) && was_any_noted.load(std::memory_order_relaxed)) [[unlikely]]
        forget_noted_at(place);
}
/// Returns true if one owner may free what the other allocated. Precondition: the owners differ, and belong to the same
/// heap.
[[nodiscard]] bool share_memory(heap_header* owner, heap_header* other) noexcept;

/// Allocates memory of the heap. Throws std::bad_alloc; the heap is then unchanged and usable.
[[nodiscard]] void* allocate(heap_header* owner, std::size_t bytes, std::size_t alignment);
/// Frees a block. `bytes` and `alignment` are those of allocate().
void deallocate(heap_header* owner, void* block, std::size_t bytes, std::size_t alignment) noexcept;
/// Returns the heap to which default-constructed allocators of this thread belong now; null: none.
[[nodiscard]] heap_header* default_heap() noexcept;
/// Throws errc::invalid_argument: containers of different heaps cannot exchange their memory.
[[noreturn]] void refuse_to_swap_allocators();
/// Throws errc::invalid_argument: a list cannot take over nodes of a list in another heap.
[[noreturn]] void refuse_to_move_nodes();

/// True for the nodes of std::list. Before splice() and merge(), libstdc++ compares the lists' allocators by !=, and
/// ends the process without a message if they differ.
template <class T>
inline constexpr bool is_list_node_v = false;
#if defined(_GLIBCXX_DEBUG)
template <class T>
inline constexpr bool is_list_node_v<std::__cxx1998::_List_node<T>> = true;
#elif defined(__GLIBCXX__)
template <class T>
inline constexpr bool is_list_node_v<std::_List_node<T>> = true;
#endif

/// While such a scope exists, default-constructed allocators of this thread belong to the given heap, or to none if it
/// is null. A write section, or another such scope, that begins later takes precedence. The scope must be destroyed by
/// the thread that made it.
class default_heap_scope {
public:
    explicit default_heap_scope(heap_header* heap) noexcept;
    default_heap_scope(const default_heap_scope&) = delete;
    default_heap_scope& operator=(const default_heap_scope&) = delete;
    ~default_heap_scope();

private:
    friend heap_header* default_heap() noexcept;

    heap_header* heap_;
    std::uint64_t moment_; // the thread's count of scopes and sections when this one began
    default_heap_scope* outer_;
};

template <class Alloc>
class kept_allocator;

} // namespace detail

/// Allocates in a heap, or by operator new if it belongs to no heap. Pointers are plain. Two allocators are equal when
/// they belong to the same heap.
///
/// A default-constructed allocator belongs to the heap of the innermost of these that this thread is in: the
/// construction of an object in a heap (heap::make(), heap::root(), an element of a container), a write section, a
/// scope `in`. Outside of all these it belongs to no heap. Read sections do not count.
///
/// An allocator never propagates, so an object of one heap never owns memory of another: assignment and move between
/// heaps copy element by element. swap(a, b) of containers of namespace remanence also copies. The member function
/// swap() of the standard's containers cannot copy: between heaps it ends the process, with an `error` that says so. So
/// do splice() and merge() of lists. Do not use merge() of other containers, or node handles, between heaps.
template <class T>
class allocator {
public:
    using value_type = T;                                           ///< the type of the objects
    using size_type = std::size_t;                                  ///< counts objects
    using difference_type = std::ptrdiff_t;                         ///< distance of objects
    using propagate_on_container_copy_assignment = std::false_type; ///< copy assignment copies elements
    /// Move assignment between heaps copies elements.
    using propagate_on_container_move_assignment = std::false_type;
    /// True, so that a container's swap() passes its allocators to our swap(), which refuses different ones.
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type; ///< allocators of different heaps differ

    /// Belongs to the heap of the innermost construction, write section or scope `in` of this thread; otherwise to
    /// none.
    allocator() noexcept : owner_(detail::default_owner_at(reinterpret_cast<std::uintptr_t>(this))) {}
    /// Belongs to the heap with this header; null: to none. Usually heap::get_allocator() makes one.
    explicit allocator(detail::heap_header* heap) noexcept
        : owner_(detail::owner_of_copy(heap, detail::k_nowhere, reinterpret_cast<std::uintptr_t>(this))) {}
    /// Belongs to the heap of `other`.
    allocator(const allocator& other) noexcept
        : owner_(detail::owner_of_copy(other.owner_, reinterpret_cast<std::uintptr_t>(&other),
                                       reinterpret_cast<std::uintptr_t>(this))) {}
    /// Belongs to the heap of `other`.
    template <class U>
    allocator(const allocator<U>& other) noexcept // NOLINT(google-explicit-constructor)
        : owner_(detail::owner_of_copy(other.owner_, reinterpret_cast<std::uintptr_t>(&other),
                                       reinterpret_cast<std::uintptr_t>(this))) {}
    /// Changes to the heap of `other`. For temporary allocators; containers do not call it.
    allocator& operator=(const allocator& other) noexcept { // NOLINT(cert-oop54-cpp): nothing happens then
        owner_ = detail::owner_of_copy(other.owner_, reinterpret_cast<std::uintptr_t>(&other),
                                       reinterpret_cast<std::uintptr_t>(this));
        return *this;
    }
    ~allocator() { detail::forget_if_noted(owner_, this); }

    /// Allocates memory for `count` objects. Throws std::bad_array_new_length when so many objects exceed the address
    /// space, std::bad_alloc when there is no memory.
    // NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > max_size())
            throw std::bad_array_new_length();
        const std::size_t bytes = count * sizeof(T);
        // A strange allocator may have no record yet: it was in the heap when the heap was opened, or was committed
        // before it had allocated memory.
        if (detail::is_strange(owner_))
            (void)detail::owner_at(owner_, reinterpret_cast<std::uintptr_t>(this));
        if (owner_ != nullptr)
            return static_cast<T*>(detail::allocate(owner_, bytes, alignof(T)));
        return static_cast<T*>(detail::allocate_outside(bytes, alignof(T)));
    }
    /// Frees the memory of `count` objects.
    void deallocate(T* block, std::size_t count) noexcept {
        if (owner_ != nullptr) {
            detail::deallocate(owner_, block, count * sizeof(T), alignof(T));
        } else {
            detail::deallocate_outside(block, count * sizeof(T), alignof(T));
        }
    }
    /// Returns the largest `count` for allocate().
    [[nodiscard]] std::size_t max_size() const noexcept {
        return static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T);
    }
    // NOLINTEND(bugprone-sizeof-expression)

    /// Constructs an object whose parts all belong to this heap: containers and strings at any depth within aggregates,
    /// pairs, tuples, optionals, variants and arrays. Values from elsewhere are copied; rvalues of this heap are moved.
    /// Aggregates can also be made from their members' values: `construct(p, "a", "b")`. Classes that cannot be taken
    /// apart default-construct their parts in this heap.
    template <class U, class... Args>
    void
    construct(U* where,
              Args&&... args) noexcept(detail::is_nothrow_constructible_using_v<U, allocator<std::byte>, Args...>) {
        // Uses the same allocator type for every T, so that construct_using() is instantiated only once for each U.
        if constexpr (detail::may_make_allocators<U, allocator<std::byte>>()) {
            const detail::default_heap_scope parts_belong_here(heap());
            detail::construct_using(where, as_kept<std::byte>(owner_), std::forward<Args>(args)...);
        } else if constexpr (detail::uses_deeply_v<U, allocator<std::byte>>) {
            detail::construct_using(where, as_kept<std::byte>(owner_), std::forward<Args>(args)...);
        } else { // U has no allocators in it, such as a number
            std::construct_at(where, std::forward<Args>(args)...);
        }
    }

    /// Returns the allocator for a copy of a container: it belongs to the heap of default-constructed allocators, not
    /// to that of the source. So a copy that is made outside of write sections belongs to the program, and no rollback
    /// removes it; a copy of another heap's container inside a write section is in that section's heap.
    [[nodiscard]] allocator select_on_container_copy_construction() const noexcept { return allocator(); }

    /// Returns the header of the heap; null if the allocator uses operator new.
    [[nodiscard]] detail::heap_header* heap() const noexcept { return detail::header_of_owner(owner_); }

    /// Returns true if each may free what the other allocated: both belong to the same heap, and neither to a state of
    /// that heap that a rollback has undone (see `detail::owner_at`).
    template <class U>
    [[nodiscard]] bool operator==(const allocator<U>& other) const noexcept {
        return owner_ == other.owner_ || (heap() == other.heap() && detail::share_memory(owner_, other.owner_));
    }
    /// Throws errc::invalid_argument if they differ. Only splice() and merge() of lists call it.
    friend bool operator!=(const allocator& a, const allocator& b)
        requires detail::is_list_node_v<T>
    {
        if (!(a == b)) [[unlikely]]
            detail::refuse_to_move_nodes();
        return false;
    }
    /// Does nothing: only equal allocators may be swapped. Errors: errc::invalid_argument when they differ.
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
    /// Stores exactly this owner. For temporary allocators.
    allocator(as_kept_tag, detail::heap_header* owner) noexcept : owner_(owner) {}
    template <class U>
    [[nodiscard]] static allocator<U> as_kept(detail::heap_header* owner) noexcept {
        return allocator<U>(typename allocator<U>::as_kept_tag(), owner);
    }

    detail::heap_header* owner_;
};

static_assert(sizeof(allocator<int>) == 8 && sizeof(void*) == 8, "stored in files: one 64-bit pointer");

} // namespace remanence
