#include "txn/slab_caches.hpp"

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
    std::uint32_t alignment; // in granules, too
};

} // namespace

std::size_t slab_caches::number_of_thread() {
    static constinit std::atomic<std::size_t> threads = 0;
    static constinit thread_local std::size_t number = 0; // the index + 1; 0: none yet
    if (number == 0) [[unlikely]]
        number = threads.fetch_add(1, std::memory_order_relaxed) % k_count + 1;
    return number - 1;
}

// Callers hold the allocator's lock, so no thread cache gets or loses its slab meanwhile (FN1).
slab_caches::thread_cache* slab_caches::owner_of(const void* address) {
    const auto found =
        std::ranges::find_if(all_, [&](const thread_cache& each) { return each.slab.contains(address); });
    return found == all_.end() ? nullptr : &*found;
}

void* slab_caches::allocate(std::size_t bytes, std::size_t alignment) {
    const request wanted(bytes, alignment);
    thread_cache& here = mine();
    const std::scoped_lock lock(here.mutex);
    void* const block = here.slab.allocate(wanted.granules, wanted.alignment);
    here.blocks += block != nullptr ? 1 : 0;
    return block;
}

bool slab_caches::deallocate(void* address, std::size_t bytes) {
    thread_cache& here = mine();
    const std::scoped_lock lock(here.mutex);
    const bool is_here = here.slab.contains(address);
    if (is_here ? !here.slab.deallocate(address, alloc::granules_of(bytes)) : here.returned.is_full())
        return false;
    if (!is_here) {
        // Noted while the mutex is held: a settle() at the same time either has finished with this thread cache, or
        // will return this block.
        note_use();
        (void)here.returned.put(address, static_cast<std::uint32_t>(bytes));
    }
    ++here.blocks;
    return true;
}

[[gnu::cold]] bool slab_caches::is_quiet() {
    return !is_used() || std::ranges::all_of(all_, [](thread_cache& each) {
        const bool is_free = each.mutex.try_lock();
        if (is_free)
            each.mutex.unlock();
        return is_free;
    });
}

void slab_caches::note_wait() {
    if (waits_until_on_ == 0)
        turn_on();
    else
        --waits_until_on_;
}

[[gnu::cold]] void* slab_caches::refill(std::size_t bytes, std::size_t alignment) {
    const request wanted(bytes, alignment);
    note_use();
    thread_cache& here = mine();
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

[[gnu::cold]] std::uint64_t slab_caches::take_block_count() {
    thread_cache& here = mine();
    const std::scoped_lock lock(here.mutex);
    return std::exchange(here.blocks, 0);
}

void slab_caches::free_returned() { (void)free_returned(mine()); }

// The blocks are moved out first, since freeing them may lock another thread cache's mutex (FN1).
[[gnu::cold]] bool slab_caches::free_returned(thread_cache& of) {
    alloc::returned_blocks freed;
    {
        const std::scoped_lock lock(of.mutex);
        std::swap(freed, of.returned);
    }
    freed.for_each([this](void* address, std::uint32_t bytes) { free(address, bytes, alloc::k_granule_bytes); });
    return !freed.is_empty();
}

[[gnu::cold]] void slab_caches::free(void* address, std::size_t bytes, std::size_t alignment) {
    thread_cache* const owner = owner_of(address);
    if (owner != nullptr) {
        const std::scoped_lock lock(owner->mutex);
        if (owner->slab.deallocate(address, alloc::granules_of(bytes)))
            return;
        take_back(*owner);
    }
    of_.deallocate(address, bytes, alignment);
    if (owner != nullptr)
        of_.free_returned(); // aborts with a report, since the address is not a block
}

[[gnu::cold]] std::optional<alloc::block> slab_caches::block_of(const void* address) {
    std::optional<alloc::block> found;
    if (thread_cache* const owner = owner_of(address)) {
        const std::scoped_lock lock(owner->mutex);
        found = of_.block_of(address);
    } else {
        found = of_.block_of(address);
    }
    const auto was_returned = [&](thread_cache& each) {
        const std::scoped_lock lock(each.mutex);
        return each.returned.holds(found->start);
    };
    return found && std::ranges::any_of(all_, was_returned) ? std::nullopt : found;
}

[[gnu::cold]] bool slab_caches::take_all_back() {
    bool had_any = false;
    for (thread_cache& each : all_) {
        const std::scoped_lock lock(each.mutex);
        had_any = had_any || !each.slab.is_none();
        take_back(each);
    }
    for (thread_cache& each : all_)
        had_any = free_returned(each) || had_any;
    return had_any;
}

[[gnu::cold]] void slab_caches::forget_all() {
    for (thread_cache& each : all_) {
        const std::scoped_lock lock(each.mutex);
        each.slab = {};
        each.returned.forget();
    }
}

} // namespace remanence::txn
