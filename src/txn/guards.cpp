#include "txn/guards.hpp"

#include "alloc/guards.hpp"
#include "txn/heap_memory.hpp"

#include <string>

namespace remanence::txn {

namespace {

unexpected overrun(const heap_memory& memory, const alloc::block& of) {
    return fail(errc::corrupt,
                "commit of " + memory.path() + ": the bytes behind the block at offset " +
                    std::to_string(memory.offset_of(of.start)) + " of the heap, of " + std::to_string(of.bytes) +
                    " bytes with its guard, were written over. The program wrote behind what it had allocated; roll "
                    "back, and look for where.",
                memory.path());
}

} // namespace

result<void> check_guards(heap_memory& memory, const change::change_set& changes) {
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
                !alloc::guarded_bytes(found->start, found->bytes, alloc::k_guard_record_bytes))
                return overrun(memory, *found);
            checked = found->start;
            at = memory.offset_of(found->start) + found->bytes;
        }
        return {};
    };
    for (const change::changed_page& changed : changes.pages)
        REM_TRY(check_page(changed.page));
    const std::uint64_t chunk_pages = memory.chunk_bytes() / k_page_bytes;
    for (const auto* chunks : {&changes.moved, &changes.fresh}) {
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
