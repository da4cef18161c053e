#include "types/root_owner.hpp"

#include "types/root_directory.hpp"

#include <cstring>
#include <deque>
#include <unordered_map>
#include <vector>

namespace remanence::types {

namespace {

constexpr std::size_t k_blocks_walked_max = std::size_t{1} << 22; // a walk that takes longer helps nobody

} // namespace

std::optional<owner> find_owner(txn::engine& engine, const alloc::block_allocator& blocks, const void* wanted,
                                bool& complete) {
    complete = true;
    const auto base = reinterpret_cast<std::uint64_t>(engine.base());
    std::vector<owner> owners;
    std::unordered_map<const void*, std::size_t> owner_of; // by block
    std::deque<alloc::block> pending;
    auto reach = [&](const void* address, std::size_t root) {
        auto block = blocks.block_of(address);
        if (block && owner_of.emplace(block->start, root).second)
            pending.push_back(*block);
    };
    // A damaged directory is not this function's business; what was found of it will do.
    (void)root_directory(engine).for_each([&](const root_view& root) {
        owners.push_back({std::string(root.name), std::string(root.type)});
        reach(root.object, owners.size() - 1);
    });
    for (; !pending.empty() && !owner_of.contains(wanted); pending.pop_front()) {
        if (owner_of.size() > k_blocks_walked_max) {
            complete = false;
            return {};
        }
        const alloc::block block = pending.front();
        const std::size_t root = owner_of.at(block.start);
        const auto* bytes = static_cast<const std::byte*>(block.start);
        for (std::size_t i = 0; i + sizeof(std::uint64_t) <= block.bytes; i += sizeof(std::uint64_t)) {
            std::uint64_t value = 0;
            std::memcpy(&value, bytes + i, sizeof value);
            if (value - base < engine.reserved_bytes())
                reach(reinterpret_cast<const void*>(value), root);
        }
    }
    auto found = owner_of.find(wanted);
    if (found == owner_of.end())
        return {};
    return owners[found->second];
}

} // namespace remanence::types
