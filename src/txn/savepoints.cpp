#include "txn/savepoints.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace remanence::txn {

result<std::uint64_t> savepoints::make(std::size_t depth) {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    const std::lock_guard allocation(locks_.allocation);
    made_.reserve(made_.size() + 1);
    auto pages = keep_written();
    if (!pages)
        return pages.error();
    made_.push_back({next_, depth, std::move(*pages), step_, memory_.moment_of_notes()});
    spiller_.hold(true);
    return next_++;
}

result<view::kept_pages> savepoints::keep_written() {
    REM_TRY(give_up_unchanged());
    if (!view_.spiller().spilled().is_empty()) {
        return fail(errc::exhausted,
                    "the section has changed more than memory may hold, and part of it is in the heap's file "
                    "already, so it can have no savepoint any more. Make it before large changes, or commit.");
    }
    memory_.allocator().flush(); // what it holds outside of the heap is lost when memory becomes another state
    return view_.keep_written();
}

// Private copies of pages that a checkpoint has written may be spilled even if they have not changed since. So chunks
// may be spilled although the section changed little. Spills of unchanged chunks are given up here.
result<void> savepoints::give_up_unchanged() {
    if (view_.spiller().spilled().is_empty())
        return {};
    auto unchanged = view_.collector().unchanged_spilled();
    if (!unchanged)
        return unchanged.error();
    return health_.poisoning_without_memory(
        [&] { return health_.poison_if_failed(view_.spiller().give_up(*unchanged)); });
}

result<void> savepoints::roll_back_to(std::uint64_t number) {
    const std::lock_guard alone(locks_.at_store);
    const std::size_t index = index_of(number);
    if (index == made_.size()) {
        return fail(
            errc::invalid_argument,
            "this savepoint has ended: it was released, or its section was committed or rolled back, or went back to "
            "an earlier savepoint.");
    }
    keep_first(index + 1);
    return restore_last();
}

result<bool> savepoints::roll_back_to_around(std::size_t depth) {
    const std::lock_guard alone(locks_.at_store);
    const auto around =
        std::find_if(made_.rbegin(), made_.rend(), [&](const savepoint& each) { return each.depth < depth; });
    if (around == made_.rend())
        return false;
    keep_first(static_cast<std::size_t>(made_.rend() - around));
    REM_TRY(restore_last());
    return true;
}

result<void> savepoints::restore_last() {
    REM_TRY(health_.usable());
    const std::lock_guard allocation(locks_.allocation);
    return health_.poisoning_without_memory([&]() -> result<void> {
        REM_TRY(health_.poison_if_failed(view_.restore(made_.back().pages)));
        step_ = made_.back().step;
        return memory_.restored_in_part(made_.back().notes);
    });
}

void savepoints::end(std::uint64_t number) noexcept {
    const std::lock_guard alone(locks_.at_store);
    keep_first(index_of(number));
}

bool savepoints::has(std::uint64_t number) const noexcept {
    const std::lock_guard alone(locks_.at_store);
    return index_of(number) != made_.size();
}

void savepoints::end_all() noexcept {
    keep_first(0);
    step_ = history::step_kind::ordinary;
}

void savepoints::end_with_section() noexcept {
    if (made_.empty()) // needs no lock: only the thread of this section makes savepoints
        return;
    const std::lock_guard alone(locks_.at_store);
    keep_first(0);
}

void savepoints::keep_first(std::size_t count) noexcept {
    made_.erase(made_.begin() + static_cast<std::ptrdiff_t>(count), made_.end());
    if (made_.empty())
        spiller_.hold(false);
}

std::size_t savepoints::index_of(std::uint64_t number) const noexcept {
    const auto found = std::ranges::find(made_, number, &savepoint::number);
    return static_cast<std::size_t>(found - made_.begin());
}

} // namespace remanence::txn
