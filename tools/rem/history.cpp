// Prints a heap's history, and changes it.
#include "commands.hpp"
#include "json.hpp"
#include "report.hpp"
#include "text.hpp"
#include "version_of.hpp"

#include <remanence/look_back.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace remanence::tool {

namespace {

std::string time_text(std::chrono::system_clock::time_point time) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::chrono::system_clock::to_time_t(time)));
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& each : names)
        text += (text.empty() ? "" : ", ") + visible(each);
    return text;
}

std::string steps_text(const std::vector<inspect::seen_step>& steps) {
    constexpr std::string_view k_now = "  "; // the present state has "* " instead
    std::size_t version_width = 7;
    std::size_t bytes_width = 5;
    std::size_t name_width = 4;
    const auto name_of = [](const history_step& step) {
        std::string text = visible(step.name);
        if (!step.kept.empty())
            text += (text.empty() ? "[kept: " : " [kept: ") + visible(step.kept) + ']';
        return text;
    };
    for (const auto& [step, roots] : steps) {
        version_width = std::max(version_width, std::to_string(step.version).size());
        bytes_width = std::max(bytes_width, grouped(step.bytes).size());
        name_width = std::max(name_width, name_of(step).size());
    }
    std::string text = coloured(colour::bold, fmt::format("{}{:>{}}  {:>{}}  {:<19}  {:>{}}  {:<{}}  ROOTS", k_now,
                                                          "VERSION", version_width, "AFTER", version_width, "TIME",
                                                          "BYTES", bytes_width, "NAME", name_width)) +
                       "\n";
    for (const auto& [step, roots] : steps) {
        std::string line = fmt::format("{}{:>{}}  {:>{}}  {:<19}  {:>{}}  {:<{}}  {}", step.is_present ? "* " : k_now,
                                       step.version, version_width, step.parent ? std::to_string(*step.parent) : "",
                                       version_width, time_text(step.time), grouped(step.bytes), bytes_width,
                                       name_of(step), name_width, joined(roots));
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

json_object step_object(const inspect::seen_step& seen) {
    const history_step& step = seen.step;
    json_object one;
    one.add("version", step.version);
    if (step.parent)
        one.add("parent", *step.parent);
    else
        one.add_null("parent");
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(step.time.time_since_epoch());
    one.add("name", step.name)
        .add("kept", step.kept)
        .add("unix_milliseconds", static_cast<std::uint64_t>(time.count()))
        .add("bytes", step.bytes)
        .add("present", step.is_present)
        .add_texts("roots", seen.roots);
    return one;
}

std::string_view word_of(version_difference::change how) {
    switch (how) {
    case version_difference::change::added:
        return "added";
    case version_difference::change::removed:
        return "removed";
    case version_difference::change::changed:
        break;
    }
    return "changed";
}

std::string difference_text(const version_difference& found) {
    if (found.is_empty())
        return "nothing differs\n";
    std::string text;
    for (const auto& each : found.roots)
        text += fmt::format("root {} ({}): {}\n", visible(each.name), visible(each.type), word_of(each.how));
    for (const auto& each : found.members) {
        if (each.how != version_difference::change::added)
            text += coloured(colour::red, fmt::format("- {}: {}", visible(each.path), visible(each.before))) + '\n';
        if (each.how != version_difference::change::removed)
            text += coloured(colour::green, fmt::format("+ {}: {}", visible(each.path), visible(each.after))) + '\n';
    }
    std::uint64_t bytes = 0;
    for (const auto& each : found.ranges)
        bytes += each.bytes;
    std::uint64_t counts[3] = {};
    for (const auto& each : found.blocks)
        ++counts[static_cast<std::size_t>(each.how)];
    text += fmt::format("{} in {}; blocks: {} added, {} removed, {} changed\n", size_text(bytes),
                        counted(found.ranges.size(), "stretch"), counts[0], counts[1], counts[2]);
    return text;
}

json_object difference_object(const version_difference& found) {
    std::vector<json_object> roots;
    std::vector<json_object> members;
    std::vector<json_object> blocks;
    std::vector<json_object> ranges;
    for (const auto& each : found.roots)
        roots.emplace_back().add("how", word_of(each.how)).add("name", each.name).add("type", each.type);
    for (const auto& each : found.members) {
        json_object& one = members.emplace_back().add("how", word_of(each.how)).add("path", each.path);
        if (each.how == version_difference::change::added)
            one.add_null("before");
        else
            one.add_json("before", each.before);
        if (each.how == version_difference::change::removed)
            one.add_null("after");
        else
            one.add_json("after", each.after);
    }
    for (const auto& each : found.blocks)
        blocks.emplace_back()
            .add("how", word_of(each.how))
            .add("heap_offset", each.offset)
            .add("bytes", each.bytes)
            .add("root", each.root);
    for (const auto& each : found.ranges)
        ranges.emplace_back().add("heap_offset", each.offset).add("bytes", each.bytes);
    json_object all;
    all.add("roots", roots).add("members", members).add("blocks", blocks).add("ranges", ranges);
    return all;
}

int said(const std::string& file, bool as_json, std::uint64_t version, std::string_view what) {
    if (as_json)
        put(json_object().add("path", file).add("version", version).text() + "\n");
    else
        put(fmt::format("{} {}\n", what, version));
    return exit_ok;
}

} // namespace

namespace {

std::optional<std::uint64_t> number_in(const std::string& word) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool is_all = read.ec == std::errc() && read.ptr == word.data() + word.size();
    return is_all ? std::optional(number) : std::nullopt;
}

} // namespace

