#include "recover/steps_beside.hpp"

#include "history/missing.hpp"
#include "history/name_of_history.hpp"
#include "history/step_loader.hpp"
#include "log/record.hpp"
#include "os/overlay_files.hpp"
#include "recover/scan.hpp"
#include "store/heap_creation.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace remanence::recover {

namespace {

constexpr std::uint64_t k_no_limit = std::numeric_limits<std::uint64_t>::max();

/// The commits in the log that follow the checkpoint.
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

/// The first commit whose events are damaged; none if all are sound.
using unsound_commit = std::optional<std::uint64_t>;

struct read_file {
    // The last entry of the file whose commit is also in the log or is the log's checkpoint.
    std::optional<history::entry_end> known;
    unsound_commit unsound{};
};

/// Adds the events of all entries to `steps`.
result<read_file> add_entries(os::file& file, const history::heap_uuid& heap, const logged_commits& log,
                              history_beside& found, history::step_loader& steps) {
    read_file seen;
    auto is_ours =
        history::for_each_entry(file, heap, [&](const history::entry_end& each, std::span<const std::byte> events) {
            ++found.entries;
            found.sound_end = each;
            if (!seen.unsound && !steps.add(each.commit.version, events))
                seen.unsound = each.commit.version;
            if (each.commit == log.commit(each.commit.version))
                seen.known = each;
            return history::reading::goes_on;
        });
    if (!is_ours)
        return is_ours.error();
    return seen;
}

/// Adds the events of the entries up to `known`.
result<unsound_commit> add_entries_up_to(const history::entry_end& known, os::file& file,
                                         const history::heap_uuid& heap, history::step_loader& steps) {
    unsound_commit unsound;
    auto read =
        history::for_each_entry(file, heap, [&](const history::entry_end& each, std::span<const std::byte> events) {
            if (!steps.add(each.commit.version, events))
                unsound = each.commit.version;
            return !unsound && each.offset < known.offset ? history::reading::goes_on : history::reading::is_done;
        });
    if (!read)
        return read.error();
    return unsound;
}

/// Adds the events that follow `known` in the log.
unsound_commit add_logged(const logged_commits& log, const history::commit_name& known, history::step_loader& steps) {
    for (const scanned_record& each : log.records) {
        if (each.version <= known.version)
            continue;
        const auto events = log::events_in(each.bytes);
        if (!events)
            return known.version; // the history ends here
        if (!steps.add(each.version, *events))
            return each.version;
    }
    return steps.is_whole() ? unsound_commit() : known.version;
}

} // namespace

result<history_beside> read_history(os::file_system& below, const store::heap_file& heap) {
    const history::commit_name last = checkpoint_of(heap.super());
    auto log = log_of(below, heap.path(), last.version);
    if (!log)
        return log.error();
    const std::string path = store::history_path(heap.path());
    history_beside found;
    const auto none = [&](std::string reason) {
        found.why = std::move(reason);
        return std::move(found);
    };
    auto at_name = history::find_file(below, path, os::access::read_only);
    if (!at_name)
        return at_name.error();
    found.is_there = at_name->is_taken;
    const std::unique_ptr<os::file>& file = at_name->file;
    if (!file)
        return none(found.is_there ? history::no_file_at(path) : history::no_history_at(path));
    const history::heap_uuid& uuid = heap.super().uuid;
    std::optional<history::step_loader> steps(heap.image().bytes());
    auto read = add_entries(*file, uuid, *log, found, *steps);
    if (!read)
        return read.error();
    const std::optional<history::entry_end>& known = read->known;
    result<unsound_commit> unsound = known ? read->unsound : unsound_commit(last.version);
    if (known && known->offset != found.sound_end.offset) { // entries behind it were lost, or are being written
        steps.emplace(heap.image().bytes());
        unsound = add_entries_up_to(*known, *file, uuid, *steps);
    }
    if (unsound && !*unsound)
        unsound = add_logged(*log, known->commit, *steps);
    if (!unsound)
        return unsound.error();
    if (*unsound && known && **unsound > known->commit.version)
        return none(history::unsound_at(path, **unsound)); // the damaged events are in the log, not in the file
    if (*unsound) {
        auto why = history::why_unfit(*file, uuid, path, last, heap.image().bytes());
        return why ? result<history_beside>(none(std::move(*why))) : why.error();
    }
    if (log->commit(last.version) != last)
        return fail(errc::in_use, heap.path() + " was written to meanwhile. Try again.", heap.path());
    found.steps = steps->take({.steps_max = k_no_limit});
    return found;
}

result<std::uint64_t> state_of(const history::step_tree& steps, std::uint64_t version, const std::string& path) {
    if (const auto found = steps.find(version))
        return *found;
    return history::no_version(steps, history::steps_lie::in_file, version, path);
}

result<std::uint64_t> state_of(const history::step_tree& steps, const std::string& name, const std::string& path) {
    if (const auto found = steps.find_kept(name))
        return *found;
    return history::no_kept_version(steps, history::steps_lie::in_file, name, path);
}

} // namespace remanence::recover
