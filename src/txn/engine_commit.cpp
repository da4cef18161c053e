// The way of a commit: what changed, room for it (I5), fresh chunks, the record, and the wait for it (I2, R5).

#include "txn/engine.hpp"

#include "os/beside.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace remanence::txn {

namespace {

constexpr std::uint64_t k_part_written_twice = 16;              // of the log's limit
constexpr std::uint64_t k_checksums_beside_bytes_min = 4 * MiB; // less is not worth a thread

/// Pages that follow each other, in the heap and in the file.
struct stretch {
    std::uint64_t first;
    std::uint64_t count;
};

std::uint64_t bytes_of(std::span<const stretch> all) {
    std::uint64_t pages = 0;
    for (const stretch& each : all)
        pages += each.count;
    return pages * k_page_bytes;
}

class stretches {
public:
    explicit stretches(const store::heap_file& store) : store_(store) {}
    void add(std::uint64_t page) {
        if (!all_.empty() && continues(all_.back(), page)) {
            ++all_.back().count;
        } else {
            all_.push_back({page, 1});
        }
    }
    [[nodiscard]] const std::vector<stretch>& all() const { return all_; }

private:
    [[nodiscard]] bool continues(const stretch& before, std::uint64_t page) const {
        return before.first + before.count == page &&
               store_.home_of(page * k_page_bytes) ==
                   store_.home_of(before.first * k_page_bytes) + before.count * k_page_bytes;
    }

    const store::heap_file& store_;
    std::vector<stretch> all_;
};

/// Chunks that follow each other, as far as `continues` says of two neighbours.
template <class F>
std::vector<stretch> runs_of(const std::vector<change::whole_chunk>& sorted, F&& continues) {
    std::vector<stretch> runs;
    for (const change::whole_chunk& each : sorted) {
        if (!runs.empty() && runs.back().first + runs.back().count == each.chunk &&
            continues(each.chunk - 1, each.chunk))
            ++runs.back().count;
        else
            runs.push_back({each.chunk, 1});
    }
    return runs;
}

std::vector<stretch> fresh_runs(const change::change_set& changes) {
    return runs_of(changes.fresh, [](std::uint64_t, std::uint64_t) { return true; });
}

/// That follow each other in the homes they move to, too.
std::vector<stretch> moved_runs(const store::heap_file& store, const change::change_set& changes) {
    return runs_of(changes.moved, [&](std::uint64_t before, std::uint64_t chunk) {
        return store.other_home_of(chunk) == store.other_home_of(before) + store.chunk_bytes();
    });
}

/// The pages of moved chunks that are to be written: all, but for what was spilled.
std::vector<stretch> moved_stretches(const store::heap_file& store, const change::change_set& changes) {
    std::vector<stretch> found;
    std::uint64_t home_of_next = 0; // behind the last one
    for (const change::whole_chunk& moved : changes.moved) {
        const std::uint64_t home = store.other_home_of(moved.chunk);
        for (std::uint64_t i = 0; i < store.chunk_pages(); ++i) {
            if (!moved.needs_writing(i))
                continue;
            const std::uint64_t page = moved.chunk * store.chunk_pages() + i;
            const std::uint64_t home_of_page = home + i * k_page_bytes;
            if (!found.empty() && found.back().first + found.back().count == page && home_of_page == home_of_next)
                ++found.back().count;
            else
                found.push_back({page, 1});
            home_of_next = home_of_page + k_page_bytes;
        }
    }
    return found;
}

/// The pages of fresh chunks that are to be written, once they have a home.
stretches fresh_stretches(const store::heap_file& store, const change::change_set& changes) {
    stretches found(store);
    for (const change::whole_chunk& fresh : changes.fresh) {
        for (std::uint64_t i = 0; i < store.chunk_pages(); ++i) {
            if (fresh.checksums[i] != 0 && fresh.needs_writing(i))
                found.add(fresh.chunk * store.chunk_pages() + i);
        }
    }
    return found;
}

} // namespace

