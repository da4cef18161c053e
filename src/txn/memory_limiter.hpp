// The interface of limits of resident memory. This is a part (parts.hpp), implemented by resident_limits.hpp.
#pragma once

#include "base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace remanence::store {
class image;
}
namespace remanence::view {
class memory_view;
}

namespace remanence::txn {

class checkpointer;
class health;
class heap_memory;
struct heap_locks;

inline constexpr std::uint64_t k_resident_limit_min = 1 * MiB; // of a whole heap

class memory_limiter {
public:
    memory_limiter() = default;
    memory_limiter(const memory_limiter&) = delete;
    memory_limiter& operator=(const memory_limiter&) = delete;
    virtual ~memory_limiter() = default;

    // These acquire the heap's locks. A failure to map memory poisons the heap, and the next commit reports it.

    /// Evicts what may be evicted if more is resident than a limit allows. The thread is in a write section, so nobody
    /// else is in a section. May make a checkpoint due.
    virtual void keep_within_limits() noexcept = 0;
    /// As keep_within_limits(), for a thread in a read section. Does nothing if another thread has the locks.
    virtual void keep_within_limits_beside_readers() noexcept = 0;

    /// Sets the limit of the whole heap; 0: none. Acquires at_store.
    virtual void limit_heap(std::uint64_t bytes) = 0;
    /// From now on counts what is resident at the end of each section. For tests, which then do the same each time.
    virtual void count_each_time() = 0;

    // From any thread.

    /// Returns how many bytes of the heap are resident, and how many of these are in pages that the process has written;
    /// zeros while there is no limit. O(pages of the heap).
    struct usage {
        std::uint64_t resident_bytes = 0;
        std::uint64_t dirty_bytes = 0;
    };
    [[nodiscard]] virtual usage resident() const = 0;
    /// Returns how many bytes were evicted from the heap so far, or from the arena that begins there.
    [[nodiscard]] virtual std::uint64_t evicted_bytes() const = 0;
    [[nodiscard]] virtual std::uint64_t evicted_bytes(const std::byte* arena) const = 0;
};

/// What a memory_limiter needs of its heap. All must outlive it.
struct limited_heap {
    heap_locks& locks;
    class health& health;
    store::image& image;
    view::memory_view& view;
    heap_memory& memory;
    checkpointer& checkpoints;
    std::uint64_t limit_bytes; // of the whole heap; 0: none
};
using memory_limiter_maker = std::unique_ptr<memory_limiter> (*)(const limited_heap& of);

/// The function that a program links if it uses a limit.
struct memory_limiter_part {
    memory_limiter_maker make;
};
extern const memory_limiter_part k_memory_limiter_part;

} // namespace remanence::txn
