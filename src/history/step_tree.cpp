#include "history/step_tree.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace remanence::history {

step_tree::step_tree(const limits& most, std::uint64_t version) : most_(most), present_(version) {
    known_state& first = states_[version];
    first.last_version = version;
    first.time = clock::now();
    first.is_on_path = true;
}

step_tree::step_tree(const limits& most, const summary& all) : step_tree(most, all.present) {
    steps_on_way_ = all.undo_depth;
    steps_ = all.steps;
    bytes_ = all.bytes;
    kept_ = all.kept;
    redo_beyond_ = all.redo_depth;
}

void step_tree::continue_group_of(const step_tree& other, bool has_its_step) {
    group_name_ = other.group_name_;
    group_depth_ = other.group_depth_;
    group_step_ = has_its_step ? other.group_step_ : 0;
    is_group_lost_ = other.is_group_lost_ || (!has_its_step && other.group_step_ != 0);
}

summary step_tree::sum() const { return {present_, undo_depth(), redo_depth(), steps_, bytes_, kept_}; }

bool step_tree::has_room(std::uint64_t bytes) const {
    const std::uint64_t steps = steps_ + (joins_group() ? 0 : 1);
    return (most_.steps_max == 0 || steps <= most_.steps_max) &&
           (most_.bytes_max == 0 || bytes_ + bytes <= most_.bytes_max);
}

// H10: in a group every commit, even a hidden one, is part of the group's step.
void step_tree::stage(delta before, step_kind kind) {
    staged_.reset();
    if (is_group_lost_ && !has_kept())
        return stage_nothing();
    const bool migrates = kind == step_kind::migration;
    const bool is_hidden = kind == step_kind::hidden && !is_in_group();
    staged next{{}, {}, true, is_group_lost_ || migrates, migrates, is_hidden};
    if (joins_group()) {
        next.joined.push_back(std::move(before));
    } else {
        states one;
        known_state& made = one[0];
        made.bytes = before.bytes();
        made.deltas.push_back(std::move(before));
        if (is_in_group())
            made.name = group_name_;
        else if (const procedure_call* const call = made.deltas.front().call())
            made.name = call->name;
        made.is_hidden = is_hidden;
        next.made = one.extract(one.begin());
    }
    staged_ = std::move(next);
}

void step_tree::stage_nothing() {
    staged_.reset();
    staged_ = staged{{}, {}, false, false};
}

// H2
void step_tree::accept(std::uint64_t version) noexcept {
    if (!staged_)
        return;
    const bool forgets = staged_->forgets;
    const bool migrates = staged_->migrates;
    if (!staged_->is_kept)
        begin_at(version, staged_->time);
    else if (!staged_->joined.empty())
        join(std::move(staged_->joined), version, staged_->time);
    else
        add(std::move(staged_->made), version, staged_->time);
    staged_.reset();
    if (migrates)
        set_migrated(at(present_), true);
    if (forgets)
        forget();
    drop_what_is_too_much();
}

void step_tree::drop_what_is_too_much() noexcept {
    while (is_too_much() && let_one_go()) {
    }
}

// A group that was open ends with the step that it has made. If the limits are unchanged, steps over the limits are
// removed by the next commit, as in the last session.
void step_tree::begin_session(const limits& most) noexcept {
    const bool are_others = most != most_;
    most_ = most;
    group_depth_ = 0;
    group_step_ = 0;
    is_group_lost_ = false;
    if (are_others)
        drop_what_is_too_much();
}

void step_tree::add(states::node_type made, std::uint64_t version, clock::time_point time) noexcept {
    known_state& parent = at(present_);
    known_state& next = made.mapped();
    next.parent = present_;
    next.left = next.is_hidden ? 0 : forth(present_);
    next.last_version = version;
    next.time = time;
    if (!next.is_hidden || parent.next == 0)
        parent.next = version;
    for (std::uint64_t here = present_; !next.is_hidden && at(here).is_hidden; here = at(here).parent)
        at(at(here).parent).next = here;
    ++parent.children;
    set_on_path(next, true);
    count(next, true); // H4: the present state is not passed
    made.key() = version;
    states_.insert(std::move(made));
    present_ = version;
    if (is_in_group())
        group_step_ = version;
}

// H3: the present state gets a new version. It has no children, so only its parent refers to it.
void step_tree::join(std::list<delta> more, std::uint64_t version, clock::time_point time) noexcept {
    states::node_type made = states_.extract(present_);
    known_state& step = made.mapped();
    const bool counts = step.is_counted;
    count(step, false);
    step.bytes += more.front().bytes();
    step.deltas.splice(step.deltas.end(), more);
    count(step, counts);
    step.last_version = version;
    step.time = time;
    at(step.parent).next = version;
    made.key() = version;
    states_.insert(std::move(made));
    present_ = version;
    group_step_ = version;
}

