// The targets of pointers that a walk has met, so that it visits each once.
#pragma once

#include "inspect/sorted_blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace remanence::inspect {

/// Most pointers lead to the beginning of a block, and all those that lead there are of one type: these take a number
/// for each block of the heap. Others take a set.
class seen_targets {
public:
    /// `blocks` must outlive this object.
    explicit seen_targets(const sorted_blocks& blocks) : blocks_(blocks), first_types_(blocks.size(), k_none) {}

    /// `type`: a number of the type to which the pointer leads. Returns false if the target was met with this type.
    bool insert(std::uint64_t at, std::uint32_t type) {
        const std::size_t index = blocks_.index_of(at);
        if (index != sorted_blocks::k_none && blocks_[index].offset == at) {
            std::uint32_t& first = first_types_[index];
            if (first == type)
                return false;
            if (first == k_none) {
                first = type;
                return true;
            }
        }
        return others_.insert({at, type}).second;
    }

private:
    static constexpr std::uint32_t k_none = ~std::uint32_t{0};
    using target = std::pair<std::uint64_t, std::uint32_t>;
    struct hash {
        std::size_t operator()(const target& of) const { return of.first * 0x9e3779b97f4a7c15U ^ of.second; }
    };

    const sorted_blocks& blocks_;
    std::vector<std::uint32_t> first_types_;
    std::unordered_set<target, hash> others_;
};

} // namespace remanence::inspect
