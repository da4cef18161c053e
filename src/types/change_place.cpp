#include "types/change_place.hpp"

#include "base/units.hpp"
#include "types/root_owner.hpp"

#include <cstdint>
#include <optional>

namespace remanence::types {

namespace {

std::optional<alloc::block> first_block(const txn::heap_memory& memory, const change::change_set& changes,
                                        const alloc::block_allocator& blocks) {
    for (const change::changed_page& page : changes.pages) {
        for (const format::change_range& range : changes.ranges_of(page)) {
            if (auto found = blocks.block_of(memory.base() + page.page * k_page_bytes + range.offset))
                return found;
        }
    }
    const std::uint64_t chunk_pages = memory.chunk_bytes() / k_page_bytes;
    for (const auto* chunks : {&changes.moved, &changes.fresh}) {
        for (const change::whole_chunk& whole : *chunks) {
            for (std::uint64_t i = 0; i < chunk_pages; ++i) {
                if (whole.checksums[i] == 0)
                    continue;
                const std::byte* const page = memory.base() + (whole.chunk * chunk_pages + i) * k_page_bytes;
                for (std::uint64_t at = 0; at < k_page_bytes; at += sizeof(std::uint64_t)) {
                    if (auto found = blocks.block_of(page + at))
                        return found;
                }
            }
        }
    }
    return std::nullopt;
}

} // namespace

std::string root_of_first(txn::heap_memory& memory, const change::change_set& changes,
                          const alloc::block_allocator& blocks) {
    const auto block = first_block(memory, changes, blocks);
    if (!block)
        return {};
    bool complete = true;
    const auto root = find_owner(memory, blocks, block->start, complete);
    return root ? "below the root \"" + root->name + "\" of type " + root->type : std::string();
}

} // namespace remanence::types
