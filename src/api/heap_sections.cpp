#include "api/heap_sections.hpp"

#include "api/raise.hpp"

#include <remanence/detail/announcer.hpp>

#include <exception>

namespace remanence::detail {

heap_sections::heap_sections(heap_impl* owner, const heap_origin& origin, txn::heap_memory& memory)
    : origin_(origin), memory_(memory), lock_(owner) {
    txn::section_lock::watch_end_of_thread();
}

// The containers must not think that there is none while there is one.
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
        memory_.allow_writes(true);
        if (kind == section_kind::declared)
            begin_declared();
    } else if (kind == section_kind::ordinary) {
        end_declared();
    }
}

bool heap_sections::try_enter_write() {
    const auto got = lock_.enter_write(false);
    if (got == txn::section_lock::outcome::ended)
        origin_.raise_ended();
    if (got == txn::section_lock::outcome::outermost)
        memory_.allow_writes(true);
    if (got == txn::section_lock::outcome::nested)
        end_declared();
    return got == txn::section_lock::outcome::outermost || got == txn::section_lock::outcome::nested;
}

void heap_sections::leave_write() noexcept {
    if (lock_.write_depth() == 1 && origin_.same_process()) {
        end_declared();
        memory_.allow_writes(false);
    }
    lock_.leave_write();
}

void heap_sections::enter_read() {
    origin_.check_process();
    if (lock_.enter_read(true) == txn::section_lock::outcome::ended)
        origin_.raise_ended();
}

bool heap_sections::try_enter_read() {
    const auto got = lock_.enter_read(false);
    if (got == txn::section_lock::outcome::ended)
        origin_.raise_ended();
    return got != txn::section_lock::outcome::busy;
}

void heap_sections::lock() {
    enter_write(section_kind::ordinary);
    if (lock_.write_depth() == 1)
        exceptions_at_lock_ = std::uncaught_exceptions();
}

bool heap_sections::try_lock() {
    const bool is_entered = try_enter_write();
    if (is_entered && lock_.write_depth() == 1)
        exceptions_at_lock_ = std::uncaught_exceptions();
    return is_entered;
}

bool heap_sections::is_left_by_exception() const noexcept { return std::uncaught_exceptions() > exceptions_at_lock_; }

} // namespace remanence::detail
