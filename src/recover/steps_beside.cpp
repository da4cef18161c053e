#include "recover/steps_beside.hpp"

#include "base/units.hpp"
#include "history/missing.hpp"
#include "history/name_of_history.hpp"
#include "history/step_loader.hpp"
#include "log/record.hpp"
#include "os/overlay_files.hpp"
#include "recover/scan.hpp"
#include "store/heap_creation.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace remanence::recover {

namespace {

constexpr std::uint64_t k_no_limit = std::numeric_limits<std::uint64_t>::max();
// How much of the file's end is read first, and how much more each time that this is too little.
constexpr std::uint64_t k_recent_bytes_min = 64 * KiB;
constexpr std::uint64_t k_recent_bytes_growth = 4;

/// The commits in the log that follow the checkpoint.
struct logged_commits {
    history::commit_name checkpoint{};
    std::vector<scanned_record> records;
    std::optional<history::limits> limits; // of the history, if the heap records them

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
    logged_commits found{checkpoint_of((*store)->super()), {}, {}};
    if (auto recorded = (*store)->history(); recorded && *recorded)
        found.limits = history::read_limits(**recorded);
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

/// Reads the steps back to the wanted states from the end of the file. Returns none if that cannot tell: then all must
/// be read.
result<std::optional<history::step_tree>> read_recent(os::file& file, const history::heap_uuid& heap,
                                                      const logged_commits& log, std::uint64_t heap_bytes,
                                                      std::span<const history::version_or_name> wanted) {
    std::optional<history::step_tree> none;
    auto size = file.size();
    if (!size)
        return size.error();
    if (wanted.empty() || !log.limits)
        return none;
    // No limit removes a kept state. Without limits no steps are joined, which would take longer than all else.
    const bool are_kept = std::ranges::all_of(
        wanted, [](const history::version_or_name& each) { return std::holds_alternative<std::string>(each); });
    const history::limits most = are_kept ? history::limits{} : *log.limits;
    std::uint64_t bytes = k_recent_bytes_min;
    for (bool is_all = false; !is_all; bytes *= k_recent_bytes_growth) {
        is_all = bytes >= *size;
        auto last = history::read_last_entries(
            file, heap, bytes, [&](const history::commit_name& each) { return each == log.commit(each.version); });
        if (!last)
            return last.error();
        const history::recent_steps recent(last->all, most, heap_bytes);
        const auto nearest = recent.nearest(wanted);
        if (!nearest)
            continue;
        for (const std::size_t from : {*nearest, *recent.first()}) { // an undo may lead to a state before the nearest
            auto steps = recent.steps_from(from);
            if (!steps || add_logged(log, last->all.back().commit, *steps))
                continue;
            auto found = steps->take({.steps_max = k_no_limit});
            if (has_all(found, wanted))
                return std::optional(std::move(found));
        }
    }
    return none;
}

/// Fails if the log no longer leads to the commit that was read.
result<void> check_is_last(const logged_commits& log, const history::commit_name& last, const std::string& path) {
    if (log.commit(last.version) == last)
        return {};
    return fail(errc::in_use, path + " was written to meanwhile. Try again.", path);
}

} // namespace

result<history_beside> read_history(os::file_system& below, const store::heap_file& heap,
                                    std::span<const history::version_or_name> wanted) {
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
    auto recent = read_recent(*file, uuid, *log, heap.image().bytes(), wanted);
    if (!recent)
        return recent.error();
    if (*recent) {
        REM_TRY(check_is_last(*log, last, heap.path()));
        found.steps = std::move(*recent);
        return found;
    }
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
    REM_TRY(check_is_last(*log, last, heap.path()));
    found.steps = steps->take({.steps_max = k_no_limit});
    return found;
}

result<std::uint64_t> state_of(const history::step_tree& steps, const history::version_or_name& which,
                               const std::string& path) {
    if (const auto* const version = std::get_if<std::uint64_t>(&which)) {
        const auto found = steps.find(*version);
        return found ? result<std::uint64_t>(*found)
                     : history::no_version(steps, history::steps_lie::in_file, *version, path);
    }
    const std::string& name = std::get<std::string>(which);
    const auto found = steps.find_kept(name);
    return found ? result<std::uint64_t>(*found)
                 : history::no_kept_version(steps, history::steps_lie::in_file, name, path);
}

} // namespace remanence::recover
