// Undo and redo. Apart from all else, so that their code is in programs that ask for a history, and in no others.

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

// Whoever calls what is in here has it, too.
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

} // namespace history_calls

heap_commits::in_flight heap_impl::go(const heap_commits::step& where) {
    const whole_call going(calls);
    if (procedures)
        procedures->begin();
    const heap_commits::in_flight commit = [&] {
        try {
            return commits.make_by(where, options.commits);
        } catch (...) {
            if (procedures)
                procedures->recover();
            throw;
        }
    }();
    forget_outside();
    strangers.forget();
    return commit;
}

heap_commits::in_flight heap_commits::make_by(const step& where, durability how) {
    if (how == durability::lazy && !of_.threads.start_syncer(*progress_))
        how = durability::durable; // then it waits for the disk itself
    const auto started = std::chrono::steady_clock::now();
    const std::uint64_t before = of_.engine.version();
    const auto version = where(txn::undo_manager::of(*of_.engine.history()), internal(how));
    if (!version)
        raise(version.why());
    if (of_.engine.is_shared())
        check(of_.engine.publish(internal(how)));
    ++in_flight_;
    return {*version, how, started, *version != before};
}

} // namespace detail

using detail::checked;
using detail::heap_impl;
using namespace detail::history_calls; // NOLINT(google-build-using-namespace)

void heap_impl::begin_group(std::string_view name) {
    refuse_in_sections(*this);
    if (engine_->has_history())
        undo_of(*this).with_steps([&](history::step_tree& steps) { steps.begin_group(name); });
}

bool heap_impl::end_group() noexcept {
    return engine_->has_history() && undo_of(*this).with_steps([](history::step_tree& steps) {
        const bool is_open = steps.is_in_group();
        if (is_open)
            steps.end_group();
        return is_open;
    });
}

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
        if (steps.has_ended())
            return all;
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
    impl->begin_group(name);
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
        (void)(*watched)->end_group();
}

} // namespace remanence
