#include "recover/scan.hpp"

#include "base/checksum.hpp"
#include "base/range.hpp"
#include "log/record.hpp"
#include "store/heap_creation.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace remanence::recover {

using format::record_header;

unexpected damaged_log(const std::string& path, std::uint64_t offset, const std::string& what) {
    return fail(errc::corrupt,
                "the redo log " + path + " is damaged at byte " + std::to_string(offset) + " (" + what +
                    "). Commits after that place cannot be recovered; restore heap and log from a copy.",
                path, 0, offset);
}

namespace {

unexpected damaged_superblock(const store::superblock_pair& supers, std::uint64_t offset, const std::string& what) {
    return fail(errc::corrupt,
                "the superblock of " + supers.path() + " at byte " + std::to_string(offset) +
                    " is damaged, and the older one " + what + ". Restore the heap from a copy.",
                supers.path(), 0, offset);
}

/// Returns the session number that the log and its records must have. A heap of format 2 has none, and a heap that was
/// just upgraded has not begun a session; their logs have the heap's UUID in its place.
const log::session_number& session_of(const store::superblock_pair& supers) {
    const format::superblock& super = supers.current();
    return super.session == log::session_number{} ? super.uuid : super.session;
}

template <class Header>
bool has_fitting_checksum(const Header& header) {
    return header.checksum == checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum)));
}

/// Reads the log's header. Returns nothing if it was never written, because the creation of the log was interrupted.
/// errc::corrupt if it is damaged. A header cannot be torn, since it lies within one sector (R6).
result<std::optional<format::log_header>> read_header(os::file& log) {
    format::log_header header{};
    auto size = log.size();
    if (!size)
        return size.error();
    if (*size < sizeof header)
        return std::optional<format::log_header>();
    REM_TRY(log.read(0, std::as_writable_bytes(std::span(&header, 1))));
    auto bytes = std::as_bytes(std::span(&header, 1));
    if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }))
        return std::optional<format::log_header>();
    if (header.magic == format::k_log_magic && header.format_version == format::k_log_version &&
        has_fitting_checksum(header))
        return std::optional(header);
    format::log_header_without_session old{};
    REM_TRY(log.read(0, std::as_writable_bytes(std::span(&old, 1))));
    if (old.magic != format::k_log_magic || old.format_version != format::k_log_version_without_session ||
        !has_fitting_checksum(old))
        return damaged_log(log.path(), 0, "its header");
    header.uuid = header.session = old.uuid;
    header.epoch = old.epoch;
    return std::optional(header);
}

/// A log belongs to a heap if superblock and log name the same session. There is one exception: if the power failed
/// before the session's first superblock was durable, the log is of the next epoch and contains no records; scan()
/// checks that. Any other log is refused: its commits would be applied to a heap that lacks earlier ones, or they would
/// be removed with the log.
result<void> refuse_other_session(const std::string& path, const format::log_header& header,
                                  const store::superblock_pair& supers) {
    const std::uint64_t epoch = supers.current().epoch;
    if (header.epoch < epoch) {
        return fail(errc::log_foreign, // I3
                    "the redo log " + path + " is older than the heap " + supers.path() +
                        ": it belongs to an earlier session or to a copy. " +
                        (supers.is_clean() ? "The heap was closed. Bring it back to its own heap, or remove it; "
                                             "this heap needs no log."
                                           : "The heap was not closed cleanly. Put its last session's log back "
                                             "beside the heap; without it the last commits are lost."),
                    path);
    }
    if (header.session == session_of(supers) || (supers.is_clean() && header.epoch > epoch))
        return {};
    if (auto damaged = supers.other_damage(); damaged && header.epoch > epoch)
        return damaged_superblock(supers, *damaged, "is older than the redo log " + path);
    if (header.epoch > epoch) {
        return fail(
            errc::log_foreign,
            supers.path() + " is older than the redo log " + path +
                ", which a later session began: an older copy was put in the place of the heap. Put the heap that the "
                "log belongs to back, or move the log away and bring the log of this copy; without it the last "
                "commits are lost.",
            path);
    }
    return fail(errc::log_foreign,
                "the redo log " + path + " belongs to another copy of the heap " + supers.path() +
                    ": it was begun by another session. Bring it back to its own copy" +
                    (supers.is_clean() ? ", or remove it; this heap needs no log."
                                       : ", and bring the log of this one; without it the last commits are lost."),
                path);
}

unexpected missing_log(const store::heap_file& store, const std::string& path) {
    const std::string& directory = store.where_log_lies().directory();
    return fail(
        errc::log_missing,
        store.path() + " was not closed cleanly, and its redo log " + path + " is not there. " +
            (directory.empty() ? "Put the log back beside the heap"
                               : "If that is on another device, mount it; else put the log back into " + directory) +
            "; without it the last commits are lost. If the heap was renamed or moved while it was open, the log "
            "may have the heap's former name, and -log.",
        path);
}

} // namespace

