// What the calls of the history have in common.
#pragma once

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "os/cancellation.hpp"

#include <optional>

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

inline heap_impl* with_history(heap_impl* impl, use_of_history how = use_of_history::changes) {
    link_history();
    if (impl->options.read_only)
        raise(how == use_of_history::changes ? errc::read_only : errc::invalid_argument,
              impl->origin.path.string() +
                  " is open read-only, where no history goes on. Open it for writing, with a history, to change it. "
                  "Versions can be compared and branched off without opening the heap: by rem diff and rem branch, or "
                  "by remanence/look_back.hpp.",
              impl->origin.path.string());
    if (!impl->engine().has_history())
        raise(errc::invalid_argument,
              impl->origin.path.string() +
                  " was opened without a history. Open it with one: by heap_options::history, or by "
                  "rem_open_with_history() of C.",
              impl->origin.path.string());
    return impl;
}

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
    check(impl->engine().read_history());
    return impl->engine().with_steps(f);
}

/// The same, if the end of the steps is enough.
template <class Result, class F>
Result known(heap_impl* impl, const F& f) {
    const read_section section(impl);
    return impl->engine().has_history() ? impl->engine().with_steps(f) : Result();
}

} // namespace remanence::detail::history_calls
