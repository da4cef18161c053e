// Removes steps when there are more than the limits allow, and keeps states that have a name.

#include "history/step_tree.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace remanence::history {

bool step_tree::is_too_much() const {
    return (most_.steps_max != 0 && steps_ > most_.steps_max) || (most_.bytes_max != 0 && bytes_ > most_.bytes_max);
}

// H4: a step counts for the limits unless it begins at a passed state. H10: a hidden step never counts.
void step_tree::count(known_state& step, bool counts) noexcept {
    counts = counts && !step.is_hidden;
    if (step.is_counted == counts)
        return;
    step.is_counted = counts;
    if (counts) {
        ++steps_;
        bytes_ += step.bytes;
    } else {
        --steps_;
        bytes_ -= step.bytes;
    }
}

void step_tree::set_on_path(known_state& state, bool is) noexcept {
    state.is_on_path = is;
    if (state.is_hidden)
        return;
    if (is)
        ++steps_on_way_;
    else
        --steps_on_way_;
}

void step_tree::set_migrated(known_state& state, bool is) noexcept {
    if (state.is_migrated == is)
        return;
    state.is_migrated = is;
    if (is)
        ++migrations_;
    else
        --migrations_;
}

// The second oldest state is a child of the oldest one (H3). If this child is on the path to the present state, the
// oldest state is removed. Otherwise the child begins a branch beside that path, whose ends are removed first.
bool step_tree::let_one_go() noexcept {
    const auto oldest = std::ranges::find_if(states_, [](const auto& each) { return !each.second.is_passed; });
    if (oldest->first == present_)
        return false;
    if (may_go(*oldest) && oldest->second.children > 1) {
        if (!std::next(oldest)->second.is_on_path) {
            if (erase_end_of_branch())
                return true;
        } else {
            erase_branches_of(oldest);
        }
    }
    if (may_go(*oldest) && oldest->second.children <= 1)
        remove(oldest);
    else
        pass(oldest);
    return true;
}

bool step_tree::may_go(const states::value_type& state) const {
    return state.second.kept.empty() && state.first != present_;
}

// H4
void step_tree::pass(states::iterator which) noexcept {
    which->second.is_passed = true;
    for (auto each = std::next(which); each != states_.end(); ++each) {
        if (each->second.parent == which->first)
            count(each->second, false);
    }
}

// H4: the state has become the present one again, where the next commit begins. So it no longer counts as passed.
void step_tree::return_to(states::iterator which) noexcept {
    if (!std::exchange(which->second.is_passed, false))
        return;
    for (auto each = std::next(which); each != states_.end(); ++each) {
        if (each->second.parent == which->first)
            count(each->second, true);
    }
}

// Erases the branches that begin at this state, except those that lead to the present state or to kept ones.
void step_tree::erase_branches_of(states::iterator which) noexcept {
    for (auto& [version, state] : states_) // parents first
        state.is_in_branch = version > which->first && !state.is_on_path &&
                             (state.parent == which->first || at(state.parent).is_in_branch);
    for (auto each = states_.end(); each != std::next(which);) { // children first
        --each;
        if (!each->second.is_in_branch || each->second.children != 0 || !may_go(*each))
            continue;
        const auto next = std::next(each);
        erase_end(each);
        each = next;
    }
}

bool step_tree::erase_end_of_branch() noexcept {
    const auto end =
        std::ranges::find_if(states_, [&](const auto& each) { return each.second.children == 0 && may_go(each); });
    if (end == states_.end())
        return false;
    const std::uint64_t parent = end->second.parent;
    erase_end(end);
    remove_if_passed(parent);
    return true;
}

void step_tree::erase_end(states::iterator which) noexcept {
    known_state& parent = at(which->second.parent);
    --parent.children;
    if (parent.next == which->first)
        parent.next = 0;
    count(which->second, false);
    set_migrated(which->second, false);
    states_.erase(which);
}

