// What the calls of the history have in common.
#pragma once

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "os/cancellation.hpp"
#include "txn/undo_manager.hpp"

#include <optional>

namespace remanence::detail {

/// Precondition: its heap has a history.
inline txn::undo_manager& undo_of(heap_impl& of) { return txn::undo_manager::of(*of.engine().history()); }

} // namespace remanence::detail

namespace remanence::detail::history_calls {

inline void refuse_in_sections(const heap_impl& impl) {
    if (!impl.sections.is_in_any())
        return;
    raise(errc::section_open,
          "no step of " + impl.origin.path.string() +
              " can be undone or redone, no group begun and no version kept in a section. End the section first.",
          impl.origin.path.string());
}

/// What a call does to the history. In a heap that is open read-only neither can be done: there is none.
enum class use_of_history { changes, looks };

/// errc::read_only, errc::invalid_argument: it has none.
heap_impl* with_history(heap_impl* impl, use_of_history how = use_of_history::changes);

/// Runs `f` with the write lock held.
template <class F>
void alone(heap_impl* impl, const F& f) {
    refuse_in_sections(*impl);
    const os::no_cancellation whole;
    impl->sections.enter_write(section_kind::joining);
    const struct section {
        heap_impl& of;
        ~section() { of.sections.leave_write(); }
    } meanwhile{*impl};
    f();
}

template <class F>
void go(heap_impl* impl, const F& where) {
    with_history(impl);
    {
        const os::no_cancellation whole;
        std::optional<heap_commits::in_flight> commit;
        alone(impl, [&] { commit = impl->go(where); });
        impl->commits.await(*commit);
    }
    os::end_if_cancelled();
}

/// Calls `f` with the steps in a read section.
template <class Result, class F>
Result looked_at(heap_impl* impl, const F& f) {
    const read_section section(impl);
    if (!impl->engine().has_history())
        return {};
    check(undo_of(*impl).read_history());
    return undo_of(*impl).with_steps(f);
}

/// The same, if the end of the steps is enough.
template <class Result, class F>
Result known(heap_impl* impl, const F& f) {
    const read_section section(impl);
    return impl->engine().has_history() ? undo_of(*impl).with_steps(f) : Result();
}

} // namespace remanence::detail::history_calls