result<void> engine::commit(log::durability how, commit_scope scope) {
    auto version = submit(scope);
    if (!version)
        return version.error();
    return await(*version, how);
}

bool engine::knows_all_changes() const {
    return is_declared_ && !has_other_changes_ && view_->notes_all_announcements() &&
           view_->spiller().spilled().is_empty() && !holds_too_many_unmapped();
}

result<change::change_set> engine::collect(commit_scope scope, fresh_contents fresh) {
    const auto is_unused = [this](std::uint64_t page) { return allocator_->is_free_page(page); };
    if (scope == commit_scope::everything)
        return collect_everything(is_unused, fresh);
    if (options_.inspect_unannounced) {
        auto missed = view_->collector().collect_unannounced(is_unused);
        if (!missed)
            return missed.error();
        if (!missed->empty()) {
            if (auto passed = options_.inspect_unannounced(*this, *missed, *allocator_); !passed)
                return passed.error();
        }
    }
    return view_->collector().collect_announced(is_unused, fresh);
}

// What is rewritten and may not move before a checkpoint would be written twice, to the log and by the fold after it. So if a
// checkpoint writes less than that, it comes first (R3); but not for what is little against all that one fold writes. One that is
// under way is going to be written anyway, and is waited for if that takes about as long as the commit.
result<change::change_set> engine::collect_everything(const view::page_predicate& is_unused, fresh_contents fresh) {
    for (;;) {
        const std::uint64_t left =
            run_ ? (run_->total_bytes() - run_->done_bytes()) / 2 : view_->committed().twin_bytes();
        const std::uint64_t held_back_max = std::max(left, options_.log_limit_bytes / k_part_written_twice);
        auto changes = view_->collector().collect(is_unused, held_back_max, fresh);
        if (!changes || changes->held_back_bytes <= held_back_max)
            return changes;
        REM_TRY(run_ ? finish_run() : fold_beside_changes());
    }
}

void engine::accept(const change::change_set& changes, commit_scope scope) {
    if (scope == commit_scope::declared) {
        view_->accept_announced(changes);
    } else {
        view_->accept(changes);
        has_other_changes_ = false;
        spill_pace_.committed();
    }
}

// On a full disk the checkpoint under way may give back what the commit lacks: parts of the log, and homes that chunks left.
result<std::uint64_t> engine::submit(commit_scope scope, fresh_contents fresh) {
    const std::lock_guard alone(at_store_);
    auto submitted = try_to_submit(scope, fresh);
    if (submitted || submitted.why().code != errc::no_space || !run_)
        return submitted;
    REM_TRY(finish_run());
    REM_TRY(fold_beside_changes());
    discard_former_homes();
    return try_to_submit(scope, fresh);
}

result<std::uint64_t> engine::try_to_submit(commit_scope scope, fresh_contents fresh) {
    REM_TRY(usable());
    adopt_run_if_done();
    std::lock_guard allocation(allocation_);
    REM_TRY(make_room_for_twins());
    allocator_->flush(); // first: what it writes is announced
    if (!knows_all_changes())
        scope = commit_scope::everything;
    if (scope == commit_scope::everything)
        has_other_changes_ = true; // until they are committed
    auto changes = collect(scope, fresh);
    if (view_->spiller().has_left_homes())
        owes_discard_ = true;
    if (!changes)
        return changes.error();
    if (changes->empty()) {
        accept(*changes, scope); // what was written is what is committed
        return version_;
    }
    if (options_.inspect)
        REM_TRY(options_.inspect(*this, *changes, *allocator_));
    REM_TRY(find_names());

    log::record_builder record(log_ ? log_->take_memory() : page_aligned_bytes());
    const std::uint64_t record_bytes =
        record.reserve(changes->fresh.size() + changes->moved.size(), static_cast<std::size_t>(store_->chunk_pages()),
                       changes->pages.size(), changes->ranges);
    // Up to here a lack of memory changed nothing.
    const std::uint64_t before = version_;
    try {
        REM_TRY(prepare(*changes, record_bytes));
        REM_TRY(submit(*changes, record, scope));
        REM_TRY(checkpoint_if_due(scope, changes->pages.size()));
    } catch (const std::bad_alloc&) {
        lacked_memory_ = true;
        if (version_ == before)
            throw;
        // This commit is in the log, and await() will tell what becomes of it; the next one will hear.
    }
    return version_;
}

