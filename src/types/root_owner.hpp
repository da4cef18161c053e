// Which root does a block belong to? For messages.
#pragma once

#include "alloc/block_allocator.hpp"
#include "txn/heap_memory.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace remanence::types {

struct owner {
    std::string name;
    std::string type;
};

/// A walk from the roots, as far as it is asked for. Conservative: whatever has the value of an address in a block is taken
/// for a pointer to it; when these lead no further, so is what has the distance to where a block begins, from its own place or
/// from where its block begins, as our containers have them. Memory must not change meanwhile.
class owner_walk {
public:
    /// Both must outlive it.
    owner_walk(txn::heap_memory& memory, const alloc::block_allocator& blocks);

    /// The first root found to reach the block that begins at `wanted`. All calls together: O(blocks).
    std::optional<owner> owner_of(const void* wanted);
    /// False when the walk was given up: then nothing is known of a block without an owner.
    [[nodiscard]] bool is_complete() const { return is_complete_; }

private:
    void reach(const void* address, std::size_t root);
    void follow_addresses(const alloc::block& from);
    void follow_distances(const alloc::block& from);

    txn::heap_memory& memory_;
    const alloc::block_allocator& blocks_;
    std::vector<owner> owners_;
    std::unordered_map<const void*, std::size_t> owner_of_; // by block
    std::deque<alloc::block> pending_;
    std::deque<alloc::block> distances_pending_; // of those whose addresses have been followed
    bool is_complete_ = true;
};

/// Of one block only. `complete`: see owner_walk::is_complete().
std::optional<owner> find_owner(txn::heap_memory& memory, const alloc::block_allocator& blocks, const void* block,
                                bool& complete);

} // namespace remanence::types
