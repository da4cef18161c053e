#include "types/root_owner.hpp"

#include "types/root_directory.hpp"

#include <cstdint>
#include <cstring>

namespace remanence::types {

namespace {

constexpr std::size_t k_blocks_walked_max = std::size_t{1} << 22; // a longer walk would delay the message too much

} // namespace

owner_walk::owner_walk(txn::heap_memory& memory, const alloc::block_allocator& blocks)
    : memory_(memory), blocks_(blocks) {
    // Other checks report a damaged directory; this class uses the part that can be read.
    (void)root_directory(memory).for_each([&](const root_view& root) {
        owners_.push_back({std::string(root.name), std::string(root.type)});
        reach(root.object, owners_.size() - 1);
    });
}

void owner_walk::reach(const void* address, std::size_t root) {
    auto block = blocks_.block_of(address);
    if (block && owner_of_.emplace(block->start, root).second)
        pending_.push_back(*block);
}

namespace {

template <class Visit>
void for_each_word(const alloc::block& block, const Visit& visit) {
    const auto first = reinterpret_cast<std::uint64_t>(block.start);
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= block.bytes; i += sizeof(std::uint64_t)) {
        std::uint64_t value = 0;
        std::memcpy(&value, static_cast<const std::byte*>(block.start) + i, sizeof value);
        visit(first + i, value);
    }
}

} // namespace

void owner_walk::follow_addresses(const alloc::block& from) {
    const auto base = reinterpret_cast<std::uint64_t>(memory_.base());
    const std::size_t root = owner_of_.at(from.start);
    for_each_word(from, [&](std::uint64_t /*place*/, std::uint64_t value) {
        if (value - base < memory_.reserved_bytes())
            reach(reinterpret_cast<const void*>(value), root);
    });
}

void owner_walk::follow_distances(const alloc::block& from) {
    const auto base = reinterpret_cast<std::uint64_t>(memory_.base());
    const std::size_t root = owner_of_.at(from.start);
    for_each_word(from, [&](std::uint64_t place, std::uint64_t value) {
        for (const std::uint64_t to : {place + value, reinterpret_cast<std::uint64_t>(from.start) + value}) {
            if (value == 0 || to - base >= memory_.reserved_bytes())
                continue;
            const auto* const address = reinterpret_cast<const void*>(to);
            if (const auto block = blocks_.block_of(address); block && block->start == address)
                reach(address, root);
        }
    });
}

std::optional<owner> owner_walk::owner_of(const void* wanted) {
    while (!owner_of_.contains(wanted) && !(pending_.empty() && distances_pending_.empty())) {
        if (owner_of_.size() > k_blocks_walked_max) {
            is_complete_ = false;
            break;
        }
        if (!pending_.empty()) {
            follow_addresses(pending_.front());
            distances_pending_.push_back(pending_.front());
            pending_.pop_front();
        } else {
            follow_distances(distances_pending_.front());
            distances_pending_.pop_front();
        }
    }
    auto found = owner_of_.find(wanted);
    if (found == owner_of_.end())
        return {};
    return owners_[found->second];
}

std::optional<owner> find_owner(txn::heap_memory& memory, const alloc::block_allocator& blocks, const void* block,
                                bool& complete) {
    owner_walk walk(memory, blocks);
    auto found = walk.owner_of(block);
    complete = walk.is_complete();
    return found;
}

} // namespace remanence::types
