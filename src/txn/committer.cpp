#include "txn/committer.hpp"

#include "base/assert.hpp"
#include "base/range.hpp"
#include "os/beside.hpp"
#include "txn/file_runs.hpp"
#include "txn/red_zones.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace remanence::txn {

namespace {

constexpr std::uint64_t k_part_written_twice = 16;              // a sixteenth of the log's limit may be written twice
constexpr std::uint64_t k_checksums_beside_bytes_min = 4 * MiB; // with fewer bytes, starting a thread does not pay

} // namespace

result<commit_scope> committer::gather(commit_scope scope) {
    memory_.allocator().flush(); // before the pages are gathered, since it writes and declares
    if (scope == commit_scope::declared && knows_all_changes())
        return scope;
    memory_.declared().note_other_changes(); // until all changes are committed
    REM_TRY(view_.collector().gather());
    return commit_scope::everything;
}

result<pending_commit> committer::prepare(commit_scope scope, fresh_contents fresh) {
    auto changes = collect(scope, fresh);
    space_.note_left_copies();
    if (!changes)
        return changes.error();
    pending_commit commit{scope, std::move(*changes)};
    if (commit.changes.empty()) {
        accept(commit); // the written pages equal committed content
        return commit;
    }
    if (memory_.has_red_zones())
        REM_TRY(check_red_zones(memory_, commit.changes));
    if (options_.inspect)
        REM_TRY(options_.inspect(memory_, commit.changes, memory_.allocator()));
    REM_TRY(names_.find());
    take_record(commit);
    return commit;
}

void committer::take_record(pending_commit& commit) {
    commit.record.emplace(session_.has_begun() ? session_.log().take_memory() : page_aligned_bytes());
    commit.record_bytes = commit.record->reserve(commit.changes.fresh.size() + commit.changes.relocated.size(),
                                                 static_cast<std::size_t>(store_.image().chunk_pages()),
                                                 commit.changes.pages.size(), commit.changes.ranges);
}

void committer::add_events(pending_commit& commit, std::span<const std::byte> events) const {
    commit.record_bytes =
        commit.record->reserve(commit.changes.fresh.size() + commit.changes.relocated.size(),
                               static_cast<std::size_t>(store_.image().chunk_pages()), commit.changes.pages.size(),
                               commit.changes.ranges, sizeof(std::uint64_t) + events.size());
    commit.record->add_events(events);
}

bool committer::knows_all_changes() const {
    return memory_.declared().tells_of_all_changes() && view_.notes_all_declarations() &&
           view_.spiller().spilled().is_empty() && !budget_.holds_too_many_unmapped();
}

result<change::change_set> committer::collect(commit_scope scope, fresh_contents fresh) {
    return scope == commit_scope::everything ? collect_everything(fresh) : collect_declared(fresh);
}

result<change::change_set> committer::collect_declared(fresh_contents fresh) {
    const view::page_predicate is_unused = memory_.unused_pages();
    if (options_.inspect_undeclared) {
        auto missed = view_.collector().collect_undeclared(is_unused);
        if (!missed)
            return missed.error();
        if (!missed->empty())
            REM_TRY(options_.inspect_undeclared(memory_, *missed, memory_.allocator()));
    }
    return view_.collector().collect_declared(is_unused, fresh);
}

// A rewritten chunk that may not move before the next checkpoint would be written twice: to the log, and by that
// checkpoint. If such chunks have more bytes than a checkpoint would write now, this function makes the checkpoint
// first (R3). Less than a sixteenth of the log's limit does not count.
result<change::change_set> committer::collect_everything(fresh_contents fresh) {
    const view::page_predicate is_unused = memory_.unused_pages();
    if (options_.is_shared) // a checkpoint may have to wait for other processes, so none is made here
        return view_.collector().collect(is_unused, ~std::uint64_t{0}, fresh);
    for (;;) {
        const std::uint64_t most = held_back_max();
        auto changes = view_.collector().collect(is_unused, most, fresh);
        if (!changes || changes->held_back_bytes <= most)
            return changes;
        REM_TRY(checkpoints_.make_one());
    }
}

std::uint64_t committer::held_back_max() const {
    return std::max(checkpoints_.bytes_of_one(), budget_.log_limit_bytes() / k_part_written_twice);
}

// I5: nothing of the commit is written before this, so a failed reservation does not poison.
result<void> committer::reserve(const pending_commit& commit) {
    if (!session_.has_begun())
        REM_TRY(session_.prepare()); // outside heard(): it touches no file, so a failure must not poison
    return heard(reserve_all(commit.changes, commit.record_bytes, room::now));
}

