#include "recover/steps_beside.hpp"

#include "history/step_loader.hpp"
#include "log/record.hpp"
#include "os/overlay_files.hpp"
#include "recover/scan.hpp"
#include "store/heap_creation.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::recover {

namespace {

constexpr std::uint64_t k_no_limit = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t k_names_told = 5;

/// What the log has beyond the checkpoint, up to this commit.
struct logged_commits {
    history::commit_name checkpoint{};
    std::vector<scanned_record> records;

    [[nodiscard]] history::commit_name commit(std::uint64_t version) const {
        if (version <= checkpoint.version || version - checkpoint.version > records.size())
            return checkpoint;
        const scanned_record& record = records[static_cast<std::size_t>(version - checkpoint.version - 1)];
        return {record.version, record.checksum};
    }
};

history::commit_name checkpoint_of(const format::superblock& super) { return {super.checkpoint_version, super.chain}; }

result<logged_commits> log_of(os::file_system& below, const std::string& path, std::uint64_t last) {
    os::overlay_files files(below);
    auto store = store::heap_file::open_damaged(files, path, [](const failure&) {}, store::heap_file::locking::no);
    if (!store)
        return store.error();
    logged_commits found{checkpoint_of((*store)->super()), {}};
    if ((*store)->is_clean())
        return found;
    auto log = open_log(files, **store, os::access::read_only);
    if (!log)
        return log.error();
    auto scanned = scan_up_to_damage(**log, (*store)->supers());
    if (!scanned)
        return scanned.error();
    found.records = std::move(scanned->records);
    std::erase_if(found.records, [&](const scanned_record& each) { return each.version > last; });
    return found;
}

/// How far the file leads to a commit that the log, or its checkpoint, knows.
result<std::optional<history::entry_end>> last_known_entry(os::file& file, const history::heap_uuid& heap,
                                                           const logged_commits& log, history_beside& found) {
    std::optional<history::entry_end> known;
    auto is_ours = history::for_each_entry(file, heap, [&](const history::entry_end& each, std::span<const std::byte>) {
        ++found.entries;
        found.sound_end = each;
        if (each.commit == log.commit(each.commit.version))
            known = each;
        return history::reading::goes_on;
    });
    if (!is_ours)
        return is_ours.error();
    return *is_ours ? known : std::optional<history::entry_end>();
}

/// Whether the events of the file up to there, and those of the log behind it, are sound.
result<bool> load(os::file& file, const history::heap_uuid& heap, const history::entry_end& known,
                  const logged_commits& log, history::step_loader& steps) {
    bool is_sound = true;
    auto read =
        history::for_each_entry(file, heap, [&](const history::entry_end& each, std::span<const std::byte> events) {
            is_sound = each.offset > known.offset || steps.add(each.commit.version, events);
            return is_sound && each.offset < known.offset ? history::reading::goes_on : history::reading::is_done;
        });
    if (!read)
        return read.error();
    for (const scanned_record& each : log.records) {
        if (!is_sound || each.version <= known.commit.version)
            continue;
        const auto events = log::events_in(each.bytes);
        is_sound = events && steps.add(each.version, *events);
    }
    return is_sound && steps.is_whole();
}

/// What there is in place of a version that is not there.
std::string what_there_is(const history::step_tree& steps) {
    const std::vector<history::step_info> all = steps.list();
    std::string text = all.size() == 1
                           ? "There is version " + std::to_string(all.front().version)
                           : "There are " + std::to_string(all.size()) + ", from " +
                                 std::to_string(all.front().version) + " to " + std::to_string(all.back().version);
    std::string names;
    std::size_t kept = 0;
    for (const history::step_info& each : all) {
        if (each.kept.empty() || ++kept > k_names_told)
            continue;
        names += (names.empty() ? "\"" : ", \"") + each.kept + "\" (" + std::to_string(each.version) + ")";
    }
    if (kept > k_names_told)
        names += ", and " + std::to_string(kept - k_names_told) + " more";
    return text + (kept != 0 ? "; kept are " + names : "; none is kept") + ". \"rem log\" lists all.";
}

} // namespace

result<history_beside> read_history(os::file_system& below, const store::heap_file& heap) {
    const history::commit_name last = checkpoint_of(heap.super());
    auto log = log_of(below, heap.path(), last.version);
    if (!log)
        return log.error();
    const std::string path = store::history_path(heap.path());
    history_beside found;
    const auto none = [&](std::string_view reason) {
        found.why = path + std::string(reason);
        return std::move(found);
    };
    auto present = below.exists(path);
    if (!present)
        return present.error();
    if (!*present)
        return none(" is not there, so no history is kept, or the file was removed.");
    auto file = below.open(path, os::access::read_only);
    if (!file && file.why().code == errc::not_a_heap)
        return none(" is no file, so it is no history.");
    if (!file)
        return file.error();
    found.is_there = true;
    auto known = last_known_entry(**file, heap.super().uuid, *log, found);
    if (!known)
        return known.error();
    if (!*known)
        return none(
            " is the history of another heap, or is damaged, or a program that keeps no history wrote to the heap.");
    history::step_loader steps(heap.image().bytes());
    auto is_sound = load(**file, heap.super().uuid, **known, *log, steps);
    if (!is_sound)
        return is_sound.error();
    if (!*is_sound)
        return none(" is damaged, or a newer release or a program that keeps no history wrote to the heap.");
    if (log->commit(last.version) != last)
        return fail(errc::in_use, heap.path() + " was written to meanwhile. Try again.", heap.path());
    found.steps = steps.take({.steps_max = k_no_limit});
    return found;
}

result<std::uint64_t> state_of(const history::step_tree& steps, std::uint64_t version, const std::string& path) {
    if (const auto found = steps.find(version))
        return *found;
    return fail(errc::no_step,
                path + " has no version " + std::to_string(version) +
                    ": it was never one of its steps, or has gone since it was not kept. " + what_there_is(steps),
                path);
}

result<std::uint64_t> state_of(const history::step_tree& steps, const std::string& name, const std::string& path) {
    if (const auto found = steps.find_kept(name))
        return *found;
    return fail(errc::no_step, path + " keeps no version by the name \"" + name + "\". " + what_there_is(steps), path);
}

} // namespace remanence::recover
