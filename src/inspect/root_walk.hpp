// Finds everything that a root of an inspected heap may reach.
//
// The type of a root does not tell what the root reaches. So the walk guesses too much rather than too little: in the
// root's object, and in each block that it finds, it follows each aligned word whose value is an address in a block of
// the heap. On request it also follows words whose value is the distance to the beginning of a block, either from the
// word itself or from the beginning of its block, since our containers store such distances. Pointers that are packed,
// tagged or unaligned are not followed.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "inspect/inspection.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace remanence::inspect {

/// A set of blocks, given by their heap offsets. Uses memory only for those parts of the heap that have blocks in the
/// set.
class block_set {
public:
    /// Returns false if the offset was already in the set.
    bool insert(std::uint64_t offset);
    [[nodiscard]] bool contains(std::uint64_t offset) const;

private:
    static constexpr std::size_t k_part = 4096; // granules of 8 bytes in each part
    std::unordered_map<std::uint64_t, std::bitset<k_part>> parts_;
};

/// Which links are followed. A small number may look like a distance by chance.
enum class links { addresses, addresses_and_distances };

/// Must be used only after inspection::check_all(), and only if that could check the allocator.
class root_walk {
public:
    root_walk(inspection& heap, links followed) : heap_(heap), followed_(followed), base_(heap.super().base) {}

    /// Follows all links from a root's object. Returns the place of the first damage met, if any. Fails with errors of
    /// the system only. O(heap).
    result<std::optional<std::uint64_t>> run(std::uint64_t object);
    /// True if the walk reached the block that begins at this offset, before it met damage.
    [[nodiscard]] bool has_reached(std::uint64_t block) const { return seen_.contains(block); }

private:
    void reach(std::uint64_t offset);
    /// If a block begins at this offset, reaches it.
    void reach_beginning(std::uint64_t offset);

    inspection& heap_;
    links followed_;
    std::uint64_t base_;
    block_set seen_;
    std::vector<heap_range> pending_;
};

} // namespace remanence::inspect
