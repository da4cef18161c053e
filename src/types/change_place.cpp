#include "types/change_place.hpp"

#include "base/units.hpp"
#include "types/root_owner.hpp"
#include "types/schema_reader.hpp"

#include <cstdint>
#include <optional>

namespace remanence::types {

namespace {

struct changed_place {
    alloc::block block;
    std::uint64_t offset; // heap offset
};

std::optional<changed_place> first_place(const txn::heap_memory& memory, const change::change_set& changes,
                                         const alloc::block_allocator& blocks) {
    for (const change::changed_page& page : changes.pages) {
        for (const format::change_range& range : changes.ranges_of(page)) {
            const std::uint64_t offset = page.page * k_page_bytes + range.offset;
            if (const auto found = blocks.block_of(memory.base() + offset))
                return changed_place{*found, offset};
        }
    }
    const std::uint64_t chunk_pages = memory.chunk_bytes() / k_page_bytes;
    for (const auto* chunks : {&changes.relocated, &changes.fresh}) {
        for (const change::whole_chunk& whole : *chunks) {
            for (std::uint64_t i = 0; i < chunk_pages; ++i) {
                if (whole.checksums[i] == 0)
                    continue;
                const std::uint64_t page = (whole.chunk * chunk_pages + i) * k_page_bytes;
                for (std::uint64_t offset = page; offset < page + k_page_bytes; offset += sizeof(std::uint64_t)) {
                    if (const auto found = blocks.block_of(memory.base() + offset))
                        return changed_place{*found, offset};
                }
            }
        }
    }
    return std::nullopt;
}

} // namespace

std::string root_of_first(txn::heap_memory& memory, const change::change_set& changes,
                          const alloc::block_allocator& blocks) {
    const auto place = first_place(memory, changes, blocks);
    if (!place)
        return {};
    bool complete = true;
    const auto root = find_owner(memory, blocks, place->block.start, complete);
    return root ? "below the root \"" + root->name + "\" of type " + root->type + part_in_words(memory, place->offset)
                : std::string();
}

} // namespace remanence::types
