#include "history/recent_steps.hpp"

#include "history/event.hpp"

#include <algorithm>

namespace remanence::history {

namespace {

using event_kind = format::history_event_kind;

/// Calls f(kind, event_reader&) for each event. The bytes may hold anything (I7); step_loader refuses what is not sound.
template <class F>
void for_each_event(std::span<const std::byte> events, const F& f) {
    for (event_reader rest(events); !rest.is_at_end();) {
        const auto head = rest.take<format::history_event>();
        event_reader event(rest.take(head.bytes));
        if (rest.has_failed())
            return;
        f(head.kind, event);
    }
}

/// Returns the state that memory is in after the commit; nothing if its events do not say so.
std::optional<std::uint64_t> state_after(const last_entries::entry& entry) {
    std::optional<std::uint64_t> state;
    for_each_event(entry.events, [&](event_kind kind, event_reader& event) {
        if (kind == event_kind::made || kind == event_kind::joined || kind == event_kind::lost)
            state = entry.commit.version;
        else if (kind == event_kind::checked_out)
            state = event.take<format::checkout_event>().state;
        else if (kind == event_kind::present)
            state = event.take<format::present_event>().state;
    });
    return state;
}

bool keeps(const last_entries::entry& entry, const std::string& name) {
    bool found = false;
    for_each_event(entry.events, [&](event_kind kind, event_reader& event) {
        found = found || (kind == event_kind::kept && event.take_text(event.bytes_left()) == name);
    });
    return found;
}

} // namespace

std::optional<std::size_t> recent_steps::nearest(std::span<const version_or_name> wanted) const {
    std::size_t end = entries_.size(); // the entry must lie before this one
    for (const version_or_name& each : wanted) {
        if (const auto* const version = std::get_if<std::uint64_t>(&each)) {
            while (end != 0 && entries_[end - 1].commit.version > *version)
                --end;
            continue;
        }
        std::size_t keeping = entries_.size();
        while (keeping != 0 && !keeps(entries_[keeping - 1], std::get<std::string>(each)))
            --keeping;
        end = std::min(end, keeping == 0 ? 0 : keeping - 1);
    }
    while (end != 0 && !state_after(entries_[end - 1]))
        --end;
    return end == 0 ? std::nullopt : std::optional(end - 1);
}

std::optional<std::size_t> recent_steps::first() const {
    const auto found = std::ranges::find_if(entries_, [](const auto& each) { return state_after(each).has_value(); });
    return found == entries_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - entries_.begin()));
}

// I7: the state may be any number, so this one, too, may have to be refused.
std::optional<step_loader> recent_steps::steps_from(std::size_t entry) const {
    const std::uint64_t state = *state_after(entries_[entry]);
    if (state == 0 || state > entries_[entry].commit.version) // H3
        return std::nullopt;
    std::optional<step_loader> steps(std::in_place, heap_bytes_, step_tree(most_, state));
    for (const auto& each : entries_.subspan(entry + 1)) {
        if (!steps->add(each.commit.version, each.events))
            return std::nullopt;
    }
    return steps;
}

bool has_all(const step_tree& steps, std::span<const version_or_name> wanted) {
    return std::ranges::all_of(wanted, [&](const version_or_name& each) {
        const auto* const version = std::get_if<std::uint64_t>(&each);
        return version != nullptr ? steps.find(*version).has_value()
                                  : steps.find_kept(std::get<std::string>(each)).has_value();
    });
}

} // namespace remanence::history
