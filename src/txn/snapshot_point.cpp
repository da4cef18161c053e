#include "txn/snapshot_point.hpp"

#include "base/units.hpp"

#include <new>

namespace remanence::txn {

namespace {

// How many bytes of log are reserved for each copied page. How much of a page has changed is known only after the later
// comparison. Reserving for the worst case would write as many zeros to the log as the pages have bytes.
constexpr std::uint64_t k_record_bytes_of_page = 64;

} // namespace

// Where a point would do harm, the commit is made at once. Inspection and red zones must be able to refuse the commit
// in the call that makes it. A history must copy the bytes that a commit overwrites before they are lost. And new
// memory that is not mapped from the file yet takes more space than it needs until a commit is made at once.
bool snapshot_point::may_begin(commit_scope scope) const {
    return checkpoints_.are_carried_out_beside() && session_.has_begun() && !options_.is_shared && !options_.history &&
           !options_.inspect && !memory_.has_red_zones() && !has_failed() && !budget_.holds_too_many_unmapped() &&
           scope == commit_scope::everything;
}

result<std::optional<std::uint64_t>> snapshot_point::begin(commit_scope scope) {
    if (!may_begin(scope))
        return std::optional<std::uint64_t>();
    auto copied = view_.collector().copy_written(
        memory_.unused_pages(), {bytes_min_, budget_.copies_limit_bytes(), committer_.held_back_max()});
    space_.note_left_copies();
    if (!copied)
        return copied.error();
    if (!*copied)
        return std::optional<std::uint64_t>();
    view::page_copies& copies = **copied;
    if (copies.is_empty()) {
        view_.accept({}); // the written pages equal committed content
        committer_.all_is_committed();
        return std::optional(session_.version());
    }
    auto reserved = names_.find();
    if (reserved)
        reserved = reserve(copies);
    if (!reserved) {
        copies.clear();
        return reserved.error();
    }
    nothing_.emplace();
    nothing_->reserve(0, 0, 0, {});
    copies_ = std::move(copies);
    is_in_flight_ = true;
    view_.begin_with_copies(*copies_);
    committer_.all_is_committed();
    session_.promise();
    return std::optional(session_.promised());
}

// Reserves places in the file, with space, for fresh chunks. Other pages have a place already, and whether they have
// changed is known only after the later comparison.
result<void> snapshot_point::reserve(const view::page_copies& copies) {
    return committer_.reserve_early(view_.collector().fresh_in_copies(copies),
                                    sizeof(format::record_header) +
                                        copies.bytes() / k_page_bytes * k_record_bytes_of_page);
}

result<void> snapshot_point::finish() {
    if (!is_in_flight_)
        return {};
    REM_TRY(health_.usable());
    bool is_writing = false;
    try {
        auto made = make(is_writing);
        if (!made)
            return made.error();
        if (*made)
            return give_up(std::move(**made));
    } catch (const std::bad_alloc&) {
        if (is_writing)
            health_.lack_memory();
        if (health_.is_poisoned())
            throw;
        return give_up({});
    }
    is_in_flight_ = false;
    forget();
    return {};
}

// Returns the reason if the record cannot be made. If this function fails, the heap is poisoned.
result<std::optional<failure>> snapshot_point::make(bool& is_writing) {
    auto changes = view_.collector().changes_in_copies(*copies_);
    if (!changes)
        return std::optional(std::move(changes.error().why()));
    pending_commit commit{commit_scope::everything, std::move(*changes), &*copies_};
    committer_.take_record(commit);
    auto reserved = committer_.reserve(commit);
    if (!reserved && reserved.why().code == errc::no_space && checkpoints_.is_under_way()) {
        REM_TRY(checkpoints_.finish()); // the end of the checkpoint may free parts of the log
        reserved = committer_.reserve(commit);
    }
    if (!reserved && health_.is_poisoned())
        return reserved.error();
    if (!reserved)
        return std::optional(std::move(reserved.error().why()));
    pages_changed_ = commit.changes.pages.size();
    is_writing = true;
    REM_TRY(committer_.write(commit));
    return std::optional<failure>();
}

result<void> snapshot_point::give_up(std::optional<failure> why) {
    return health_.poisoning_without_memory([&]() -> result<void> {
        if (failed_)
            failed_(session_.promised(), why); // before the empty record of this version can become durable
        memory_.declared().note_other_changes();
        view_.give_up_copies(*copies_);
        why_ = std::move(why);
        is_in_flight_ = false;
        return committer_.write_nothing(*nothing_);
    });
}

void snapshot_point::restore_failed() {
    view_.restore_copies(*copies_);
    memory_.declared().note_other_changes();
}

void snapshot_point::forget() {
    copies_->clear();
    copies_.reset();
    nothing_.reset();
    why_.reset();
}

} // namespace remanence::txn
