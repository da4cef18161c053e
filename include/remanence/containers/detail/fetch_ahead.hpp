// Lets memory come into the processor's caches that is going to be read: of what lies outside an object, this tells the place. Depends
// on the standard library only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace remanence::detail {

// Functions that only fetch must be inlined always: g++ takes them for ones without effect, and leaves calls of them out.

/// The first two lines at most, which is what a text or an element mostly has.
[[gnu::always_inline]] inline void fetch_ahead(const void* first, std::size_t bytes) noexcept {
    constexpr std::size_t k_line_bytes = 64;
    const char* const begin = static_cast<const char*>(first);
    __builtin_prefetch(begin);
    if (bytes > 1)
        __builtin_prefetch(begin + std::min(bytes - 1, k_line_bytes));
}

/// What an object has outside itself; most kinds nothing.
template <class T>
struct memory_outside {
    [[gnu::always_inline]] static void fetch(const T&) noexcept {}
};
template <class A, class B>
struct memory_outside<std::pair<A, B>> {
    [[gnu::always_inline]] static void fetch(const std::pair<A, B>& both) noexcept {
        memory_outside<std::remove_const_t<A>>::fetch(both.first);
        memory_outside<std::remove_const_t<B>>::fetch(both.second);
    }
};

} // namespace remanence::detail
