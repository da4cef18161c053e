#include "txn/shared_heap.hpp"

#include "txn/checkpointer.hpp"
#include "txn/health.hpp"
#include "txn/heap_locks.hpp"
#include "txn/heap_memory.hpp"
#include "txn/parts.hpp"
#include "txn/reclaimer.hpp"
#include "txn/shared_opening.hpp"

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
    auto followed = [&]() -> result<void> {
        try {
            return follow(*turn == share::coordination::turn::take_over);
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

// The next writer takes over what a dead one left behind.
void shared_heap::give_up_writer_lock() noexcept {
    tell_of_poison();
    protocol().release_writer();
}

// I5. Memory that could not be brought forward is a problem of this process only.
void shared_heap::tell_of_poison() noexcept {
    if (needs_.health.is_poisoned() && !is_of_no_version_)
        protocol().poison();
}

void shared_heap::release_writer_lock() noexcept {
    tell_of_poison();
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
    if (--readers_ == 0)
        protocol().unpin();
}

// The locks keep memory at its version, and a thread that would bring it forward waits for them. The pin stays until
// the copies are made, even if the sections end meanwhile: otherwise the checkpoint could begin before they are
// complete.
result<void> shared_heap::let_checkpoint_pass() {
    if (!is_reading())
        return {}; // does not wait for a thread that commits
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

// Enters as one more reading thread.
std::optional<std::uint64_t> shared_heap::read_on() {
    const std::lock_guard guard(reading_);
    if (readers_ == 0)
        return {};
    ++readers_;
    return protocol().pinned();
}

result<void> shared_heap::catch_up() {
    const std::lock_guard alone(needs_.locks.at_store); // first: let_checkpoint_pass() needs the existing pin
    const std::lock_guard allocation(needs_.locks.allocation);
    while (!protocol().pin(protocol().visible())) // fails if a checkpoint was declared in between
        REM_TRY(protocol().check_session());
    const struct pinned {
        share::coordination& by;
        ~pinned() { by.unpin(); }
    } meanwhile{protocol()};
    return follow_locked(false);
}

result<void> shared_heap::follow(bool takes_over) {
    const std::lock_guard alone(needs_.locks.at_store);
    const std::lock_guard allocation(needs_.locks.allocation);
    return follow_locked(takes_over);
}

result<void> shared_heap::follow_locked(bool takes_over) {
    REM_TRY(needs_.health.sound());
    needs_.checkpoints.adopt_if_done();
    REM_TRY(refuse_stray_changes());
    if (!follower_.is_behind(needs_.checkpoints.sequence_under_way()) && !takes_over) {
        needs_.session.log().release(protocol().released().log_begin);
        return {};
    }
    is_of_no_version_ = true; // until it succeeds
    needs_.view.allow_writes(true);
    auto followed = needs_.health.poisoning_without_memory([&]() -> result<void> {
        for (bool is_done = false; !is_done;) {
            needs_.checkpoints.adopt_if_done();
            auto caught = follower_.catch_up(needs_.checkpoints.sequence_under_way());
            if (!caught)
                return caught.error();
            is_done = *caught;
        }
        if (takes_over) {
            auto found = follower_.take_over();
            if (!found)
                return found.error();
            protocol().publish(*found);
            needs_.space.owe_discard(); // for what the dead writer may have written to copies
        }
        return needs_.memory.restored();
    });
    needs_.view.allow_writes(false); // sections allow it themselves
    is_of_no_version_ = !followed;
    return needs_.health.poison_if_failed(std::move(followed));
}

// The version of memory was not pinned, and another process's checkpoint may have passed it. Then pages of the image
// are not those of the superblock that this process knows.
bool shared_heap::is_image_newer() const {
    return protocol().apply_target() > needs_.session.version() ||
           protocol().checkpoint_sequence() != needs_.store.super().sequence;
}

// Otherwise they would be in another process's commit, or lost.
result<void> shared_heap::refuse_stray_changes() {
    needs_.memory.allocator().flush();
    auto changed = needs_.view.collector().holds_changes(needs_.memory.unused_pages());
    if (!changed && changed.why().code == errc::corrupt && is_image_newer())
        return {}; // there is nothing to compare with; following repairs or remaps the page
    if (!changed)
        return changed.error();
    if (!*changed)
        return {};
    REM_TRY(needs_.view.rollback(needs_.memory.unused_pages()));
    REM_TRY(needs_.memory.restored());
    return fail(
        errc::outside_section,
        "memory of " + needs_.store.path() +
            ", which several processes share, was changed outside any write section. The changes are undone. Make "
            "them in a write section.",
        needs_.store.path());
}

// This process can do nothing more with the heap; the others go on.
void shared_heap::fall_out() noexcept {
    needs_.health.lack_memory();
    is_of_no_version_ = true;
}

constinit const sharing_part k_sharing_part{create_to_share, open_shared, open_as_guest,
                                            share::coordination::remove_left_over, shared_heap::make};

[[maybe_unused]] static const bool k_is_known = (known_sharing_part = &k_sharing_part, true);

} // namespace remanence::txn
