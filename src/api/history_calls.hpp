// What the calls of the history have in common.
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

/// Makes a commit of the heap's thread, and says how durable.
using step = std::function<result<std::uint64_t>(txn::undo_manager& by, log::durability how)>;
/// Undo, redo, and their like: commits by `where`, and waits for that. errc::section_open, and what with_history() and `where` say.
void go(heap_impl* impl, const step& where);

/// errc::section_open; std::bad_alloc. Nothing without a history.
void begin_group(heap_impl& of, std::string_view name);
/// False: none is open.
bool end_group(heap_impl& of) noexcept;

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