step_tree::states::iterator step_tree::child_of(states::iterator which) {
    if (which->second.next != 0)
        return states_.find(which->second.next);
    return std::find_if(std::next(which), states_.end(),
                        [&](const auto& each) { return each.second.parent == which->first; });
}

const step_tree::known_state& step_tree::child_on_path(std::uint64_t state) const {
    const auto is_it = [&](const auto& each) { return each.second.parent == state && each.second.is_on_path; };
    return std::find_if(states_.upper_bound(state), states_.end(), is_it)->second;
}

// Removes a state, and joins its step to that of its child, if there is one. Precondition: may_go() is true, and no
// branch begins at the state.
void step_tree::remove(states::iterator which) noexcept {
    known_state& state = which->second;
    const std::uint64_t parent = state.parent;
    if (state.children == 0) {
        erase_end(which);
        return remove_if_passed(parent);
    }
    const auto child = child_of(which);
    const auto seen = [](const known_state& step) { return step.is_hidden ? 0U : 1U; };
    if (child->second.is_on_path)
        steps_on_way_ -= seen(child->second) + (parent != 0 ? seen(state) : 0U);
    count(state, false);
    if (parent != 0) {
        join_to_child(state, child);
        if (at(parent).next == which->first)
            at(parent).next = child->first;
        if (child->second.is_on_path)
            steps_on_way_ += seen(child->second);
    } else {
        count(child->second, false);
        child->second.bytes = 0;
        child->second.deltas.clear();
        child->second.left = 0;
        child->second.is_hidden = false;    // no step leads to the oldest state
        set_migrated(child->second, false); // no state from before the migration is left
        if (child->first == group_step_)
            // This step is lost. A step of the group's later commits alone would undo only a part of the group.
            is_group_lost_ = true;
    }
    child->second.parent = parent;
    set_migrated(state, false);
    states_.erase(which);
}

void step_tree::join_to_child(known_state& step, states::iterator child) noexcept {
    known_state& whole = child->second;
    count(whole, false);
    whole.deltas.splice(whole.deltas.begin(), step.deltas);
    whole.bytes += step.bytes;
    whole.left = step.left;
    whole.is_hidden = whole.is_hidden && step.is_hidden;
    set_migrated(whole, whole.is_migrated || step.is_migrated);
    merge(whole);
    count(whole, !at(step.parent).is_passed);
}

// Joins deltas only once those after the first one are together as large as the first. A kept state's deltas grow with
// each step that is removed, and copying them each time would take quadratic time.
void step_tree::merge(known_state& step) noexcept {
    const std::uint64_t first = step.deltas.front().bytes();
    if (step.bytes - first < first)
        return;
    try {
        make_one(step);
    } catch (const std::bad_alloc&) {
        has_lacked_memory_ = true;
    }
}

// Deltas that lead back are applied in reverse order, so where they overlap, the first commit's bytes count.
std::list<delta> step_tree::in_order_of_passage(const known_state& step) {
    std::vector<const delta*> deltas;
    for (const delta& each : step.deltas)
        deltas.push_back(&each);
    if (step.is_on_path)
        std::ranges::reverse(deltas);
    return delta::joined(deltas);
}

void step_tree::make_one(known_state& step) {
    std::list<delta> one = in_order_of_passage(step);
    if (step.is_on_path)
        one.reverse();
    replace(step, std::move(one));
}

void step_tree::replace(known_state& step, std::list<delta> by) noexcept {
    step.deltas.swap(by);
    count_bytes(step);
}

void step_tree::count_bytes(known_state& step) noexcept {
    const bool counts = step.is_counted;
    count(step, false);
    step.bytes = 0;
    for (const delta& each : step.deltas)
        step.bytes += each.bytes();
    count(step, counts);
}

// H4: a passed state may be removed once it is not kept and no branch begins there.
void step_tree::remove_if_passed(std::uint64_t version) noexcept {
    const auto found = states_.find(version);
    if (found != states_.end() && found->second.is_passed && may_go(*found) && found->second.children <= 1)
        remove(found);
}

