// Undo and redo. A separate file, so that only programs that use a history link it.

#include "api/heap_impl.hpp"
#include "api/history_calls.hpp"
#include "api/history_part.hpp"
#include "api/raise.hpp"

#include <optional>
#include <utility>

namespace remanence {

namespace detail {

constinit const history_part k_history_part{txn::k_history_part,
                                            [](heap_impl& of) { return std::make_unique<held_roots>(of); }};

// Registers the history part in each program that links a function of this file.
[[maybe_unused]] static const bool k_is_known = (known_history_part = &k_history_part, true);

namespace history_calls {

heap_impl* with_history(heap_impl* impl, use_of_history how) {
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

static heap_commits::in_flight commit_there(heap_impl& of, const step& where) {
    const whole_call going(of.calls);
    if (of.procedures)
        of.procedures->begin();
    const heap_commits::in_flight commit = [&] {
        try {
            return of.commits.make_by([&](log::durability how) { return where(undo_of(of), how); }, of.options.commits);
        } catch (...) {
            if (of.procedures)
                of.procedures->recover();
            throw;
        }
    }();
    of.forget_outside();
    of.foreign.forget();
    if (of.virtuals != nullptr)
        of.virtuals.load()->renew();
    return commit;
}

void go(heap_impl* impl, const step& where) {
    with_history(impl);
    {
        const os::no_cancellation whole;
        std::optional<heap_commits::in_flight> commit;
        alone(impl, [&] { commit = commit_there(*impl, where); });
        impl->commits.await(*commit);
    }
    os::end_if_cancelled();
}

void begin_group(heap_impl& of, std::string_view name) {
    refuse_in_sections(of);
    if (of.engine().has_history())
        undo_of(of).with_steps([&](history::step_tree& steps) { steps.begin_group(name); });
}

bool end_group(heap_impl& of) noexcept {
    return of.engine().has_history() && undo_of(of).with_steps([](history::step_tree& steps) {
        const bool is_open = steps.is_in_group();
        if (is_open)
            steps.end_group();
        return is_open;
    });
}

} // namespace history_calls

} // namespace detail

using detail::checked;
using detail::heap_impl;
using namespace detail::history_calls; // NOLINT(google-build-using-namespace)

void heap::undo(std::uint64_t steps) {
    go(checked(impl_), [=](txn::undo_manager& of, log::durability how) { return of.undo(steps, how); });
}

void heap::redo(std::uint64_t steps) {
    go(checked(impl_), [=](txn::undo_manager& of, log::durability how) { return of.redo(steps, how); });
}

void heap::go_to(std::uint64_t version) {
    go(checked(impl_), [=](txn::undo_manager& of, log::durability how) { return of.go_to(version, how); });
}

std::uint64_t heap::undo_depth() const {
    return known<std::uint64_t>(checked(impl_), [](const history::step_tree& steps) { return steps.undo_depth(); });
}

std::uint64_t heap::redo_depth() const {
    return known<std::uint64_t>(checked(impl_), [](const history::step_tree& steps) { return steps.redo_depth(); });
}

std::vector<history_step> heap::history() const {
    return looked_at<std::vector<history_step>>(checked(impl_), [](const history::step_tree& steps) {
        std::vector<history_step> all;
        for (history::step_info& each : steps.list())
            all.push_back({each.version, each.parent, std::move(each.name), each.time, each.bytes, each.is_present,
                           std::move(each.kept)});
        return all;
    });
}

void heap::forget_history() {
    heap_impl* const impl = with_history(checked(impl_));
    alone(impl, [&] {
        if (auto forgotten = undo_of(*impl).forget_history(); !forgotten)
            detail::raise(forgotten.why());
    });
}

std::string heap::why_history_is_new() const {
    heap_impl* const impl = checked(impl_);
    const detail::read_section section(impl);
    if (!impl->engine().has_history())
        return {};
    detail::check(undo_of(*impl).read_history());
    return undo_of(*impl).why_history_is_new();
}

group heap::group(std::string_view name) {
    heap_impl* const impl = checked(impl_);
    refuse_in_sections(*impl);
    return group_unless_in_section(name);
}

group heap::group_unless_in_section(std::string_view name) {
    heap_impl* const impl = checked(impl_);
    if (impl->sections.is_in_any() || !impl->engine().has_history())
        return {};
    std::weak_ptr<heap_impl*> watched;
    alone(impl, [&] { watched = impl->watch(); });
    detail::history_calls::begin_group(*impl, name);
    return remanence::group(std::move(watched));
}

group::group(std::weak_ptr<heap_impl*> of) noexcept : impl_(std::move(of)) {}

group::group(group&& other) noexcept : impl_(std::exchange(other.impl_, {})) {}

group& group::operator=(group&& other) noexcept {
    if (this != &other) {
        end();
        impl_ = std::exchange(other.impl_, {});
    }
    return *this;
}

group::~group() { end(); }

void group::end() noexcept {
    const std::shared_ptr<heap_impl*> watched = std::exchange(impl_, {}).lock();
    if (watched && (*watched)->origin.same_process())
        (void)detail::history_calls::end_group(**watched);
}

} // namespace remanence
