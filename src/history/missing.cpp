#include "history/missing.hpp"

#include "history/step_loader.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace remanence::history {

namespace {

constexpr std::size_t k_names_told = 5;

std::string what_there_is(const step_tree& steps, steps_lie where) {
    const std::vector<step_info> all = steps.list();
    if (all.empty())
        return "There is none.";
    std::string text = all.size() == 1
                           ? "There is version " + std::to_string(all.front().version)
                           : "There are " + std::to_string(all.size()) + ", from " +
                                 std::to_string(all.front().version) + " to " + std::to_string(all.back().version);
    std::string names;
    std::size_t kept = 0;
    for (const step_info& each : all) {
        if (each.kept.empty() || ++kept > k_names_told)
            continue;
        names += (names.empty() ? "\"" : ", \"") + each.kept + "\" (" + std::to_string(each.version) + ")";
    }
    if (kept > k_names_told)
        names += ", and " + std::to_string(kept - k_names_told) + " more";
    return text + (kept != 0 ? "; kept are " + names : "; none is kept") +
           (where == steps_lie::in_file ? ". \"rem log\" lists all." : ".");
}

} // namespace

unexpected no_version(const step_tree& steps, steps_lie where, std::uint64_t version, const std::string& heap) {
    return fail(errc::no_step,
                heap + " has no version " + std::to_string(version) +
                    ": it was never one of its steps, or has gone since it was not kept. " +
                    what_there_is(steps, where),
                heap);
}

unexpected no_kept_version(const step_tree& steps, steps_lie where, std::string_view name, const std::string& heap) {
    return fail(errc::no_step,
                heap + " keeps no version by the name \"" + std::string(name) + "\". " + what_there_is(steps, where),
                heap);
}

std::string no_history_at(const std::string& path) {
    return path + " is not there, so no history is kept, or the file was removed.";
}

std::string no_file_at(const std::string& path) { return path + " is not a regular file, so it holds no history."; }

std::string unsound_at(const std::string& path, std::uint64_t version) {
    return path + " is damaged, or a newer release wrote it: its record of version " + std::to_string(version) +
           " is not sound.";
}

result<std::string> why_unfit(os::file& file, const heap_uuid& heap, const std::string& path, const commit_name& last,
                              std::uint64_t heap_bytes) {
    step_loader steps(heap_bytes);
    std::uint64_t newest = 0;
    bool is_sound = true;
    auto is_ours = for_each_entry(file, heap, [&](const entry_end& each, std::span<const std::byte> events) {
        newest = each.commit.version;
        is_sound = steps.add(newest, events) && (each.commit != last || steps.is_whole());
        return is_sound ? reading::goes_on : reading::is_done;
    });
    if (!is_ours)
        return is_ours.error();
    if (!*is_ours)
        return path + " is the history of another heap, or its beginning is damaged.";
    if (!is_sound)
        return unsound_at(path, newest);
    return path + (newest == 0 ? " has no entry that is whole" : " is whole up to version " + std::to_string(newest)) +
           ", and does not lead to the heap's version " + std::to_string(last.version) +
           ". It is damaged behind that, or a program that keeps no history wrote to the heap, or heap and history are "
           "copies of different days.";
}

} // namespace remanence::history
