// Allocates memory for the allocators of the public headers.

#include "api/heap_impl.hpp"
#include "api/leak_part.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "os/backtrace.hpp"
#include "types/pointer_check.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>

namespace remanence::detail {

/// True if the accessible memory has grown. If the reservation has grown, registers its addresses.
static bool has_grown(heap_impl& impl) {
    if (impl.memory().reserved_bytes() != impl.registered_bytes)
        registry::extend(impl);
    return impl.memory().has_grown();
}

bool resize(heap_impl& impl, void* block, std::size_t bytes) {
    if (!impl.memory().resize(block, bytes))
        return false;
    if (has_grown(impl))
        impl.threads.watch_memory();
    return true;
}

REM_ALLOCATES void* allocate(heap_header* owner, std::size_t bytes, std::size_t alignment) {
    heap_impl* impl = registry::find(owner);
    if (impl == nullptr)
        raise(errc::closed, "the heap from which memory is allocated is closed.");
    impl->origin.check_process();
    if (impl->options.read_only)
        impl->origin.raise_read_only();
    std::optional<unexpected> why; // small, because each call initializes it
    void* block = impl->memory().allocate(bytes, alignment, why, header_of_owner(owner));
    if (block == nullptr)
        raise(why->why());
    if (has_grown(*impl)) [[unlikely]] {
        try {
            impl->threads.watch_memory();
        } catch (...) {
            impl->memory().deallocate(block, bytes, alignment);
            throw;
        }
    }
    return block;
}

constinit std::atomic<bool> notes_types = false;

void note_type(const void* object, const std::type_info& type) noexcept {
    if (auto* const note = note_type_of_object.load(std::memory_order_relaxed))
        note(object, type);
}

void refuse_if_destroyed(const heap_impl& impl, const void* object, std::size_t bytes) noexcept {
    if (!types::checks_pointers())
        return;
    const txn::heap_memory& memory = impl.memory();
    const auto block = memory.contains(object) ? memory.block_of(object) : std::nullopt;
    if (block && block->start == object && block->bytes >= bytes)
        return;
    std::fprintf(
        stderr,
        "remanence: destroy(%p) of an object of %zu bytes: no such object lies there in the heap %s (destroyed "
        "twice, a part of another object, or from elsewhere). The heap file is as of its last commit.\n",
        object, bytes, memory.path().c_str());
    std::abort();
}

void deallocate(heap_header* owner, void* block, std::size_t bytes, std::size_t alignment) noexcept {
    heap_impl* impl = registry::find(owner);
    if (impl == nullptr || !impl->origin.same_process())
        return; // the object has outlived its heap's mapping
    if (!impl->outsiders.is_of_this_state(owner)) [[unlikely]]
        return; // a rollback may have freed the block, and given it to another object
    impl->memory().deallocate(block, bytes, alignment);
}

} // namespace remanence::detail