result<std::unique_ptr<os::file>> open_log(os::file_system& files, const store::heap_file& store, os::access mode) {
    const store::superblock_pair& supers = store.supers();
    const std::string path = store.log_path();
    auto present = files.exists(path);
    if (!present)
        return present.error();
    if (!*present) {
        if (supers.is_clean())
            return std::unique_ptr<os::file>();
        // Every superblock that needs a log is written after that log is durable. So if the log is missing and one
        // superblock is damaged, most likely that superblock was the clean one, and a clean close then removed the log.
        if (auto damaged = supers.other_damage())
            return damaged_superblock(supers, *damaged, "needs a redo log, which is not there");
        return missing_log(store, path); // I3
    }
    auto log = files.open(path, mode);
    if (!log)
        return log.error();
    auto header = read_header(**log);
    if (!header)
        return header.error();
    if (!*header) {
        if (!supers.is_clean())
            return damaged_log(path, 0, "its header");
        return std::move(*log);
    }
    if ((*header)->uuid != supers.current().uuid) {
        return fail(errc::log_foreign,
                    "the redo log " + path + " belongs to another heap than " + supers.path() +
                        ". Move it back to its own heap, and bring the right one if there is one.",
                    path);
    }
    REM_TRY(refuse_other_session(path, **header, supers));
    return std::move(*log);
}

namespace {

unexpected cut_off(const std::string& path, std::uint64_t size) {
    return fail(errc::truncated,
                "the redo log " + path + " is cut off at " + std::to_string(size) +
                    " bytes. Commits are missing; restore heap and log from a copy.",
                path, 0, size);
}

/// Returns where the last record that is known to have been durable ends.
std::uint64_t durable_end(const std::vector<scanned_record>& records, std::uint64_t durable_through) {
    std::uint64_t end = 0;
    for (const scanned_record& record : records) {
        if (record.version <= durable_through)
            end = std::max(end, record.offset + align_up(record.bytes.size(), format::k_record_alignment));
    }
    return end;
}

/// The log's window as found: records that begin at `begin`, and perhaps others that begin at the log's beginning.
struct window {
    std::uint64_t begin;
    std::uint64_t end; // end of the last record
    std::uint64_t far_end = 0;
    bool in_two_parts = false;

