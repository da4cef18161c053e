// Blocks of memory. Functions that free a block need no size, because the allocator knows it.

#include "base/units.hpp"
#include "capi/blocks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "os/backtrace.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

using namespace remanence;

namespace remanence::capi {

namespace {

void* allocate(const rem_heap* heap, std::size_t alignment, std::size_t size) {
    if (volatile_face* const memory = find_volatile(heap)) {
        void* const block = memory->allocate(alignment, size);
        if (block == nullptr)
            throw std::bad_alloc();
        return block;
    }
    return detail::allocate(detail::header_of(&opened(heap).impl()), size, alignment);
}

/// Writes only to pages that are not zero, because reading a page that was never written uses no memory, but writing
/// does.
void fill_with_zeros(std::byte* first, std::size_t bytes) {
    constexpr std::byte k_zeros[k_page_bytes]{};
    while (bytes != 0) {
        const std::size_t piece =
            std::min(bytes, k_page_bytes - reinterpret_cast<std::uintptr_t>(first) % k_page_bytes);
        if (piece < k_page_bytes || std::memcmp(first, k_zeros, piece) != 0)
            std::memset(first, 0, piece);
        first += piece;
        bytes -= piece;
    }
}

void* allocate_zeros(const rem_heap* heap, std::size_t bytes) {
    if (volatile_face* const memory = find_volatile(heap)) {
        void* const block = memory->allocate_zeros(bytes);
        if (block == nullptr)
            throw std::bad_alloc();
        return block;
    }
    void* const block = allocate(heap, usual_alignment(bytes), bytes);
    fill_with_zeros(static_cast<std::byte*>(block), bytes);
    return block;
}

void* allocate_dynamic(const rem_heap* heap, std::size_t size, std::size_t room) {
    volatile_face* const memory = find_volatile(heap);
    if (memory == nullptr)
        return allocate(heap, usual_alignment(std::max(size, room)), std::max(size, room));
    void* const block = memory->allocate_dynamic(size, room);
    if (block == nullptr)
        throw std::bad_alloc();
    return block;
}

/// The heap that contains an address, either with a file or volatile. Throws errc::invalid_argument if there is none.
struct heap_around {
    detail::heap_impl* impl = nullptr;
    volatile_face* memory = nullptr;

    explicit heap_around(const void* address) {
        if (const heap* const found = heap_of(address)) {
            impl = &detail::impl_of(*found);
            return;
        }
        if (const volatile_finder find = find_volatile_around.load(std::memory_order_acquire))
            memory = find(address);
        if (memory == nullptr)
            refuse_argument("the address lies in no open heap.");
    }
};

void free_block(void* block) {
    const heap_around around(block);
    if (around.memory != nullptr) {
        check_begins_block(*around.memory, block);
        around.memory->free_block(block);
        return;
    }
    detail::heap_impl& impl = *around.impl;
    (void)detail::writable_header_of(&impl);
    detail::check(impl.memory().deallocate(block));
}

} // namespace

} // namespace remanence::capi

REM_ALLOCATES void* rem_alloc(rem_heap* heap, size_t size) {
    return capi::guard_or<void*>(nullptr, [&] { return capi::allocate(heap, capi::usual_alignment(size), size); });
}

REM_ALLOCATES void* rem_alloc_aligned(rem_heap* heap, size_t alignment, size_t size) {
    return capi::guard_or<void*>(nullptr, [&] {
        if (capi::find_volatile(heap) == nullptr)
            (void)capi::opened(heap);
        if (!is_power_of_two(alignment) || alignment > GiB) // for small blocks the allocator would not check this
            capi::refuse_argument("rem_alloc_aligned: the alignment is no power of two, or more than 1 GiB.");
        return capi::allocate(heap, alignment, size);
    });
}

REM_ALLOCATES void* rem_alloc_dynamic(rem_heap* heap, size_t size, size_t room) {
    return capi::guard_or<void*>(nullptr, [&] { return capi::allocate_dynamic(heap, size, room); });
}

REM_ALLOCATES void* rem_calloc(rem_heap* heap, size_t count, size_t size) {
    return capi::guard_or<void*>(nullptr, [&] {
        if (capi::find_volatile(heap) == nullptr)
            (void)capi::opened(heap); // throws if the heap is closed
        if (size != 0 && count > std::numeric_limits<std::size_t>::max() / size)
            capi::refuse_argument("rem_calloc: count times size is more than SIZE_MAX.");
        return capi::allocate_zeros(heap, count * size);
    });
}

REM_ALLOCATES void* rem_arena_alloc(rem_arena* arena, size_t size) {
    return capi::guard_or<void*>(nullptr, [&] {
        const heap* const around = arena == nullptr ? nullptr : heap_of(arena);
        if (around == nullptr || detail::impl_of(*around).memory().owner_of(arena) != static_cast<void*>(arena) ||
            around->base() == static_cast<void*>(arena))
            capi::refuse_argument("rem_arena_alloc: no arena of an open heap begins there.");
        return detail::allocate(reinterpret_cast<detail::heap_header*>(arena), size, capi::usual_alignment(size));
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
        const capi::heap_around around(block);
        if (around.memory != nullptr) {
            capi::check_begins_block(*around.memory, block);
            return around.memory->usable_size(block);
        }
        const auto found = around.impl->memory().block_of(block);
        if (!found || found->start != block)
            capi::refuse_argument("rem_usable_size: no block begins at the address.");
        return found->bytes;
    });
}

rem_heap* rem_heap_of(const void* address) {
    if (const heap* const found = heap_of(address))
        return capi::guard_or<rem_heap*>(nullptr, [&]() -> rem_heap* {
            (void)detail::impl_of(*found);
            return capi::handle_of(found);
        });
    const capi::volatile_finder find = capi::find_volatile_around.load(std::memory_order_acquire);
    const capi::volatile_face* const memory = find == nullptr ? nullptr : find(address);
    return memory == nullptr ? nullptr : memory->handle();
}

rem_status rem_touch(rem_heap* heap, const void* address, size_t size) {
    return capi::guard([&] {
        capi::open_heap& opened = capi::opened(heap);
        (void)opened.writable();
        opened.of.touch(address, size);
        return REM_OK;
    });
}
