#include "call_sites.hpp"

#include <array>

namespace remanence::softpm {

namespace {

struct allocated_block {
    std::atomic<std::uintptr_t> block = 0;
    std::atomic<std::uintptr_t> call_site = 0;
};
struct learned_call_site {
    std::atomic<std::uintptr_t> call_site = 0; // 0 means that the entry is free
    std::atomic<arena*> of = nullptr;          // null means that the call site was forgotten
};

constexpr std::size_t k_blocks = 65536;
constexpr std::size_t k_call_sites = 4096;
constexpr std::size_t k_call_sites_max = k_call_sites * 3 / 4;

constinit std::atomic<bool> is_on = false;
constinit std::array<allocated_block, k_blocks> blocks;
constinit std::array<learned_call_site, k_call_sites> call_sites;
constinit std::size_t call_site_count = 0;

constexpr std::uint64_t k_golden = 0x9e37'79b9'7f4a'7c15;

allocated_block& place_of(std::uintptr_t block) { return blocks[block * k_golden >> 48U]; }

/// Returns the entry of a call site, or a free entry if it has none.
learned_call_site& entry_of(std::uintptr_t call_site) {
    for (std::size_t at = call_site * k_golden >> 52U;; at = (at + 1) % k_call_sites) {
        const std::uintptr_t there = call_sites[at].call_site.load(std::memory_order_acquire);
        if (there == call_site || there == 0)
            return call_sites[at];
    }
}

static_assert(k_blocks == std::size_t{1} << (64U - 48U) && k_call_sites == std::size_t{1} << (64U - 52U));

} // namespace

bool has_call_sites() noexcept { return is_on.load(std::memory_order_relaxed); }
void set_has_call_sites(bool has) noexcept { is_on.store(has, std::memory_order_relaxed); }

arena* arena_of_call_site(std::uintptr_t call_site) noexcept {
    return entry_of(call_site).of.load(std::memory_order_acquire);
}

void note_call_site(const void* block, std::uintptr_t call_site) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    allocated_block& place = place_of(address);
    place.block.store(address, std::memory_order_relaxed);
    place.call_site.store(call_site, std::memory_order_relaxed);
}

void learn_call_site_of(const void* block, arena& of) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const allocated_block& place = place_of(address);
    const std::uintptr_t call_site = place.call_site.load(std::memory_order_relaxed);
    if (place.block.load(std::memory_order_relaxed) != address || call_site == 0)
        return;
    learned_call_site& entry = entry_of(call_site);
    if (entry.of.load(std::memory_order_relaxed) != nullptr) // known already (S1)
        return;
    const bool is_new = entry.call_site.load(std::memory_order_relaxed) == 0;
    if (is_new && call_site_count == k_call_sites_max)
        return;
    call_site_count += is_new ? 1 : 0;
    entry.of.store(&of, std::memory_order_relaxed);
    entry.call_site.store(call_site, std::memory_order_release);
}

void forget_call_sites_of(const arena& of) noexcept {
    for (learned_call_site& each : call_sites)
        if (each.of.load(std::memory_order_relaxed) == &of)
            each.of.store(nullptr, std::memory_order_release);
}

} // namespace remanence::softpm
