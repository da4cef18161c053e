// Large blocks of a volatile heap: runs of pages of the core; how they grow and shrink. Blocks of many pages are moved
// by changing page tables.
#include "os/anonymous_memory.hpp"
#include "volatile/heap.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace remanence::transient {

namespace {

constexpr std::uint64_t k_move_min = 256 * KiB; // shorter blocks are copied as fast as their page tables change
// At most so many blocks exist whose pages were moved. Each adds at most two mappings: together at most half of the
// 65,530 that a process may have by default.
constexpr std::uint32_t k_moves_max = 16 * 1024;

} // namespace

void* heap::allocate_with_room(std::size_t bytes, std::size_t room_bytes) noexcept {
    room_bytes = std::max(room_bytes, bytes);
    if (room_bytes <= k_class_bytes_max || room_bytes > reserved_bytes_)
        return allocate(room_bytes);
    const std::uint64_t whole = align_up(room_bytes, k_page_bytes);
    const pages got = take_pages(whole, k_page_bytes);
    if (got.start == nullptr)
        return nullptr;
    {
        const std::scoped_lock lock(lock_);
        core_->set_mark(got.start, alloc::block_mark::keeps_room);
    }
    const std::uint64_t used = align_up(bytes, k_page_bytes);
    if (!got.are_zero && used < whole)
        os::give_memory_back(got.start + used, whole - used); // contents of earlier blocks
    return marked(got.start);
}

heap::pages heap::take_pages(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    const std::scoped_lock lock(lock_);
    return take_pages_locked(bytes, alignment);
}

heap::pages heap::take_pages_locked(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    void* const got = core_->allocate(bytes, alignment);
    if (got == nullptr)
        return {};
    const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(got) - base_);
    const bool are_zero = offset >= untouched_;
    if (!are_zero)
        free_used_bytes_ -= std::min(free_used_bytes_, bytes);
    untouched_ = std::max(untouched_, offset + bytes);
    peak_bytes_ = std::max(peak_bytes_, core_state().allocated_bytes);
    return {static_cast<std::byte*>(got), are_zero};
}

// --- freeing

std::optional<alloc::block> heap::large_block_of(const void* address) const noexcept {
    return holds(address) ? core_->block_of(address) : std::nullopt;
}

void heap::free_large(void* address) noexcept {
    const std::scoped_lock lock(lock_);
    const std::optional<alloc::block> found = large_block_of(address);
    if (!found || found->start != address)
        refuse(address, found ? k_inside : k_foreign);
    bool has_memory = true;
    if (core_->mark_of(address) == alloc::block_mark::was_moved &&
        renew(static_cast<std::byte*>(address), found->bytes)) {
        --moved_count_;
        has_memory = false;
    }
    core_->deallocate(address, found->bytes);
    if (has_memory)
        note_given_back(found->bytes);
}

// Replaces pages that were moved here, and are a mapping of their own, by new pages, which join the mapping around
// them.
bool heap::renew(std::byte* where, std::uint64_t bytes) noexcept {
    if (os::renew_memory(where, bytes) != 0)
        return false;
    if (numa_node_)
        (void)os::bind_to_node(where, bytes, *numa_node_);
    return true;
}

// --- another size

void* heap::reallocate(void* address, std::size_t bytes) noexcept {
    const std::size_t old_bytes = usable_bytes(address);
    if (bytes > reserved_bytes_)
        return nullptr;
    if (bytes <= old_bytes && old_bytes > k_class_bytes_max && keeps_room(address)) {
        const std::uint64_t used = align_up(std::max<std::size_t>(bytes, 1), k_page_bytes);
        os::give_memory_back(static_cast<std::byte*>(address) + used, old_bytes - used);
        return address;
    }
    const std::size_t placed = placed_bytes(std::max<std::size_t>(bytes, 1), how_);
    if (old_bytes > k_class_bytes_max && placed > k_class_bytes_max)
        return reallocate_large(address, old_bytes, align_up(placed, k_page_bytes));
    if (bytes <= old_bytes && bytes > old_bytes / 2)
        return address;
    return move_block(address, old_bytes, bytes);
}

bool heap::keeps_room(const void* address) const noexcept {
    const std::scoped_lock lock(lock_);
    return core_->mark_of(address) == alloc::block_mark::keeps_room;
}

void* heap::move_block(void* address, std::size_t old_bytes, std::size_t bytes) noexcept {
    void* const moved = allocate(bytes);
    if (moved == nullptr)
        return nullptr;
    std::memcpy(moved, address, std::min(old_bytes, bytes));
    free(address);
    return moved;
}

void* heap::reallocate_large(void* address, std::size_t old_bytes, std::size_t bytes) noexcept {
    if (bytes == old_bytes)
        return address;
    if (bytes < old_bytes / 2 && bytes >= k_move_min) {
        if (void* const moved = move_into_hole(address, old_bytes, bytes))
            return moved;
    }
    {
        const std::scoped_lock lock(lock_);
        const alloc::block_mark mark = core_->mark_of(address);
        if (core_->resize(address, old_bytes, bytes)) {
            const bool was_moved = mark == alloc::block_mark::was_moved;
            if (was_moved)
                core_->set_mark(address, mark);
            const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(address) - base_);
            untouched_ = std::max(untouched_, offset + bytes);
            peak_bytes_ = std::max(peak_bytes_, core_state().allocated_bytes);
            if (bytes < old_bytes && !(was_moved && renew(static_cast<std::byte*>(address) + bytes, old_bytes - bytes)))
                note_given_back(old_bytes - bytes);
            os::mark_resized(address, old_bytes, bytes);
            return address;
        }
    }
    auto* const moved = static_cast<std::byte*>(marked(take_pages(bytes, k_page_bytes).start));
    if (moved == nullptr)
        return nullptr;
    const std::size_t kept = std::min(old_bytes, bytes);
    if (kept < k_move_min || !move_pages(static_cast<std::byte*>(address), moved, kept))
        std::memcpy(moved, address, kept);
    os::mark_freed(address, old_bytes);
    free_large(address);
    return moved;
}

// Returns null if there is no hole, or if too many blocks were moved: copying would cost more than the hole gains.
void* heap::move_into_hole(void* address, std::size_t old_bytes, std::size_t bytes) noexcept {
    pages hole{};
    {
        const std::scoped_lock lock(lock_);
        if (core_->has_hole_before(address, bytes))
            hole = take_pages_locked(bytes, k_page_bytes);
    }
    if (hole.start == nullptr)
        return nullptr;
    (void)marked(hole.start);
    const bool has_moved = move_pages(static_cast<std::byte*>(address), hole.start, bytes);
    void* const left = has_moved ? address : hole.start;
    os::mark_freed(left, has_moved ? old_bytes : bytes);
    free_large(left);
    return has_moved ? hole.start : nullptr;
}

bool heap::move_pages(std::byte* from, std::byte* to, std::uint64_t bytes) noexcept {
    {
        const std::scoped_lock lock(lock_);
        if (moved_count_ == k_moves_max)
            return false;
        ++moved_count_;
    }
    os::move_memory(from, to, bytes);
    const std::scoped_lock lock(lock_);
    core_->set_mark(to, alloc::block_mark::was_moved);
    return true;
}

} // namespace remanence::transient
