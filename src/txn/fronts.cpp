#include "txn/fronts.hpp"

#include "txn/heap_memory.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace remanence::txn {

namespace {

struct request {
    request(std::size_t bytes, std::size_t alignment_bytes)
        : granules(alloc::granules_of(bytes)),
          alignment(std::max(alloc::natural_alignment(granules), alloc::granules_of(alignment_bytes))) {}

    std::uint32_t granules;
    std::uint32_t alignment; // likewise
};

} // namespace

std::size_t fronts::number_of_thread() {
    static constinit std::atomic<std::size_t> threads = 0;
    static constinit thread_local std::size_t number = 0; // from 1 on
    if (number == 0) [[unlikely]]
        number = threads.fetch_add(1, std::memory_order_relaxed) % k_count + 1;
    return number - 1;
}

// The fronts of who holds the allocator's lock do not change their slabs meanwhile (FN1).
fronts::front* fronts::owner_of(const void* address) {
    const auto found = std::ranges::find_if(all_, [&](const front& each) { return each.slab.contains(address); });
    return found == all_.end() ? nullptr : &*found;
}

void* fronts::allocate(std::size_t bytes, std::size_t alignment) {
    const request wanted(bytes, alignment);
    front& here = mine();
    const std::scoped_lock lock(here.mutex);
    void* const block = here.slab.allocate(wanted.granules, wanted.alignment);
    here.blocks += block != nullptr ? 1 : 0;
    return block;
}

bool fronts::deallocate(void* address, std::size_t bytes) {
    front& here = mine();
    const std::scoped_lock lock(here.mutex);
    const bool is_here = here.slab.contains(address);
    if (is_here ? !here.slab.deallocate(address, alloc::granules_of(bytes)) : here.returned.is_full())
        return false;
    if (!is_here) {
        // With the mutex held: settle() comes before, or empties this front.
        is_used_.store(true, std::memory_order_relaxed);
        (void)here.returned.put(address, static_cast<std::uint32_t>(bytes));
    }
    ++here.blocks;
    return true;
}

[[gnu::cold]] bool fronts::are_all_quiet() {
    return std::ranges::all_of(all_, [](front& each) {
        const bool is_free = each.mutex.try_lock();
        if (is_free)
            each.mutex.unlock();
        return is_free;
    });
}

[[gnu::cold]] void* fronts::refill(std::size_t bytes, std::size_t alignment) {
    const request wanted(bytes, alignment);
    is_used_.store(true, std::memory_order_relaxed);
    front& here = mine();
    const std::scoped_lock lock(here.mutex);
    take_back(here);
    if (!of_.lend(here.slab, wanted.granules, wanted.alignment)) {
        waits_until_on_ = k_waits_until_on;
        return nullptr;
    }
    ++lent_count_;
    ++here.blocks;
    return here.slab.allocate(wanted.granules, wanted.alignment);
}

[[gnu::cold]] std::uint64_t fronts::take_block_count() {
    front& here = mine();
    const std::scoped_lock lock(here.mutex);
    return std::exchange(here.blocks, 0);
}

void fronts::free_returned() { (void)free_returned(mine()); }

// They are copied: to free them may take another front's mutex (FN1).
[[gnu::cold]] bool fronts::free_returned(front& of) {
    alloc::returned_blocks freed;
    {
        const std::scoped_lock lock(of.mutex);
        std::swap(freed, of.returned);
    }
    freed.for_each([this](void* address, std::uint32_t bytes) { free_in_use(address, bytes, alloc::k_granule_bytes); });
    return !freed.is_empty();
}

[[gnu::cold]] void fronts::free_in_use(void* address, std::size_t bytes, std::size_t alignment) {
    front* const owner = owner_of(address);
    if (owner != nullptr) {
        const std::scoped_lock lock(owner->mutex);
        if (owner->slab.deallocate(address, alloc::granules_of(bytes)))
            return;
        take_back(*owner);
    }
    of_.deallocate(address, bytes, alignment);
    if (owner != nullptr)
        of_.free_returned(); // which tells that it is no block
}

[[gnu::cold]] std::optional<alloc::block> fronts::block_in_use(const void* address) {
    std::optional<alloc::block> found;
    if (front* const owner = owner_of(address)) {
        const std::scoped_lock lock(owner->mutex);
        found = of_.block_of(address);
    } else {
        found = of_.block_of(address);
    }
    const auto was_returned = [&](front& each) {
        const std::scoped_lock lock(each.mutex);
        return each.returned.holds(found->start);
    };
    return found && std::ranges::any_of(all_, was_returned) ? std::nullopt : found;
}

[[gnu::cold]] bool fronts::take_all_back() {
    bool had_any = false;
    for (front& each : all_) {
        const std::scoped_lock lock(each.mutex);
        had_any = had_any || !each.slab.is_none();
        take_back(each);
    }
    for (front& each : all_)
        had_any = free_returned(each) || had_any;
    return had_any;
}

[[gnu::cold]] void fronts::forget_all() {
    for (front& each : all_) {
        const std::scoped_lock lock(each.mutex);
        each.slab = {};
        each.returned.forget();
    }
}

// --- what heap_memory does with them

void* heap_memory::allocate_in_front(std::uint64_t bytes, std::uint64_t alignment) {
    if (!fronts::serves(bytes, alignment))
        return nullptr;
    if (void* const block = fronts_->allocate(bytes, alignment))
        return block;
    const std::lock_guard allocation(locks_.allocation);
    // They may have been turned off meanwhile.
    void* const block = fronts_->is_on() ? fronts_->refill(bytes, alignment) : nullptr;
    if (block == nullptr) {
        fronts_->settle(); // while somebody has a slab, each free() would have to look for it
        return nullptr;
    }
    spiller_.spill_if_due({align_down(offset_of(block), alloc::k_slab_bytes), alloc::k_slab_bytes},
                          fronts_->take_block_count());
    return block;
}

bool heap_memory::deallocate_in_front(void* block, std::uint64_t bytes, std::uint64_t alignment) {
    if (!fronts::serves(bytes, alignment))
        return false;
    if (fronts_->deallocate(block, bytes))
        return true;
    const std::lock_guard allocation(locks_.allocation);
    fronts_->free_returned();
    spiller_.spill_if_due({}, fronts_->take_block_count());
    deallocate_locked(block, bytes, alignment);
    return true;
}

void link_fronts() noexcept {}

} // namespace remanence::txn