result<void> engine::submit(change::change_set& changes, log::record_builder& record, commit_scope scope) {
    // From here on a failure poisons: what reached the disk is unknown (I5).
    if (auto written = write_whole_chunks(changes); !written)
        return poison(written.error());
    fill(record, changes);
    std::uint64_t image_bytes = store_->image_bytes();
    if (!changes.fresh.empty())
        image_bytes = std::max(image_bytes, (changes.fresh.back().chunk + 1) * store_->chunk_bytes());
    const auto& super = store_->super();
    const std::uint64_t bytes =
        record.finish({super.session, super.epoch, version_ + 1, chain_, log_->durable_through()}, image_bytes).size();
    log::redo_log::prerequisite first;
    const bool has_new_holes = !changes.fresh.empty() && store_->take_new_holes(); // of these chunks, perhaps
    if (has_new_holes || !changes.moved.empty() ||
        std::ranges::any_of(changes.fresh, &change::whole_chunk::has_contents))
        first = [store = store_.get()] { return store->sync_fresh(); };
    log_->submit(record.take(), std::move(first));

    ++version_;
    chain_ = record.checksum();
    ++stats_.commits;
    stats_.logged_bytes += bytes;
    stats_.changed_bytes += changes.changed_bytes();
    for (change::whole_chunk& moved : changes.moved) // first: fresh ones take room in the chunk map, too
        store_->accept_moved(moved.chunk, std::move(moved.checksums), version_, view_->memory().maps_home(moved.chunk));
    for (change::whole_chunk& fresh : changes.fresh)
        store_->accept_fresh(fresh.chunk, std::move(fresh.checksums), version_);
    accept(changes, scope);
    return {};
}

void engine::fill(log::record_builder& record, const change::change_set& changes) const {
    for (const change::whole_chunk& each : changes.fresh)
        record.add_chunk(each.chunk, false, each.checksums);
    for (const change::whole_chunk& moved : changes.moved) {
        const bool to_second_home = store_->other_place_of(moved.chunk) == store::chunk_place::second_home;
        record.add_chunk(moved.chunk, to_second_home, moved.checksums);
    }
    for (const change::changed_page& page : changes.pages)
        record.add_page(page.page, page.checksum, changes.ranges_of(page), view_->base() + page.page * k_page_bytes);
}

result<void> engine::await(std::uint64_t version, log::durability how) {
    log::redo_log* const log = shared_log_;
    if (log == nullptr)
        return {}; // nothing was committed
    return poisoning_without_memory([&]() -> result<void> {
        if (auto reached = log->await(version, how); !reached)
            return poison(reached.error());
        return {};
    });
}

result<void> engine::sync() {
    if (options_.read_only)
        return {};
    REM_TRY(usable());
    const log::redo_log* const log = shared_log_;
    if (log != nullptr) {
        const std::lock_guard alone(at_store_);
        REM_TRY(find_names());
    }
    return log == nullptr ? result<void>() : await(log->submitted_through(), log::durability::durable);
}

std::uint64_t engine::durable_through() const {
    const log::redo_log* const log = shared_log_;
    return log == nullptr ? 0 : log->durable_through();
}

