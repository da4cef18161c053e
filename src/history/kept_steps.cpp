// The stored form of a history: functions of step_tree that write events, and step_loader, which reads them.
#include "history/step_loader.hpp"

#include <chrono>
#include <list>
#include <optional>
#include <utility>
#include <vector>

namespace remanence::history {

using event_kind = format::history_event_kind;

namespace {

std::int64_t nanoseconds_of(step_tree::clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

step_tree::clock::time_point time_of(std::int64_t nanoseconds) {
    return step_tree::clock::time_point(
        std::chrono::duration_cast<step_tree::clock::duration>(std::chrono::nanoseconds(nanoseconds)));
}

void append_number(event_bytes& into, event_kind of, std::uint64_t number) {
    event_writer event(into, of);
    event.add(format::number_event{number});
    event.finish();
}

} // namespace

void step_tree::append_session(event_bytes& into) const {
    event_writer event(into, event_kind::session);
    event.add(written(most_));
    event.finish();
}

void step_tree::append_staged(event_bytes& into) const {
    const bool joins = !staged_->joined.empty();
    const known_state* const made = staged_->is_kept && !joins ? &staged_->made.mapped() : nullptr;
    event_writer event(into, made != nullptr ? event_kind::made : joins ? event_kind::joined : event_kind::lost);
    event.add(format::step_event{nanoseconds_of(staged_->time), made != nullptr ? made->name.size() : 0,
                                 (staged_->forgets ? format::k_step_forgets : 0) |
                                     (staged_->migrates ? format::k_step_migrates : 0) |
                                     (staged_->is_hidden ? format::k_step_is_hidden : 0)});
    for (const delta& each : made != nullptr ? made->deltas : staged_->joined) // at most one
        each.append_to(event);
    if (made != nullptr)
        event.add_text(made->name);
    event.finish();
}

void step_tree::append_checkout(event_bytes& into, std::uint64_t state, std::span<const delta> path_back) {
    event_writer event(into, event_kind::checked_out);
    event.add(format::checkout_event{state, path_back.size()});
    for (const delta& each : path_back)
        each.append_to(event);
    event.finish();
}

void step_tree::append_forgetting(event_bytes& into) { event_writer(into, event_kind::forgot).finish(); }

void step_tree::append_keeping(event_bytes& into, std::string_view name) {
    event_writer event(into, event_kind::kept);
    event.add_text(name);
    event.finish();
}

void step_tree::append_dropping(event_bytes& into, std::uint64_t state) {
    append_number(into, event_kind::dropped, state);
}

void step_tree::append_squashing(event_bytes& into, std::uint64_t steps) {
    append_number(into, event_kind::squashed, steps);
}

void step_tree::append_state(event_bytes& into, std::uint64_t version, const known_state& state) {
    event_writer event(into, event_kind::state);
    event.add(format::state_event{version, state.parent, state.next, state.left, state.last_version, state.bytes,
                                  nanoseconds_of(state.time), state.deltas.size(), state.name.size(), state.kept.size(),
                                  (state.is_passed ? format::k_state_is_passed : 0) |
                                      (state.is_migrated ? format::k_state_is_migrated : 0) |
                                      (state.is_hidden ? format::k_state_is_hidden : 0)});
    for (const delta& each : state.deltas)
        each.append_to(event);
    event.add_text(state.name);
    event.add_text(state.kept);
    event.finish();
}

void step_tree::append_present(event_bytes& into) const {
    event_writer event(into, event_kind::present);
    event.add(format::present_event{present_, 0, written(most_)});
    event.finish();
}

std::uint64_t step_tree::appended_bytes() const {
    std::uint64_t bytes = sizeof(format::history_event) + sizeof(format::present_event);
    for (const auto& [version, each] : states_) {
        bytes += sizeof(format::history_event) + sizeof(format::state_event) + each.name.size() + each.kept.size();
        for (const delta& one : each.deltas)
            bytes += one.appended_bytes();
    }
    return bytes;
}

bool step_loader::add(std::uint64_t version, std::span<const std::byte> events) {
    if (events.empty())
        return add_unkept(version);
    event_reader rest(events);
    while (!rest.is_at_end()) {
        const auto head = rest.take<format::history_event>();
        event_reader event(rest.take(head.bytes));
        if (rest.has_failed() || !add_one(head.kind, event, version) || event.has_failed() || !event.is_at_end())
            return false;
    }
    return true;
}

bool step_loader::add_one(event_kind of, event_reader& event, std::uint64_t version) {
    if (of == event_kind::state)
        return add_state(event);
    if (of == event_kind::present)
        return add_present(event, version);
    if (!is_whole_)
        return false;
    switch (of) {
    case event_kind::session:
        return add_session(event);
    case event_kind::made:
    case event_kind::joined:
    case event_kind::lost:
        return add_step(of, event, version);
    case event_kind::checked_out:
        return add_checkout(event, version);
    case event_kind::forgot:
        tree_.forget();
        return stay(version);
    case event_kind::kept:
        return add_kept(event) && stay(version);
    case event_kind::dropped:
        return add_dropped(event) && stay(version);
    case event_kind::squashed:
        return add_squashed(event) && stay(version);
    default:
        return false;
    }
}

bool step_loader::stay(std::uint64_t version) {
    tree_.check_out(tree_.present_, version);
    return true;
}

// Earlier builds wrote an entry without events for each commit of a shared heap whose history had ended
// (k_when_full_ended).
bool step_loader::add_unkept(std::uint64_t version) {
    if (!is_whole_ || tree_.has_kept() || version <= tree_.states_.rbegin()->first) // H3
        return false;
    tree_.stage_nothing();
    tree_.accept(version);
    tree_.is_group_lost_ = false;
    return true;
}

bool step_loader::add_session(event_reader& event) {
    const auto most = read_limits(event.take<format::history_limits>());
    if (!most)
        return false;
    tree_.begin_session(*most);
    return true;
}

// A commit may not be joined to the step of the oldest state, since no step leads there. Nor may it be joined to the
// step of a state with children: joining changes the state's version, by which the children name their parent.
bool step_loader::add_step(event_kind of, event_reader& event, std::uint64_t version) {
    const auto found = event.take<format::step_event>();
    delta before;
    if (of != event_kind::lost)
        before = delta::read(event, heap_bytes_);
    std::string name = event.take_text(found.name_bytes);
    const bool forgets = (found.flags & format::k_step_forgets) != 0;
    const bool migrates = (found.flags & format::k_step_migrates) != 0;
    const bool is_hidden = (found.flags & format::k_step_is_hidden) != 0;
    constexpr std::uint64_t k_known = format::k_step_forgets | format::k_step_migrates | format::k_step_is_hidden;
    if (event.has_failed() || (found.flags & ~k_known) != 0 || (migrates && !forgets) ||
        (is_hidden && (migrates || of != event_kind::made)) || version <= tree_.states_.rbegin()->first) // H3
        return false;
    const auto& present = tree_.at(tree_.present_);
    if (of == event_kind::joined && (present.parent == 0 || present.children != 0))
        return false;
    if (of == event_kind::lost && tree_.has_kept())
        return false;
    tree_.group_step_ = of == event_kind::joined ? tree_.present_ : 0;
    if (of == event_kind::lost)
        tree_.stage_nothing();
    else
        tree_.stage(std::move(before), is_hidden  ? step_kind::hidden
                                       : migrates ? step_kind::migration
                                                  : step_kind::ordinary);
    tree_.staged_->time = time_of(found.time);
    tree_.staged_->forgets = forgets;
    if (of == event_kind::made) { // the event decides, not a group that is open in this process
        tree_.staged_->made.mapped().name = std::move(name);
        tree_.staged_->made.mapped().is_hidden = is_hidden;
        tree_.staged_->is_hidden = is_hidden;
    }
    tree_.accept(version);
    tree_.group_step_ = 0;
    tree_.is_group_lost_ = false;
    return true;
}

bool step_loader::add_checkout(event_reader& event, std::uint64_t version) {
    const auto found = event.take<format::checkout_event>();
    if (event.has_failed() || !tree_.states_.contains(found.state))
        return false;
    const auto way = tree_.path_to(found.state);
    if (found.delta_count != way.size())
        return false;
    std::vector<delta> path_back;
    for (std::size_t i = 0; i != way.size() && !event.has_failed(); ++i)
        path_back.push_back(delta::read(event, heap_bytes_));
    if (event.has_failed())
        return false;
    tree_.go_over(way, path_back);
    tree_.check_out(found.state, version);
    return true;
}

bool step_loader::add_kept(event_reader& event) {
    std::string name = event.take_text(event.bytes_left());
    if (name.empty() || tree_.find_kept(name) || !tree_.name_of_kept(tree_.present_).empty())
        return false;
    tree_.keep(std::move(name));
    return true;
}

bool step_loader::add_dropped(event_reader& event) {
    const auto found = event.take<format::number_event>();
    if (event.has_failed() || tree_.name_of_kept(found.number).empty())
        return false;
    tree_.drop(found.number);
    return true;
}

bool step_loader::add_squashed(event_reader& event) {
    const auto found = event.take<format::number_event>();
    if (event.has_failed() || found.number == 0 || found.number > tree_.undo_depth() ||
        tree_.in_the_way_of_squash(found.number))
        return false;
    tree_.squash(found.number, tree_.squashed(found.number));
    return true;
}

// The parent's event must come before the child's, with a smaller version (H3). A step counts for the limits unless
// its parent was passed (H4). `next` is checked by add_present().
bool step_loader::add_state(event_reader& event) {
    const auto found = event.take<format::state_event>();
    std::list<delta> deltas;
    for (std::uint64_t i = 0; i != found.delta_count && !event.has_failed(); ++i)
        deltas.push_back(delta::read(event, heap_bytes_));
    std::string name = event.take_text(found.name_bytes);
    std::string kept = event.take_text(found.kept_bytes);
    auto& states = tree_.states_;
    const bool is_oldest = states.empty();
    const bool is_migrated = (found.flags & format::k_state_is_migrated) != 0;
    const bool is_hidden = (found.flags & format::k_state_is_hidden) != 0;
    constexpr std::uint64_t k_known =
        format::k_state_is_passed | format::k_state_is_migrated | format::k_state_is_hidden;
    if (event.has_failed() || is_whole_ || found.version == 0 || (found.flags & ~k_known) != 0 ||
        (is_oldest && (is_migrated || is_hidden)) || is_oldest != (found.parent == 0) || is_oldest != deltas.empty() ||
        (!is_oldest && found.version <= states.rbegin()->first) || tree_.find_kept(kept))
        return false;
    const auto parent = states.find(found.parent);
    if (!is_oldest && parent == states.end())
        return false;
    auto& state = states[found.version];
    state.parent = found.parent;
    state.next = found.next;
    state.left = found.left;
    state.last_version = found.last_version;
    state.bytes = found.bytes;
    state.time = time_of(found.time);
    state.name = std::move(name);
    state.kept = std::move(kept);
    state.deltas = std::move(deltas);
    state.is_passed = (found.flags & format::k_state_is_passed) != 0;
    tree_.set_migrated(state, is_migrated);
    state.is_hidden = is_hidden;
    tree_.kept_ += state.kept.empty() ? 0U : 1U;
    if (!is_oldest) {
        ++parent->second.children;
        tree_.count(state, !parent->second.is_passed);
    }
    return true;
}

bool step_loader::add_present(event_reader& event, std::uint64_t version) {
    const auto found = event.take<format::present_event>();
    const auto most = read_limits(found.limits);
    auto& states = tree_.states_;
    const auto present = states.find(found.state);
    if (event.has_failed() || is_whole_ || !most || found.has_ended > 1 || present == states.end() ||
        present->second.is_passed || states.rbegin()->first > version)
        return false;
    for (const auto& [parent, each] : states) {
        const auto next = states.find(each.next);
        if (each.next != 0 && (next == states.end() || next->second.parent != parent))
            return false;
    }
    states.begin()->second.is_on_path = true;
    for (std::uint64_t here = found.state; here != states.begin()->first; here = tree_.at(here).parent)
        tree_.set_on_path(tree_.at(here), true);
    tree_.present_ = found.state;
    tree_.most_ = *most;
    is_whole_ = true;
    return true;
}

step_tree step_loader::take(const limits& most) noexcept {
    tree_.begin_session(most);
    return std::move(tree_);
}

} // namespace remanence::history
