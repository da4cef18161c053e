#include "inspect/root_walk.hpp"

#include "base/range.hpp"

#include <cstring>
#include <span>

namespace remanence::inspect {

namespace {

constexpr std::uint64_t k_granule_bytes = 8; // every block begins at a multiple of this

} // namespace

bool block_set::insert(std::uint64_t offset) {
    const std::uint64_t granule = offset / k_granule_bytes;
    auto bit = parts_[granule / k_part][static_cast<std::size_t>(granule % k_part)];
    const bool is_new = !bit;
    bit = true;
    return is_new;
}

bool block_set::contains(std::uint64_t offset) const {
    const std::uint64_t granule = offset / k_granule_bytes;
    const auto part = parts_.find(granule / k_part);
    return part != parts_.end() && part->second[static_cast<std::size_t>(granule % k_part)];
}

result<std::optional<std::uint64_t>> root_walk::run(std::uint64_t object) {
    reach(object);
    while (!pending_.empty()) {
        const heap_range block = pending_.back();
        pending_.pop_back();
        auto done = heap_.read(block, [&](std::uint64_t at, std::span<const std::byte> bytes) {
            // A piece begins at the beginning of a block or page, so words are aligned in it.
            for (std::size_t i = 0; i + sizeof(std::uint64_t) <= bytes.size(); i += sizeof(std::uint64_t)) {
                std::uint64_t value = 0;
                std::memcpy(&value, bytes.data() + i, sizeof value);
                if (value - base_ < heap_.heap_bytes_end()) {
                    reach(value - base_);
                } else if (value != 0 && followed_ == links::addresses_and_distances) {
                    reach_beginning(at + i + value);
                    reach_beginning(block.offset + value);
                }
            }
        });
        if (!done && !is_damage(done.why().code))
            return done.error();
        if (!done)
            return std::optional(done.why().offset);
    }
    return std::optional<std::uint64_t>();
}

void root_walk::reach(std::uint64_t offset) {
    const auto block = heap_.block_of(offset);
    if (block && seen_.insert(block->offset))
        pending_.push_back(*block);
}

void root_walk::reach_beginning(std::uint64_t offset) {
    if (offset >= heap_.heap_bytes_end())
        return;
    if (const auto block = heap_.block_of(offset); block && block->offset == offset)
        reach(offset);
}

} // namespace remanence::inspect
