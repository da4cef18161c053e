#include "log/recovery.hpp"

#include "base/checksum.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>

namespace remanence::log {

using format::record_header;

namespace {

unexpected damaged_log(const std::string& path, std::uint64_t offset, const std::string& what) {
    return fail(errc::corrupt,
                "the redo log " + path + " is damaged at byte " + std::to_string(offset) + " (" + what +
                    "). Commits after that place cannot be recovered; restore heap and log from a copy.",
                path, 0, offset);
}

unexpected damaged_superblock(const store::heap_file& store, std::uint64_t offset, const std::string& what) {
    return fail(errc::corrupt,
                "the superblock of " + store.path() + " at byte " + std::to_string(offset) +
                    " is damaged, and the older one " + what + ". Restore the heap from a copy.",
                store.path(), 0, offset);
}

enum class header_state { ours, older, foreign, damaged, unwritten };

result<header_state> check_header(os::file& log, const store::heap_file& store) {
    format::log_header header{};
    auto size = log.size();
    if (!size)
        return size.error();
    if (*size < sizeof header)
        return header_state::unwritten;
    REM_TRY(log.read(0, std::as_writable_bytes(std::span(&header, 1))));
    auto bytes = std::as_bytes(std::span(&header, 1));
    if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }))
        return header_state::unwritten;
    auto sum = checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(format::log_header, checksum)));
    if (header.magic != format::k_log_magic || header.checksum != sum)
        return header_state::damaged;
    if (header.uuid != store.super().uuid)
        return header_state::foreign;
    if (header.format_version != 1)
        return header_state::damaged;
    return header.epoch < store.super().epoch ? header_state::older : header_state::ours;
}

unexpected cut_off(const std::string& path, std::uint64_t size) {
    return fail(errc::truncated,
                "the redo log " + path + " is cut off at " + std::to_string(size) +
                    " bytes. Commits are missing; restore heap and log from a copy.",
                path, 0, size);
}

/// A log that is needed was durable with its first segment before the superblock that says so. It grows by whole
/// segments; only a record in flight may have made it longer by a part of one, and begins before that part.
result<void> refuse_cut_off(os::file& log, const std::vector<scanned_record>& records, std::uint64_t end) {
    auto size = log.size();
    if (!size)
        return size.error();
    constexpr std::uint64_t k_header = format::k_log_header_bytes;
    const std::uint64_t whole = *size < k_header ? 0 : align_down(*size - k_header, format::k_log_segment_bytes);
    if (whole == 0)
        return cut_off(log.path(), *size);
    if (*size == k_header + whole || end <= k_header + whole)
        return {};
    if (!records.empty() && records.back().offset > k_header + whole)
        return cut_off(log.path(), *size);
    std::uint64_t magic = 0; // of a record that is not whole
    if (end + sizeof magic > *size)
        return {};
    REM_TRY(log.read(end, std::as_writable_bytes(std::span(&magic, 1))));
    if (magic == format::k_record_magic)
        return cut_off(log.path(), *size);
    return {};
}

/// Reads the record at `offset` when there is an intact one of this heap.
result<bool> read_record(os::file& log, std::uint64_t log_bytes, std::uint64_t offset, const uuid& heap,
                         scanned_record& record, record_header& header) {
    if (offset + sizeof header > log_bytes)
        return false;
    std::vector<std::byte> head(sizeof header);
    REM_TRY(log.read(offset, head));
    if (!looks_like_record(head, header) || header.uuid != heap)
        return false;
    if (header.payload_bytes > log_bytes - offset - sizeof header)
        return false; // I7: before it is allocated
    record.bytes.resize(sizeof header + static_cast<std::size_t>(header.payload_bytes));
    REM_TRY(log.read(offset, record.bytes));
    if (!record_is_intact(record.bytes))
        return false;
    record.offset = offset;
    record.version = header.version;
    record.checksum = header.checksum;
    record.image_bytes = header.image_bytes;
    return true;
}

