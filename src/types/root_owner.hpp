// Tells which root a block belongs to, for messages.
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

/// Walks from the roots, only as far as owner_of() needs. It is conservative: it treats every word in a block as a
/// pointer if its value is an address in another block. When no such words are left, it also follows distances, as our
/// containers store them: a word that is the distance from its own place, or from the beginning of its block, to the
/// beginning of another block. Memory must not change meanwhile.
class owner_walk {
public:
    /// Both arguments must outlive the walk.
    owner_walk(txn::heap_memory& memory, const alloc::block_allocator& blocks);

    /// Returns the first root that reaches the block that begins at `wanted`. All calls together: O(blocks).
    std::optional<owner> owner_of(const void* wanted);
    /// False if the walk was given up; then a block without a known owner may still have one.
    [[nodiscard]] bool is_complete() const { return is_complete_; }

private:
    void reach(const void* address, std::size_t root);
    void follow_addresses(const alloc::block& from);
    void follow_distances(const alloc::block& from);

    txn::heap_memory& memory_;
    const alloc::block_allocator& blocks_;
    std::vector<owner> owners_;
    std::unordered_map<const void*, std::size_t> owner_of_; // index in owners_, by block
    std::deque<alloc::block> pending_;
    std::deque<alloc::block> distances_pending_; // blocks whose addresses have been followed
    bool is_complete_ = true;
};

/// Finds the owner of one block. `complete`: see owner_walk::is_complete().
std::optional<owner> find_owner(txn::heap_memory& memory, const alloc::block_allocator& blocks, const void* block,
                                bool& complete);

} // namespace remanence::types
