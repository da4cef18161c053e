#include "commands.hpp"
#include "json.hpp"
#include "report.hpp"
#include "text.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace remanence::tool {

namespace {

using inspect::users;
using seconds = std::chrono::duration<double>;

/// Returns how long a section has lasted; 0 if the clock was set back since it began.
double age_of(const users::user& one) {
    return std::max(0.0, seconds(std::chrono::system_clock::now() - *one.since).count());
}

std::string age_text(double age) {
    return age < 60     ? fmt::format("{:.1f} s", age)
           : age < 3600 ? fmt::format("{:.0f} min", age / 60)
                        : fmt::format("{:.1f} h", age / 3600);
}

/// Returns 0 for a process that began to read a newer version after this heap was inspected.
std::uint64_t versions_behind(const users& heap, const users::user& one) {
    return heap.version - std::min(heap.version, *one.reads_version);
}

const char* role_of(const users& heap, const users::user& one) {
    return heap.how == users::open_as::exclusive   ? "exclusive"
           : heap.how == users::open_as::read_only ? "read-only"
           : heap.how == users::open_as::opening   ? "opens"
           : heap.how == users::open_as::closing   ? "closes"
           : one.writes                            ? "writes"
           : one.reads_version                     ? "reads"
                                                   : "idle";
}

const char* name_of(users::open_as how) {
    return how == users::open_as::closed      ? "closed"
           : how == users::open_as::exclusive ? "exclusive"
           : how == users::open_as::read_only ? "read_only"
           : how == users::open_as::opening   ? "opening"
           : how == users::open_as::closing   ? "closing"
                                              : "shared";
}

std::string does_text(const users& heap, const users::user& one) {
    return role_of(heap, one) + std::string(one.is_stopped ? ", stopped" : "");
}

const char* unless_shown(const users& heap) { return heap.processes.empty() ? "; /proc does not show which" : ""; }

std::string head_of(const users& heap) {
    const std::string path = coloured(colour::bold, visible(heap.path));
    switch (heap.how) {
    case users::open_as::closed:
        return fmt::format("{}: nobody has it open\n", path);
    case users::open_as::exclusive:
        return fmt::format("{}: open in one process, for writing{}\n", path, unless_shown(heap));
    case users::open_as::read_only:
        return fmt::format("{}: open read-only in {}\n", path, counted(heap.processes.size(), "place"));
    case users::open_as::opening:
        return fmt::format("{}: being opened, to be shared, by the first process{}\n", path, unless_shown(heap));
    case users::open_as::closing:
        return fmt::format("{}: being closed by the last process that shared it{}\n", path, unless_shown(heap));
    case users::open_as::shared:
        break;
    }
    return fmt::format("{}: shared, open in {}, commit {}\n", path, counted(heap.processes.size(), "place"),
                       grouped(heap.version));
}

std::string users_text(const users& heap) {
    std::string text = head_of(heap);
    if (heap.processes.empty())
        return text;
    std::size_t width = 7;
    std::size_t does_width = 9;
    for (const users::user& each : heap.processes) {
        width = std::max(width, visible(each.program).size());
        does_width = std::max(does_width, does_text(heap, each).size());
    }
    text += coloured(colour::bold, fmt::format("{:>10}  {:<{}}  {:<{}}  {:>14}  {:>8}  {:>9}", "PROCESS", "PROGRAM",
                                               width, "DOES", does_width, "VERSION", "BEHIND", "FOR")) +
            "\n";
    for (const users::user& each : heap.processes) {
        text += fmt::format(
            "{:>10}  {:<{}}  {:<{}}  {:>14}  {:>8}  {:>9}\n", each.process, visible(each.program), width,
            does_text(heap, each), does_width, each.reads_version ? grouped(*each.reads_version) : "-",
            each.reads_version ? grouped(versions_behind(heap, each)) : "-", each.since ? age_text(age_of(each)) : "-");
    }
    return text;
}

json_object users_object(const users& heap) {
    std::vector<json_object> list;
    for (const users::user& each : heap.processes) {
        json_object& one = list.emplace_back();
        one.add("process", static_cast<std::uint64_t>(each.process))
            .add("thread", static_cast<std::uint64_t>(each.thread))
            .add("program", each.program)
            .add("does", role_of(heap, each))
            .add("stopped", each.is_stopped);
        if (each.reads_version)
            one.add("reads_version", *each.reads_version).add("versions_behind", versions_behind(heap, each));
        else
            one.add_null("reads_version").add_null("versions_behind");
        if (each.since)
            one.add("milliseconds", static_cast<std::uint64_t>(age_of(each) * 1000));
        else
            one.add_null("milliseconds");
    }
    json_object all;
    all.add("path", heap.path).add("open_as", name_of(heap.how));
    if (heap.how == users::open_as::shared)
        all.add("version", heap.version);
    else
        all.add_null("version");
    all.add("processes", list);
    return all;
}

} // namespace

int readers(const std::string& file, bool as_json) {
    const users found = inspect::who_uses(file);
    put(as_json ? users_object(found).text() + "\n" : users_text(found));
    return exit_ok;
}

} // namespace remanence::tool