    explicit window(const format::superblock& super) : begin(super.log_begin), end(begin) {}
    [[nodiscard]] bool may_go_on_at_beginning() const { return !in_two_parts && begin != format::k_log_header_bytes; }
    void go_on_at_beginning() {
        in_two_parts = true;
        far_end = std::exchange(end, format::k_log_header_bytes);
    }
    /// Returns the two places at which the next record may lie.
    [[nodiscard]] std::array<std::uint64_t, 2> next_places() const {
        return {end, may_go_on_at_beginning() ? format::k_log_header_bytes : end};
    }
    /// Returns the two parts of the log that are outside of the window.
    [[nodiscard]] std::array<file_range, 2> outside(std::uint64_t log_bytes) const {
        const std::uint64_t low = in_two_parts ? end : format::k_log_header_bytes;
        const std::uint64_t high = in_two_parts ? far_end : end;
        return {file_range{low, std::max(low, std::min(begin, log_bytes)) - low},
                file_range{high, std::max(high, log_bytes) - high}};
    }
};

/// Returns the header of the record of this version if it lies at that place, even if the record is incomplete.
result<std::optional<record_header>> header_at(os::file& log, std::uint64_t log_bytes, std::uint64_t at,
                                               const store::superblock_pair& supers, std::uint64_t version) {
    record_header header{};
    if (at + sizeof header > log_bytes)
        return std::optional<record_header>();
    REM_TRY(log.read(at, std::as_writable_bytes(std::span(&header, 1))));
    const bool is_it = header.magic == format::k_record_magic && header.session == session_of(supers) &&
                       header.epoch == supers.current().epoch && header.version == version;
    return is_it ? std::optional(header) : std::nullopt;
}

/// Fails if the log was cut off. Before a superblock needed the log, the log was durable with its first segment; all
/// segments before the window are durable as well. The log grows by whole segments, each durable with the first record
/// that reaches into it. So an incomplete segment can contain only records that were still being written.
result<void> refuse_cut_off(os::file& log, std::uint64_t log_bytes, const std::vector<scanned_record>& records,
                            const window& found, const store::superblock_pair& supers, std::uint64_t version) {
    constexpr std::uint64_t k_header = format::k_log_header_bytes;
    const std::uint64_t whole = log_bytes < k_header ? 0 : format::log_segments_within(log_bytes - k_header);
    if (whole < format::log_segments_around(found.begin - k_header))
        return cut_off(log.path(), log_bytes);
    if (log_bytes == k_header + whole)
        return {};
    // A write extends a file by whole sectors, and a record header lies within one. So a file that ends within a header
    // was cut off.
    std::uint64_t magic = 0;
    if (found.end + sizeof magic <= log_bytes && found.end + sizeof(record_header) > log_bytes) {
        REM_TRY(log.read(found.end, std::as_writable_bytes(std::span(&magic, 1))));
        if (magic == format::k_record_magic)
            return cut_off(log.path(), log_bytes);
    }
    std::uint64_t durable_through = records.empty() ? 0 : records.back().durable_through;
    for (const std::uint64_t place : found.next_places()) {
        auto next = header_at(log, log_bytes, place, supers, version + 1);
        if (!next)
            return next.error();
        if (*next)
            durable_through = std::max(durable_through, (*next)->durable_through);
    }
    if (durable_end(records, durable_through) > k_header + whole)
        return cut_off(log.path(), log_bytes);
    return {};
}

/// Reads the record at `offset`. Returns false if no intact record of this session lies there.
result<bool> read_record(os::file& log, std::uint64_t log_bytes, std::uint64_t offset,
                         const log::session_number& session, scanned_record& record, record_header& header) {
    if (offset + sizeof header > log_bytes)
        return false;
    std::vector<std::byte> head(sizeof header);
    REM_TRY(log.read(offset, head));
    if (!log::looks_like_record(head, header) || header.session != session)
        return false;
    if (header.payload_bytes > log_bytes - offset - sizeof header)
        return false; // I7: tested before the allocation
    record.bytes.resize(sizeof header + static_cast<std::size_t>(header.payload_bytes));
    REM_TRY(log.read(offset, record.bytes));
    if (!log::record_is_intact(record.bytes))
        return false;
    record.offset = offset;
    record.version = header.version;
    record.checksum = header.checksum;
    record.durable_through = header.durable_through;
    record.image_bytes = header.image_bytes;
    return true;
}

/// Returns the first record in this part of the log that proves that commit `expected` was durable; nothing if there is
/// none.
result<std::optional<scanned_record>> find_proof(os::file& log, std::uint64_t log_bytes, file_range part,
                                                 const log::session_number& session, std::uint64_t epoch,
                                                 std::uint64_t expected) {
    std::vector<std::byte> buffer(
        static_cast<std::size_t>(std::min<std::uint64_t>(64 * KiB, align_up(part.bytes, k_sector_bytes))));
    for (std::uint64_t at = part.offset; at < part.end();) {
        auto piece =
            std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), part.end() - at)));
        REM_TRY(log.read(at, piece));
        for (std::uint64_t sector = 0; sector < piece.size(); sector += k_sector_bytes) {
            record_header header{};
            if (!log::looks_like_record(piece.subspan(static_cast<std::size_t>(sector)), header))
                continue;
            if (header.session != session || header.epoch < epoch)
                continue;
            // I3: a record of a later epoch counts, since a superblock that is lost began that epoch. A record of this
            // epoch counts only if it says that `expected` was durable.
            if (header.epoch == epoch && (header.version <= expected || header.durable_through < expected))
                continue;
            scanned_record later;
            auto intact = read_record(log, log_bytes, at + sector, session, later, header);
            if (!intact)
                return intact.error();
            if (*intact)
                return std::optional(std::move(later));
        }
        at += piece.size();
    }
    return std::optional<scanned_record>();
}

unexpected later_session(const std::string& path, std::uint64_t offset, const store::superblock_pair& supers) {
    return fail(
        errc::corrupt, // I3
        "the redo log " + path + " has commits, from byte " + std::to_string(offset) +
            " on, of a session that began after " + supers.path() +
            " was closed. That heap was replaced by an older copy, or the log belongs to another copy of it. Bring "
            "back the heap that the log belongs to, or move the log to it.",
        path, 0, offset);
}

