// Tells which object owns each GiB of the address space. Signal handlers read the table, and so does each allocation.
#pragma once

#include "base/units.hpp"
#include "os/memory.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace remanence::os {

/// Returns the 1 MiB of zeros that a table needs; null if there is no memory. Its pages use memory only after they are
/// written. It is never freed.
void* make_address_table(std::size_t bytes) noexcept;
void unmake_address_table(void* table, std::size_t bytes) noexcept;

/// A table of the owners of address ranges, in units of k_base_alignment. It is allocated before its first entry, so a
/// program that opens no heap spends no memory on it. All members are thread-safe; find() is async-signal-safe.
template <class Owner>
class address_table {
public:
    using slot = std::atomic<Owner*>;

    /// Allocates the table; must be called before set(). Returns false if there is no memory.
    [[nodiscard]] bool make() noexcept {
        if (slots_.load(std::memory_order_acquire) != nullptr)
            return true;
        auto* const made = static_cast<slot*>(make_address_table(k_slots * sizeof(slot)));
        slot* none = nullptr;
        if (made != nullptr && !slots_.compare_exchange_strong(none, made, std::memory_order_acq_rel))
            unmake_address_table(made, k_slots * sizeof(slot)); // another thread has made it meanwhile
        return made != nullptr;
    }
    /// Sets the owner of a range; null means that it has none.
    void set(const std::byte* base, std::uint64_t bytes, Owner* owner) noexcept {
        slot* const slots = slots_.load(std::memory_order_acquire);
        if (slots == nullptr) // without a table there are no entries to clear
            return;
        const std::size_t first = slot_of(base);
        for (std::size_t i = 0; i < divide_up(bytes, k_base_alignment); ++i)
            slots[first + i].store(owner, std::memory_order_release);
    }
    /// Returns the owner of the address; null if it has none.
    [[nodiscard]] Owner* find(const void* address) const noexcept {
        const slot* const slots = slots_.load(std::memory_order_acquire);
        const std::size_t at = slot_of(address);
        return slots != nullptr && at < k_slots ? slots[at].load(std::memory_order_acquire) : nullptr;
    }
    /// Returns all slots, by address.
    [[nodiscard]] std::span<const slot> all() const noexcept {
        const slot* const slots = slots_.load(std::memory_order_acquire);
        return {slots, slots != nullptr ? k_slots : 0};
    }

private:
    static constexpr std::size_t k_slots = k_address_end / k_base_alignment;
    static_assert(sizeof(slot) == sizeof(void*) && slot::is_always_lock_free); // zeroed memory holds null pointers

    static std::size_t slot_of(const void* address) noexcept {
        return reinterpret_cast<std::uint64_t>(address) / k_base_alignment;
    }

    std::atomic<slot*> slots_{nullptr};
};

} // namespace remanence::os
