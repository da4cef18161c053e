#include "capi/handles.hpp"

#include "base/undying.hpp"
#include "capi/guard.hpp"
#include "os/held_across_fork.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

namespace remanence::capi {

namespace {

struct slot {
    std::atomic<std::uintptr_t> handle = 0; // 0 means that the slot is free
    std::optional<open_heap> heap;
    std::unique_ptr<volatile_face> memory; // set for a volatile heap only
};

// Blocks of slots, each block twice as large as the one before. Blocks never move, so a reader needs no lock. They stay
// until the process ends, together with heaps that were not closed.
constexpr std::size_t k_first_block = 64;
constexpr std::size_t k_blocks = 14;
constexpr unsigned k_index_bits = 20;
static_assert(k_first_block * ((std::size_t{1} << k_blocks) - 1) < std::size_t{1} << k_index_bits);

constinit std::array<std::atomic<slot*>, k_blocks> blocks{}; // NOLINT: process-wide
std::mutex changing;                                         // guards the free slots and handles_made
std::uintptr_t handles_made = 0;                             // NOLINT
const os::held_across_fork<changing> k_changing_held;

constexpr std::size_t size_of(std::size_t block) { return k_first_block << block; }
/// Returns the number of slots in all blocks before this one.
constexpr std::size_t before(std::size_t block) { return k_first_block * ((std::size_t{1} << block) - 1); }

slot* slot_at(std::size_t index) noexcept {
    const std::size_t block = std::bit_width(index / k_first_block + 1) - 1;
    if (block >= k_blocks)
        return nullptr;
    slot* const first = blocks[block].load(std::memory_order_acquire);
    return first == nullptr ? nullptr : first + (index - before(block));
}

slot* find(const rem_heap* handle) noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    const std::uintptr_t index = value & ((std::uintptr_t{1} << k_index_bits) - 1);
    slot* const found = handle == nullptr ? nullptr : slot_at(index);
    return found != nullptr && found->handle.load(std::memory_order_acquire) == value ? found : nullptr;
}

/// Calls `fill` with a free slot, and then makes the slot visible to all threads.
template <class F>
rem_heap* add(const F& fill) {
    const std::lock_guard guard(changing);
    for (std::size_t block = 0; block < k_blocks; ++block) {
        if (blocks[block] == nullptr)
            blocks[block].store(new slot[size_of(block)], std::memory_order_release);
        slot* const first = blocks[block];
        for (std::size_t i = 0; i < size_of(block); ++i) {
            if (first[i].handle != 0)
                continue;
            fill(first[i]);
            const std::uintptr_t value = (++handles_made << k_index_bits) | (before(block) + i);
            first[i].handle.store(value, std::memory_order_release);
            return reinterpret_cast<rem_heap*>(value); // NOLINT(performance-no-int-to-ptr)
        }
    }
    throw error(errc::exhausted, "no more heaps can be open in one process.");
}

} // namespace

std::atomic<volatile_finder> find_volatile_around = nullptr;

rem_heap* add_handle(heap&& opened, rem_kind kind) {
    return add([&](slot& free) { free.heap.emplace(std::move(opened), kind); });
}

rem_heap* add_handle(std::unique_ptr<volatile_face> opened) {
    return add([&](slot& free) { free.memory = std::move(opened); });
}

open_heap* find_opened(const rem_heap* handle) noexcept {
    slot* const found = find(handle);
    return found != nullptr && found->heap ? &*found->heap : nullptr;
}

volatile_face* find_volatile(const rem_heap* handle) noexcept {
    const slot* const found = find(handle);
    return found == nullptr ? nullptr : found->memory.get();
}

open_heap& opened(const rem_heap* handle) {
    if (open_heap* const found = find_opened(handle); found != nullptr) [[likely]]
        return *found;
    if (find_volatile(handle) != nullptr)
        throw error(errc::not_supported, "the heap is volatile: it has no file, no sections and no commits.");
    if (handle == nullptr)
        refuse_argument("the heap is NULL: rem_open() gives one.");
    throw error(errc::closed, "the heap is closed, or the handle is none that rem_open() gave. Open it again.");
}

rem_heap* handle_of(const heap* opened) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(opened);
    for (std::size_t block = 0; block < k_blocks; ++block) {
        const slot* const first = blocks[block].load(std::memory_order_acquire);
        if (first == nullptr)
            break;
        const std::uintptr_t behind = address - reinterpret_cast<std::uintptr_t>(first);
        if (behind < size_of(block) * sizeof(slot))
            return reinterpret_cast<rem_heap*>( // NOLINT(performance-no-int-to-ptr)
                first[behind / sizeof(slot)].handle.load(std::memory_order_acquire));
    }
    return nullptr;
}

void remove_handle(rem_heap* handle) {
    std::unique_ptr<volatile_face> memory; // destroyed after the lock is released, because it may call the program
    const std::lock_guard guard(changing);
    slot* const found = find(handle);
    if (found == nullptr)
        return;
    found->handle.store(0, std::memory_order_release);
    memory = std::move(found->memory);
    found->heap.reset(); // the heap in it is closed already
}

} // namespace remanence::capi
