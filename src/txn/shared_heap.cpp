#include "txn/shared_heap.hpp"

#include "txn/checkpointer.hpp"
#include "txn/health.hpp"
#include "txn/heap_locks.hpp"
#include "txn/heap_memory.hpp"
#include "txn/parts.hpp"
#include "txn/reclaimer.hpp"
#include "txn/shared_opening.hpp"

#include <chrono>
#include <mutex>

namespace remanence::txn {

result<bool> shared_heap::take_writer_lock(share::deadline until) {
    if (auto usable = needs_.health.usable(); !usable) {
        tell_of_poison();
        return usable.error();
    }
    auto turn = protocol().take_writer(until);
    if (!turn)
        return turn.error();
    if (*turn == share::coordination::turn::timeout)
        return false;
    return follow_as_writer(*turn == share::coordination::turn::take_over);
}

result<bool> shared_heap::take_writer_lock_if_current() {
    if (auto usable = needs_.health.usable(); !usable) {
        tell_of_poison();
        return usable.error();
    }
    auto turn = protocol().take_writer(std::chrono::steady_clock::time_point());
    if (!turn)
        return turn.error();
    if (*turn == share::coordination::turn::timeout)
        return false;
    if (*turn == share::coordination::turn::clean && protocol().visible() == needs_.session.version())
        return follow_as_writer(false); // to no other version, but perhaps to a checkpoint
    protocol().release_writer();        // as give_up_writer_lock(): a dead writer's work is left to the next one
    return false;
}

// The caller has the writer lock, and loses it if this function fails.
result<bool> shared_heap::follow_as_writer(bool takes_over) {
    auto followed = [&]() -> result<void> {
        try {
            return follow(takes_over ? before::taking_over : before::writing);
        } catch (...) { // a lack of memory
            give_up_writer_lock();
            throw;
        }
    }();
    if (followed)
        return true;
    give_up_writer_lock();
    return followed.error();
}

// After a failed attempt to follow. Does not call end_writing(): if the last writer died, the next one must take over.
void shared_heap::give_up_writer_lock() noexcept {
    tell_of_poison();
    protocol().release_writer();
}

// I5. If this process could not bring its memory to the newest version, other processes are not affected, so they are
// not told.
void shared_heap::tell_of_poison() noexcept {
    if (needs_.health.is_poisoned() && !is_of_no_version_)
        protocol().poison();
}

void shared_heap::release_writer_lock() noexcept {
    tell_of_poison();
    show(needs_.session.version());
    protocol().end_writing();
    protocol().release_writer();
}

bool shared_heap::begin_read(std::uint64_t at_least) {
    const std::lock_guard guard(reading_);
    if (needs_.session.version() < at_least || is_of_no_version_ ||
        (readers_ == 0 && !protocol().pin(needs_.session.version())))
        return false;
    ++readers_;
    return true;
}

void shared_heap::end_read() noexcept {
    const std::lock_guard guard(reading_);
    if (readers_ != 0 && --readers_ == 0) // 0: begin_read() has failed after a lack of memory
        protocol().unpin();
}

// While the locks are held, no thread can bring memory to a newer version. This call counts as one more reader, so the
// pin stays until the copies are made, even if all sections end meanwhile: otherwise the checkpoint could begin before
// the copies are complete.
result<void> shared_heap::let_checkpoint_pass() {
    if (!is_reading())
        return {}; // without waiting for the locks, which a thread that commits may hold
    const std::lock_guard alone(needs_.locks.at_store);
    const std::lock_guard allocation(needs_.locks.allocation);
    const std::optional<std::uint64_t> pinned = read_on();
    if (!pinned)
        return {};
    const struct reading {
        shared_heap& here;
        ~reading() { here.end_read(); }
    } meanwhile{*this};
    const std::uint64_t target = protocol().apply_target();
    if (*pinned >= target)
        return {};
    REM_TRY(follower_.make_private(*pinned, target));
    protocol().raise_pin(target);
    return {};
}

bool shared_heap::is_reading() {
    const std::lock_guard guard(reading_);
    return readers_ != 0;
}

// If threads are reading, counts this call as one more reader, and returns the pinned version.
std::optional<std::uint64_t> shared_heap::read_on() {
    const std::lock_guard guard(reading_);
    if (readers_ == 0)
        return {};
    ++readers_;
    return protocol().pinned();
}

result<void> shared_heap::catch_up() {
    const std::lock_guard alone(needs_.locks.at_store); // before pin(): let_checkpoint_pass() relies on the pin
    const std::lock_guard allocation(needs_.locks.allocation);
    while (!protocol().pin(protocol().visible())) // fails if a checkpoint was declared between the two calls
        REM_TRY(protocol().check_session());
    const struct pinned {
        share::coordination& by;
        ~pinned() { by.unpin(); }
    } meanwhile{protocol()};
    return follow_locked(before::reading);
}

result<void> shared_heap::follow(before what) {
    const std::lock_guard alone(needs_.locks.at_store);
    const std::lock_guard allocation(needs_.locks.allocation);
    return follow_locked(what);
}

// Where must stray changes be looked for? A commit includes every page that was written since the last look, so before
// a section that writes: in all of memory. Nothing else makes a stray change part of a commit: pages that this process
// does not write are never read from its memory. Before it follows others for a section that reads: in the places that
// it is about to change, since there the records would hide a stray change or be mixed with it. Elsewhere a stray
// change stays what it was, a difference from content that is still committed, and still counts as written; so the next
// look finds it. But where a checkpoint of others is passed, memory that equals the image is mapped anew, and a stray
// change in it would be lost: in all of memory.
result<void> shared_heap::follow_locked(before what) {
    REM_TRY(needs_.health.sound());
    needs_.checkpoints.adopt_if_done();
    const struct reading_ahead {
        follower& by;
        ~reading_ahead() { by.forget_ahead(); }
    } meanwhile{follower_};
    const std::uint64_t own = needs_.checkpoints.sequence_under_way();
    const bool is_behind = follower_.is_behind(own);
    const std::vector<heap_range>* const ahead =
        is_behind && what != before::taking_over ? follower_.read_ahead(own) : nullptr;
    REM_TRY(refuse_stray_changes(what == before::reading ? ahead : nullptr));
    if (is_behind || what == before::taking_over)
        return follow_others(what);
    needs_.session.log().release(protocol().released().log_begin);
    return {};
}

result<void> shared_heap::follow_others(before what) {
    is_of_no_version_ = true; // until following has succeeded
    needs_.view.allow_writes(true);
    result<void> refused;
    auto followed = needs_.health.poisoning_without_memory([&]() -> result<void> {
        for (bool is_done = false; !is_done;) {
            needs_.checkpoints.adopt_if_done();
            auto caught = follower_.catch_up(needs_.checkpoints.sequence_under_way());
            if (!caught)
                return caught.error();
            is_done = *caught;
        }
        if (what == before::taking_over) {
            auto found = follower_.take_over();
            if (!found)
                return found.error();
            protocol().publish(*found);
            needs_.space.owe_discard(); // the dead writer may have written to copies that no commit names
        }
        auto restored = needs_.memory.restored();
        if (restored || restored.why().code != errc::corrupt || what != before::reading)
            return restored;
        refused = refuse_stray_changes(nullptr); // one may have damaged the allocator's structures
        return !refused && refused.why().code == errc::outside_section ? result<void>() : std::move(restored);
    });
    needs_.view.allow_writes(false); // each write section allows writes itself
    is_of_no_version_ = !followed;
    show(needs_.session.version());
    return followed ? std::move(refused) : needs_.health.poison_if_failed(std::move(followed));
}

// True if another process's checkpoint may have passed the version of memory, which was not pinned. Then pages of the
// image may not match the superblock that this process knows.
bool shared_heap::is_image_newer() const {
    return protocol().apply_target() > needs_.session.version() ||
           protocol().checkpoint_sequence() != needs_.store.super().sequence;
}

/// Looks in `where` only, unless that is null or the tracker can only tell of all memory.
result<bool> shared_heap::find_stray_changes(const std::vector<heap_range>* where) {
    if (where != nullptr && !is_image_newer()) {
        auto changed = needs_.view.collector().holds_changes_in(*where, needs_.memory.unused_pages());
        if (!changed)
            return changed.error();
        if (*changed)
            return **changed;
    }
    auto changed = needs_.view.collector().holds_changes(needs_.memory.unused_pages());
    if (changed && !*changed)
        needs_.view.note_no_changes(); // otherwise the next look would compare these pages, too
    return changed;
}

// Undoes changes that were made outside of sections. Otherwise they would become part of a later commit, or be lost.
result<void> shared_heap::refuse_stray_changes(const std::vector<heap_range>* where) {
    needs_.memory.allocator().flush();
    auto changed = find_stray_changes(where);
    if (!changed && changed.why().code == errc::corrupt && is_image_newer())
        return {}; // the page has no valid content to compare with; following repairs or remaps the page
    if (!changed)
        return changed.error();
    if (!*changed)
        return {};
    REM_TRY(needs_.view.rollback(needs_.memory.unused_pages()));
    REM_TRY(needs_.memory.restored());
    return fail(
        errc::outside_section,
        "memory of " + needs_.store.path() +
            ", which several processes share, was changed outside any write section, or in a declared section that did "
            "not declare it. The changes are undone. Make them in a write section, and declare them in a declared one.",
        needs_.store.path());
}

// This process can no longer use the heap. It does not tell the others, which go on.
void shared_heap::fall_out() noexcept {
    needs_.health.lack_memory();
    is_of_no_version_ = true;
}

constinit const sharing_part k_sharing_part{create_to_share, open_shared, open_as_guest,
                                            share::coordination::remove_left_over, shared_heap::make};

[[maybe_unused]] static const bool k_is_known = (known_sharing_part = &k_sharing_part, true);

} // namespace remanence::txn