void step_tree::forget() noexcept {
    for (auto each = states_.end(); each != states_.begin();) { // children first
        --each;
        if (each->second.children != 0 || !may_go(*each) || each->second.parent == 0)
            continue;
        const auto next = std::next(each);
        erase_end(each);
        each = next;
    }
    for (auto each = states_.begin(); each != states_.end();) {
        const auto here = each++;
        if (may_go(*here) && here->second.children <= 1)
            remove(here);
        else if (here->first != present_)
            pass(here);
    }
    is_group_lost_ = is_group_lost_ || group_step_ != 0;
    group_step_ = 0;
}

void step_tree::keep(std::string name) noexcept {
    at(present_).kept = std::move(name);
    ++kept_;
}

void step_tree::drop(std::uint64_t state) noexcept {
    at(state).kept.clear();
    --kept_;
    remove_if_passed(state);
    // While the state was kept or the present one, limits could not remove it.
    if (most_.then == when_full::oldest_go)
        drop_what_is_too_much();
}

std::string_view step_tree::name_of_kept(std::uint64_t state) const {
    const auto found = states_.find(state);
    return found == states_.end() ? std::string_view() : found->second.kept;
}

std::optional<std::uint64_t> step_tree::find_kept(std::string_view name) const {
    const auto found = std::ranges::find_if(states_, [&](const auto& each) { return each.second.kept == name; });
    return found == states_.end() || name.empty() ? std::nullopt : std::optional(found->first);
}

std::vector<kept_info> step_tree::list_kept() const {
    std::vector<kept_info> all;
    for (const auto& [version, each] : states_) {
        if (each.kept.empty())
            continue;
        std::uint64_t parent = each.parent;
        while (parent != 0 && at(parent).kept.empty())
            parent = at(parent).parent;
        const bool leads_back = each.is_on_path && version != present_; // H1
        all.push_back({version, parent == 0 ? std::nullopt : std::optional(parent), each.kept, each.time,
                       leads_back        ? child_on_path(version).bytes
                       : each.is_on_path ? 0
                                         : each.bytes});
    }
    return all;
}

std::optional<std::uint64_t> step_tree::in_the_way_of_squash(std::uint64_t steps) const {
    std::uint64_t here = present_;
    for (std::uint64_t left = with_hidden(steps); left > 1; --left) {
        here = at(here).parent;
        if (!at(here).kept.empty() || at(here).children > 1)
            return here;
    }
    return std::nullopt;
}

std::list<delta> step_tree::squashed(std::uint64_t steps) const {
    std::vector<const delta*> deltas;
    std::uint64_t left = with_hidden(steps);
    for (std::uint64_t here = present_; left != 0; here = at(here).parent, --left) {
        const std::list<delta>& step = at(here).deltas;
        for (auto each = step.rbegin(); each != step.rend(); ++each)
            deltas.push_back(&*each);
    }
    std::list<delta> joined = delta::joined(deltas); // in the order that leads back
    joined.reverse();
    return joined;
}

void step_tree::squash(std::uint64_t steps, std::list<delta> as_one) noexcept {
    known_state& whole = at(present_);
    std::uint64_t left = with_hidden(steps);
    set_on_path(whole, false);
    count(whole, false);
    for (; left > 1; --left) {
        const auto before = states_.find(whole.parent);
        known_state& step = before->second;
        if (whole.name.empty())
            whole.name.swap(step.name);
        count(step, false);
        set_on_path(step, false);
        whole.parent = step.parent;
        whole.left = step.left;
        at(whole.parent).next = present_;
        states_.erase(before);
    }
    whole.is_hidden = false;
    set_on_path(whole, true);
    count(whole, !at(whole.parent).is_passed); // H4
    replace(whole, std::move(as_one));
}

} // namespace remanence::history
