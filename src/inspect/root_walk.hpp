// Follows a root of an inspected heap to all that it may reach.
//
// What a root reaches is not known from its type. It is guessed, generously: every aligned word of the root's object, and
// of the blocks found so, that has the value of an address in a block of the heap is taken for a pointer there. So, if asked for,
// is one that has the distance to where a block begins from its own place, or from where its own block begins, as our containers
// have them. Pointers that are packed, tagged or not aligned are not followed.
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

/// Of heap offsets of blocks. Memory: that of the parts of the heap which it has some of, not of the heap.
class block_set {
public:
    /// False when it is there already.
    bool insert(std::uint64_t offset);
    [[nodiscard]] bool contains(std::uint64_t offset) const;

private:
    static constexpr std::size_t k_part = 4096; // granules
    std::unordered_map<std::uint64_t, std::bitset<k_part>> parts_;
};

/// What is followed. Small numbers look like distances now and then.
enum class links { addresses, addresses_and_distances };

/// Only after inspection::check_all(), and if that could check the allocator.
class root_walk {
public:
    root_walk(inspection& heap, links followed) : heap_(heap), followed_(followed), base_(heap.super().base) {}

    /// The first damage that the root's object reaches; an error is one of the system. O(heap).
    result<std::optional<std::uint64_t>> run(std::uint64_t object);
    /// True if the block that begins there was reached, before any damage.
    [[nodiscard]] bool has_reached(std::uint64_t block) const { return seen_.contains(block); }

private:
    void reach(std::uint64_t offset);
    /// If a block begins there.
    void reach_beginning(std::uint64_t offset);

    inspection& heap_;
    links followed_;
    std::uint64_t base_;
    block_set seen_;
    std::vector<heap_range> pending_;
};

} // namespace remanence::inspect
