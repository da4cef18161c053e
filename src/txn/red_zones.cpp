#include "txn/red_zones.hpp"

#include "alloc/red_zones.hpp"
#include "os/anonymous_memory.hpp"
#include "txn/heap_memory.hpp"

#include <algorithm>
#include <string>

namespace remanence::txn {

namespace {

unexpected overrun(const heap_memory& memory, const alloc::block& of) {
    unexpected why = fail(
        errc::corrupt,
        "commit of " + memory.path() + ": the bytes behind the block at offset " +
            std::to_string(memory.offset_of(of.start)) + " of the heap, of " + std::to_string(of.bytes) +
            " bytes with its red zone, were overwritten. The program wrote behind the end of the block; roll back, "
            "and look for the place.",
        memory.path());
    memory.add_origin(why.why().message, of.start);
    return why;
}

} // namespace

void heap_memory::put_red_zone(const alloc::block& of, std::uint64_t asked) {
    asked = std::max<std::uint64_t>(asked, 1);
    if (is_declared())
        (void)view_.declare(offset_of(of.start) + asked, of.bytes - asked);
    alloc::put_red_zone(of.start, of.bytes, alloc::k_red_zone_record_bytes, asked);
}

void heap_memory::look_after(const alloc::block& of, std::uint64_t asked) {
    if (red_zones_)
        put_red_zone(of, asked);
    if (notes_ != nullptr)
        notes_->add(of.start, asked);
}

void heap_memory::look_at_freed(const void* block, std::uint64_t bytes) const {
    constexpr std::uint64_t k_overwritten = ~std::uint64_t{0}; // no block has this size
    const auto found = allocator_->block_of(block);
    std::uint64_t there = found && found->start == block ? found->bytes : 0;
    if (red_zones_ && there != 0 && !alloc::red_zoned_bytes(block, there, alloc::k_red_zone_record_bytes))
        there = k_overwritten;
    if (notes_ != nullptr)
        notes_->freed(block, bytes, there);
    if (there == k_overwritten)
        os::abort_with("the bytes behind this block were overwritten", block);
}

void heap_memory::add_origin(std::string& message, const void* block) const {
    if (notes_ != nullptr)
        notes_->add_to(message, block);
}

void heap_memory::note_type(const void* block, const std::type_info& type) {
    const std::scoped_lock lock(locks_.allocation);
    if (notes_ != nullptr)
        notes_->add_type(block, type);
}

std::optional<block_notes::note> heap_memory::note_of(const void* block) const {
    const std::scoped_lock lock(locks_.allocation);
    return notes_ != nullptr ? notes_->find(block) : std::nullopt;
}

result<void> check_red_zones(heap_memory& memory, const change::change_set& changes) {
    const void* checked = nullptr;
    const auto check_page = [&](std::uint64_t page) -> result<void> {
        const std::uint64_t end = (page + 1) * k_page_bytes;
        for (std::uint64_t at = page * k_page_bytes; at < end;) {
            const auto found = memory.allocator().block_of(memory.base() + at);
            if (!found) {
                at += alloc::k_granule_bytes;
                continue;
            }
            if (found->start != checked &&
                !alloc::red_zoned_bytes(found->start, found->bytes, alloc::k_red_zone_record_bytes))
                return overrun(memory, *found);
            checked = found->start;
            at = memory.offset_of(found->start) + found->bytes;
        }
        return {};
    };
    for (const change::changed_page& changed : changes.pages)
        REM_TRY(check_page(changed.page));
    const std::uint64_t chunk_pages = memory.chunk_bytes() / k_page_bytes;
    for (const auto* chunks : {&changes.relocated, &changes.fresh}) {
        for (const change::whole_chunk& whole : *chunks) {
            for (std::uint64_t i = 0; i != chunk_pages; ++i) {
                if (whole.checksums[i] != 0)
                    REM_TRY(check_page(whole.chunk * chunk_pages + i));
            }
        }
    }
    return {};
}

} // namespace remanence::txn
