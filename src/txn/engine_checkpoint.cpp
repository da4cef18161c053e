// What gives up the log or memory's changes: checkpoint, close and rollback.

#include "txn/engine.hpp"

#include "log/recovery.hpp"

#include <algorithm>
#include <span>

namespace remanence::txn {

result<void> engine::checkpoint() {
    REM_TRY(usable());
    if (!log_ || log_->used_bytes() == 0)
        return {};
    return poisoning_without_memory([&]() -> result<void> {
        if (auto folded = fold(false); !folded)
            return poison(folded.error());
        view_->drop_twins();
        return {};
    });
}

result<void> engine::fold_and_settle(commit_scope scope) {
    REM_TRY(fold(false));
    REM_TRY(view_->settle(scope));
    view_->drop_twins();
    return {};
}

result<void> engine::fold(bool clean) {
    REM_TRY(await(version_, log::durability::durable)); // I1
    auto pages = view_->twin_pages();
    std::span<const store::folded_page> rest(pages);
    constexpr std::size_t k_batch = 4096; // pages between two reports of progress
    while (!rest.empty()) {
        auto batch = rest.first(std::min(k_batch, rest.size()));
        REM_TRY(store_->fold(batch));
        stats_.image_bytes += batch.size() * k_page_bytes;
        rest = rest.subspan(batch.size());
        if (options_.on_progress) {
            options_.on_progress(engine_options::work::checkpoint, (pages.size() - rest.size()) * k_page_bytes,
                                 pages.size() * k_page_bytes);
        }
    }
    REM_TRY(store_->publish(version_, chain_, store_->super().epoch, clean, format::k_log_header_bytes));
    log_->restart();
    ++stats_.checkpoints;
    return {};
}

result<void> engine::close() {
    if (is_poisoned())
        return usable();
    if (!log_)
        return {}; // nothing was committed: the file is as it was
    return poisoning_without_memory([&]() -> result<void> {
        if (auto folded = fold(true); !folded)
            return poison(folded.error());
        return log::remove_log(files_, path());
    });
}

result<void> engine::checkpoint_if_due(commit_scope scope) {
    if (log_->used_bytes() < options_.log_limit_bytes && view_->twin_bytes() < options_.twin_limit_bytes)
        return {};
    REM_TRY(await(version_, log::durability::durable)); // a failure is this commit's
    if (auto folded = fold_and_settle(scope); !folded)
        (void)poison(folded.error()); // this commit is durable; the next one will hear
    return {};
}

result<void> engine::rollback() {
    REM_TRY(usable());
    std::lock_guard allocation(allocation_);
    return poisoning_without_memory([&]() -> result<void> {
        if (auto restored = view_->rollback(); !restored)
            return poison(restored.error());
        has_other_changes_ = store_->image_bytes() == 0;
        if (has_other_changes_)
            REM_TRY(format_header()); // nothing was ever committed
        return check_allocator();
    });
}

} // namespace remanence::txn