// The commit was not kept, so the history begins anew at its state: no step leads back over the commit.
void step_tree::begin_at(std::uint64_t version, clock::time_point time) noexcept {
    forget();
    states::node_type only = states_.extract(states_.begin());
    only.key() = version;
    only.mapped().last_version = version;
    only.mapped().time = time;
    only.mapped().name.clear();
    states_.insert(std::move(only));
    present_ = version;
    is_group_lost_ = is_in_group();
}

void step_tree::begin_group(std::string_view name) {
    if (group_depth_ == 0)
        group_name_ = name;
    ++group_depth_;
}

void step_tree::end_group() noexcept {
    if (--group_depth_ != 0)
        return;
    group_step_ = 0;
    is_group_lost_ = false;
}

// H9: migrations_ is zero unless a state from before a migration is kept. If one is kept, depths must be counted step
// by step.
std::uint64_t step_tree::undo_depth() const {
    if (migrations_ == 0)
        return steps_on_way_;
    std::uint64_t count = 0;
    for (std::uint64_t here = present_; at(here).parent != 0 && !at(here).is_migrated; here = at(here).parent)
        count += at(here).is_hidden ? 0U : 1U;
    return count;
}

std::uint64_t step_tree::redo_depth() const {
    std::uint64_t count = 0;
    for (std::uint64_t next = forth(present_); next != 0 && !at(next).is_migrated; next = forth(next))
        count += at(next).is_hidden ? 0U : 1U;
    std::uint64_t here = present_;
    while (at(here).is_hidden)
        here = at(here).parent;
    return here == states_.begin()->first && redo_beyond_ != 0 ? redo_beyond_ : count;
}

std::uint64_t step_tree::before_present(std::uint64_t steps) const {
    std::uint64_t found = present_;
    for (std::uint64_t all = with_hidden(steps); all != 0; --all)
        found = at(found).parent;
    return found;
}

std::uint64_t step_tree::with_hidden(std::uint64_t steps) const {
    std::uint64_t all = 0;
    for (std::uint64_t here = present_; steps != 0; here = at(here).parent) {
        steps -= at(here).is_hidden ? 0U : 1U;
        ++all;
    }
    return all;
}

// H10: a redo includes the hidden steps that follow its last step.
std::uint64_t step_tree::after_present(std::uint64_t steps) const {
    std::uint64_t found = present_;
    if (steps == 0)
        return found;
    while (steps != 0) {
        found = forth(found);
        steps -= at(found).is_hidden ? 0U : 1U;
    }
    while (at(found).next != 0 && at(at(found).next).is_hidden)
        found = at(found).next;
    return found;
}

// H10: at the end of hidden steps, redo goes on from where they began.
std::uint64_t step_tree::forth(std::uint64_t state) const {
    if (at(state).next != 0)
        return at(state).next;
    for (std::uint64_t here = state; at(here).is_hidden; here = at(here).parent) {
        const std::uint64_t next = at(at(here).parent).next;
        if (next != here)
            return next;
    }
    return 0;
}

std::optional<std::uint64_t> step_tree::find(std::uint64_t version) const {
    if (states_.contains(version))
        return version;
    const auto found =
        std::ranges::find_if(states_, [&](const auto& each) { return each.second.last_version == version; });
    return found == states_.end() ? std::nullopt : std::optional(found->first);
}

std::optional<std::uint64_t> step_tree::left_branch() const {
    for (std::uint64_t here = present_; here != 0; here = at(here).parent) {
        std::uint64_t left = at(here).left;
        if (left == 0 || !states_.contains(left))
            continue;
        while (at(left).next != 0)
            left = at(left).next;
        return is_across_migration(left) ? std::nullopt : std::optional(left);
    }
    return std::nullopt;
}

bool step_tree::is_shown(const states::value_type& state) const {
    return !state.second.is_hidden || !state.second.kept.empty();
}

std::uint64_t step_tree::shown_from(std::uint64_t state) const {
    while (!is_shown(*states_.find(state)))
        state = at(state).parent;
    return state;
}

std::vector<step_info> step_tree::list() const {
    std::vector<step_info> all;
    all.reserve(states_.size());
    const std::uint64_t present = shown_from(present_);
    for (const auto& state : states_) {
        const auto& [version, each] = state;
        if (is_shown(state))
            all.push_back({version, each.parent == 0 ? std::nullopt : std::optional(shown_from(each.parent)), each.name,
                           each.time, each.bytes, version == present, each.kept});
    }
    return all;
}

// Returns the state where the paths from the oldest state to these two part.
std::uint64_t step_tree::meeting_of(std::uint64_t one, std::uint64_t other) const {
    while (one != other) { // H3: the later of two states is not on the path to the earlier one
        std::uint64_t& later = one > other ? one : other;
        later = at(later).parent;
    }
    return one;
}

std::vector<std::uint64_t> step_tree::steps_on_path_to(std::uint64_t state) const {
    const std::uint64_t meeting = meeting_of(present_, state);
    std::vector<std::uint64_t> steps;
    for (std::uint64_t here = present_; here != meeting; here = at(here).parent)
        steps.push_back(here);
    const auto forth = static_cast<std::ptrdiff_t>(steps.size());
    for (std::uint64_t here = state; here != meeting; here = at(here).parent)
        steps.push_back(here);
    std::reverse(steps.begin() + forth, steps.end());
    return steps;
}