/// R2: a record that does not chain is a torn tail, unless a later one says that it had been durable.
result<void> refuse_damage(os::file& log, std::uint64_t log_bytes, std::uint64_t from, const store::heap_file& store,
                           std::uint64_t expected) {
    const auto& super = store.super();
    std::vector<std::byte> window(
        static_cast<std::size_t>(std::min<std::uint64_t>(64 * KiB, align_up(log_bytes, k_sector_bytes))));
    for (std::uint64_t at = align_down(from, k_sector_bytes); at < log_bytes;) {
        auto part =
            std::span(window).first(static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), log_bytes - at)));
        REM_TRY(log.read(at, part));
        for (std::uint64_t sector = 0; sector < part.size(); sector += k_sector_bytes) {
            record_header header{};
            if (!looks_like_record(part.subspan(static_cast<std::size_t>(sector)), header))
                continue;
            if (header.uuid != super.uuid || header.epoch < super.epoch)
                continue;
            // I3: a later epoch began with a superblock that is gone. In this epoch only durable commits count.
            if (header.epoch == super.epoch && (header.version <= expected || header.durable_through < expected))
                continue;
            scanned_record later;
            auto intact = read_record(log, log_bytes, at + sector, super.uuid, later, header);
            if (!intact)
                return intact.error();
            if (*intact) {
                if (auto damaged = store.other_superblock_damage()) // what follows, follows that one
                    return damaged_superblock(store, *damaged, "is older than the redo log " + log.path());
                return damaged_log(log.path(), from,
                                   "commit " + std::to_string(expected) + " should be here, since commit " +
                                       std::to_string(header.version) + " follows at byte " +
                                       std::to_string(at + sector));
            }
        }
        at += part.size();
    }
    return {};
}

/// One page change, by reference into the scanned records.
struct page_reference {
    std::uint64_t page;
    std::uint64_t version;
    page_entry entry;
};

/// Applies the records to the image; returns how many. `damaged`: told of what does not fit, which is then left out;
/// when null, that is an error.
result<std::size_t> replay(store::heap_file& store, const os::file& log, const std::vector<scanned_record>& records,
                           const progress_callback& progress, const damage_callback* damaged) {
    // R3: first the final placement of every chunk, then the ranges.
    std::unordered_map<std::uint64_t, std::uint64_t> births;
    std::vector<page_reference> changes;
    std::size_t applied = 0;
    for (const scanned_record& record : records) {
        const std::size_t changes_before = changes.size();
        bool fits = record.image_bytes <= store.region_bytes() && is_aligned(record.image_bytes, store.chunk_bytes());
        std::optional<failure> unread;
        const auto place = [&](std::uint64_t chunk, std::vector<std::uint32_t> checksums) {
            const auto taken = store.has_contents(chunk);
            if (!taken && damaged == nullptr)
                unread = taken.why();
            fits = fits && (taken ? !*taken : damaged != nullptr);
            if (fits) {
                store.accept_fresh(chunk, std::move(checksums), record.version);
                births[chunk] = record.version;
            }
        };
        const auto note = [&](const page_entry& entry) { changes.push_back({entry.page, record.version, entry}); };
        if (fits && !for_each_part(record.bytes, store.chunk_pages(), place, note))
            fits = false;
        if (unread)
            return unexpected(std::move(*unread));
        if (!fits || store.image_bytes() != record.image_bytes) {
            auto unfit = damaged_log(log.path(), record.offset, "its contents do not fit the heap");
            if (damaged == nullptr)
                return unfit;
            (*damaged)(unfit.why());
            changes.resize(changes_before);
            break;
        }
        ++applied;
    }
    for (const page_reference& change : changes) {
        if (store.is_stored(change.page / store.chunk_pages()))
            continue;
        auto unfit = damaged_log(log.path(), 0, "it changes a page that does not exist");
        if (damaged == nullptr)
            return unfit;
        (*damaged)(unfit.why());
        break;
    }
    if (damaged != nullptr)
        std::erase_if(changes, [&](const page_reference& c) { return !store.is_stored(c.page / store.chunk_pages()); });
    std::stable_sort(changes.begin(), changes.end(),
                     [](const page_reference& a, const page_reference& b) { return a.page < b.page; });

    // In batches, so that memory stays bounded and neighbouring pages go out in one write.
    constexpr std::size_t k_batch_pages = 256;
    std::vector<std::byte> bytes(k_batch_pages * k_page_bytes);
    std::vector<store::folded_page> batch;
    for (std::size_t i = 0; i < changes.size();) {
        std::byte* page = bytes.data() + batch.size() * k_page_bytes;
        std::uint64_t index = changes[i].page;
        auto first_sum = store.checksum_of(index);
        if (!first_sum) {
            if (damaged == nullptr)
                return first_sum.error();
            (*damaged)(first_sum.why());
            first_sum = std::uint32_t{0};
        }
        // Not verified: an interrupted fold may have left the page half old, half new. Its last change says what it must be.
        std::fill_n(page, k_page_bytes, std::byte{0});
        if (*first_sum != 0) {
            auto read = store.file().read(store.home_of(index * k_page_bytes), std::span(page, k_page_bytes));
            if (!read && damaged == nullptr)
                return read.error();
        }
        auto birth = births.find(index / store.chunk_pages());
        std::uint32_t checksum = *first_sum;
        for (; i < changes.size() && changes[i].page == index; ++i) {
            if (birth != births.end() && changes[i].version <= birth->second)
                continue; // R3
            apply_ranges(changes[i].entry, page);
            checksum = changes[i].entry.checksum;
        }
        // Where damage is passed over, the page goes into the image as it is, with the checksum that it should have.
        if (damaged == nullptr && page_checksum(std::span(page, k_page_bytes)) != checksum) {
            std::uint64_t at = store.home_of(index * k_page_bytes);
            return fail(errc::corrupt,
                        "page " + std::to_string(index) + " of " + store.path() + " at byte " + std::to_string(at) +
                            " does not become what the redo log says. Restore heap and log from a copy.",
                        store.path(), 0, at);
        }
        batch.push_back({index, page, checksum});
        if (batch.size() == k_batch_pages || i == changes.size()) {
            if (auto folded = store.fold(batch); !folded) { // I1: every record is durable. I5: unconditionally
                if (damaged == nullptr)
                    return folded.error();
                (*damaged)(folded.why());
            }
            batch.clear();
            if (progress)
                progress(i * k_page_bytes, changes.size() * k_page_bytes);
        }
    }
    return applied;
}

