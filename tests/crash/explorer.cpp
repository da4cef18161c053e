#include "explorer.hpp"

#include "base/assert.hpp"
#include "os/crash_walk.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace remanence::crash {

namespace {

using trace = std::vector<os::disk_operation>;

char g_current_state[256];

struct state {
    std::uint32_t position = 0;
    enum class form : std::uint8_t { torn, newest, whole, synced } kept = form::whole;
    std::uint32_t sectors = 0; // of torn

    [[nodiscard]] std::string name() const {
        const std::string at = std::to_string(position);
        if (kept == form::torn)
            return at + "/torn:" + std::to_string(sectors);
        return at + (kept == form::whole ? "/whole" : kept == form::newest ? "/newest" : "/synced");
    }
};

/// Sectors after which a write is torn: each boundary of a short one; of a long one the first, the last and a few more.
std::vector<std::uint32_t> tears(std::uint32_t sectors, generator& random) {
    constexpr std::uint32_t k_all_boundaries_max = 9;
    constexpr std::size_t k_sampled = 3;
    std::vector<std::uint32_t> after;
    if (sectors <= k_all_boundaries_max) {
        for (std::uint32_t n = 1; n < sectors; n++)
            after.push_back(n);
        return after;
    }
    after = {1, sectors - 1};
    for (std::size_t i = 0; i < k_sampled; i++)
        after.push_back(static_cast<std::uint32_t>(1 + random.below(sectors - 1)));
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    return after;
}

/// All states of a trace, each medium once with the latest promises that hold for it, and once before each sync.
std::vector<state> states_of(const trace& operations, std::uint64_t seed) {
    generator random(seed);
    std::vector<state> all;
    std::size_t events = 0;   // changes and promises since the last state of this form
    std::size_t unsynced = 0; // changes since the last sync
    for (std::uint32_t k = 0;; k++) {
        const bool at_end = k == operations.size();
        if (at_end || operations[k].is_change() || operations[k].is_sync())
            all.push_back({.position = k});
        if ((at_end || (operations[k].is_sync() && !operations[k].failed)) && events > 0) {
            all.push_back({.position = k, .kept = state::form::synced});
            events = 0;
        }
        if (at_end)
            return all;
        if (!operations[k].is_sync())
            events++;
        if (operations[k].is_sync())
            unsynced = 0;
        if (operations[k].is_change() && unsynced++ > 0)
            all.push_back({.position = k + 1, .kept = state::form::newest});
        if (operations[k].is_change() && operations[k].is_write())
            for (const std::uint32_t n : tears(operations[k].sectors(), random))
                all.push_back({.position = k + 1, .kept = state::form::torn, .sectors = n});
    }
}

/// `wanted` of them, in order.
std::vector<state> sample(const std::vector<state>& all, std::uint64_t wanted, generator& random) {
    std::vector<state> chosen;
    for (std::size_t i = 0; i < all.size(); i++) {
        if (random.below(all.size() - i) >= wanted - chosen.size())
            continue;
        chosen.push_back(all[i]);
    }
    return chosen;
}

/// The promise that holds after each number of operations.
std::vector<promise> promises_by_position(const trace& operations, const history& made) {
    std::vector<promise> at{made.front()};
    for (const auto& operation : operations)
        at.push_back(operation.what == os::disk_operation::kind::marker ? made[operation.bytes] : at.back());
    return at;
}

std::string excerpt(const trace& operations, const state& where, const std::vector<std::uint32_t>& pending) {
    constexpr std::uint32_t k_lines = 12;
    std::string text;
    for (std::uint32_t i = where.position > k_lines ? where.position - k_lines : 0; i < where.position; i++) {
        const bool unsynced = std::find(pending.begin(), pending.end(), i) != pending.end();
        text += "    " + std::to_string(i) + (unsynced ? " (not synced) " : " ") + operations[i].describe() + '\n';
    }
    if (where.kept == state::form::torn)
        text += "    … of the last one only the first " + std::to_string(where.sectors) + " sectors\n";
    if (where.kept == state::form::newest)
        text += "    … and of what is not synced only the last one persisted\n";
    if (where.kept == state::form::synced)
        text += "    … and what is not synced is lost\n";
    return text;
}

class explorer {
public:
    explorer(const workload& tested, const exploration& how) : tested_(tested), how_(how), random_(how.seed) {
        if (!how.dropped_sync.empty())
            disk_.drop_syncs_at(how.dropped_sync);
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
    using form = state::form;

    void run_phase(std::size_t phase, const promise& first) {
        name_state(tested_.name + '#' + std::to_string(phase));
        history past{first};
        const trace operations = record(phase, past);
        note_sync_sites(operations);
        report_.operations += operations.size();
        const auto promises = promises_by_position(operations, past);
        const std::string prefix = tested_.name + '#' + std::to_string(phase) + ':';

        const std::vector<state> all = states_of(operations, how_.seed + phase);
        try_states(operations, promises, all, how_.states / runs_, prefix);
        if (phase + 1 == tested_.phases.size())
            return;

        // The next phase goes on from some of these states.
        for (const state& from : sample(all, tested_.restarts, random_)) {
            os::crash_walk walk(disk_, operations);
            build(walk, from);
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

    void note_sync_sites(const trace& operations) {
        for (const auto& operation : operations) {
            auto& sites = report_.sync_sites;
            if (operation.is_sync() && std::find(sites.begin(), sites.end(), operation.where) == sites.end())
                sites.emplace_back(operation.where);
        }
    }

    static void build(os::crash_walk& walk, const state& wanted) {
        walk.advance_to(wanted.position);
        if (wanted.kept == form::synced)
            return walk.build_synced();
        if (wanted.kept == form::newest && !walk.pending().empty()) {
            const os::persisted_part newest{.operation = walk.pending().back()};
            return walk.build({&newest, 1});
        }
        walk.build_prefix(wanted.kept == form::torn ? wanted.sectors : os::persisted_part::k_all);
    }

    void try_states(const trace& operations, const std::vector<promise>& promises, const std::vector<state>& all,
                    std::uint64_t share, const std::string& prefix) {
        report_.levels[0].possible += all.size();
        const auto chosen = sample(all, std::min<std::uint64_t>(share, all.size()), random_);
        const std::uint64_t left = share - chosen.size();
        std::uint64_t second_level_due = 0; // in parts of chosen.size()
        os::crash_walk walk(disk_, operations);
        for (const state& tried : chosen) {
            second_level_due += left;
            const std::uint64_t quota = second_level_due / chosen.size();
            second_level_due %= chosen.size();
            const std::string name = prefix + tried.name();
            if (!is_wanted(name))
                continue;
            if (how_.only_reordered && tried.kept != form::synced && tried.kept != form::newest)
                continue;
            build(walk, tried);
            try_level_1(promises[tried.position], quota, name,
                        [&] { return excerpt(operations, tried, walk.pending()); });
        }
    }

    [[nodiscard]] bool is_wanted(const std::string& name) const {
        return how_.only.empty() || how_.only == name || how_.only.starts_with(name + ':');
    }

    template <class Describe>
    void try_level_1(const promise& given, std::uint64_t quota, const std::string& name, const Describe& describe) {
        history second{given};
        trace recovery;
        try {
            recovery = check(0, given, second, name);
        } catch (const violation& found) {
            throw violation(std::string(found.what()) + "\n  after these operations of the workload:\n" + describe());
        }
        if (!how_.level_2)
            return;

        // What the first recovery found is the most that a later one may find while nobody has seen it.
        if (second[1].in_flight == given.acknowledged) {
            second[0].in_flight = given.acknowledged;
            second[0].in_flight_content = given.acknowledged_content;
        }
        const auto promises = promises_by_position(recovery, second);
        const auto all = states_of(recovery, how_.seed);
        report_.levels[1].possible += all.size();
        const bool alone = !how_.only.empty();
        const auto chosen = alone ? all : sample(all, std::min<std::uint64_t>(quota, all.size()), random_);
        os::crash_walk walk(disk_, recovery);
        for (const state& tried : chosen) {
            const std::string second_name = name + ':' + tried.name();
            if (alone && how_.only != second_name)
                continue;
            build(walk, tried);
            history third{promises[tried.position]};
            try {
                check(1, promises[tried.position], third, second_name);
            } catch (const violation& found) {
                throw violation(std::string(found.what()) + "\n  after these operations of the workload:\n" +
                                describe() + "  and then these of the recovery:\n" +
                                excerpt(recovery, tried, walk.pending()));
            }
        }
    }

    /// The disk is as the loss left it, and is so again afterwards. Returns what opening and one more commit did.
    trace check(std::size_t level, const promise& given, history& past, const std::string& name) {
        name_state(name);
        level_counts& counts = report_.levels[level];
        const bool absent = !*disk_.exists(session::k_path);
        const auto start = disk_.now();
        (void)disk_.take_trace();
        trace operations;
        {
            session program(disk_, tested_.open, past, how_.seed ^ (given.acknowledged << 8));
            program.open();
            const std::uint64_t version = program.opened().version();
            counts.states++;
            if (absent)
                counts.absent++;
            else if (!given.created)
                counts.created++;
            else if (version == given.acknowledged)
                counts.acknowledged++;
            else
                counts.in_flight++;
            program.verify();

            program.change_anything();
            program.commit();
            operations = disk_.take_trace();
            program.close();
            program.open();
            program.verify();
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
    os::simulated_disk disk_;
    std::uint64_t runs_ = 0; // of phases, in all
    exploration_report report_;
};

} // namespace

void level_counts::operator+=(const level_counts& other) {
    states += other.states;
    possible += other.possible;
    acknowledged += other.acknowledged;
    in_flight += other.in_flight;
    created += other.created;
    absent += other.absent;
}

std::string exploration_report::summary(std::string_view name) const {
    std::string text = std::string(name) + ": " + std::to_string(operations) + " operations\n";
    for (std::size_t i = 0; i < levels.size(); i++) {
        const level_counts& of = levels[i];
        text += "  level " + std::to_string(i + 1) + ": " + std::to_string(of.states) + " of " +
                std::to_string(of.possible) + " states tried: last acknowledged commit " +
                std::to_string(of.acknowledged) + ", the one in flight " + std::to_string(of.in_flight) +
                ", created unacknowledged " + std::to_string(of.created) + ", absent " + std::to_string(of.absent) +
                '\n';
    }
    return text;
}

exploration_report explore(const workload& tested, const exploration& how) { return explorer(tested, how).run(); }

const char* current_state() { return g_current_state; }

} // namespace remanence::crash