bool step_tree::is_across_migration(std::uint64_t state) const {
    return migrations_ != 0 &&
           std::ranges::any_of(steps_on_path_to(state), [&](std::uint64_t version) { return at(version).is_migrated; });
}

// Joins deltas, so that the events of a checkout do not depend on whether the step's deltas were joined before.
std::vector<step_tree::path_part> step_tree::path_to(std::uint64_t state) const {
    std::vector<path_part> way;
    for (const std::uint64_t version : steps_on_path_to(state)) {
        const known_state& step = at(version);
        if (step.deltas.size() == 1) {
            way.emplace_back(version, step.is_on_path, step.deltas.front());
            continue;
        }
        for (delta& each : in_order_of_passage(step))
            way.emplace_back(version, step.is_on_path, std::move(each));
    }
    return way;
}

// Going to another state changes the steps only here. So all processes that share the heap get the same steps, even if
// one of them failed on a path. A path has at most as many parts over a step as the step has deltas, since joining adds
// no deltas.
void step_tree::go_over(std::span<const path_part> way, std::span<delta> path_back) noexcept {
    for (std::size_t first = 0; first != way.size();) {
        std::size_t end = first;
        while (end != way.size() && way[end].step() == way[first].step())
            ++end;
        known_state& step = at(way[first].step());
        step.deltas.erase(std::next(step.deltas.begin(), static_cast<std::ptrdiff_t>(end - first)), step.deltas.end());
        std::size_t next = first;
        for (delta& each : step.deltas) { // in the order of the commits
            each = std::move(path_back[way[first].leads_back() ? end - 1 - (next - first) : next]);
            ++next;
        }
        count_bytes(step); // H7: a call may have become bytes
        first = end;
    }
}

const procedure_call* step_tree::call_on_path_to(std::uint64_t state) const {
    for (const std::uint64_t version : steps_on_path_to(state)) {
        for (const delta& each : at(version).deltas) {
            if (each.call() != nullptr)
                return each.call();
        }
    }
    return nullptr;
}

// H1
result<std::vector<const delta*>> step_tree::deltas_to(std::uint64_t state, const std::string& path) const {
    if (const procedure_call* const call = call_on_path_to(state))
        return fail(errc::no_step,
                    "the history of " + path + " has a call of the procedure \"" + call->name +
                        "\" on the path to version " + std::to_string(state) +
                        ", and not the bytes that it changed. Let the program go there, which calls the procedure or "
                        "its inverse; or keep a version before such calls: then it has the bytes.",
                    path);
    std::vector<const delta*> way;
    for (const std::uint64_t version : steps_on_path_to(state)) {
        const known_state& step = at(version);
        const auto first = static_cast<std::ptrdiff_t>(way.size());
        for (const delta& each : step.deltas)
            way.push_back(&each);
        if (step.is_on_path)
            std::reverse(way.begin() + first, way.end());
    }
    return way;
}

result<delta> step_tree::whole_path_to(std::uint64_t state, const std::string& path) const {
    auto way = deltas_to(state, path);
    if (!way)
        return way.error();
    return delta::merged(*way);
}

void step_tree::check_out(std::uint64_t to, std::uint64_t version) noexcept {
    const std::uint64_t left = present_;
    const std::uint64_t meeting = meeting_of(present_, to);
    for (std::uint64_t from : {present_, to}) { // `to` last, since it decides where redo() leads
        for (std::uint64_t here = from; here != meeting; here = at(here).parent)
            lead_to(here, here == from);
    }
    for (std::uint64_t here = present_; here != meeting; here = at(here).parent)
        set_on_path(at(here), false);
    for (std::uint64_t here = to; here != meeting; here = at(here).parent)
        set_on_path(at(here), true);
    present_ = to;
    at(to).last_version = version;
    return_to(states_.find(to));
    drop_hidden_end(left);
}

// H10: a hidden step at the end of a path does not change where redo() leads, if that is another step.
void step_tree::lead_to(std::uint64_t state, bool is_end) noexcept {
    std::uint64_t& next = at(at(state).parent).next;
    if (next == 0 || !is_end || !at(state).is_hidden)
        next = state;
}

// H10: removes hidden steps at the end of a branch beside the path, since neither undo nor redo leads to them again.
void step_tree::drop_hidden_end(std::uint64_t state) noexcept {
    while (state != present_) {
        const auto found = states_.find(state);
        const known_state& end = found->second;
        if (!end.is_hidden || end.children != 0 || !may_go(*found) || at(end.parent).next == state)
            return;
        const std::uint64_t parent = end.parent;
        if (parent != present_)
            at(parent).last_version = end.last_version;
        erase_end(found);
        remove_if_passed(parent);
        if (!states_.contains(parent))
            return;
        state = parent;
    }
}

} // namespace remanence::history
