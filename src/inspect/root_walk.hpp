// Follows a root of an inspected heap to everything that it may reach.
//
// The type of a root does not tell what it reaches. So the walk guesses generously: in the root's object, and in each
// block it finds, it takes every aligned word for a pointer whose value is an address in a block of the heap. If asked
// to, it also follows words that are the distance from their own place, or from the beginning of their block, to the
// beginning of a block, as our containers store them. Pointers that are packed, tagged or not aligned are not followed.
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

/// A set of heap offsets of blocks. Uses memory for the parts of the heap that have such blocks, not for the whole
/// heap.
class block_set {
public:
    /// Returns false if the offset is in the set already.
    bool insert(std::uint64_t offset);
    [[nodiscard]] bool contains(std::uint64_t offset) const;

private:
    static constexpr std::size_t k_part = 4096; // granules
    std::unordered_map<std::uint64_t, std::bitset<k_part>> parts_;
};

/// The kinds of links that are followed. Small numbers look like distances now and then.
enum class links { addresses, addresses_and_distances };

/// To be used only after inspection::check_all(), and if that could check the allocator.
class root_walk {
public:
    root_walk(inspection& heap, links followed) : heap_(heap), followed_(followed), base_(heap.super().base) {}

    /// Returns the first damage that the root's object reaches. An error comes from the system. O(heap).
    result<std::optional<std::uint64_t>> run(std::uint64_t object);
    /// True if the walk reached the block that begins there before it met damage.
    [[nodiscard]] bool has_reached(std::uint64_t block) const { return seen_.contains(block); }

private:
    void reach(std::uint64_t offset);
    /// Reaches the block that begins there, if one does.
    void reach_beginning(std::uint64_t offset);

    inspection& heap_;
    links followed_;
    std::uint64_t base_;
    block_set seen_;
    std::vector<heap_range> pending_;
};

} // namespace remanence::inspect
