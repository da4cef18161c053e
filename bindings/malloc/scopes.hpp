// The scopes in which a thread's malloc() allocates in a heap (rem::new_in of libremanence), and the blocks of such
// heaps. Depends on the public headers.
#pragma once

#include "volatile/threads.hpp" // REM_QUICK_TLS

#include <remanence/detail/malloc_target.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

namespace remanence::scopes {

/// What this thread's malloc() is directed to; null outside of scopes.
REM_QUICK_TLS extern constinit thread_local const detail::malloc_target* t_target;
/// If operator new finds no memory in a scope's heap, the C++ library's operator may request this size again, from the
/// same heap. 0 means that there is no such request.
REM_QUICK_TLS extern constinit thread_local std::size_t t_wanted_again;
/// The most copies of libremanence in a process. Most processes have one, or none.
constexpr std::size_t k_libraries_max = 4;
extern constinit std::array<std::atomic<const detail::blocks_of_heaps*>, k_libraries_max>
    blocks_of_heaps; // NOLINT: process-wide

/// True if code at `caller` that requests memory in a scope gets it from the heap. False for what the C and C++
/// libraries request for themselves.
[[nodiscard]] bool leads_from(const void* caller, std::size_t bytes) noexcept;

/// Makes free() recognize blocks of the heaps of this copy of libremanence.
void know(const detail::blocks_of_heaps& blocks) noexcept;

/// While such an object exists, this thread's malloc() behaves as outside of scopes.
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

/// True if there may be a block of a heap, so that heap_around() has to be asked.
[[nodiscard]] inline bool know_any() noexcept { return blocks_of_heaps[0].load(std::memory_order_acquire) != nullptr; }

/// Returns the functions for a block of a heap; null if the block belongs to malloc() itself.
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
