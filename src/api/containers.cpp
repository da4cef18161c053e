// Those functions of our container templates that are not templates.

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "os/memory.hpp"

#include <remanence/containers/detail/btree_container.hpp>
#include <remanence/containers/detail/hash_table.hpp>
#include <remanence/containers/detail/read_ahead.hpp>
#include <remanence/detail/declarer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>

namespace remanence::detail {

std::atomic<unsigned> declared_sections = 0;

heap_impl* declared_heap(const heap_header* where) noexcept {
    heap_impl* const impl = registry::find(where);
    return impl != nullptr && impl->memory().is_declared() ? impl : nullptr;
}

void declare(heap_impl* heap, const void* first, std::size_t bytes) noexcept {
    const auto* const start = static_cast<const std::byte*>(first);
    // If a tracker cannot make the pages writable now, it tries again when they are written. If there is no memory to
    // record the declaration, the commit searches all memory for changes.
    if (!heap->memory().contains(start) || !heap->memory().contains(start + bytes - 1))
        return;
    try {
        heap->memory().declare_words(start, bytes);
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): its error text may need memory
    }
}

void begin_to_read(const std::byte* first, std::size_t bytes) noexcept {
    const heap_impl* const impl = registry::find(first);
    if (impl == nullptr || impl->options.memory.read_ahead)
        return;
    const auto at = static_cast<std::uint64_t>(first - impl->memory().base());
    const std::uint64_t from = align_down(at, k_page_bytes);
    const std::uint64_t end = std::min(at + bytes, impl->memory().reserved_bytes());
    if (from < end)
        os::begin_to_read(impl->memory().base() + from, end - from);
}

std::uint64_t random_seed() noexcept {
    // The first call gets a random number from the kernel. Two threads may do that at the same time, so that neither
    // waits for the other. Later calls add one, and hash the sum.
    static std::atomic<std::uint64_t> next = 0;
    if (next.load(std::memory_order_relaxed) == 0) {
        std::uint64_t first = 0;
        if (!os::random_bytes(&first, sizeof first))
            first = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
        next.fetch_add(first, std::memory_order_relaxed);
    }
    return hash_number(next.fetch_add(1, std::memory_order_relaxed), k_hash_secret[2]);
}

void refuse_unsorted() {
    raise(failure{errc::invalid_argument,
                  "a range was said to be sorted (sorted_unique, sorted_equivalent), and is not. Sort it, by the "
                  "container's comparator, or leave the tag out."});
}

} // namespace remanence::detail
