// Gives code that calls new and malloc() memory of heaps. libremanence-malloc.so implements malloc(), and calls this
// file for blocks of heaps.
#include <remanence/new_in.hpp>

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "os/anonymous_memory.hpp"
#include "os/backtrace.hpp"
#include "os/symbols.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace remanence {

namespace detail {

namespace {

lead_malloc* find_lead_malloc() { return reinterpret_cast<lead_malloc*>(os::find_symbol(k_lead_malloc)); }

bool has_shared_libstdcxx() {
    const void* const function = os::find_symbol("__cxa_allocate_exception");
    return function != nullptr && os::is_in_module(function, "libstdc++.so");
}

/// While such an object exists, allocations of the library itself are not directed to the scope's heap.
class apart_from_scope {
public:
    apart_from_scope() : was_(std::exchange(t_end_new_scopes, nullptr)) {}
    apart_from_scope(const apart_from_scope&) = delete;
    apart_from_scope& operator=(const apart_from_scope&) = delete;
    ~apart_from_scope() { t_end_new_scopes = was_; }

private:
    scopes_end was_;
};

REM_ALLOCATES void* allocate_in_heap(void* heap, std::size_t bytes, std::size_t alignment) noexcept {
    const apart_from_scope apart;
    try {
        return allocate(header_of(static_cast<heap_impl*>(heap)), bytes, alignment);
    } catch (...) { // malloc() can report an error only by a null pointer
        return nullptr;
    }
}

void* allocate_in_volatile_heap(void* heap, std::size_t bytes, std::size_t alignment) noexcept {
    return static_cast<volatile_heap*>(heap)->try_allocate(bytes, alignment);
}

bool hold(const void* address) noexcept {
    return registry::find(address) != nullptr || volatile_heap::of(address) != nullptr;
}

/// Returns the block that begins at an address. Ends the process if no block begins there, unless the heap has been
/// rolled back. A rollback may have freed the block before its owner frees it, for example an exception's string; then
/// returns nothing.
std::optional<alloc::block> block_at(const heap_impl& impl, const void* address) noexcept {
    const auto found = impl.memory().block_of(address);
    const bool begins_there = found && found->start == address;
    if (!begins_there && !impl.outsiders.has_rolled_back())
        os::abort_with("free() or realloc() of an address in a heap at which no block begins", address);
    if (begins_there && impl.options.read_only)
        os::abort_with("free() or realloc() of a block of a heap that is open read-only", address);
    return begins_there ? found : std::nullopt;
}

void free_block(void* block) noexcept {
    const apart_from_scope apart;
    heap_impl* const impl = registry::find(block);
    if (impl == nullptr)
        return volatile_heap::of(block)->free(block);
    if (!impl->origin.same_process()) // a forked child has a copy of its parent's blocks, and must not change that
        return;
    if (block_at(*impl, block))
        (void)impl->memory().deallocate(block);
}

REM_ALLOCATES void* reallocate_block(void* block, std::size_t bytes) noexcept {
    const apart_from_scope apart;
    heap_impl* const impl = registry::find(block);
    if (impl == nullptr)
        return volatile_heap::of(block)->reallocate(block, bytes);
    const auto found = block_at(*impl, block);
    const std::size_t old_bytes = found ? found->bytes : 0;
    if (bytes >= old_bytes / 2 && impl->memory().resize_within(block, bytes))
        return block;
    void* const moved = allocate_in_heap(impl, bytes, alignof(std::max_align_t));
    if (moved == nullptr)
        return nullptr;
    std::memcpy(moved, block, std::min(old_bytes, bytes));
    if (found)
        (void)impl->memory().deallocate(block);
    return moved;
}

std::size_t usable_bytes(const void* block) noexcept {
    const heap_impl* const impl = registry::find(block);
    if (impl == nullptr)
        return volatile_heap::of(block)->usable_size(block);
    const auto found = block_at(*impl, block);
    return found ? found->bytes : 0;
}

constexpr blocks_of_heaps k_blocks{hold, free_block, reallocate_block, usable_bytes};

void lead(const malloc_target* into) noexcept {
    if (lead_malloc* const function = find_lead_malloc())
        (void)function(into, &k_blocks);
    t_end_new_scopes = nullptr;
    if (into != nullptr)
        t_end_new_scopes = []() noexcept { lead(nullptr); };
}

/// Runs before main(), because the program may free a block that an earlier run allocated in a heap, before it enters a
/// scope.
[[maybe_unused]] const bool k_is_known = [] {
    lead(nullptr);
    return true;
}();

/// Leaves all scopes of this thread, and returns what the innermost one directed malloc() to.
const malloc_target* leave_scopes() {
    lead_malloc* const function = find_lead_malloc();
    t_end_new_scopes = nullptr;
    const malloc_target* const before = function != nullptr ? function(nullptr, &k_blocks) : nullptr;
    if (function == nullptr)
        raise(errc::not_supported,
              "new_in: this process has no malloc that leads into heaps. Link with libremanence-malloc.so, or start "
              "the program with LD_PRELOAD=libremanence-malloc.so.");
    if (!has_shared_libstdcxx())
        raise(errc::not_supported,
              "new_in: this program has libstdc++ linked statically, whose exceptions would come from the heap. Link "
              "it without -static-libstdc++.");
    return before;
}

} // namespace

} // namespace detail

new_in::new_in(heap& where) : target_{detail::allocate_in_heap, nullptr}, outer_(detail::leave_scopes()) {
    detail::heap_impl& impl = detail::impl_of(where);
    (void)detail::writable_header_of(&impl);
    target_.heap = &impl;
    detail::lead(&target_);
}

new_in::new_in(volatile_heap& where)
    : target_{detail::allocate_in_volatile_heap, &where}, outer_(detail::leave_scopes()) {
    detail::lead(&target_);
}

new_in::~new_in() {
    if (detail::t_end_new_scopes != nullptr) // null if a refused call has already ended all scopes of this thread
        detail::lead(outer_);
}

} // namespace remanence
