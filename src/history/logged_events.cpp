#include "history/logged_events.hpp"

#include "base/units.hpp"
#include "history/name_of_history.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace remanence::history {

namespace {

constexpr std::size_t k_written_bytes_max = 1 * MiB;

} // namespace

// The file may have entries after the log's last commit, or entries of commits that the heap lost and replaced (H5).
// And a sync of the entries after the checkpoint may have failed (I5). So all entries after the checkpoint are written
// again.
result<void> keep_logged(os::file_system& files, const std::string& path, const heap_uuid& heap,
                         const commit_name& checkpoint, std::span<const logged_events> commits) {
    if (commits.empty())
        return {};
    auto at_name = find_file(files, path, os::access::read_write);
    if (!at_name)
        return at_name.error();
    const std::unique_ptr<os::file>& file = at_name->file;
    if (!file)
        return {}; // recovery must not fail because the history cannot be opened
    std::optional<entry_end> kept;
    auto found = for_each_entry(*file, heap, [&](const entry_end& each, auto) {
        const std::uint64_t version = each.commit.version;
        const bool is_logged = version > checkpoint.version && version - checkpoint.version <= commits.size();
        if (kept && kept->commit != each.commit)
            return reading::is_done;
        if (each.commit == (is_logged ? commits[version - checkpoint.version - 1].commit : checkpoint))
            kept = each;
        return reading::goes_on;
    });
    if (!found)
        return found.error();
    if (!kept)
        return {};
    commits = commits.subspan(static_cast<std::size_t>(kept->commit.version - checkpoint.version));
    if (!std::ranges::all_of(commits, [](const auto& each) { return each.events.has_value(); }))
        return {};
    entry_end end = *kept;
    std::uint64_t at = end.offset;
    std::vector<std::byte> entries;
    const auto write = [&]() -> result<void> {
        REM_TRY(file->write("history: entries of recovered commits", at, entries));
        at = end.offset;
        entries.clear();
        return {};
    };
    for (const logged_events& each : commits) {
        append_entry(entries, each.commit, *each.events, end);
        if (entries.size() >= k_written_bytes_max)
            REM_TRY(write());
    }
    REM_TRY(write());
    return file->sync("history: sync entries of recovered commits"); // also for entries that were in the file before
}

} // namespace remanence::history