// Room for everything the commit, and the fold after it, will write. I5: nothing is written before, so no failure of a
// reservation poisons.
result<void> engine::prepare(const change::change_set& changes, std::uint64_t record_bytes) {
    auto reserved = [&]() -> result<void> {
        REM_TRY(store_->reserve_places());
        REM_TRY(discard_before_fresh());
        const std::uint64_t heap_bytes =
            changes.fresh.empty() ? 0 : (changes.fresh.back().chunk + 1) * store_->chunk_bytes();
        std::vector<std::uint64_t> moved;
        for (const change::whole_chunk& each : changes.moved)
            moved.push_back(each.chunk);
        // A superblock of another kind would come between; and room in the log is made by the end of the checkpoint.
        if (store_->needs_regions(heap_bytes) || store_->needs_second_homes(moved) ||
            (log_ && !log_->has_room(record_bytes)))
            REM_TRY(finish_run());
        REM_TRY(store_->add_regions(heap_bytes));
        REM_TRY(store_->add_second_homes(moved));
        const std::vector<stretch> moves = moved_runs(*store_, changes);
        // A run of fresh chunks parts one of zeros in two at most, or leaves one behind; one that moves has two ends.
        REM_TRY(store_->reserve_map(fresh_runs(changes).size() + 2 * moves.size()));
        for (const stretch& run : moves)
            REM_TRY(store_->reserve_move(run.first, run.count));
        stretches places = fresh_stretches(*store_, changes);
        for (const change::changed_page& page : changes.pages) {
            auto checksum = store_->checksum_of(page.page);
            if (!checksum)
                return checksum.error();
            if (*checksum == 0) {
                if (!view_->committed().was_committed_in_log(page.page))
                    places.add(page.page); // a hole so far; the fold will fill it
            } else {
                REM_TRY(store_->reserve_checksums(page.page)); // in a copy of a heap the other place is a hole
            }
        }
        for (const stretch& place : places.all())
            REM_TRY(store_->reserve_pages(place.first, place.count));
        if (!log_)
            REM_TRY(begin_session());
        return log_->reserve(record_bytes);
    };
    auto done = reserved();
    if (done)
        return {};
    errc code = done.why().code;
    if (code == errc::io || code == errc::truncated)
        return poison(done.error());
    if (code == errc::no_space)
        (void)store_->discard_unstored(); // what was reserved in vain would keep the disk full
    return done.error();
}

// R2: every log is an epoch of its own, and has a number that no other session has; it is durable before its first record.
result<void> engine::begin_session() {
    const auto& super = store_->super();
    auto mode = store_->file().permissions();
    if (!mode)
        return mode.error();
    // Its creator may have died before it could sync the directory, and a log without its heap would be in the way.
    if (version_ == 0)
        REM_TRY(files_.sync_directory("store: sync directory before first log", heap_name_));
    auto session = store_->next_session();
    if (!session)
        return session.error();
    auto log = log::redo_log::create(files_, heap_name_, super.uuid, *session, super.sequence + 1, *mode, version_);
    if (!log)
        return log.error();
    if (auto begun = store_->publish(version_, chain_, *session, false, format::k_log_header_bytes); !begun)
        return poison(begun.error());
    log_ = std::move(*log);
    log_name_ = store::log_path(heap_name_);
    shared_log_ = log_.get();
    return {};
}

// Checksums are made meanwhile: what tells from them what is to be written comes before.
result<void> engine::write_whole_chunks(change::change_set& changes) {
    const std::vector<stretch> moved = moved_stretches(*store_, changes);
    const stretches fresh = fresh_stretches(*store_, changes);
    for (const change::whole_chunk& each : changes.fresh) {
        if (!each.has_contents())
            REM_TRY(store_->extend_to_fresh(each.chunk));
    }
    const auto make_checksums = [&]() noexcept { view_->collector().make_checksums(changes); };
    std::optional<os::beside> made_beside;
    if (bytes_of(moved) + bytes_of(fresh.all()) >= k_checksums_beside_bytes_min)
        made_beside.emplace(make_checksums);
    else
        make_checksums();
    for (const stretch& run : moved) {
        const auto bytes = static_cast<std::size_t>(run.count * k_page_bytes);
        REM_TRY(store_->write_moved(run.first, {view_->base() + run.first * k_page_bytes, bytes}));
        stats_.image_bytes += bytes;
    }
    for (const stretch& run : fresh.all()) {
        const auto bytes = static_cast<std::size_t>(run.count * k_page_bytes);
        REM_TRY(store_->write_fresh(run.first, {view_->base() + run.first * k_page_bytes, bytes}));
        stats_.image_bytes += bytes;
    }
    return {};
}

} // namespace remanence::txn
