// What history.cpp, procedures.cpp and versions.cpp have in common.
#pragma once

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "os/cancellation.hpp"
#include "txn/undo_manager.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace remanence::detail {

/// Precondition: the heap has a history.
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

/// Whether a call changes the history. A heap that is open read-only has no history, so it allows neither kind.
enum class use_of_history { changes, looks };

/// Throws errc::read_only; or errc::invalid_argument if there is no history.
heap_impl* with_history(heap_impl* impl, use_of_history how = use_of_history::changes);

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

/// Makes a commit in the program's thread, with the given durability.
using step = std::function<result<std::uint64_t>(txn::undo_manager& by, log::durability how)>;
/// Performs undo, redo and the like: `where` makes the commit, and go() waits until that is durable.
/// errc::section_open, and the errors of with_history() and `where`.
void go(heap_impl* impl, const step& where);

/// Begins a group. errc::section_open; std::bad_alloc. Does nothing without a history.
void begin_group(heap_impl& of, std::string_view name);
/// Returns false if no group is open.
bool end_group(heap_impl& of) noexcept;

/// Calls `f` with the steps of the history, in a read section.
template <class Result, class F>
Result looked_at(heap_impl* impl, const F& f) {
    const read_section section(impl);
    if (!impl->engine().has_history())
        return {};
    check(undo_of(*impl).read_history());
    return undo_of(*impl).with_steps(f);
}

/// Does the same for functions that need only the last steps.
template <class Result, class F>
Result known(heap_impl* impl, const F& f) {
    const read_section section(impl);
    return impl->engine().has_history() ? undo_of(*impl).with_steps(f) : Result();
}

} // namespace remanence::detail::history_calls
