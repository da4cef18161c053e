#include "txn/transactions.hpp"

#include <mutex>
#include <new>

namespace remanence::txn {

result<void> transactions::begin(log::durability awaited) {
    if (awaited != log::durability::none || !point_.may_begin())
        return finish_earlier();
    REM_TRY(health_.usable());
    checkpoints_.adopt_if_done();
    return {};
}

result<void> transactions::finish_earlier() {
    REM_TRY(health_.usable());
    checkpoints_.adopt_if_done();
    return point_.finish_for_commit();
}

// In a shared heap, too, a commit of declared changes leaves others in memory: these are then changes outside of
// sections, which sharing::take_writer_lock() finds.
result<commit_scope> transactions::gather(commit_scope wanted) {
    if (vptr_settler* const by = vptrs_) [[unlikely]]
        return by->gather(committer_, view_);
    return committer_.gather(wanted);
}

result<void> transactions::write(pending_commit& commit) {
    const std::uint64_t before = session_.version();
    try {
        if (sharing_ != nullptr)
            sharing_->protocol().begin_writing();
        REM_TRY(committer_.reserve(commit));
        REM_TRY(committer_.write(commit));
    } catch (const std::bad_alloc&) {
        health_.lack_memory();
        if (session_.version() == before)
            throw;
        // The record is in the log, so this commit succeeds, and await() waits for it. The next commit reports the
        // failure.
    }
    last_ = {commit.scope, commit.changes.pages.size()};
    return {};
}

result<std::uint64_t> transactions::conclude(const pending_commit& commit, log::durability awaited) {
    savepoints_.end_all();
    if (point_.has_failed() && commit.scope == commit_scope::everything)
        point_.forget();
    if (!commit.record || sharing_ != nullptr ||
        // Poisoned for lack of memory: the tables in memory that describe the file may be incomplete.
        health_.is_poisoned())
        return session_.version();
    try {
        REM_TRY(checkpoints_.begin_if_due(last_.scope, last_.pages, awaited));
    } catch (const std::bad_alloc&) {
        health_.lack_memory(); // await() reports it
    }
    return session_.version();
}

result<void> transactions::make_room_in_file() {
    REM_TRY(point_.finish_for_commit());
    REM_TRY(checkpoints_.finish());
    REM_TRY(checkpoints_.make_one());
    space_.discard_former_copies();
    return {};
}

// A checkpoint that is begun here covers only the commits before this point.
result<std::optional<std::uint64_t>> transactions::try_to_copy(commit_scope scope) {
    const std::uint64_t before = session_.promised();
    auto version = scope == commit_scope::everything && point_.may_begin()
                       ? point_.begin()
                       : result<std::optional<std::uint64_t>>(std::nullopt);
    if (!version)
        return version;
    if (!*version) {
        REM_TRY(point_.finish_for_commit());
        return version;
    }
    savepoints_.end_all();
    if (**version == before)
        return version;
    try {
        REM_TRY(checkpoints_.begin_if_due(commit_scope::everything, point_.pages_changed(), log::durability::none));
    } catch (const std::bad_alloc&) {
        health_.lack_memory(); // await() reports it
    }
    return version;
}

result<void> transactions::publish(log::durability how, bool differs) {
    sharing_->publish();
    if (!differs)
        return checkpoints_.begin_if_due(last_.scope, last_.pages, how);
    sharing_->fall_out();
    return {};
}

void transactions::tell(const change_listener& listener, const change::change_set& changes) {
    const bool is_new = store_.image().bytes() == 0 && memory_.allocator().allocated_bytes() == 0;
    if (!is_new && !changes.empty())
        listener(memory_, changes, memory_.allocator());
}

result<void> transactions::roll_back(const change_listener& lost) {
    REM_TRY(health_.usable());
    savepoints_.end_all();
    checkpoints_.adopt_if_done();
    REM_TRY(point_.finish());
    const std::lock_guard allocation(locks_.allocation);
    return health_.poisoning_without_memory([&]() -> result<void> {
        view::memory_view::change_listener told;
        if (lost) {
            memory_.allocator().flush();
            told = [&](const change::change_set& changes) { tell(lost, changes); };
        }
        auto restored = view_.rollback(memory_.unused_pages(), told);
        space_.note_left_copies();
        REM_TRY(health_.poison_if_failed(std::move(restored)));
        if (point_.has_failed())
            point_.restore_failed();
        REM_TRY(health_.poison_if_failed(memory_.restored()));
        if (point_.has_failed())
            memory_.declared().note_other_changes();
        return {};
    });
}

} // namespace remanence::txn
