// Prefetches memory that will be read soon, also the memory that an object owns, into the processor's caches. Depends
// on the standard library only.
#pragma once

#include <remanence/types/detail/known_classes.hpp>

#include <algorithm>
#include <cstddef>

namespace remanence::detail {

// Functions that only prefetch must always be inlined: g++ considers them functions without effect, and removes calls
// of them.

/// Prefetches the first two cache lines at most: most texts and elements have no more.
[[gnu::always_inline]] inline void fetch_ahead(const void* first, std::size_t bytes) noexcept {
    constexpr std::size_t k_line_bytes = 64;
    const char* const begin = static_cast<const char*>(first);
    __builtin_prefetch(begin);
    if (bytes > 1)
        __builtin_prefetch(begin + std::min(bytes - 1, k_line_bytes));
}

/// Prefetches memory that an object owns. Most kinds of objects own none.
template <class T>
[[gnu::always_inline]] inline void fetch_outside(const T& object) noexcept {
    if constexpr (requires { class_traits<T>::fetch(object); }) {
        class_traits<T>::fetch(object);
    } else if constexpr (is_pair_v<T>) {
        fetch_outside(object.first);
        fetch_outside(object.second);
    }
}

} // namespace remanence::detail
