// Inspects a volatile heap: its blocks, its use of memory, and the consistency of its tables.
#include "alloc/availability.hpp"
#include "os/anonymous_memory.hpp"
#include "volatile/heap.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <mutex>

namespace remanence::transient {

std::optional<alloc::block> heap::block_of(const void* address) const noexcept {
    if (const slab* const of = slab_around(address)) {
        const std::uint32_t index = of->block_around(address);
        if (index >= of->block_count ||
            (of->free_bits(index / slab::k_word_bits) >> index % slab::k_word_bits & 1U) != 0)
            return {};
        return alloc::block{of->block(index), of->block_bytes};
    }
    const std::scoped_lock lock(lock_);
    return large_block_of(address);
}

void heap::for_each_block(const std::function<void(alloc::block)>& visit) const {
    const std::scoped_lock lock(lock_);
    core_->for_each_block([&](alloc::block run) {
        const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(run.start) - base_);
        const slab* const of = slab_of_unit_[offset / k_unit_bytes].load(std::memory_order_acquire);
        if (of == nullptr)
            return visit(run);
        for (std::uint32_t i = 0; i != of->block_count; ++i) {
            if ((of->free_bits(i / slab::k_word_bits) >> i % slab::k_word_bits & 1U) == 0)
                visit({of->block(i), of->block_bytes});
        }
    });
}

heap_usage heap::usage() const {
    const std::scoped_lock lock(lock_);
    heap_usage found;
    alloc::availability_sum pieces;
    for (std::uint32_t i = 0; i != k_class_count; ++i)
        found.classes[i].block_bytes = class_bytes(i);
    // Captures by reference: a std::function that stores more than two words would allocate memory, perhaps from this
    // heap while it is locked.
    const auto add = [&](alloc::block run) {
        const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(run.start) - base_);
        const slab* const of = slab_of_unit_[offset / k_unit_bytes].load(std::memory_order_acquire);
        if (of == nullptr) {
            ++found.large_blocks;
            found.large_bytes += run.bytes;
            return;
        }
        std::uint64_t free = 0;
        for (std::uint32_t i = 0; i != of->word_count(); ++i)
            free += static_cast<std::uint64_t>(std::popcount(of->free_bits(i)));
        heap_usage::size_class& in = found.classes[of->size_class];
        in.slab_bytes += run.bytes;
        in.blocks += of->block_count - free;
        pieces.add(of->block_bytes, free);
    };
    core_->for_each_block(std::ref(add));
    core_->for_each_free_stretch(k_page_bytes, untouched_, alloc::block_allocator::planes::left_out,
                                 [&](heap_range free) { pieces.add(free.bytes); });
    found.usable_bytes = found.large_bytes;
    for (const heap_usage::size_class& each : found.classes)
        found.usable_bytes += each.blocks * each.block_bytes;
    found.peak_bytes = peak_bytes_;
    found.free_bytes = pieces.bytes();
    found.availability = pieces.value();
    found.reserved_bytes = reserved_bytes_;
    const std::uint64_t accessible = accessible_bytes_.load(std::memory_order_relaxed);
    const std::uint64_t accessible_units = accessible / k_unit_bytes;
    const auto resident = [](const void* where, std::uint64_t bytes) {
        return os::resident_bytes(static_cast<const std::byte*>(where), align_up(bytes, k_page_bytes));
    };
    found.resident_bytes = resident(base_, accessible) + resident(slab_of_unit_, accessible_units * sizeof(slab*)) +
                           resident(slabs_, accessible_units * sizeof(slab)) +
                           resident(thread_caches_, thread_cache_count_ * sizeof(thread_cache));
    return found;
}

std::size_t heap::check_invariants(const alloc::problem_callback& report) const {
    const std::scoped_lock lock(lock_);
    std::size_t problems = core_->check_invariants(report);
    const auto wrong = [&](const void* where, const char* what) {
        ++problems;
        report(static_cast<std::uint64_t>(static_cast<const std::byte*>(where) - base_), what);
    };
    std::uint64_t slab_units = 0;
    core_->for_each_block([&](alloc::block run) {
        const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(run.start) - base_);
        const slab* const of = slab_of_unit_[offset / k_unit_bytes].load(std::memory_order_acquire);
        if (of == nullptr)
            return;
        if (of != header_of(static_cast<std::byte*>(run.start)) || of->start != run.start ||
            of->unit_count * k_unit_bytes != run.bytes)
            return wrong(run.start, "a slab's header and its run of pages disagree");
        slab_units += of->unit_count;
        check_slab(*of, wrong);
    });
    const std::uint64_t unit_count = accessible_bytes_.load(std::memory_order_relaxed) / k_unit_bytes;
    for (std::uint64_t i = 0; i != unit_count; ++i) {
        const slab* const of = slab_of_unit_[i].load(std::memory_order_relaxed);
        if (of != nullptr && (i < static_cast<std::uint64_t>(of - slabs_) ||
                              i - static_cast<std::uint64_t>(of - slabs_) >= of->unit_count))
            wrong(base_ + i * k_unit_bytes, "a unit is of a slab that lies elsewhere");
        slab_units -= of != nullptr ? 1 : 0;
    }
    if (slab_units != 0)
        wrong(base_, "there are other slabs than the table of units has");
    return problems;
}

void heap::check_slab(const slab& of, const std::function<void(const void*, const char*)>& wrong) const {
    const thread_cache* const owner = of.owner.load(std::memory_order_relaxed);
    if (owner < thread_caches_ || owner >= thread_caches_ + thread_cache_count_)
        return wrong(of.start, "a slab has no owner");
    std::uint64_t filled = 0;
    for (std::uint32_t i = 0; i != of.word_count(); ++i) {
        const std::uint64_t free = of.words[i].free.load(std::memory_order_relaxed);
        const std::uint64_t returned = of.words[i].returned.load(std::memory_order_relaxed);
        if ((free & returned) != 0)
            wrong(of.start, "a block of a slab is free twice");
        if (((free | returned) & ~of.whole_word(i)) != 0)
            wrong(of.start, "a block is free that the slab has not");
        if (free != 0)
            filled |= std::uint64_t{1} << i;
    }
    if (!of.is_current && filled != of.filled)
        wrong(of.start, "a slab's words with free blocks are others than it says");
    if (of.is_current ? of.is_listed || owner->bins[of.size_class].current != &of : of.is_listed != (of.filled != 0))
        wrong(of.start, "a slab is in a list in which it should not be, or in none");
}

} // namespace remanence::transient
