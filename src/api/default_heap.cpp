// Finds the heap in which default-constructed allocators allocate: that of the construction, write section or scope
// that the thread entered last. Write sections and scopes need not end in the reverse order of their beginnings, since
// locks may be released in any order. So each records the moment at which it was entered.

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"

#include <cstdio>
#include <cstdlib>

namespace remanence {

namespace detail {

namespace {

constinit thread_local default_heap_scope* innermost_scope = nullptr;

} // namespace

default_heap_scope::default_heap_scope(heap_header* heap) noexcept
    : heap_(heap), moment_(txn::section_lock::next_moment()), outer_(innermost_scope) {
    innermost_scope = this;
}

default_heap_scope::~default_heap_scope() {
    default_heap_scope** link = &innermost_scope;
    while (*link != this) // in almost every call this scope is the innermost
        link = &(*link)->outer_;
    *link = outer_;
}

heap_header* default_heap() noexcept {
    const txn::section_lock::entered section = txn::section_lock::innermost_write();
    if (innermost_scope != nullptr && innermost_scope->moment_ > section.moment)
        return innermost_scope->heap_;
    return section.owner != nullptr ? header_of(static_cast<heap_impl*>(section.owner)) : nullptr;
}

constinit std::atomic<bool> was_any_noted = false;

static_assert(os::k_base_alignment == k_owner_note_bits + 1);

namespace {

heap_header* with_note(heap_header* header, std::uintptr_t note) {
    return reinterpret_cast<heap_header*>(reinterpret_cast<std::uintptr_t>(header) | note);
}

} // namespace

heap_header* owner_at(heap_header* owner, std::uintptr_t place) noexcept {
    heap_header* const header = header_of_owner(owner);
    const auto* const address = reinterpret_cast<const void*>(place);
    heap_impl* const around = registry::find(address);
    if (around != nullptr) {
        if (header != nullptr && registry::find(header) == around) // the owner is this heap, or an arena in it
            return header;
        if (around->origin.same_process()) {
            was_any_noted.store(true, std::memory_order_relaxed);
            around->foreign.note(address);
        }
        return header != nullptr ? with_note(header, k_lies_in_other_heap) : nullptr;
    }
    if (header == nullptr || note_of(owner) > k_lies_in_other_heap)
        return owner;
    const heap_impl* const impl = registry::find(header);
    return impl != nullptr ? with_note(header, impl->outsiders.state()) : header;
}

heap_header* default_owner_at(std::uintptr_t place) noexcept { return owner_at(default_heap(), place); }

void forget_noted_at(const void* place) noexcept {
    heap_impl* const around = registry::find(place);
    if (around != nullptr && around->origin.same_process())
        around->foreign.forget(place);
}

bool share_memory(heap_header* owner, heap_header* other) noexcept {
    const heap_impl* const impl = registry::find(owner);
    return impl == nullptr || (impl->outsiders.is_of_this_state(owner) && impl->outsiders.is_of_this_state(other));
}

void refuse_to_swap_allocators() {
    raise(
        failure{errc::invalid_argument,
                "swap() of two containers of the standard library that belong to different heaps, or one to none: each "
                "would own memory of the other's heap. Write swap(a, b) without std::, which exchanges their "
                "elements, or assign."});
}

void refuse_to_move_nodes() {
    raise(failure{
        errc::invalid_argument,
        "splice() or merge() of two lists that belong to different heaps, or one to none: each would own memory of "
        "the other's heap. Insert the elements, which copies them, and erase the originals."});
}

void refuse_foreign_block(const void* block, std::size_t bytes) noexcept {
    std::fprintf(
        stderr,
        "remanence: deallocate(%p, %zu bytes): not a block that an allocator of no heap gave out (freed twice, or "
        "of a heap: was a container's node moved, by splice() or merge(), to one that belongs elsewhere?).\n",
        block, bytes);
    std::abort();
}

} // namespace detail

in::in(const heap& where) : scope_(detail::writable_header_of(detail::checked(where.impl_))) {}

} // namespace remanence
