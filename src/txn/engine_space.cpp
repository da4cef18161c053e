// What goes back to the file system: chunks in which no block lies, when a checkpoint is asked for or at close(), and homes
// that chunks moved out of, after a checkpoint.

#include "txn/engine.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace remanence::txn {

std::vector<byte_range> engine::unused_chunks() {
    const std::uint64_t chunk = store_->chunk_bytes();
    std::vector<byte_range> found = allocator_->free_stretches(chunk, store_->image_bytes());
    for (byte_range& each : found) {
        const std::uint64_t end = align_down(each.end(), chunk);
        each.offset = align_up(each.offset, chunk);
        each.bytes = end - std::min(end, each.offset);
    }
    std::erase_if(found, [&](const byte_range& each) {
        for (std::uint64_t at = each.offset; at < each.end(); at += chunk) {
            if (store_->is_stored(at / chunk))
                return false;
        }
        return true;
    });
    return found;
}

// I8: it is left for another time when something uncommitted lies in memory, whose structures of the allocator say what is
// unused.
result<void> engine::forget_unused_if_committed() {
    const std::lock_guard allocation(allocation_);
    if (unused_chunks().empty())
        return {};
    auto changed =
        view_->collector().holds_changes([this](std::uint64_t page) { return allocator_->is_free_page(page); });
    if (!changed)
        return changed.error();
    return *changed ? result<void>() : forget_unused();
}

result<void> engine::forget_unused() {
    if (auto settled = view_->settler().settle_rest(); !settled)
        return poison(settled.error());
    std::vector<byte_range> unused = unused_chunks();
    std::erase_if(unused, [&](const byte_range& each) { // I7: not on the word of one descriptor
        for (std::uint64_t page = each.offset / k_page_bytes; page < each.end() / k_page_bytes;) {
            const std::uint64_t chunk = page / store_->chunk_pages();
            if (!store_->is_stored(chunk)) // of which nothing can be lost
                page = (chunk + 1) * store_->chunk_pages();
            else if (!allocator_->is_free_page(page++))
                return true;
        }
        return false;
    });
    for (const byte_range& stretch : unused) {
        auto forgotten = store_->forget(stretch, version_);
        if (!forgotten)
            return poison(forgotten.error());
        for (const byte_range& chunks : *forgotten) {
            if (auto mapped = view_->forget(chunks); !mapped)
                return poison(mapped.error());
            owes_discard_ = true;
        }
    }
    return {};
}

// The checkpoint is durable, so nothing is lost without it; but fresh chunks rely on holes, in which their zeros need not be
// written. Without room, which some file systems need for holes, the next commit tries again.
result<void> engine::discard_owed() {
    if (!owes_discard_)
        return {};
    auto discarded = store_->discard_unstored();
    if (!discarded && discarded.why().code == errc::no_space)
        return {};
    if (!discarded)
        return poison(discarded.error());
    owes_discard_ = false;
    return {};
}

// What fails is tried again after the next checkpoint, unless it poisons, which the next commit will hear.
void engine::discard_former_homes() {
    if (!std::exchange(owes_former_homes_, false))
        return;
    if (auto discarded = store_->discard_retired(); !discarded && discarded.why().code != errc::no_space)
        (void)poison(discarded.error());
}

} // namespace remanence::txn
