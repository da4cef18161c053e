#include "explorer.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "testing/crash_walk.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

namespace remanence::crash {

namespace {

char g_current_state[256];

/// The promise that holds after each number of operations.
std::vector<promise> promises_by_position(const trace& operations, const history& made) {
    std::vector<promise> at{made.front()};
    for (const auto& operation : operations)
        at.push_back(operation.what == simulation::disk_operation::kind::marker ? made[operation.bytes] : at.back());
    return at;
}

std::string excerpt(const trace& operations, std::uint32_t position, const std::vector<std::uint32_t>& pending,
                    const persisting& kept) {
    constexpr std::uint32_t k_lines = 12;
    std::string text;
    for (std::uint32_t i = position > k_lines ? position - k_lines : 0; i < position; i++) {
        const bool unsynced = std::find(pending.begin(), pending.end(), i) != pending.end();
        std::string fate;
        if (unsynced) {
            fate = "lost: ";
            for (const simulation::persisted_part& part : kept.parts)
                if (part.operation == i)
                    fate = part == simulation::persisted_part{.operation = i} ? "kept: " : "in part: ";
        }
        text += "    " + std::to_string(i) + ' ' + fate + operations[i].describe() + '\n';
    }
    return text + "    what is not synced: " + std::string(name_of(kept.kind)) + '\n';
}

/// States to be tried, by level.
using budgets = std::array<std::uint64_t, k_levels>;

std::uint64_t hash_of(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const char c : text)
        h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return h ^ (h >> 32);
}

class explorer {
public:
    explorer(const workload& tested, const exploration& how) : tested_(tested), how_(how), random_(how.seed) {
        disk_.set_after_failed_sync(tested.after_failed_sync);
        if (!tested.durable_writes)
            disk_.refuse_durable_writes();
        if (!how.dropped_site.empty())
            disk_.drop_at(how.dropped_site);
        std::uint64_t runs_of_phase = 1;
        for (std::size_t phase = 0; phase < tested.phases.size(); phase++, runs_of_phase *= tested.restarts)
            runs_ += runs_of_phase;
    }

    exploration_report run() {
        try {
            run_phase(0, promise{});
        } catch (const violation& found) {
            report_.violation = std::string(found.what()) + "\n  replay with --replay='" + current_state() +
                                "' and seed " + std::to_string(how_.seed) + '\n';
        }
        return std::move(report_);
    }

private:
    void run_phase(std::size_t phase, const promise& first) {
        name_state(tested_.name + '#' + std::to_string(phase));
        history past{first};
        trace operations = record(phase, past);
        if (how_.performed)
            operations = how_.performed(std::move(operations));
        note_call_sites(operations);
        report_.operations += operations.size();
        const auto promises = promises_by_position(operations, past);
        const crash_states states(operations, tested_.after_failed_sync, how_.seed + phase);

        // Shared out among the levels, as far as there are as many states.
        std::uint64_t left = how_.states / runs_;
        budgets budget{};
        for (std::size_t level = 0; level < how_.levels; level++) { // in parts of 4, 3, 2 and 1
            const std::uint64_t parts = how_.levels - level;
            budget[level] = left * 2 / (parts + 1);
            if (level == 0)
                budget[level] = std::min(budget[level], states.count());
            left -= budget[level];
        }
        (void)try_states(0, operations, promises, states, budget, tested_.name + '#' + std::to_string(phase),
                         [] { return std::string(); });
        if (phase + 1 == tested_.phases.size())
            return;

        // The next phase goes on from some of these states.
        for (const crash_state& from : states.sample(tested_.restarts, random_.next())) {
            simulation::crash_walk walk(disk_, operations);
            walk.advance_to(from.position);
            walk.build(states.choose(from, walk.pending()).parts);
            run_phase(phase + 1, promises[from.position]);
        }
    }

    /// Runs a phase for real, takes everything back and returns what was done.
    trace record(std::size_t phase, history& past) {
        const auto start = disk_.now();
        (void)disk_.take_trace();
        {
            session program(disk_, tested_.open, past, how_.seed + 1000 * phase);
            tested_.phases[phase](program);
        }
        trace operations = disk_.take_trace();
        disk_.rewind(start);
        return operations;
    }

