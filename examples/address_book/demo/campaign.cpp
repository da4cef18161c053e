#include "campaign.hpp"

#include "../terminal.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::nanoseconds;
using terminal::bytes;
using terminal::counted;
using terminal::duration;
using terminal::grouped;
using terminal::right_aligned;

/// Of the table of kills: entries acknowledged and found, commits and bytes recovered, time to open.
std::string table_row(std::string_view kill, std::string_view acknowledged, std::string_view found,
                      std::string_view commits, std::string_view bytes, std::string_view time) {
    return right_aligned(kill, 6) + right_aligned(acknowledged, 14) + right_aligned(found, 11) +
           right_aligned(commits, 14) + right_aligned(bytes, 12) + right_aligned(time, 11);
}

} // namespace

void campaign::run() {
    out_.line(out_.look().faint(table_row("kill", "acknowledged", "found", "recovered", "", "opened in")));
    while (run_once(next_plan())) {
    }
    if (counted_ < chosen_.kills)
        out_.problem("only " + grouped(counted_) + " of " + grouped(chosen_.kills) + " kills hit the importer in time");
}

campaign::plan campaign::next_plan() {
    // The latest kill is not counted yet, but unless it was the last it will be, and else the import is complete.
    const std::uint64_t had = counted_ + (killed_after_commit_ ? 1 : 0);
    if (had >= chosen_.kills)
        return {.kills = false, .commits = 0, .delay = {}};
    const std::uint64_t kills_left = chosen_.kills - had;
    // One in five strikes anywhere from the start of the process on, so that recovery itself is cut short too.
    if (runs_ > 0 && random_.below(5) == 0)
        return {.kills = true, .commits = 0, .delay = random_time(opening_ * 3 / 2)};
    // The others are spread over what is left; four commits stay for each, since some pass before the signal arrives.
    const std::uint64_t commits_left = (chosen_.entries - acknowledged_ + chosen_.batch - 1) / chosen_.batch;
    const std::uint64_t kept = 4 * kills_left;
    const std::uint64_t spare = commits_left > kept ? commits_left - kept : 1;
    const std::uint64_t most = std::max<std::uint64_t>(1, std::min(spare, 2 * commits_left / (kills_left + 1)));
    return {.kills = true, .commits = 1 + random_.below(most), .delay = random_time(commit_ * 5 / 4)};
}

/// False when the import was complete.
bool campaign::run_once(const plan& when) {
    const auto begin = clock_type::now();
    ++runs_;
    importer child(tool_, chosen_.book,
                   {"--batch", std::to_string(chosen_.batch), "--entries", std::to_string(chosen_.entries)});
    std::uint64_t commits = 0;
    clock_type::time_point first_commit;
    const auto strike = [&] {
        std::this_thread::sleep_for(when.delay);
        child.kill();
    };
    if (when.kills && when.commits == 0)
        strike();
    while (const std::optional<import_event> event = child.next()) {
        if (event->opened) {
            opening_ = clock_type::now() - begin;
            check_opening(*event);
            continue;
        }
        const auto now = clock_type::now();
        if (++commits == 1)
            first_commit = now;
        else
            commit_ = (now - first_commit) / static_cast<std::int64_t>(commits - 1);
        acknowledged_ = event->imported;
        out_.progress(acknowledged_, "killed " + counted(counted_, "time"));
        if (when.kills && commits == when.commits)
            strike();
    }
    const import_end end = child.wait();
    time_ += clock_type::now() - begin;
    if (!end.killed && end.exit_status != 0)
        throw std::runtime_error("the importer failed with exit status " + std::to_string(end.exit_status));
    killed_runs_ += end.killed;
    killed_after_commit_ = killed_after_commit_ || (end.killed && commits > 0);
    return end.killed;
}

void campaign::check_opening(const import_event& opening) {
    open_times_.push_back(opening.open_time);
    // A kill after the run's first commit counts, once it shows that it also was before the last.
    const bool counts = killed_after_commit_ && opening.imported < chosen_.entries;
    counted_ += counts;
    if (killed_runs_ > 0)
        show_recovery(opening, counts);
    killed_runs_ = 0;
    killed_after_commit_ = false;

    if (opening.imported < acknowledged_)
        out_.problem(grouped(acknowledged_) + " entries were acknowledged, " + grouped(opening.imported) + " are left");
    if (opening.imported > acknowledged_ + chosen_.batch)
        out_.problem("there is more than one commit that was not acknowledged");
    if (opening.imported % chosen_.batch != 0 && opening.imported != chosen_.entries)
        out_.problem("a batch is there in part: " + grouped(opening.imported) + " entries");
    if (opening.found != opening.imported)
        out_.problem(grouped(opening.imported) + " entries were imported, but " + grouped(opening.found) + " found");
    acknowledged_ = std::max(acknowledged_, opening.imported);
}

void campaign::show_recovery(const import_event& opening, bool counts) {
    out_.line(table_row(counts ? std::to_string(counted_) : "-", grouped(acknowledged_), grouped(opening.found),
                        counted(opening.commits, "commit"), bytes(opening.bytes), duration(opening.open_time)));
}

nanoseconds campaign::random_time(nanoseconds most) {
    return nanoseconds(random_.below(static_cast<std::uint64_t>(most.count()) + 1));
}