/// R2: a record that does not chain is a torn tail, unless a later record says that it was durable. In the file, the
/// later record may lie before it.
result<void> refuse_damage(os::file& log, std::uint64_t log_bytes, const window& found,
                           const store::superblock_pair& supers, std::uint64_t expected) {
    auto header = read_header(log);
    if (!header)
        return header.error();
    // Beside a clean heap, the session of the log may differ from that of the superblock.
    const log::session_number session = *header ? (*header)->session : session_of(supers);
    for (const file_range part : found.outside(log_bytes)) {
        auto later = find_proof(log, log_bytes, part, session, supers.current().epoch, expected);
        if (!later)
            return later.error();
        if (!*later)
            continue;
        if (auto damaged = supers.other_damage()) // then the record is one of those after the damaged superblock
            return damaged_superblock(supers, *damaged, "is older than the redo log " + log.path());
        if (session != session_of(supers))
            return later_session(log.path(), (*later)->offset, supers);
        std::uint64_t place = found.end;
        if (const std::uint64_t other = found.next_places()[1]; other != place) {
            auto there = header_at(log, log_bytes, other, supers, expected);
            if (!there)
                return there.error();
            if (*there)
                place = other;
        }
        return damaged_log(log.path(), place,
                           "commit " + std::to_string(expected) + " should be here, since commit " +
                               std::to_string((*later)->version) + " follows at byte " +
                               std::to_string((*later)->offset));
    }
    return {};
}

result<void> refuse_bad_end(os::file& log, std::uint64_t log_bytes, const scanned_log& scanned, const window& found,
                            const store::superblock_pair& supers, std::uint64_t version) {
    REM_TRY(refuse_damage(log, log_bytes, found, supers, version + 1));
    if (!supers.is_clean())
        REM_TRY(refuse_cut_off(log, log_bytes, scanned.records, found, supers, version));
    return {};
}

/// Reads the record at `offset`. Returns false if it does not follow the commit of this version.
result<bool> read_follower(os::file& log, std::uint64_t log_bytes, std::uint64_t offset,
                           const store::session_identity& session, std::uint64_t version, std::uint64_t predecessor,
                           scanned_record& record) {
    record_header header{};
    auto intact = read_record(log, log_bytes, offset, session.number, record, header);
    if (!intact)
        return intact.error();
    if (!*intact || header.epoch != session.epoch || header.version != version + 1 || header.predecessor != predecessor)
        return false;
    const std::uint64_t unknown = header.features & ~format::k_known_record_features;
    if (unknown == 0)
        return true;
    return fail(errc::unsupported_format,
                "the redo log " + log.path() + " uses features that this release lacks (" + std::to_string(unknown) +
                    " at byte " + std::to_string(offset) + "). Open the heap with the release that wrote it.",
                log.path(), 0, offset);
}

} // namespace

// R2: a version is written once in an epoch, so its record can be at only one of the two places.
result<std::optional<scanned_record>> next_record(os::file& log, const store::session_identity& session,
                                                  log_place& place) {
    auto size = log.size();
    if (!size)
        return size.error();
    for (const std::uint64_t offset : {place.offset, format::k_log_header_bytes}) {
        scanned_record record;
        auto follows = read_follower(log, *size, offset, session, place.version, place.chain, record);
        if (!follows)
            return follows.error();
        if (!*follows)
            continue;
        place = {record.version, record.checksum, offset + align_up(record.bytes.size(), format::k_record_alignment)};
        return std::optional(std::move(record));
    }
    return std::optional<scanned_record>();
}

// R2: a version is written once in an epoch, so its record can be at only one of the two places. Only the right record
// names the checksum of the previous one.
result<scanned_log> scan_up_to_damage(os::file& log, const store::superblock_pair& supers) {
    auto size = log.size();
    if (!size)
        return size.error();
    scanned_log scanned;
    window found(supers.current());
    std::uint64_t version = supers.current().checkpoint_version;
    std::uint64_t predecessor = supers.current().chain;
    const store::session_identity session{supers.current().epoch, session_of(supers)};
    const auto read_next = [&](std::uint64_t offset, scanned_record& record) {
        return read_follower(log, *size, offset, session, version, predecessor, record);
    };
    for (;;) {
        scanned_record record;
        auto follows = read_next(found.end, record);
        if (follows && !*follows && found.may_go_on_at_beginning()) {
            follows = read_next(format::k_log_header_bytes, record);
            if (follows && *follows)
                found.go_on_at_beginning();
        }
        if (!follows)
            return follows.error();
        if (!*follows)
            break;
        version = record.version;
        predecessor = record.checksum;
        found.end += align_up(record.bytes.size(), format::k_record_alignment);
        scanned.records.push_back(std::move(record));
    }
    if (auto sound = refuse_bad_end(log, *size, scanned, found, supers, version); !sound) {
        if (!is_damage(sound.why().code))
            return sound.error();
        scanned.damage = sound.why();
    }
    return scanned;
}

result<std::vector<scanned_record>> scan(os::file& log, const store::superblock_pair& supers) {
    auto scanned = scan_up_to_damage(log, supers);
    if (!scanned)
        return scanned.error();
    if (scanned->damage)
        return unexpected(std::move(*scanned->damage));
    return std::move(scanned->records);
}

} // namespace remanence::recover
