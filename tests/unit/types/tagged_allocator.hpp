// An allocator shaped like remanence::allocator, over counted arenas instead of heaps: it shows where every part of an
// object lives and fails when told to.
#pragma once

#include <remanence/types/detail/construct.hpp>

#include <cstddef>
#include <map>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tagged_test {

struct arena {
    std::size_t allocations = 0;
    std::size_t live = 0;
    std::size_t fail_after = ~std::size_t{0}; // this many allocations succeed from now on

    void* allocate(std::size_t bytes) {
        if (fail_after == 0)
            throw std::bad_alloc();
        --fail_after;
        ++allocations;
        ++live;
        return ::operator new(bytes);
    }
    void deallocate(void* block) noexcept {
        --live;
        ::operator delete(block);
    }
};

/// Each allocation of `attempt()` fails in turn, until it is done without; calls `failed(live)` after each failure, with
/// the number of blocks before the attempt. Returns how often.
template <class Attempt, class Failed>
std::size_t fail_each_allocation(arena& memory, const Attempt& attempt, const Failed& failed) {
    for (std::size_t failures = 0;; ++failures) {
        const std::size_t live = memory.live;
        memory.fail_after = failures;
        try {
            attempt();
            memory.fail_after = ~std::size_t{0};
            return failures;
        } catch (const std::bad_alloc&) {
            memory.fail_after = ~std::size_t{0};
            failed(live);
        }
    }
}

/// What a default-constructed allocator belongs to, as with the heap of a write section.
inline arena elsewhere;
inline thread_local arena* current = &elsewhere;

template <class T>
struct tagged {
    using value_type = T;
    using is_always_equal = std::false_type;

    tagged() noexcept : where(current) {}
    explicit tagged(arena& at) noexcept : where(&at) {}
    template <class U>
    tagged(const tagged<U>& other) noexcept : where(other.where) {} // NOLINT(google-explicit-constructor)

    // NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
    T* allocate(std::size_t count) { return static_cast<T*>(where->allocate(count * sizeof(T))); }
    void deallocate(T* block, std::size_t) noexcept { where->deallocate(block); }
    // NOLINTEND(bugprone-sizeof-expression)
    template <class U, class... Args>
    void construct(U* at, Args&&... args) noexcept(
        remanence::detail::is_nothrow_constructible_using_v<U, tagged<std::byte>, Args...>) {
        remanence::detail::construct_using(at, tagged<std::byte>(*this), std::forward<Args>(args)...);
    }
    tagged select_on_container_copy_construction() const noexcept { return tagged(); }
    template <class U>
    friend bool operator==(const tagged& a, const tagged<U>& b) noexcept {
        return a.where == b.where;
    }

    arena* where;
};

using string = std::basic_string<char, std::char_traits<char>, tagged<char>>;
template <class T>
using vector = std::vector<T, tagged<T>>;
template <class Key, class Value>
using map = std::map<Key, Value, std::less<>, tagged<std::pair<const Key, Value>>>;
template <class Key, class Value>
using multimap = std::multimap<Key, Value, std::less<>, tagged<std::pair<const Key, Value>>>;

} // namespace tagged_test