    void note_call_sites(const trace& operations) {
        for (const auto& operation : operations)
            if (operation.what != simulation::disk_operation::kind::create &&
                operation.what != simulation::disk_operation::kind::marker)
                report_.call_sites.emplace(operation.where.name(), simulation::name_of(operation.what));
    }

    /// `budget`: states to be tried from here on, of this level and of those below. Returns what was not used of it.
    budgets try_states(std::size_t level, const trace& operations, const std::vector<promise>& promises,
                       const crash_states& states, budgets budget, const std::string& prefix,
                       const std::function<std::string()>& before) {
        report_.levels[level].possible += states.count();
        const auto chosen = how_.only.empty() ? states.sample(budget[level], random_.next()) : wanted(states, prefix);
        budgets due{}; // in parts of chosen.size()
        simulation::crash_walk walk(disk_, operations);
        for (const crash_state& tried : chosen) {
            budgets below{};
            for (std::size_t i = level + 1; i < below.size(); i++) {
                due[i] += budget[i];
                below[i] = due[i] / chosen.size();
                due[i] %= chosen.size();
            }
            walk.advance_to(tried.position);
            const persisting kept = states.choose(tried, walk.pending());
            walk.build(kept.parts);
            const auto describe = [&] {
                return before() +
                       (level == 0 ? "  after these operations of the workload:\n"
                                   : "  and then these of the recovery:\n") +
                       excerpt(operations, tried.position, walk.pending(), kept);
            };
            const budgets unused =
                try_state(level, promises[tried.position], kept.kind, below, prefix + ':' + tried.name(), describe);
            for (std::size_t i = level + 1; i < due.size(); i++) // the next state gets it
                due[i] += unused[i] * chosen.size();
        }
        budgets unused = budget;
        if (!chosen.empty()) {
            unused[level] -= std::min<std::uint64_t>(chosen.size(), unused[level]);
            for (std::size_t i = level + 1; i < due.size(); i++)
                unused[i] = due[i] / chosen.size();
        }
        return unused;
    }

    /// The one state on the way to the one that is asked for.
    [[nodiscard]] std::vector<crash_state> wanted(const crash_states& states, const std::string& prefix) const {
        if (!how_.only.starts_with(prefix + ':'))
            return {};
        crash_state asked;
        unsigned long long number = 0;
        if (std::sscanf(how_.only.c_str() + prefix.size() + 1, "%u/%llu", &asked.position, &number) != 2)
            return {};
        asked.number = number;
        if (!states.has(asked))
            return {};
        return {asked};
    }

    /// Returns what was not used of `below`.
    template <class Describe>
    budgets try_state(std::size_t level, const promise& given, state_class kind, const budgets& below,
                      const std::string& name, const Describe& describe) {
        const bool goes_on = how_.only.empty() ? level + 1 < how_.levels && below[level + 1] > 0 : how_.only != name;
        level_counts& counts = report_.levels[level];
        const std::array<std::uint64_t, 2> identity{disk_.fingerprint(), given.fingerprint()};
        const auto [earlier, is_new] = tried_.try_emplace(checksum64(std::as_bytes(std::span(identity))));
        verdict& known = earlier->second;
        if (!is_new && how_.only.empty() && (!goes_on || known.gone_on_from)) {
            counts.tried[static_cast<std::size_t>(kind)][static_cast<std::size_t>(known.how)]++;
            return below;
        }
        history found{given};
        trace recovery;
        try {
            recovery = check(given, found, name, known.how);
        } catch (const violation& broken) {
            throw violation(std::string(broken.what()) + '\n' + describe());
        }
        counts.different += is_new ? 1U : 0U;
        counts.tried[static_cast<std::size_t>(kind)][static_cast<std::size_t>(known.how)]++;
        if (!goes_on)
            return below;
        known.gone_on_from = true;

        // What this recovery found is the most that a later one may find while nobody has seen it.
        if (given.acknowledged_content != nullptr)
            found[0] = given.up_to(found[1].in_flight);
        return try_states(level + 1, recovery, promises_by_position(recovery, found),
                          crash_states(recovery, tested_.after_failed_sync, how_.seed), below, name, describe);
    }

