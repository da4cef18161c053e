#include "sites.hpp"

#include <array>

namespace remanence::softpm {

namespace {

struct allocated_block {
    std::atomic<std::uintptr_t> block = 0;
    std::atomic<std::uintptr_t> site = 0;
};
struct learned_site {
    std::atomic<std::uintptr_t> site = 0; // 0: free
    std::atomic<arena*> of = nullptr;     // null: forgotten
};

constexpr std::size_t k_blocks = 65536;
constexpr std::size_t k_sites = 4096;
constexpr std::size_t k_sites_max = k_sites * 3 / 4;

constinit std::atomic<bool> is_on = false;
constinit std::array<allocated_block, k_blocks> blocks;
constinit std::array<learned_site, k_sites> sites;
constinit std::size_t site_count = 0;

constexpr std::uint64_t k_golden = 0x9e37'79b9'7f4a'7c15;

allocated_block& place_of(std::uintptr_t block) { return blocks[block * k_golden >> 48U]; }

/// The entry of a site, or a free one.
learned_site& entry_of(std::uintptr_t site) {
    for (std::size_t at = site * k_golden >> 52U;; at = (at + 1) % k_sites) {
        const std::uintptr_t there = sites[at].site.load(std::memory_order_acquire);
        if (there == site || there == 0)
            return sites[at];
    }
}

static_assert(k_blocks == std::size_t{1} << (64U - 48U) && k_sites == std::size_t{1} << (64U - 52U));

} // namespace

bool has_sites() noexcept { return is_on.load(std::memory_order_relaxed); }
void set_has_sites(bool has) noexcept { is_on.store(has, std::memory_order_relaxed); }

arena* arena_of_site(std::uintptr_t site) noexcept { return entry_of(site).of.load(std::memory_order_acquire); }

void note_site(const void* block, std::uintptr_t site) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    allocated_block& place = place_of(address);
    place.block.store(address, std::memory_order_relaxed);
    place.site.store(site, std::memory_order_relaxed);
}

void learn_site_of(const void* block, arena& of) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const allocated_block& place = place_of(address);
    const std::uintptr_t site = place.site.load(std::memory_order_relaxed);
    if (place.block.load(std::memory_order_relaxed) != address || site == 0)
        return;
    learned_site& entry = entry_of(site);
    if (entry.of.load(std::memory_order_relaxed) != nullptr) // S1
        return;
    const bool is_new = entry.site.load(std::memory_order_relaxed) == 0;
    if (is_new && site_count == k_sites_max)
        return;
    site_count += is_new ? 1 : 0;
    entry.of.store(&of, std::memory_order_relaxed);
    entry.site.store(site, std::memory_order_release);
}

void forget_sites_of(const arena& of) noexcept {
    for (learned_site& each : sites)
        if (each.of.load(std::memory_order_relaxed) == &of)
            each.of.store(nullptr, std::memory_order_release);
}

} // namespace remanence::softpm
