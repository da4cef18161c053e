#include "recover/upgrade.hpp"

#include "format/superblock.hpp"
#include "recover/recovery.hpp"
#include "store/heap_file.hpp"

namespace remanence::recover {

result<upgrade_outcome> upgrade(os::file_system& files, const std::string& path, std::string_view application) {
    auto store = store::heap_file::open_to_upgrade(files, path, os::access::read_write);
    if (!store)
        return store.error();
    REM_TRY((*store)->check_application(application, store::unstated::taken));
    upgrade_outcome outcome{(*store)->super().format_version};
    const bool is_stated = application.empty() || (*store)->application() == application;
    if (outcome.format_before == format::k_format_version && is_stated)
        return outcome;
    // Recovery leaves a clean heap of the older format. Its log may be there again after a crash, since the removal is
    // not synced: see recover::open_log().
    auto recovered = recover::recover(files, **store, {}, keep_history);
    if (!recovered)
        return recovered.error();
    outcome.recovered_commits = recovered->commits;
    REM_TRY((*store)->room().reserve_places());
    REM_TRY((*store)->upgrade(application));
    outcome.changed = true;
    return outcome;
}

} // namespace remanence::recover
