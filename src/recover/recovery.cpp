#include "recover/recovery.hpp"

#include "base/checksum.hpp"
#include "log/redo_log.hpp"

#include <span>
#include <vector>

namespace remanence::recover {

namespace {

/// Applies the page's records to it. Its bytes in the image are not verified, since an interrupted checkpoint may have
/// written a part of them. The checksum of its last change tells what they must become.
result<std::uint32_t> make_page(store::image& image, const replayed_page& page, std::span<std::byte> bytes) {
    auto before = image.checksum_of(page.index);
    if (!before)
        return before.error();
    const std::uint64_t copy = image.copy_of(page.index * k_page_bytes);
    if (*before != 0)
        REM_TRY(image.read_unverified(page.index, bytes));
    const std::uint32_t checksum = page.apply(bytes, *before);
    if (page_checksum(bytes) == checksum)
        return checksum;
    return fail(errc::corrupt,
                "page " + std::to_string(page.index) + " of " + image.path() + " at byte " + std::to_string(copy) +
                    " does not match its checksum once the redo log is applied. Restore heap and log from a copy.",
                image.path(), 0, copy);
}

result<void> replay_all(store::heap_file& store, const std::string& log_path,
                        const std::vector<scanned_record>& records, const progress_callback& progress) {
    replay all(store.copies(), store.whole_chunks(), log_path);
    for (const scanned_record& record : records)
        REM_TRY(all.add(record, [&](std::uint64_t chunk) { return store.image().has_contents(chunk); }));
    REM_TRY(all.leave_out_what_has_no_place());
    // extend_to_image() requires only the written contents of fresh chunks, which were durable before their record
    // (I2).
    REM_TRY(store.extend_to_image());
    const auto make = [&](const replayed_page& page, std::span<std::byte> bytes) {
        return make_page(store.image(), page, bytes);
    };
    // I1: every record is durable. I5: pages are written even if they seem to be right already.
    return all.apply(
        make, [&](std::span<const store::applied_page> pages) { return store.writer().apply(pages); }, progress);
}

result<recovery_outcome> bring_to_last_commit(os::file_system& files, os::file& log, store::heap_file& store,
                                              const std::vector<scanned_record>& records,
                                              const progress_callback& progress, history_keeper keep) {
    REM_TRY(confirm(log, records)); // I1
    if (keep != nullptr)
        REM_TRY(keep(files, store, records));
    REM_TRY(replay_all(store, log.path(), records, progress));
    REM_TRY(store.unused().discard_unstored());
    REM_TRY(store.room().reserve_map(0)); // discard_unstored() may have returned room that a dead writer reserved
    const std::uint64_t version = records.empty() ? store.image().pinned().version : records.back().version;
    const std::uint64_t chain = records.empty() ? store.super().chain : records.back().checksum;
    // R2: clean, so that the next commit begins a new epoch.
    const bool has_given_back = !store.copies().not_yet_free().empty();
    REM_TRY(store.writer().publish({version, chain, store.session(), true, format::k_log_header_bytes}));
    if (has_given_back) { // these chunks' copies were spared, since the previous superblock named them
        if (auto discarded = store.unused().discard_unstored(); !discarded && discarded.why().code != errc::no_space)
            return discarded.error();
    }
    recovery_outcome outcome{records.size(), 0};
    for (const scanned_record& record : records)
        outcome.bytes += align_up(record.bytes.size(), format::k_record_alignment);
    return outcome;
}

/// A power loss may have torn the other superblock. Publishing the clean one again overwrites it.
result<void> restore_other_superblock(store::heap_file& store) {
    if (!store.supers().other_damage())
        return {};
    const auto& super = store.super();
    return store.writer().publish(
        {super.checkpoint_version, super.chain, store.session(), true, format::k_log_header_bytes});
}

} // namespace

// The last record tells up to which version the records are known to be durable.
result<void> confirm(os::file& log, const std::vector<scanned_record>& records) {
    if (records.empty())
        return {};
    for (const scanned_record& record : records) {
        if (record.version > records.back().durable_through)
            REM_TRY(log.write("log: confirm records", record.offset, record.bytes)); // I5: a sync is not enough
    }
    return log.sync("log: sync confirmed records");
}

result<recovery_outcome> recover(os::file_system& files, store::heap_file& store, const progress_callback& progress,
                                 history_keeper keep) {
    auto log = open_log(files, store, os::access::read_write);
    if (!log)
        return log.error();
    recovery_outcome outcome;
    if (!*log) {
        REM_TRY(restore_other_superblock(store));
        return outcome;
    }
    REM_TRY(log::lock_log(**log));
    REM_TRY(store.supers().confirm());          // before pages are applied or the log is removed
    auto records = scan(**log, store.supers()); // even beside a clean heap, which must not be older than its log (I3)
    if (!records)
        return records.error();
    if (store.is_clean()) {
        REM_TRY(restore_other_superblock(store));
    } else {
        auto brought = bring_to_last_commit(files, **log, store, *records, progress, keep);
        if (!brought)
            return brought.error();
        outcome = *brought;
    }
    REM_TRY(remove_log(files, (*log)->path(), **log));
    return outcome;
}

result<void> check_clean(os::file_system& files, const store::heap_file& store) {
    auto log = open_log(files, store, os::access::read_only);
    if (!log)
        return log.error();
    if (!*log)
        return {};
    auto records = scan(**log, store.supers());
    if (!records)
        return records.error();
    return {};
}

// Does not sync the directory. If the log is there again after a power loss, it lies beside a clean heap that is not
// older, and the next open removes it.
result<void> remove_log(os::file_system& files, const std::string& path, os::file& log) {
    return files.remove("log: remove", path, log);
}

} // namespace remanence::recover