result<void> committer::reserve_early(const change::change_set& fresh, std::uint64_t record_bytes) {
    return heard(reserve_all(fresh, record_bytes, room::early));
}

result<void> committer::heard(result<void> reserved) {
    if (reserved)
        return {};
    const errc code = reserved.why().code;
    if (code == errc::io || code == errc::truncated)
        return health_.poison(reserved.error());
    if (code == errc::no_space)
        space_.give_back_unstored();
    return reserved.error();
}

result<void> committer::reserve_all(const change::change_set& changes, std::uint64_t record_bytes, room when) {
    REM_TRY(store_.room().reserve_places());
    // Finishing a checkpoint makes room in the log. It must be finished before the calls below, which may write a
    // superblock of their own.
    if (when == room::now && session_.has_begun() && !session_.log().has_room(record_bytes))
        REM_TRY(checkpoints_.make_room_in_log(record_bytes));
    // Even without whole chunks, the map must have room for chunks that other processes' commits have moved.
    REM_TRY(changes.has_whole_chunks() ? reserve_whole_chunks(changes) : store_.room().reserve_map(0));
    REM_TRY(reserve_for_apply(changes));
    if (!session_.has_begun())
        REM_TRY(session_.begin());
    return when == room::now ? session_.log().reserve(record_bytes) : session_.log().reserve_early(record_bytes);
}

result<void> committer::reserve_whole_chunks(const change::change_set& changes) {
    REM_TRY(space_.discard_before_fresh());
    const std::uint64_t heap_bytes =
        changes.fresh.empty() ? 0 : (changes.fresh.back().chunk + 1) * store_.image().chunk_bytes();
    std::vector<std::uint64_t> moved;
    for (const change::whole_chunk& each : changes.relocated)
        moved.push_back(each.chunk);
    if (store_.room().needs_regions(heap_bytes) || store_.room().needs_copies_b(moved)) {
        REM_TRY(checkpoints_.write_superblock([&]() -> result<void> {
            REM_TRY(store_.room().add_regions(heap_bytes));
            return store_.room().add_copies_b(moved);
        }));
    }
    const std::vector<chunk_range> moves = relocated_runs(store_.copies(), changes);
    // The chunk map lists exceptions: runs of chunks that are not at their copy A. A run of fresh chunks adds at most
    // one, since it splits a run of zeros in two, or leaves skipped chunks before it. A run of moved chunks adds at
    // most two, one at each end.
    REM_TRY(store_.room().reserve_map(fresh_runs(changes).size() + 2 * moves.size()));
    for (const chunk_range& run : moves)
        REM_TRY(store_.room().reserve_move(run.first, run.count));
    const page_runs fresh = fresh_page_runs(store_.copies(), changes);
    for (const page_range& pages : fresh.all())
        REM_TRY(store_.room().reserve_pages(pages.first, pages.count));
    for (const change::whole_chunk& each : changes.fresh)
        REM_TRY(store_.room().extend_to_fresh(each.chunk));
    return {};
}

// Reserves space for the checkpoint that will write the changed pages from the log to their copies.
result<void> committer::reserve_for_apply(const change::change_set& changes) {
    page_runs holes(store_.copies());
    for (const change::changed_page& page : changes.pages) {
        auto checksum = store_.image().checksum_of(page.page);
        if (!checksum)
            return checksum.error();
        if (*checksum != 0)
            REM_TRY(
                store_.checksums().reserve(page.page)); // its other place may be a hole, if the heap's file was copied
        else if (!view_.committed().was_committed_in_log(page.page))
            holes.add(page.page);
    }
    for (const page_range& pages : holes.all())
        REM_TRY(store_.room().reserve_pages(pages.first, pages.count));
    return {};
}

// From here on a failure poisons, since it is unknown which bytes have reached the disk (I5).
result<void> committer::write(pending_commit& commit) {
    REM_CHECK(commit.copies != nullptr || session_.promised() == session_.version());
    change::change_set& changes = commit.changes;
    memory_.tell_before_commit(changes);
    log::redo_log::prerequisite first;
    if (changes.has_whole_chunks()) {
        REM_TRY(health_.poison_if_failed(write_whole_chunks(changes)));
        const bool has_new_holes =
            !changes.fresh.empty() && store_.unused().take_new_holes(); // new holes may lie in these chunks
        if (has_new_holes || !changes.relocated.empty() ||
            std::ranges::any_of(changes.fresh, &change::whole_chunk::has_contents))
            first = [store = &store_] { return store->whole_chunks().sync(); }; // I2
    }
    if (commit.scope == commit_scope::declared)
        view_.renew_declared(changes);
    fill(commit);
    totals_.logged_bytes += session_.append(*commit.record, image_bytes_with(changes), std::move(first));
    totals_.changed_bytes += changes.changed_bytes();
    ++totals_.commits;
    if (changes.has_whole_chunks())
        accept_whole_chunks(changes);
    accept(commit);
    return options_.is_shared ? health_.poison_if_failed(map_relocated(changes)) : result<void>();
}

