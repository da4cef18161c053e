// The scopes in which a thread's malloc() goes to a heap (rem::new_in of libremanence), and the blocks from there.
// Depends on the public headers.
#pragma once

#include "volatile/threads.hpp" // REM_QUICK_TLS

#include <remanence/detail/malloc_target.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

namespace remanence::scopes {

/// The target of this thread; null outside of scopes.
REM_QUICK_TLS extern constinit thread_local const detail::malloc_target* t_target;
/// If a scope's heap has no memory for operator new, the C++ library's own may request this size again, in the same
/// heap. 0: no such request.
REM_QUICK_TLS extern constinit thread_local std::size_t t_wanted_again;
/// The most copies of libremanence in the process: most processes have one, or none.
constexpr std::size_t k_libraries_max = 4;
extern constinit std::array<std::atomic<const detail::blocks_of_heaps*>, k_libraries_max>
    blocks_of_heaps; // NOLINT: process-wide

/// True if the memory that the code at `caller` requests within a scope comes from the heap. Requests of the C and C++
/// libraries for themselves do not.
[[nodiscard]] bool leads_from(const void* caller, std::size_t bytes) noexcept;

/// From now on, blocks of the heaps of a libremanence may come to free().
void know(const detail::blocks_of_heaps& blocks) noexcept;

/// While it lives, malloc() behaves as outside of scopes.
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

/// Returns null if the block belongs to malloc() itself.
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
