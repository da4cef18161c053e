// The allocator of a container that may be mapped at another address. A heap's allocator is stored as the distance to
// the heap's header, which lies in the same memory. Depends on the standard library only.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/containers/detail/link.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace remanence::detail {

/// True if functions of the allocator construct or destroy elements, so that they must be called when elements move. A
/// heap's allocator has such functions, but they need not be called: they would only call constructors.
template <class Alloc, class T>
inline constexpr bool constructs_elements_v = requires(Alloc& alloc, T* where) {
    alloc.construct(where, std::move(*where));
} || requires(Alloc& alloc, T* where) { alloc.destroy(where); };
template <class U, class T>
inline constexpr bool constructs_elements_v<allocator<U>, T> = false;
/// True if the allocator's construct() cannot throw when it moves an element, unless the element's constructor does.
template <class Alloc, class T>
inline constexpr bool moves_without_throwing_v = [] {
    if constexpr (constructs_elements_v<Alloc, T> &&
                  requires(Alloc& alloc, T* where) { alloc.construct(where, std::move(*where)); })
        return noexcept(std::declval<Alloc&>().construct(std::declval<T*>(), std::declval<T&&>()));
    else
        return true;
}();

/// Stores an allocator as it is. For a heap's allocator there is a specialisation below.
template <class Alloc>
class kept_allocator {
public:
    explicit kept_allocator(const Alloc& alloc) noexcept : alloc_(alloc) {}
    kept_allocator(const kept_allocator&) = delete;
    kept_allocator& operator=(const kept_allocator&) = delete;
    ~kept_allocator() = default;

    [[nodiscard]] Alloc get() const noexcept { return alloc_; }
    void set(const Alloc& alloc) noexcept { alloc_ = alloc; }
    void swap(kept_allocator& other) noexcept {
        using std::swap;
        swap(alloc_, other.alloc_);
    }

private:
    [[no_unique_address]] Alloc alloc_;
};

template <class T>
class kept_allocator<allocator<T>> {
public:
    explicit kept_allocator(const allocator<T>& alloc) noexcept { set(alloc); }
    kept_allocator(const kept_allocator&) = delete;
    kept_allocator& operator=(const kept_allocator&) = delete;
    ~kept_allocator() { forget_if_noted(owner_.get(), this); }

    [[nodiscard]] allocator<T> get() const noexcept {
        heap_header* const owner = owner_.get();
        if (is_strange(owner)) // an earlier process may have stored the owner
            (void)owner_at(owner, reinterpret_cast<std::uintptr_t>(this));
        return allocator<T>(typename allocator<T>::as_kept_tag(), owner);
    }
    void set(const allocator<T>& alloc) noexcept { // often a temporary made by get(), whose own address says nothing
        owner_.set(owner_of_copy(alloc.owner_, k_nowhere, reinterpret_cast<std::uintptr_t>(this)));
    }

private:
    link<heap_header> owner_; // null if there is no heap
};

} // namespace remanence::detail
