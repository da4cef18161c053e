#include "api/foreign_allocators.hpp"

#include "api/registry.hpp"
#include "types/pointer_check.hpp"

#include <new>

namespace remanence::detail {

void foreign_allocators::note(const void* place) noexcept {
    try {
        const std::scoped_lock lock(guards_places_);
        places_.insert(place);
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): constructors of allocators do not throw
    }
}

void foreign_allocators::forget(const void* place) noexcept {
    const std::scoped_lock lock(guards_places_);
    places_.erase(place);
}

void foreign_allocators::forget() noexcept {
    const std::scoped_lock lock(guards_places_);
    places_.clear();
}

std::vector<const void*> foreign_allocators::all() const {
    const std::scoped_lock lock(guards_places_);
    return {places_.begin(), places_.end()};
}

result<void> foreign_allocators::refuse_their_memory(txn::heap_memory& memory) const {
    const std::vector<const void*> places = all();
    if (places.empty())
        return {};
    return memory.with_allocator([&](const alloc::block_allocator& blocks) {
        return types::refuse_foreign_memory(memory, places, blocks, registry::path_at);
    });
}

} // namespace remanence::detail
