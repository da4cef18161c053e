#include "recover/salvage.hpp"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace remanence::recover {

namespace {

/// Returns the records before the first damage, and reports that damage to `damaged`.
result<std::vector<scanned_record>> sound_records(os::file_system& files, const store::heap_file& store,
                                                  const damage_callback& damaged) {
    std::vector<scanned_record> none;
    auto log = open_log(files, store, os::access::read_write);
    if (!log) {
        if (!is_damage(log.why().code))
            return log.error();
        damaged(log.why());
        return none;
    }
    if (!*log)
        return none;
    auto scanned = scan_up_to_damage(**log, store.supers());
    if (!scanned)
        return scanned.error();
    if (scanned->damage)
        damaged(*scanned->damage);
    return std::move(scanned->records);
}

/// Applies records up to the first one that does not fit. Returns how many fit.
std::size_t replay_what_fits(store::heap_file& store, const std::vector<scanned_record>& records,
                             const damage_callback& damaged, const progress_callback& progress,
                             recovery_outcome& outcome) {
    replay all(store.copies(), store.whole_chunks(), store.log_path());
    const auto has_contents = [&](std::uint64_t chunk) -> result<bool> {
        const auto known = store.image().has_contents(chunk);
        return known && *known; // a damaged checksum table must not stop the replay
    };
    std::size_t applied = 0;
    for (const scanned_record& record : records) {
        if (auto fits = all.add(record, has_contents); !fits) {
            damaged(fits.why());
            break;
        }
        ++applied;
    }
    if (auto placed = all.leave_out_what_has_no_place(); !placed)
        damaged(placed.why());
    if (auto long_enough = store.extend_to_image(); !long_enough)
        damaged(long_enough.why());
    // Writes the page even if it has become wrong, with the checksum that it should have.
    const auto make = [&](const replayed_page& page, std::span<std::byte> bytes) -> result<std::uint32_t> {
        outcome.changes.push_back({page.index, page.changes.back().version});
        auto before = store.image().checksum_of(page.index);
        if (!before) {
            damaged(before.why());
            before = std::uint32_t{0};
        }
        if (*before != 0) // if the page cannot be read, its checksum will be wrong as well
            static_cast<void>(store.image().read_unverified(page.index, bytes));
        return page.apply(bytes, *before);
    };
    const auto apply = [&](std::span<const store::applied_page> pages) -> result<void> {
        auto done = store.writer().apply(pages);
        if (done)
            return {};
        damaged(done.why());
        for (const store::applied_page& page : pages) { // one by one: a damaged table must not prevent the others
            if (auto alone = store.writer().apply({&page, 1}); !alone)
                damaged(alone.why());
        }
        return {};
    };
    static_cast<void>(all.apply(make, apply, progress)); // make and apply never fail
    outcome.births = all.births();
    return applied;
}

result<void> publish(store::heap_file& store, std::uint64_t version, std::uint64_t chain) {
    if (!store.is_clean()) {
        REM_TRY(store.unused().discard_unstored());
        REM_TRY(store.room().reserve_map(0));
    } else if (!store.supers().other_damage()) {
        return {};
    }
    return store.writer().publish({version, chain, store.session(), true, format::k_log_header_bytes});
}

} // namespace

result<recovery_outcome> salvage(os::file_system& files, store::heap_file& store, const damage_callback& damaged,
                                 const progress_callback& progress) {
    auto records = sound_records(files, store, damaged);
    if (!records)
        return records.error();
    recovery_outcome outcome;
    if (!store.is_clean())
        outcome.commits = replay_what_fits(store, *records, damaged, progress, outcome);
    std::uint64_t version = store.image().pinned().version;
    std::uint64_t chain = store.super().chain;
    for (const scanned_record& record : std::span(*records).first(outcome.commits)) {
        version = record.version;
        chain = record.checksum;
        outcome.bytes += align_up(record.bytes.size(), format::k_record_alignment);
        outcome.totals.add(record.bytes, store.where().chunk_pages());
    }
    // A table that is damaged stays as it is; its pages cannot be checked.
    if (auto published = publish(store, version, chain); !published) {
        if (!is_damage(published.why().code))
            return published.error();
        damaged(published.why());
    }
    return outcome;
}

} // namespace remanence::recover
