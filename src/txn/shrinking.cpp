// Makes the heap file as short as what it holds permits.
#include "txn/engine.hpp"

#include <algorithm>
#include <mutex>

namespace remanence::txn {

// I8: nothing is given back that an undo or another process may need. Former copies of chunks that are still mapped
// stay until the heap closes.
result<std::uint64_t> engine::shrink() {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    if (is_shared())
        return fail(errc::not_supported,
                    path() + " is open to be shared, so other processes may use the end of the file. The last one that "
                             "closes it gives free space back.",
                    path());
    if (has_history())
        return fail(errc::not_supported,
                    path() + " has a history, and an undo may need what is free now. Open it without one; a recorded "
                             "history ends by rem history --end.",
                    path());
    if (memory_.keeps_unused())
        return fail(errc::in_use,
                    "a collector of " + path() +
                        " is reading memory as it was, so no space can be given back. Let it "
                        "finish, or destroy it, first.",
                    path());
    REM_TRY(point_.finish());
    REM_TRY(names_.find());
    {
        const std::lock_guard allocation(locks_.allocation);
        memory_.allocator().flush();
        auto changed = heap_.view->collector().holds_changes(memory_.unused_pages());
        if (!changed)
            return changed.error();
        if (*changed)
            return fail(errc::uncommitted,
                        "memory of " + path() +
                            " holds changes that are not committed, so its file cannot be cut. Commit, or roll back, "
                            "first.",
                        path());
    }
    const std::uint64_t before = heap_.store->file_bytes();
    REM_TRY(health_.poisoning_without_memory([&] { return shrink_committed(); }));
    return before - std::min(before, heap_.store->file_bytes());
}

// The slab that serves small requests keeps its section in use, even if it is empty. That it is given back is a change of
// the allocator's own.
result<void> engine::commit_release_of_empty_slab() {
    {
        const std::lock_guard allocation(locks_.allocation);
        memory_.watch_allocator();
        memory_.allocator().release_empty_slab();
        if (!memory_.stop_watching_allocator())
            return {};
    }
    auto made = try_to_commit({});
    return made ? session_.await(*made, log::durability::durable) : result<void>(made.error());
}

result<void> engine::shrink_committed() {
    REM_TRY(checkpoints_.finish());
    REM_TRY(commit_release_of_empty_slab());
    if (!session_.has_begun()) {
        REM_TRY(heap_.store->room().reserve_places());
        REM_TRY(session_.prepare());
        REM_TRY(session_.begin());
    }
    {
        const std::lock_guard allocation(locks_.allocation);
        REM_TRY(space_.give_back_unused(memory_.allocator(), session_));
    }
    space_.return_map();
    REM_TRY(checkpoints_.make_one());
    REM_TRY(space_.remove_regions());
    return space_.discard_owed();
}

} // namespace remanence::txn
