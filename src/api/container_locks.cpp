// The locks of file_backed, and rem_lock() in C: sections that a thread's guards, or its stack of locks, hold open.

#include "api/heap_impl.hpp"

#include "api/late_errors.hpp"
#include "api/raise.hpp"
#include "os/write_traps.hpp"
#include "txn/section_lock.hpp"

#include <remanence/file_backed.hpp>
#include <remanence/types/fragile.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace remanence::detail {

namespace {

/// Names what keeps this thread from locking, and what it has locked itself.
std::string why_busy(heap_impl& of, lock_mode how) {
    std::string text = "another thread of this program";
    if (of.engine().is_shared() && how == lock_mode::exclusive) { // shared locks wait for no other process
        if (const auto writer = of.engine().shared()->protocol().writer())
            text = "process " + std::to_string(writer->process) + " (" + writer->program + ")";
    }
    text += " holds it.";
    std::string others;
    for (void* const each : txn::section_lock::owners())
        others += (others.empty() ? "" : ", ") + static_cast<heap_impl*>(each)->origin.path.string();
    if (!others.empty())
        text +=
            " This thread has locked " + others +
            " meanwhile: if the other one waits for that, both wait for each other. Lock in the same order everywhere.";
    return text;
}

void enter(heap_impl& of, lock_mode how, std::chrono::milliseconds longest) {
    const auto until =
        std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(longest, std::chrono::years(1));
    bool is_entered = true;
    if (how == lock_mode::shared) {
        is_entered = of.sections.try_enter_read_until(until);
    } else if (of.options.read_only) {
        of.origin.raise_read_only();
    } else if (of.sections.read_depth() != 0 && of.sections.write_depth() == 0) {
        of.sections.enter_write_within_read();
    } else {
        is_entered = of.sections.try_enter_write_until(until);
    }
    if (!is_entered) {
        const std::string path = of.origin.path.string();
        raise(errc::in_use,
              path + " could not be locked within " + std::to_string(longest.count()) + " ms: " + why_busy(of, how),
              path);
    }
    if (how == lock_mode::exclusive)
        of.sections.begin_lock();
}

/// Ends the innermost section of this kind. `form` may be null.
void leave(heap_impl& of, lock_mode how, const container_file* form) noexcept {
    if (how == lock_mode::shared) {
        of.sections.leave_read();
        return;
    }
    of.unlock();
    if (form == nullptr || of.sections.write_depth() != 0 || of.handle() == nullptr)
        return;
    try {
        form->save(*of.handle());
    } catch (...) {
        tell_late(of, "could not write its file: ");
    }
}

} // namespace

/// The locks of the calling thread. A plain pointer, since guards may be destroyed after thread_local objects.
constinit thread_local held_lock* held_lock::t_innermost = nullptr;

std::shared_ptr<held_lock> held_lock::acquire(heap_impl& of, lock_mode how, std::chrono::milliseconds longest,
                                              const container_file* form) {
    std::shared_ptr<held_lock> made(new held_lock(of, how, form)); // not locked yet
    enter(of, how, longest);
    made->is_ended_ = false;
    made->outer_ = std::exchange(t_innermost, made.get());
    return made;
}

std::shared_ptr<held_lock> held_lock::acquire(const heap& of, lock_mode how, std::chrono::milliseconds longest,
                                              const container_file* form) {
    return acquire(impl_of(of), how, longest, form);
}

held_lock::held_lock(heap_impl& of, lock_mode how, const container_file* form)
    : of_(&of), is_left_(of.left_to_sections()), form_(form), thread_(std::this_thread::get_id()), how_(how) {}

void held_lock::push(heap_impl& of, lock_mode how, std::chrono::milliseconds longest, const container_file* form) {
    const std::shared_ptr<held_lock> made = acquire(of, how, longest, form);
    made->pushed_ = made;
}

void held_lock::pop(heap_impl& of) {
    for (held_lock* each = t_innermost; each != nullptr; each = each->outer_) {
        if (each->of_ != &of || each->pushed_ == nullptr)
            continue;
        const std::shared_ptr<held_lock> last = std::move(each->pushed_);
        last->end();
        return;
    }
    const std::string path = of.origin.path.string();
    raise(errc::section_conflict,
          path + " was to be unlocked by a thread that has not locked it, or has unlocked it already. The thread that "
                 "called lock() must call unlock().",
          path);
}

void held_lock::end() noexcept {
    if (std::exchange(is_ended_, true))
        return;
    if (!*is_left_ && !of_->origin.same_process())
        return; // a forked child has no locks
    if (std::this_thread::get_id() != thread_) {
        os::say(
            "remanence: a lock was ended by another thread than the one that locked. Destroy guards, and the iterators "
            "and references taken from them, in the thread that made them.\n");
        std::abort();
    }
    held_lock** link = &t_innermost;
    while (*link != this)
        link = &(*link)->outer_;
    *link = outer_;
    if (!*is_left_)
        leave(*of_, how_, form_);
}

void held_lock::raise_ended() const {
    if (*is_left_)
        raise_closed_container();
    const std::string path = of_->origin.path.string();
    raise(errc::section_conflict,
          path +
              " was used through a guard, or an iterator of it, after the guard has unlocked it. Take another guard.",
          path);
}

std::shared_ptr<held_lock> held_lock::over(const void* object) noexcept {
    for (held_lock* each = t_innermost; each != nullptr; each = each->outer_) {
        if (!*each->is_left_ && each->of_->memory().contains(object))
            return each->weak_from_this().lock();
    }
    return nullptr;
}

std::shared_ptr<void> lock_over(const void* object) noexcept { return held_lock::over(object); }

void lock_container(const heap& of, lock_mode how, std::chrono::milliseconds longest, const container_file* form) {
    held_lock::push(impl_of(of), how, longest, form);
}

void unlock_container(const heap& of) { held_lock::pop(impl_of(of)); }

void raise_no_lock() { raise(errc::section_conflict, "the guard of a container was moved from, so it has no lock."); }

} // namespace remanence::detail
