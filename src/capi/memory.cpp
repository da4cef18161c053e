// Blocks of memory. None of these functions takes a size of what it frees: the allocator knows.

#include "base/units.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

using namespace remanence;

namespace remanence::capi {

namespace {

/// An object of the size may need so much: smaller ones lie where any object of their size may.
std::size_t usual_alignment(std::size_t size) {
    return size < alignof(std::max_align_t) ? alignof(void*) : alignof(std::max_align_t);
}

void* allocate(const rem_heap* heap, std::size_t alignment, std::size_t size) {
    return detail::allocate(detail::header_of(&opened(heap).impl()), size, alignment);
}

detail::heap_impl& impl_around(const void* address) {
    const heap* const around = heap_of(address);
    if (around == nullptr)
        refuse_argument("the address lies in no open heap.");
    return detail::impl_of(*around);
}

void free_block(void* block) {
    detail::heap_impl& impl = impl_around(block);
    (void)detail::writable_header_of(&impl);
    detail::check(impl.memory().deallocate(block));
}

} // namespace

} // namespace remanence::capi

void* rem_alloc(rem_heap* heap, size_t size) {
    return capi::guard_or<void*>(nullptr, [&] { return capi::allocate(heap, capi::usual_alignment(size), size); });
}

void* rem_alloc_aligned(rem_heap* heap, size_t alignment, size_t size) {
    return capi::guard_or<void*>(nullptr, [&] {
        (void)capi::opened(heap);
        if (!is_power_of_two(alignment)) // the allocator takes what is small for granted
            capi::refuse_argument("rem_alloc_aligned: the alignment is no power of two.");
        return capi::allocate(heap, alignment, size);
    });
}

void* rem_calloc(rem_heap* heap, size_t count, size_t size) {
    return capi::guard_or<void*>(nullptr, [&] {
        (void)capi::opened(heap); // a closed heap is what is wrong first
        if (size != 0 && count > std::numeric_limits<std::size_t>::max() / size)
            capi::refuse_argument("rem_calloc: count times size is more than SIZE_MAX.");
        void* const block = capi::allocate(heap, capi::usual_alignment(count * size), count * size);
        std::memset(block, 0, count * size);
        return block;
    });
}

void* rem_realloc(rem_heap* heap, void* block, size_t size) {
    return capi::guard_or<void*>(nullptr, [&]() -> void* {
        txn::heap_memory& memory = capi::opened(heap).writable().memory();
        if (block == nullptr)
            return capi::allocate(heap, capi::usual_alignment(size), size);
        const auto old = memory.contains(block) ? memory.block_of(block) : std::nullopt;
        if (!old || old->start != block)
            capi::refuse_argument("rem_realloc: no block of this heap begins at the address.");
        const bool fits = size <= old->bytes;
        if (fits && size >= old->bytes / 2)
            return block;
        void* moved = nullptr;
        try {
            moved = capi::allocate(heap, capi::usual_alignment(size), size);
        } catch (const std::bad_alloc&) {
            if (!fits)
                throw;
            return block;
        }
        std::memcpy(moved, block, std::min(size, old->bytes));
        detail::check(memory.deallocate(block));
        return moved;
    });
}

rem_status rem_free(void* block) {
    return capi::guard([&] {
        if (block != nullptr)
            capi::free_block(block);
        return REM_OK;
    });
}

size_t rem_usable_size(const void* block) {
    return capi::guard_or<size_t>(0, [&]() -> size_t {
        if (block == nullptr)
            capi::refuse_argument("rem_usable_size: the block is NULL.");
        const auto found = capi::impl_around(block).memory().block_of(block);
        if (!found || found->start != block)
            capi::refuse_argument("rem_usable_size: no block begins at the address.");
        return found->bytes;
    });
}

rem_heap* rem_heap_of(const void* address) { return capi::handle_of(heap_of(address)); }

rem_status rem_touch(rem_heap* heap, const void* address, size_t size) {
    return capi::guard([&] {
        capi::open_heap& opened = capi::opened(heap);
        (void)opened.writable();
        opened.of.touch(address, size);
        return REM_OK;
    });
}
