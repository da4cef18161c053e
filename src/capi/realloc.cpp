// rem_realloc(). A separate file, so that only programs that resize blocks link what moves them.

#include "capi/blocks.hpp"
#include "os/backtrace.hpp"

#include <algorithm>
#include <new>

using namespace remanence;

REM_ALLOCATES void* rem_realloc(rem_heap* heap, void* block, size_t size) {
    if (block == nullptr)
        return rem_alloc(heap, size);
    return capi::guard_or<void*>(nullptr, [&]() -> void* {
        if (capi::volatile_face* const memory = capi::find_volatile(heap)) {
            capi::check_begins_block(*memory, block);
            void* const moved = memory->reallocate(block, size);
            if (moved == nullptr)
                throw std::bad_alloc();
            return moved;
        }
        detail::heap_impl& impl = capi::opened(heap).writable();
        txn::heap_memory& memory = impl.memory();
        const auto old = memory.contains(block) ? memory.block_of(block) : std::nullopt;
        if (!old || old->start != block)
            capi::refuse_argument("rem_realloc: no block of this heap begins at the address.");
        if (detail::resize(impl, block, size))
            return block;
        void* moved = nullptr;
        try {
            moved = detail::allocate(reinterpret_cast<detail::heap_header*>(memory.owner_of(block)), size,
                                     capi::usual_alignment(size));
        } catch (const std::bad_alloc&) {
            if (!memory.resize_within(block, size))
                throw;
            return block;
        }
        memory.move_contents(block, moved, std::min(size, old->bytes));
        detail::check(memory.deallocate(block));
        return moved;
    });
}