std::uint64_t committer::image_bytes_with(const change::change_set& changes) const {
    const std::uint64_t behind_fresh = changes.fresh.empty() ? 0 : changes.fresh.back().chunk + 1;
    return std::max(store_.image().bytes(), behind_fresh * store_.image().chunk_bytes());
}

void committer::accept_whole_chunks(change::change_set& changes) {
    const std::uint64_t version = session_.version();
    for (change::whole_chunk& moved : changes.relocated) // before fresh ones, which also need room in the chunk map
        store_.whole_chunks().accept_relocated(moved.chunk, std::move(moved.checksums), version,
                                               view_.memory().maps_copy(moved.chunk));
    for (change::whole_chunk& fresh : changes.fresh)
        store_.whole_chunks().accept_fresh(fresh.chunk, std::move(fresh.checksums), version);
}

result<void> committer::write_nothing(log::record_builder& record) {
    const std::uint64_t bytes = record.record_bytes();
    if (!session_.log().has_room(bytes))
        REM_TRY(checkpoints_.make_room_in_log(bytes));
    REM_TRY(health_.poison_if_failed(session_.log().reserve(bytes)));
    totals_.logged_bytes += session_.append(record, store_.image().bytes(), {});
    return {};
}

// Unchanged pages of these chunks are still mapped from the former copies. Once a checkpoint covers the commit, another
// process may write to these copies, since it does not know that they are mapped here. So the chunks are mapped anew.
result<void> committer::map_relocated(const change::change_set& changes) {
    for (const change::whole_chunk& moved : changes.relocated)
        REM_TRY(view_.follow_chunk(moved.chunk));
    return {};
}

// Another thread computes the checksums while this one writes. The runs to write are found before that, since
// fresh_page_runs() reads the checksums.
result<void> committer::write_whole_chunks(change::change_set& changes) {
    const std::vector<page_range> moved = relocated_page_runs(store_.copies(), changes);
    const page_runs fresh = fresh_page_runs(store_.copies(), changes);
    const auto make_checksums = [&]() noexcept { view_.collector().make_checksums(changes); };
    std::optional<os::beside> made_beside;
    if (bytes_of(moved) + bytes_of(fresh.all()) >= k_checksums_beside_bytes_min)
        made_beside.emplace(make_checksums);
    else
        make_checksums();
    for (const page_range& run : moved) {
        const auto bytes = static_cast<std::size_t>(run.count * k_page_bytes);
        REM_TRY(store_.whole_chunks().write_relocated(run.first, {view_.base() + run.first * k_page_bytes, bytes}));
        totals_.image_bytes += bytes;
    }
    for (const page_range& run : fresh.all()) {
        const auto bytes = static_cast<std::size_t>(run.count * k_page_bytes);
        REM_TRY(store_.whole_chunks().write_fresh(run.first, {view_.base() + run.first * k_page_bytes, bytes}));
        totals_.image_bytes += bytes;
    }
    return {};
}

void committer::fill(pending_commit& commit) const {
    log::record_builder& record = *commit.record;
    const change::change_set& changes = commit.changes;
    const auto from = commit.copies != nullptr ? view::page_source(*commit.copies) : view::page_source(view_.base());
    for (const change::whole_chunk& each : changes.fresh)
        record.add_chunk(each.chunk, false, each.checksums);
    for (const change::whole_chunk& moved : changes.relocated) {
        const bool to_copy_b = store_.copies().other_place_of(moved.chunk) == store::chunk_place::copy_b;
        record.add_chunk(moved.chunk, to_copy_b, moved.checksums);
    }
    for (const change::changed_page& page : changes.pages)
        record.add_page(page.page, page.checksum, changes.ranges_of(page), from.of(page.page));
}

void committer::accept(const pending_commit& commit) {
    if (commit.copies != nullptr) {
        view_.accept_copies(commit.changes, *commit.copies);
    } else if (commit.scope == commit_scope::declared) {
        view_.accept_declared(commit.changes);
        memory_.allocations_are_committed();
    } else {
        view_.accept(commit.changes);
        all_is_committed();
    }
}

void committer::all_is_committed() {
    memory_.all_is_committed();
    spiller_.all_is_committed();
}

} // namespace remanence::txn
