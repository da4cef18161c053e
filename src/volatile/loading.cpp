// Gives a volatile heap the blocks of another allocator: those of a heap file. A separate file, so that only programs
// that load such heaps link it.
#include "volatile/heap.hpp"

#include <cerrno>
#include <mutex>

namespace remanence::transient {

int heap::make_room(std::uint64_t bytes) noexcept {
    const std::scoped_lock lock(lock_);
    return bytes > reserved_bytes_ ? ENOMEM : make_accessible(bytes);
}

result<void> heap::adopt(const format::alloc_state& state) {
    const std::scoped_lock lock(lock_);
    *reinterpret_cast<format::alloc_state*>(base_) = state;
    core_->set_accessible(accessible_bytes_.load(std::memory_order_relaxed));
    REM_TRY(core_->check_state());
    bool fits = true;
    core_->for_each_block([&](const alloc::block& each) {
        fits = fits && !(is_aligned(each.bytes, k_page_bytes) && core_->is_in_slab(each.start));
    });
    if (!fits)
        return fail(errc::not_supported, "it has blocks as early releases placed them, which fill pages within slabs");
    // Pages behind those in use may hold what earlier blocks left.
    untouched_ = accessible_bytes_.load(std::memory_order_relaxed);
    peak_bytes_ = core_state().allocated_bytes;
    return {};
}

} // namespace remanence::transient
