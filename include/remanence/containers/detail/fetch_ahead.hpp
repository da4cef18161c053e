// Lets memory come into the processor's caches that is going to be read: of what lies outside an object, this tells the place. Depends
// on the standard library only.
#pragma once

#include <remanence/types/detail/known_classes.hpp>

#include <algorithm>
#include <cstddef>

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

/// What an object has outside itself; of most kinds that is nothing.
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
