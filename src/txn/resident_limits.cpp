#include "txn/resident_limits.hpp"

#include "os/cancellation.hpp"
#include "os/resident_pages.hpp"
#include "txn/checkpointer.hpp"
#include "txn/health.hpp"
#include "txn/heap_locks.hpp"
#include "txn/heap_memory.hpp"
#include "view/memory_view.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace remanence::txn {

namespace {

constexpr std::uint64_t k_part_of_growth = 16; // of a limit, to count again
constexpr int k_times_between_counts = 50;
constexpr std::uint64_t k_part_freed_beyond = 8;   // of the limit is free afterwards, so that not each section evicts
constexpr std::uint64_t k_part_for_checkpoint = 4; // of the limit, which a checkpoint lets go

} // namespace

resident_limits::resident_limits(const limited_heap& of)
    : of_(of), evictor_(of.image, of.view.memory(), of.view.committed()), limit_bytes_(of.limit_bytes) {}

void resident_limits::limit_heap(std::uint64_t bytes) {
    const std::lock_guard alone(of_.locks.at_store);
    limit_bytes_ = bytes;
    count_again_ = {};
}

void resident_limits::keep_within_limits() noexcept {
    const std::lock_guard alone(of_.locks.at_store);
    const std::lock_guard allocation(of_.locks.allocation);
    keep_if_due(beside::nobody);
}

void resident_limits::keep_within_limits_beside_readers() noexcept {
    const std::unique_lock alone(of_.locks.at_store, std::try_to_lock);
    if (!alone.owns_lock())
        return;
    const std::unique_lock allocation(of_.locks.allocation, std::try_to_lock);
    if (allocation.owns_lock())
        keep_if_due(beside::readers);
}

void resident_limits::keep_if_due(beside whom) noexcept {
    if (of_.health.is_poisoned())
        return;
    const os::no_cancellation whole;
    try {
        if (!is_count_due())
            return;
        const clock::time_point begun = clock::now();
        if (whom == beside::readers)
            (void)keep(whom); // changes no mapping
        else
            (void)of_.health.poisoning_without_memory([&] { return of_.health.poison_if_failed(keep(whom)); });
        const clock::time_point end = clock::now();
        count_again_ = end + k_times_between_counts * (end - begun);
        process_bytes_ = os::resident_bytes_of_process();
        checkpoints_counted_ = of_.checkpoints.count();
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): the next commit reports it
    }
}

// If other memory of the process shrinks, the heap may grow unnoticed by as much, but not for long: time passes.
bool resident_limits::is_count_due() {
    if (counts_each_time_ || clock::now() >= count_again_ ||
        (!was_within_ && of_.checkpoints.count() != checkpoints_counted_))
        return true;
    const std::uint64_t now = os::resident_bytes_of_process();
    process_bytes_ = std::min(process_bytes_, now);
    return now - process_bytes_ >= growth_;
}

result<void> resident_limits::keep(beside whom) {
    growth_ = ~std::uint64_t{0};
    was_within_ = true;
    for (const heap_memory::limited_arena& each : of_.memory.limited_arenas())
        REM_TRY(keep(state_of(each.used.offset), each.used, each.limit_bytes, whom));
    return limit_bytes_ == 0 ? result<void>()
                             : keep(heap_, {0, of_.view.memory().accessible_bytes()}, limit_bytes_, whom);
}

result<void> resident_limits::keep(limited& of, heap_range where, std::uint64_t limit_bytes, beside whom) {
    const auto resident = [&] { return os::count_resident(of_.view.base() + where.offset, where.bytes).bytes(); };
    const auto count_after = [&](std::uint64_t left) {
        growth_ = std::min(growth_, std::max(left, limit_bytes / k_part_of_growth));
    };
    const std::uint64_t before = resident();
    if (before <= limit_bytes) {
        count_after(limit_bytes - before);
        return {};
    }
    std::uint64_t now = before;
    if (whom == beside::nobody && of_.view.committed().has_thawed()) {
        REM_TRY(of_.view.settler().settle_rest()); // takes less time than reading the image
        now = resident();
    }
    const std::uint64_t wanted = limit_bytes - limit_bytes / k_part_freed_beyond;
    view::page_evictor::outcome done;
    if (now > wanted) {
        REM_TRY(evictor_.evict(where, of.hand, now - wanted, whom, done));
        of.hand = done.end;
        now -= std::min(now, done.evicted_bytes);
    }
    of.evicted_bytes += before - std::min(before, now);
    evicted_bytes_ += before - std::min(before, now);
    count_after(limit_bytes - std::min(now, limit_bytes));
    if (now > limit_bytes) {
        was_within_ = false;
        of_.checkpoints.ask_for_one(static_cast<double>(done.newer_bytes) /
                                    static_cast<double>(limit_bytes / k_part_for_checkpoint + 1));
    }
    return {};
}

resident_limits::limited& resident_limits::state_of(std::uint64_t arena) {
    const auto known = std::ranges::find(arenas_, arena, &limited::offset);
    return known != arenas_.end() ? *known : arenas_.emplace_back(limited{.offset = arena});
}

// Counts without the locks, so that commits need not wait.
memory_limiter::usage resident_limits::resident() const {
    const std::uint64_t bytes = [&] {
        const std::lock_guard alone(of_.locks.at_store);
        const std::lock_guard allocation(of_.locks.allocation);
        const bool has_limit = limit_bytes_ != 0 || !of_.memory.limited_arenas().empty();
        return has_limit ? of_.memory.accessible_bytes() : 0;
    }();
    const os::resident_count found = os::count_resident(of_.view.base(), bytes);
    return {found.bytes(), found.private_bytes};
}

std::uint64_t resident_limits::evicted_bytes(const std::byte* arena) const {
    const std::lock_guard alone(of_.locks.at_store);
    const auto found = std::ranges::find(arenas_, of_.memory.offset_of(arena), &limited::offset);
    return found != arenas_.end() ? found->evicted_bytes : 0;
}

static std::unique_ptr<memory_limiter> make(const limited_heap& of) { return std::make_unique<resident_limits>(of); }

constinit const memory_limiter_part k_memory_limiter_part{make};

} // namespace remanence::txn