/// The records that follow the checkpoint, up to the first that is missing, torn or damaged.
struct scanned_log {
    std::vector<scanned_record> records;
    std::optional<failure> damage; // an acknowledged record is not there
};

result<void> refuse_bad_end(os::file& log, std::uint64_t log_bytes, const scanned_log& scanned, std::uint64_t end,
                            const store::heap_file& store, std::uint64_t version) {
    REM_TRY(refuse_damage(log, log_bytes, end, store, version + 1));
    if (!store.is_clean())
        REM_TRY(refuse_cut_off(log, scanned.records, end));
    return {};
}

result<scanned_log> scan_log(os::file& log, const store::heap_file& store) {
    auto size = log.size();
    if (!size)
        return size.error();
    scanned_log scanned;
    std::uint64_t offset = format::k_log_header_bytes;
    std::uint64_t version = store.super().checkpoint_version;
    std::uint64_t predecessor = store.super().chain;
    for (;;) {
        scanned_record record;
        record_header header{};
        auto intact = read_record(log, *size, offset, store.super().uuid, record, header);
        if (!intact)
            return intact.error();
        if (!*intact || header.epoch != store.super().epoch || header.version != version + 1 ||
            header.predecessor != predecessor)
            break;
        if (header.features != 0) {
            return fail(errc::unsupported_format,
                        "the redo log " + log.path() + " uses features that this release lacks (" +
                            std::to_string(header.features) + " at byte " + std::to_string(offset) +
                            "). Open the heap with the release that wrote it.",
                        log.path(), 0, offset);
        }
        version = header.version;
        predecessor = header.checksum;
        offset += align_up(record.bytes.size(), format::k_record_alignment);
        scanned.records.push_back(std::move(record));
    }
    if (auto sound = refuse_bad_end(log, *size, scanned, offset, store, version); !sound) {
        if (!is_damage(sound.why().code))
            return sound.error();
        scanned.damage = sound.why();
    }
    return scanned;
}

} // namespace

result<std::vector<scanned_record>> scan(os::file& log, const store::heap_file& store) {
    auto scanned = scan_log(log, store);
    if (!scanned)
        return scanned.error();
    if (scanned->damage)
        return unexpected(std::move(*scanned->damage));
    return std::move(scanned->records);
}

namespace {

/// Opens the log beside the heap and checks that it is the heap's; null when there is none.
result<std::unique_ptr<os::file>> open_log(os::file_system& files, store::heap_file& store, os::access mode) {
    const std::string path = store::log_path(store.path());
    auto present = files.exists(path);
    if (!present)
        return present.error();
    if (!*present) {
        if (store.is_clean())
            return std::unique_ptr<os::file>();
        // Every superblock that is written while a log is needed finds that log on the disk. So a log that is not there
        // beside a damaged superblock most likely went with a clean close, which that one told of.
        if (auto damaged = store.other_superblock_damage())
            return damaged_superblock(store, *damaged, "needs a redo log, which is not there");
        return fail(errc::log_missing, // I3
                    store.path() + " was not closed cleanly, and its redo log " + path +
                        " is not there. Put the log back beside the heap; without it the last commits are lost.",
                    path);
    }
    auto log = files.open(path, mode);
    if (!log)
        return log.error();
    auto state = check_header(**log, store);
    if (!state)
        return state.error();
    if (*state == header_state::foreign) {
        return fail(errc::log_foreign,
                    "the redo log " + path + " belongs to another heap than " + store.path() +
                        ". Move it back to its own heap, and bring the right one if there is one.",
                    path);
    }
    if (*state == header_state::older && !store.is_clean()) {
        return fail(errc::log_foreign, // I3
                    "the redo log " + path + " is of an earlier session of " + store.path() +
                        " than the one that was not closed cleanly. Put that session's log back beside the heap; "
                        "without it the last commits are lost.",
                    path);
    }
    // A header is never torn, since it lies within one sector (R6); before it is written, it is zeros.
    if (*state == header_state::damaged || (*state == header_state::unwritten && !store.is_clean()))
        return damaged_log(path, 0, "its header");
    return std::move(*log);
}

/// A power loss may have torn a superblock beside a clean one. Publishing the same again makes that place whole.
result<void> restore_other_superblock(store::heap_file& store) {
    if (!store.other_superblock_damage())
        return {};
    const auto& super = store.super();
    return store.publish(super.checkpoint_version, super.chain, super.epoch, true);
}

} // namespace