    /// The disk is as the loss left it, and is so again afterwards. Returns what opening and one more commit did.
    trace check(const promise& given, history& past, const std::string& name, outcome& how) {
        name_state(name);
        const bool absent = !*disk_.exists(session::k_path);
        const auto start = disk_.now();
        (void)disk_.take_trace();
        trace operations;
        {
            session program(disk_, tested_.open, past, how_.seed ^ (given.acknowledged << 8));
            constexpr std::uint64_t k_looked_at_every = 4;
            if (!how_.only.empty() || hash_of(name) % k_looked_at_every == 1) {
                program.look_at_versions();
                (void)disk_.take_trace();
            }
            program.open();
            const std::uint64_t version = program.opened().version();
            how = outcome::in_flight;
            if (absent)
                how = outcome::absent;
            else if (!given.created)
                how = outcome::created;
            else if (version == given.acknowledged)
                how = outcome::acknowledged;
            program.verify();

            program.change_anything();
            program.commit();
            operations = disk_.take_trace();
            // The end of the next level's traces is much the same: so not each time.
            constexpr std::uint64_t k_closed_every = 4;
            if (!how_.only.empty() || hash_of(name) % k_closed_every == 0) {
                program.close();
                program.open();
                program.verify();
            }
            program.go_through_history();
        }
        (void)disk_.take_trace();
        disk_.rewind(start);
        return operations;
    }

    static void name_state(const std::string& name) {
        std::snprintf(g_current_state, sizeof g_current_state, "%s", name.c_str());
    }

    const workload& tested_;
    const exploration& how_;
    generator random_;
    simulation::simulated_disk disk_;
    std::uint64_t runs_ = 0; // of phases, in all
    struct verdict {
        outcome how = outcome::acknowledged;
        bool gone_on_from = false; // the states of its recovery were tried, too
    };
    std::unordered_map<std::uint64_t, verdict> tried_; // by a hash of disk and promise
    exploration_report report_;
};

} // namespace

std::uint64_t level_counts::states() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < k_outcomes; i++)
        sum += of(static_cast<outcome>(i));
    return sum;
}

std::uint64_t level_counts::of(outcome which) const {
    std::uint64_t sum = 0;
    for (const auto& of_class : tried)
        sum += of_class[static_cast<std::size_t>(which)];
    return sum;
}

std::uint64_t level_counts::of(state_class which) const {
    const auto& of_class = tried[static_cast<std::size_t>(which)];
    return std::accumulate(of_class.begin(), of_class.end(), std::uint64_t{0});
}

void level_counts::operator+=(const level_counts& other) {
    possible += other.possible;
    different += other.different;
    for (std::size_t i = 0; i < k_state_classes; i++)
        for (std::size_t j = 0; j < k_outcomes; j++)
            tried[i][j] += other.tried[i][j];
}

std::string exploration_report::summary(std::string_view name) const {
    std::string text = std::string(name) + ": " + std::to_string(operations) + " operations\n";
    for (std::size_t i = 0; i < levels.size(); i++) {
        const level_counts& at = levels[i];
        text += "  level " + std::to_string(i + 1) + ": " + std::to_string(at.states()) + " of " +
                std::to_string(at.possible) + " states tried, " + std::to_string(at.different) +
                " of them unlike any before: last acknowledged commit " + std::to_string(at.of(outcome::acknowledged)) +
                ", the one in flight " + std::to_string(at.of(outcome::in_flight)) + ", created unacknowledged " +
                std::to_string(at.of(outcome::created)) + ", absent " + std::to_string(at.of(outcome::absent)) +
                "\n   ";
        for (std::size_t kind = 0; kind < k_state_classes; kind++)
            text += (kind == 0 ? " " : ", ") + std::string(name_of(static_cast<state_class>(kind))) + ' ' +
                    std::to_string(at.of(static_cast<state_class>(kind)));
        text += '\n';
    }
    return text;
}

exploration_report explore(const workload& tested, const exploration& how) { return explorer(tested, how).run(); }

const char* current_state() { return g_current_state; }

} // namespace remanence::crash