bool is_number(const std::string& word) { return number_in(word).has_value(); }

inspect::version_or_name version_of(const std::string& file, const std::string& word) {
    const auto number = number_in(word);
    if (!number)
        return word;
    // A program may keep a version under a name that consists of digits. Errors are ignored here, because they are
    // reported when the version is read.
    std::vector<inspect::seen_step> steps;
    try {
        steps = inspect::history(file).steps;
    } catch (const error&) {
        return *number;
    }
    const auto named =
        std::find_if(steps.begin(), steps.end(), [&](const auto& each) { return each.step.kept == word; });
    if (named == steps.end() || named->step.version == *number)
        return *number;
    const bool is_version =
        std::any_of(steps.begin(), steps.end(), [&](const auto& each) { return each.step.version == *number; });
    if (!is_version)
        return word;
    throw error(errc::invalid_argument,
                fmt::format("{0} is a version of {1}, and the name by which version {2} is kept. Say {2} for that one; "
                            "a program reaches either, by heap::restore() with a number or a text.",
                            word, file, named->step.version),
                file);
}

int log(const std::string& file, bool as_json) {
    const inspect::seen_history found =
        with_progress([&](const inspect::progress_callback& shown) { return inspect::history(file, shown); });
    if (as_json) {
        std::vector<json_object> list;
        for (const inspect::seen_step& each : found.steps)
            list.push_back(step_object(each));
        put(json_object().add("path", file).add("steps", list).add("why_none", found.why_none).text() + "\n");
    } else {
        put(found.steps.empty() ? visible(found.why_none) + '\n' : steps_text(found.steps));
    }
    return found.is_damaged ? exit_history : exit_ok;
}

namespace {

std::string limits_text(const history_options& limits) {
    const std::string bytes = size_text(limits.bytes_max);
    const std::string steps = counted(limits.steps_max, "step");
    std::string text = limits.steps_max == 0 ? bytes : limits.bytes_max == 0 ? steps : bytes + " and " + steps;
    switch (limits.then) {
    case history_options::when_full::refuse:
        return text + "; then commits are refused";
    case history_options::when_full::oldest_go:
        break;
    }
    return text + "; then the oldest steps go";
}

history_options changed_limits(const std::string& file, const history_change& change) {
    history_options limits = inspect::look(file).recorded_history.value_or(history_options{});
    limits.bytes_max = change.bytes.value_or(limits.bytes_max);
    limits.steps_max = change.steps.value_or(limits.steps_max);
    return limits;
}

} // namespace

int history(const std::string& file, const history_change& change, bool as_json) {
    if (change.ends)
        inspect::end_history(file);
    else if (change.bytes || change.steps)
        inspect::set_history_limits(file, changed_limits(file, change));
    const auto found = inspect::look(file);
    if (as_json) {
        json_object all;
        all.add("path", found.path).add("kept_over_sessions", found.recorded_history.has_value());
        if (found.recorded_history)
            all.add("bytes_max", found.recorded_history->bytes_max).add("steps_max", found.recorded_history->steps_max);
        put(all.text() + "\n");
    } else if (found.recorded_history) {
        put(fmt::format("kept over sessions, up to {}\n", limits_text(*found.recorded_history)));
    } else {
        put("none is kept over sessions\n");
    }
    return exit_code_of(file, found);
}

int diff(const std::string& file, const std::string& before, const std::string& after, bool as_json) {
    const auto found = with_progress([&](const inspect::progress_callback& shown) {
        return inspect::diff(file, version_of(file, before), version_of(file, after), shown);
    });
    put(as_json ? difference_object(found).text() + "\n" : difference_text(found));
    return exit_ok;
}

int undo(const std::string& file, std::uint64_t steps, bool as_json) {
    return said(file, as_json, inspect::undo(file, steps), "undone by commit");
}

int restore(const std::string& file, const std::string& version, bool as_json) {
    return said(file, as_json, inspect::restore(file, version_of(file, version)), "restored by commit");
}

int keep(const std::string& file, const std::string& name, bool as_json) {
    return said(file, as_json, inspect::keep(file, name), "kept version");
}

int drop(const std::string& file, const std::string& version, bool as_json) {
    inspect::drop(file, version_of(file, version));
    if (as_json)
        put(json_object().add("path", file).text() + "\n");
    return exit_ok;
}

int branch(const std::string& file, const std::string& version, const std::string& to, bool as_json) {
    with_progress([&](const inspect::progress_callback& shown) {
        inspect::branch(file, version_of(file, version), to, shown);
        return exit_ok;
    });
    if (as_json)
        put(json_object().add("path", to).text() + "\n");
    return exit_ok;
}

int export_dump(const std::string& file, const std::string& version, const std::string& to, bool as_json) {
    with_progress([&](const inspect::progress_callback& shown) {
        inspect::export_dump(file, version_of(file, version), to, shown);
        return exit_ok;
    });
    if (as_json)
        put(json_object().add("path", to).text() + "\n");
    return exit_ok;
}

} // namespace remanence::tool
