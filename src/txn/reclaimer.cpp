#include "txn/reclaimer.hpp"

#include "base/range.hpp"

#include <algorithm>
#include <utility>

namespace remanence::txn {

std::vector<heap_range> reclaimer::unused_chunks(alloc::block_allocator& allocator) const {
    const std::uint64_t chunk = store_.image().chunk_bytes();
    std::vector<heap_range> found = allocator.unused_stretches(chunk, store_.image().bytes());
    for (heap_range& each : found) {
        const std::uint64_t end = align_down(each.end(), chunk);
        each.offset = align_up(each.offset, chunk);
        each.bytes = end - std::min(end, each.offset);
    }
    std::erase_if(found, [&](const heap_range& each) {
        for (std::uint64_t at = each.offset; at < each.end(); at += chunk) {
            if (store_.image().is_stored(at / chunk))
                return false;
        }
        return true;
    });
    return found;
}

// I8: does nothing if memory has uncommitted changes, since the allocator's structures, which tell what is unused, may
// be among these.
result<void> reclaimer::give_back_unused_if_committed(alloc::block_allocator& allocator, session& commits) {
    if (unused_chunks(allocator).empty() || !view_.spiller().spilled().is_empty())
        return {};
    auto changed = view_.collector().holds_changes([&](std::uint64_t page) { return allocator.is_free_page(page); });
    if (!changed)
        return changed.error();
    return *changed ? result<void>() : give_back_unused(allocator, commits);
}

result<void> reclaimer::give_back_unused(alloc::block_allocator& allocator, session& commits) {
    REM_TRY(health_.poison_if_failed(view_.settler().settle_rest()));
    std::vector<heap_range> unused = unused_chunks(allocator);
    std::erase_if(unused,
                  [&](const heap_range& each) { // I7: one free run's descriptor may be damaged, so check each page
                      for (std::uint64_t page = each.offset / k_page_bytes; page < each.end() / k_page_bytes;) {
                          const std::uint64_t chunk = page / store_.image().chunk_pages();
                          if (!store_.image().is_stored(chunk)) // it has no contents to lose
                              page = (chunk + 1) * store_.image().chunk_pages();
                          else if (!allocator.may_become_zeros(page++))
                              return true;
                      }
                      return false;
                  });
    auto chunks = store_.unused().reserve_to_give_back(unused);
    if (!chunks)
        return health_.poison(chunks.error());
    return chunks->empty() ? result<void>() : give_back(*chunks, commits);
}

// Makes a commit of its own, which changes no memory, so that every reader of the log handles it in order. If the log
// has no room for the record, the chunks are not given back this time (I8); after the next checkpoint the log is empty.
result<void> reclaimer::give_back(std::span<const chunk_range> chunks, session& commits) {
    const std::uint64_t bytes = log::record_builder::bytes_to_give_back(chunks.size());
    if (!commits.log().has_room(bytes))
        return {};
    if (auto reserved = commits.log().reserve(bytes); !reserved)
        return is_refusal(reserved.why().code) ? result<void>() : health_.poison(reserved.error());
    log::record_builder record(commits.log().take_memory());
    record.give_back(chunks);
    (void)commits.append(record, store_.copies().image_bytes_without(chunks).value(), {});
    store_.whole_chunks().accept_given_back(chunks, commits.version());
    owes_discard_ = true;
    for (const chunk_range& run : chunks)
        REM_TRY(health_.poison_if_failed(view_.forget(to_bytes(run, store_.image().chunk_bytes()))));
    return {};
}

result<void> reclaimer::remove_regions() {
    auto removed = store_.room().remove_regions();
    if (!removed)
        return health_.poison(removed.error());
    owes_discard_ |= *removed;
    return {};
}

// Places where nothing is stored must be holes, since the zeros of fresh chunks are not written. A file that was copied
// or enlarged may have bytes there instead of holes, and bit rot may have changed these bytes.
result<void> reclaimer::discard_before_fresh() {
    if (!owes_discard_)
        return {};
    REM_TRY(store_.supers().confirm());
    REM_TRY(store_.unused().discard_unstored());
    owes_discard_ = false;
    return {};
}

// The checkpoint is durable, so nothing is lost if the file system refuses this. But the zeros of fresh chunks are not
// written, so their places must be holes before they are used. Therefore the next commit tries again. Some file systems
// need space to make holes, and refuse if they have none.
result<void> reclaimer::discard_owed() {
    if (!owes_discard_)
        return {};
    auto discarded = store_.unused().discard_unstored();
    if (!discarded && is_refusal(discarded.why().code))
        return {};
    REM_TRY(health_.poison_if_failed(std::move(discarded)));
    owes_discard_ = false;
    return {};
}

void reclaimer::discard_former_copies() {
    if (!std::exchange(owes_former_copies_, false))
        return;
    if (auto discarded = store_.unused().discard_retired(); !discarded && !is_refusal(discarded.why().code))
        (void)health_.poison(discarded.error());
}

} // namespace remanence::txn
