#include "api/heap_sections.hpp"

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"

#include <remanence/detail/declarer.hpp>

#include <algorithm>
#include <exception>
#include <string>

namespace remanence::detail {

static constexpr std::chrono::hours k_wait_longest{24 * 365 * 100};
static constexpr std::size_t k_locks_at_once = 32; // of one thread, one in the other; more need memory

/// The system cannot wait until times in the far future. For these, the standard library would return as if the lock had
/// been acquired. So the deadline is limited.
static std::chrono::steady_clock::time_point within_reach(std::chrono::steady_clock::time_point deadline) {
    const auto now = std::chrono::steady_clock::now();
    return std::clamp(deadline, now, now + k_wait_longest);
}

[[gnu::cold]] heap_sections::heap_sections(heap_impl* owner, const heap_origin& origin, txn::engine& engine)
    : origin_(origin), engine_(engine), memory_(engine.memory()), lock_(owner) {
    txn::section_lock::watch_end_of_thread();
    exceptions_at_locks_.reserve(k_locks_at_once); // begin_lock() must not fail, since the thread holds the lock
}

// declared_sections is incremented before the section begins, so that containers never overlook a declared section.
void heap_sections::begin_declared() {
    declared_sections.fetch_add(1, std::memory_order_relaxed);
    memory_.begin_declared();
}

void heap_sections::end_declared() {
    if (!memory_.is_declared())
        return;
    memory_.end_declared();
    declared_sections.fetch_sub(1, std::memory_order_relaxed);
}

void heap_sections::enter_write(section_kind kind) {
    origin_.check_process();
    const auto entered = lock_.enter_write(true);
    if (entered == txn::section_lock::outcome::ended)
        origin_.raise_ended();
    if (entered == txn::section_lock::outcome::conflict) {
        raise(errc::section_conflict,
              "a write section of " + origin_.path.string() +
                  " was asked for inside a read section of the same thread, which would wait for itself. "
                  "End the read section first.",
              origin_.path.string());
    }
    if (lock_.write_depth() == 1) {
        (void)take_writer_lock({});
        memory_.allow_writes(true);
        if (kind == section_kind::declared)
            begin_declared();
    } else if (kind == section_kind::ordinary) {
        end_declared();
    }
}

/// True if the thread is in a write section now.
bool heap_sections::has_begun(txn::section_lock::outcome got) {
    if (got == txn::section_lock::outcome::ended)
        origin_.raise_ended();
    return got == txn::section_lock::outcome::outermost || got == txn::section_lock::outcome::nested;
}

bool heap_sections::try_enter_write() {
    if (!try_enter_to_close())
        return false;
    if (lock_.write_depth() == 1)
        return take_writer_lock(std::chrono::steady_clock::time_point());
    end_declared();
    return true;
}

bool heap_sections::try_enter_to_close() {
    if (!has_begun(lock_.enter_write(false)))
        return false;
    if (lock_.write_depth() == 1)
        memory_.allow_writes(true);
    return true;
}

/// Its destructor ends an outermost write section if the writer lock was not acquired, whatever the reason.
struct heap_sections::ends_without_writer_lock {
    heap_sections& of;
    ~ends_without_writer_lock() {
        if (of.has_writer_lock_)
            return;
        of.memory_.allow_writes(false);
        of.lock_.leave_write();
    }
};

[[gnu::cold]] bool heap_sections::take_writer_lock(share::deadline until) {
    if (!engine_.is_shared())
        return true;
    const ends_without_writer_lock section{*this};
    auto taken = engine_.shared()->take_writer_lock(until);
    if (!taken)
        raise(taken.why());
    has_writer_lock_ = *taken;
    note_changes_of_others();
    return has_writer_lock_;
}

void heap_sections::enter_write_within_read() {
    origin_.check_process();
    const std::string path = origin_.path.string();
    if (lock_.enter_write_within_read() == txn::section_lock::outcome::busy)
        raise(errc::section_conflict,
              path +
                  " cannot be locked exclusively inside a shared lock, since another thread of this program reads it. "
                  "End the shared lock first.",
              path);
    if (engine_.is_shared())
        take_writer_lock_within_read();
    memory_.allow_writes(true);
}

void heap_sections::take_writer_lock_within_read() {
    const ends_without_writer_lock section{*this};
    auto taken = engine_.shared()->take_writer_lock_if_current();
    if (!taken)
        raise(taken.why());
    if (!*taken) {
        const auto writer = engine_.shared()->protocol().writer();
        const std::string whose =
            writer ? "process " + std::to_string(writer->process) + " (" + writer->program + ") is changing it"
                   : "another process has changed it since the shared lock began";
        const std::string path = origin_.path.string();
        raise(errc::section_conflict,
              path + " cannot be locked exclusively inside a shared lock: " + whose + ". End the shared lock first.",
              path);
    }
    has_writer_lock_ = true;
    engine_.shared()->end_read(); // leave_write() begins to read again
}

// Another process may have enlarged the reservation, for example for an arena, which begins at a multiple of 1 GiB. And
// it may have stored objects of further classes.
void heap_sections::note_changes_of_others() {
    heap_impl* const of = registry::find(memory_.base());
    if (of != nullptr && of->registered_bytes != memory_.reserved_bytes())
        registry::extend(*of);
    if (of != nullptr && of->virtuals != nullptr)
        of->virtuals.load()->renew();
}

void heap_sections::leave_write() noexcept {
    if (lock_.write_depth() == 1 && origin_.same_process()) {
        end_declared();
        engine_.points().end_with_section();
        // In a shared heap without the writer lock, other processes may be ahead.
        if (txn::memory_limiter* const limits = engine_.limiter(); limits != nullptr) [[unlikely]]
            if (has_writer_lock_ || !engine_.is_shared())
                limits->keep_within_limits();
        memory_.allow_writes(false);
        if (has_writer_lock_) {
            if (lock_.read_depth() != 0) // the thread goes on reading, without the writer lock
                (void)engine_.shared()->begin_read(0);
            has_writer_lock_ = false;
            engine_.shared()->release_writer_lock();
        }
    }
    lock_.leave_write();
}

// All threads of a process share one view of the heap. So a thread may advance the view to a later commit only while no
// other thread is in a section. The caller is in a read section; if this function returns false, it is in none. `alone`
// enters a write section, `again` a read section; both return an outcome. A template, since programs without deadlines
// should not be linked with them.
template <class Alone, class Again>
[[gnu::cold]] bool heap_sections::see_newest(const Alone& alone, const Again& again) {
    const std::uint64_t newest = engine_.newest_version();
    while (!engine_.shared()->begin_read(newest)) {
        lock_.leave_read();
        if (!has_begun(alone()))
            return false;
        catch_up();
        if (!has_begun(again()))
            return false;
    }
    return true;
}

void heap_sections::enter_read() {
    origin_.check_process();
    const auto got = lock_.enter_read(true);
    if (got == txn::section_lock::outcome::ended)
        origin_.raise_ended();
    if (got == txn::section_lock::outcome::outermost && engine_.is_shared() &&
        !engine_.shared()->begin_read(engine_.newest_version()))
        (void)see_newest([this] { return lock_.enter_write(true); }, [this] { return lock_.enter_read(true); });
}

bool heap_sections::try_enter_read_until(std::chrono::steady_clock::time_point deadline) {
    origin_.check_process();
    deadline = within_reach(deadline);
    switch (lock_.enter_read_until(deadline)) {
    case txn::section_lock::outcome::ended:
        origin_.raise_ended();
    case txn::section_lock::outcome::outermost:
        return !engine_.is_shared() || see_newest([&] { return lock_.enter_write_until(deadline); },
                                                  [&] { return lock_.enter_read_until(deadline); });
    case txn::section_lock::outcome::nested:
        return true;
    default:
        return false;
    }
}

// The caller holds the write lock; this function releases it.
[[gnu::cold]] void heap_sections::catch_up() {
    const struct alone {
        txn::section_lock& lock;
        ~alone() { lock.leave_write(); }
    } meanwhile{lock_};
    check(engine_.shared()->catch_up());
    note_changes_of_others();
}

bool heap_sections::try_enter_read() {
    const auto got = lock_.enter_read(false);
    if (got == txn::section_lock::outcome::ended)
        origin_.raise_ended();
    if (got != txn::section_lock::outcome::outermost || !engine_.is_shared())
        return got != txn::section_lock::outcome::busy;
    if (engine_.shared()->begin_read(engine_.newest_version()))
        return true;
    lock_.leave_read();
    if (!has_begun(lock_.enter_write(false)))
        return false;
    catch_up();
    if (lock_.enter_read(false) != txn::section_lock::outcome::outermost)
        return false;
    if (engine_.shared()->begin_read(0))
        return true;
    lock_.leave_read();
    return false;
}

void heap_sections::leave_read() noexcept {
    txn::memory_limiter* const limits = engine_.limiter();
    if ((engine_.is_shared() || limits != nullptr) && leaves_last_read() && origin_.same_process()) {
        if (limits != nullptr)
            limits->keep_within_limits_beside_readers();
        if (engine_.is_shared())
            engine_.shared()->end_read();
    }
    lock_.leave_read();
}

void heap_sections::begin_lock() noexcept {
    exceptions_at_locks_.push_back(std::uncaught_exceptions());
    os::defer_cancellation();
}

[[gnu::cold]] void heap_sections::end() noexcept {
    for (; !exceptions_at_locks_.empty(); exceptions_at_locks_.pop_back()) // the heap ends under its locks
        os::allow_cancellation();
    lock_.end();
}

bool heap_sections::try_enter_write_until(std::chrono::steady_clock::time_point deadline) {
    origin_.check_process();
    deadline = within_reach(deadline);
    if (!has_begun(lock_.enter_write_until(deadline)))
        return false;
    if (lock_.write_depth() > 1) {
        end_declared();
        return true;
    }
    if (!take_writer_lock(deadline))
        return false;
    memory_.allow_writes(true);
    return true;
}

void heap_sections::refuse_half_made() const {
    if (!is_half_made_)
        return;
    raise(errc::section_open,
          "a function that load() of " + origin_.path.string() +
              " calls would commit or roll back what is half loaded. Do that when load() has returned.",
          origin_.path.string());
}

} // namespace remanence::detail
