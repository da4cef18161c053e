// Which thread's malloc() leads into a heap (rem::new_in of libremanence), and blocks that come from there. Depends on the public headers.
#pragma once

#include "volatile/threads.hpp" // REM_QUICK_TLS

#include <remanence/detail/malloc_target.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

namespace remanence::scopes {

/// Of this thread; null outside of scopes.
REM_QUICK_TLS extern constinit thread_local const detail::malloc_target* t_target;
/// Since a scope's heap had no memory for operator new, the C++ library's own may ask for so many bytes again, there. 0: for none.
REM_QUICK_TLS extern constinit thread_local std::size_t t_wanted_again;
/// Of each libremanence in the process: most have one, or none.
constexpr std::size_t k_libraries_max = 4;
extern constinit std::array<std::atomic<const detail::blocks_of_heaps*>, k_libraries_max>
    blocks_of_heaps; // NOLINT: process-wide

/// Within a scope: whether what the function at `caller` asks for comes from the heap. What the C and the C++ library take for themselves
/// does not.
[[nodiscard]] bool leads_from(const void* caller, std::size_t bytes) noexcept;

/// Blocks of a libremanence's heaps may come to free() from now on.
void know(const detail::blocks_of_heaps& blocks) noexcept;

/// Meanwhile malloc() is as outside of scopes.
class pause {
public:
    pause() : was_(std::exchange(t_target, nullptr)) {}
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;
    ~pause() { t_target = was_; }

private:
    const detail::malloc_target* was_;
};

[[nodiscard]] inline void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    const detail::malloc_target& target = *t_target;
    const pause paused;
    return target.allocate(target.heap, bytes, alignment);
}

/// Null when the block is malloc's own.
[[nodiscard]] inline const detail::blocks_of_heaps* heap_around(const void* block) noexcept {
    for (const auto& each : blocks_of_heaps) {
        const detail::blocks_of_heaps* const known = each.load(std::memory_order_acquire);
        if (known == nullptr) [[likely]]
            return nullptr;
        if (known->hold(block))
            return known;
    }
    return nullptr;
}

} // namespace remanence::scopes
