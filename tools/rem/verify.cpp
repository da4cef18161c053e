#include "commands.hpp"
#include "json.hpp"
#include "report.hpp"
#include "text.hpp"

#include <remanence/look_inside.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace remanence::tool {

namespace {

using inspect::report;
using inspect::root_state;
using inspect::surveyed_root;

constexpr std::size_t k_problems_printed = 100; // as text; --json prints all of them

const char* name_of(root_state state) {
    switch (state) {
    case root_state::whole:
        return "whole";
    case root_state::object_whole:
        return "object_whole";
    case root_state::reaches_damage:
        return "reaches_damage";
    case root_state::damaged:
        return "damaged";
    }
    return "unknown";
}

std::string verdict_on(const surveyed_root& root) {
    const std::string place =
        root.damage_offset == error::k_no_offset ? "" : fmt::format(" at byte {}", root.damage_offset);
    switch (root.state) {
    case root_state::whole:
        return coloured(colour::green, "whole");
    case root_state::object_whole:
        return coloured(colour::yellow, "its own object is whole; what that leads to is not known");
    case root_state::reaches_damage:
        return coloured(colour::yellow, "its own object is whole, but may lead to damage" + place);
    case root_state::damaged:
        return coloured(colour::red, "damaged" + place);
    }
    return "not known";
}

void add_roots(std::string& text, const report& found) {
    text += fmt::format("\n");
    if (found.roots.empty()) {
        text += fmt::format("No root can be told to be whole: none is known.\n");
        return;
    }
    text += fmt::format("Roots, as of commit {}, the last that can be read:\n", grouped(found.version));
    std::size_t width = 0;
    for (const surveyed_root& root : found.roots)
        width = std::max(width, visible(root.name).size());
    for (const surveyed_root& root : found.roots)
        text += fmt::format("  {:<{}}  {}\n", visible(root.name), width, verdict_on(root));
    text += fmt::format(
        "\nA root is whole when its own object, and all blocks that it may reach by plain pointers, read as they were\n"
        "committed. Words are taken for pointers by their value, so a root may be better than it is said to be.\n"
        "Whether the program's data make sense is not known here, nor what was committed later.\n");
}

void add_pointers(std::string& text, const inspect::suspicious_words& pointers) {
    if (pointers.found == 0) {
        text += fmt::format("  no word looks like a pointer that leaves the heap\n");
        return;
    }
    text += fmt::format(
        "\n{} like {} that {} the heap, and would lead nowhere in another process:\n",
        coloured(colour::yellow, counted(pointers.found, "word") + (pointers.found == 1 ? " looks" : " look")),
        pointers.found == 1 ? "a pointer" : "pointers", pointers.found == 1 ? "leaves" : "leave");
    for (std::size_t i = 0; i < std::min(pointers.first.size(), k_problems_printed); ++i)
        text += fmt::format("  {}\n", visible(pointers.first[i].what));
    if (pointers.found > k_problems_printed)
        text += fmt::format("  and {} more\n", grouped(pointers.found - k_problems_printed));
    text += fmt::format(
        "They are told by their value, and may be numbers. In the program itself, heap::check_pointers() knows\n"
        "what memory there is.\n");
}

void add_leaks(std::string& text, const leak_report& leaks) {
    if (leaks.clean()) {
        text += fmt::format("  roots reach all blocks\n");
        return;
    }
    text += fmt::format("\n{} of {} that no root reaches:\n", coloured(colour::yellow, counted(leaks.blocks, "block")),
                        counted(leaks.bytes, "byte"));
    text += fmt::format("  {:>12}  {:>12}\n", "block size", "blocks");
    for (const size_class& each : leaks.classes)
        text += fmt::format("  {:>12}  {:>12}\n", grouped(each.block_bytes), grouped(each.blocks));
    text += fmt::format(
        "Sizes above 64 KiB are rounded up to powers of two. In the program itself, heap::leaks() says where they\n"
        "were allocated (check_options::leak_frames).\n");
}

std::string entries_text(std::uint64_t count) { return grouped(count) + (count == 1 ? " entry" : " entries"); }

void add_history(std::string& text, const inspect::checked_history& history) {
    if (history.is_whole) {
        text += fmt::format("  history: {}, {}, {} kept\n", entries_text(history.entries),
                            counted(history.versions, "version"), grouped(history.kept));
        return;
    }
    text += fmt::format("  history: {}: {}\n", coloured(colour::red, "of no use"), visible(history.problem));
    if (history.entries != 0)
        text += fmt::format("  {} of it are whole, up to version {}, and end at byte {}\n",
                            entries_text(history.entries), grouped(history.through_version), history.sound_bytes);
    text += fmt::format("  The heap opens without it, and begins another one.\n");
}

std::string as_text(const report& found, const std::optional<leak_report>& leaks) {
    std::string text;
    if (found.problems.empty()) {
        text += fmt::format("{}: {}\n", visible(found.path), coloured(colour::green, "whole"));
    } else {
        text += fmt::format("{}: {}\n", visible(found.path), coloured(colour::red, "damaged"));
        for (std::size_t i = 0; i < std::min(found.problems.size(), k_problems_printed); ++i)
            text += fmt::format("  {}\n", problem_text(found.problems[i]));
        if (found.problems.size() > k_problems_printed)
            text +=
                fmt::format("  and {} more; --json lists all\n", grouped(found.problems.size() - k_problems_printed));
    }
    text += fmt::format(
        "  checked: {}, {}, {}, {}\n", counted(found.checked.pages, "page"), counted(found.log.commits, "log record"),
        found.checked.allocator ? counted(found.checked.blocks, "block") : "no blocks (the allocator is damaged)",
        counted(found.roots.size(), "root"));
    if (found.torn_superblock) {
        text += fmt::format("  the superblock at byte {} is torn, as a power loss leaves one: the other one counts\n",
                            *found.torn_superblock);
    }
    if (!found.is_all_checked && found.checked.pages != 0) {
        text +=
            fmt::format("  It was written to while it was read. This is damage for certain; there may be more, and a\n"
                        "  root may be better than it is said to be. Verify it again when less is written.\n");
    }
    if (found.history)
        add_history(text, *found.history);
    if (found.pointers)
        add_pointers(text, *found.pointers);
    if (leaks)
        add_leaks(text, *leaks);
    if (!found.problems.empty())
        add_roots(text, found);
    return text;
}

std::string as_json_text(const report& found, const std::optional<leak_report>& leaks) {
    std::vector<json_object> roots;
    for (const surveyed_root& root : found.roots) {
        json_object& one = roots.emplace_back();
        one.add("name", root.name).add("type", root.type).add("state", name_of(root.state));
        if (root.damage_offset == error::k_no_offset)
            one.add_null("damage_offset");
        else
            one.add("damage_offset", root.damage_offset);
    }
    json_object all;
    all.add("path", found.path)
        .add("whole", found.problems.empty())
        .add("version", found.version)
        .add("pages_checked", found.checked.pages)
        .add("log_records_checked", found.log.commits)
        .add("allocator_checked", found.checked.allocator)
        .add("blocks_checked", found.checked.blocks)
        .add("torn_superblock", found.torn_superblock.has_value())
        .add("all_checked", found.is_all_checked)
        .add("problems", problems_as_json(found.problems))
        .add("roots", roots);
    if (found.history) {
        const inspect::checked_history& history = *found.history;
        all.add("history", json_object()
                               .add("file", history.path)
                               .add("history_whole", history.is_whole)
                               .add("problem", history.problem)
                               .add("entries", history.entries)
                               .add("through_version", history.through_version)
                               .add("sound_bytes", history.sound_bytes)
                               .add("versions", history.versions)
                               .add("kept", history.kept));
    } else {
        all.add_null("history");
    }
    if (found.pointers) {
        std::vector<json_object> pointers;
        for (const inspect::suspicious_words::word& each : found.pointers->first) {
            json_object& one = pointers.emplace_back();
            each.root.empty() ? one.add_null("root") : one.add("root", each.root);
            each.root.empty() ? one.add_null("type") : one.add("type", each.type);
            one.add("heap_offset", each.offset).add("what", each.what);
        }
        all.add("pointers_found", found.pointers->found).add("pointers", pointers);
    }
    if (leaks) {
        std::vector<json_object> classes;
        for (const size_class& each : leaks->classes)
            classes.emplace_back().add("block_bytes", each.block_bytes).add("blocks", each.blocks);
        all.add("leaks", json_object().add("blocks", leaks->blocks).add("bytes", leaks->bytes).add("classes", classes));
    }
    return all.text() + "\n";
}

} // namespace

int verify(const std::string& file, verified_too too, bool as_json) {
    const report found = with_progress(
        [&](const inspect::progress_callback& shown) { return inspect::verify(file, too.pointers, shown); });
    std::optional<leak_report> leaks;
    if (too.leaks && found.problems.empty())
        leaks = with_progress([&](const inspect::progress_callback& shown) { return inspect::leaks(file, shown); });
    put(as_json ? as_json_text(found, leaks) : as_text(found, leaks));
    if (!found.problems.empty())
        return exit_damage;
    if (found.history && !found.history->is_whole)
        return exit_history;
    if (found.pointers && found.pointers->found != 0)
        return exit_pointers;
    return leaks && !leaks->clean() ? exit_leaks : exit_ok;
}

} // namespace remanence::tool
