#include "api/strange_allocators.hpp"

#include <new>

namespace remanence::detail {

void strange_allocators::note(const void* place) noexcept {
    try {
        const std::scoped_lock lock(guards_places_);
        places_.insert(place);
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): constructors of allocators do not throw
    }
}

void strange_allocators::forget(const void* place) noexcept {
    const std::scoped_lock lock(guards_places_);
    places_.erase(place);
}

void strange_allocators::forget() noexcept {
    const std::scoped_lock lock(guards_places_);
    places_.clear();
}

std::vector<const void*> strange_allocators::all() const {
    const std::scoped_lock lock(guards_places_);
    return {places_.begin(), places_.end()};
}

} // namespace remanence::detail
