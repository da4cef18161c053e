// Copies the part of a kept history that is only in the log. A separate file, so that programs without a history do not
// link it.

#include "history/logged_events.hpp"
#include "log/record.hpp"
#include "recover/recovery.hpp"
#include "store/heap_creation.hpp"

#include <vector>

namespace remanence::recover {

// H6: runs before a superblock declares the log unnecessary.
result<void> keep_history(os::file_system& files, const store::heap_file& store,
                          const std::vector<scanned_record>& records) {
    std::vector<history::logged_events> commits;
    bool is_kept = false;
    for (const scanned_record& each : records) {
        commits.push_back({{each.version, each.checksum}, log::events_in(each.bytes)});
        is_kept = is_kept || commits.back().events;
    }
    const format::superblock& super = store.super();
    return is_kept ? history::keep_logged(files, store::history_path(store.path()), super.uuid,
                                          {super.checkpoint_version, super.chain}, commits)
                   : result<void>();
}

} // namespace remanence::recover