result<void> check_clean(os::file_system& files, store::heap_file& store) {
    auto log = open_log(files, store, os::access::read_only);
    if (!log)
        return log.error();
    if (!*log)
        return {};
    auto records = scan(**log, store);
    if (!records)
        return records.error();
    return {};
}

// No sync of the directory: should the log come back after a power loss, it lies beside a clean heap that is not older
// than it, and the next open removes it again.
result<void> remove_log(os::file_system& files, const std::string& heap_path) {
    return files.remove("log: remove", store::log_path(heap_path));
}

result<recovery_outcome> recover(os::file_system& files, store::heap_file& store, const progress_callback& progress) {
    auto log = open_log(files, store, os::access::read_write);
    if (!log)
        return log.error();
    recovery_outcome outcome;
    if (!*log) {
        REM_TRY(restore_other_superblock(store));
        return outcome;
    }
    REM_TRY(store.confirm());          // before pages are folded, or the log is removed, on its word
    auto records = scan(**log, store); // of a clean heap too: it must not be older than its log (I3)
    if (!records)
        return records.error();
    if (!store.is_clean()) {
        if (!records->empty()) {
            // I1: the last record may be in the page cache only, since its writer died or its sync failed. All before it
            // were durable when it was written (durable_through).
            REM_TRY((*log)->write("log: confirm last record", records->back().offset, records->back().bytes));
            REM_TRY((*log)->sync("log: sync confirmed record"));
        }
        if (auto replayed = replay(store, **log, *records, progress, nullptr); !replayed)
            return replayed.error();
        REM_TRY(store.discard_unstored());
        REM_TRY(store.reserve_map(0)); // what the dead writer had reserved beyond the layout was just given back
        std::uint64_t version = records->empty() ? store.super().checkpoint_version : records->back().version;
        std::uint64_t chain = records->empty() ? store.super().chain : records->back().checksum;
        // R2: clean, so that the next commit begins a new epoch.
        REM_TRY(store.publish(version, chain, store.super().epoch, true));
        outcome.commits = records->size();
        for (const scanned_record& record : *records)
            outcome.bytes += record.bytes.size();
    } else {
        REM_TRY(restore_other_superblock(store));
    }
    REM_TRY(remove_log(files, store.path()));
    return outcome;
}

result<recovery_outcome> salvage(os::file_system& files, store::heap_file& store, const damage_callback& damaged,
                                 const progress_callback& progress) {
    recovery_outcome outcome;
    scanned_log scanned;
    auto log = open_log(files, store, os::access::read_write);
    if (!log) {
        if (!is_damage(log.why().code))
            return log.error();
        damaged(log.why());
    } else if (*log) {
        auto found = scan_log(**log, store);
        if (!found)
            return found.error();
        scanned = std::move(*found);
        if (scanned.damage)
            damaged(*scanned.damage);
        if (!store.is_clean()) {
            auto applied = replay(store, **log, scanned.records, progress, &damaged);
            if (!applied)
                return applied.error();
            outcome.commits = *applied;
        }
    }
    std::uint64_t version = store.super().checkpoint_version;
    std::uint64_t chain = store.super().chain;
    for (const scanned_record& record : std::span(scanned.records).first(outcome.commits)) {
        version = record.version;
        chain = record.checksum;
        outcome.bytes += record.bytes.size();
    }
    auto publish = [&]() -> result<void> {
        if (!store.is_clean()) {
            REM_TRY(store.discard_unstored());
            REM_TRY(store.reserve_map(0));
        } else if (!store.other_superblock_damage()) {
            return {};
        }
        return store.publish(version, chain, store.super().epoch, true);
    };
    if (auto published = publish(); !published) { // a damaged table stays as it was, and its pages cannot be checked
        if (!is_damage(published.why().code))
            return published.error();
        damaged(published.why());
    }
    return outcome;
}

} // namespace remanence::log
