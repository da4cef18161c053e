// Finds the blocks that an object owns, from its schema. They are freed when another object replaces it.
#pragma once

#include "base/result.hpp"
#include "objects/object_source.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace remanence::objects {

/// If each element of a container lies in a block of its own, returns the element's offset in that block.
[[nodiscard]] std::optional<std::uint64_t> place_in_block(const types::type_row& container);

/// Containers of which the caller knows the blocks of the elements.
class known_elements {
public:
    explicit known_elements(const types::type_description& schema)
        : schema_(schema), owners_(inspect::rows_that_lead_on(schema, false)) {}

    /// Adds a container if each of its elements has just one block, that in which it lies. Returns false for others.
    bool add(object_place container);
    [[nodiscard]] bool have(object_place container) const { return all_.contains({container.at, container.row}); }

private:
    const types::type_description& schema_;
    std::vector<char> owners_; // for each row: whether its objects may own blocks
    std::set<std::pair<std::uint64_t, std::uint32_t>> all_;
};

/// Appends the heap offsets of the blocks that the object owns, except those of `known` elements. These blocks include
/// neither the object's own block nor those of the targets of its pointers. errc::corrupt. O(object).
result<void> add_blocks_of(heap_source& source, std::uint64_t base, object_place of, std::vector<std::uint64_t>& blocks,
                           const known_elements* known = nullptr);

} // namespace remanence::objects
