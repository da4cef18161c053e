#include "txn/follower.hpp"

#include "base/checksum.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"
#include "history/history_file.hpp"
#include "log/record.hpp"
#include "recover/recovery.hpp"
#include "recover/replay.hpp"
#include "store/superblocks.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace remanence::txn {

namespace {

// Of records that are read ahead. With more, looking at all of memory is a small part of the work.
constexpr std::uint64_t k_ahead_bytes_max = 1 * MiB;

/// Appends the pages and whole chunks that the record changes. Returns false if the record is not well-formed.
bool append_places(const recover::scanned_record& record, const store::image& image, std::vector<heap_range>& places) {
    const std::uint64_t chunk_bytes = image.chunk_bytes();
    return log::for_each_part(
        record.bytes, image.chunk_pages(),
        [&](const log::placed_chunk& each) { places.push_back({each.chunk * chunk_bytes, chunk_bytes}); },
        [&](const log::page_entry& each) { places.push_back({each.page * k_page_bytes, k_page_bytes}); },
        [&](const chunk_range& run) { places.push_back(to_bytes(run, chunk_bytes)); });
}

} // namespace

bool commits_ahead::read(os::file& log, const store::heap_file& store, recover::log_place at) {
    std::uint64_t bytes = 0;
    while (at.version < visible_.version) {
        auto record = recover::next_record(log, store.session(), at);
        if (!record || !*record || (bytes += (*record)->bytes.size()) > k_ahead_bytes_max ||
            !append_places(**record, store.image(), places_))
            return false;
        records_.push_back(std::move(**record));
    }
    sort_and_merge(places_);
    end_ = at;
    return true;
}

recover::log_place follower::place() const { return {session_.version(), session_.chain(), session_.log().end()}; }

share::visible_commit follower::state() const {
    return {session_.version(), session_.chain(), session_.log().end(), store_.image().bytes(),
            session_.durable_through()};
}

result<void> follower::begin(const share::current_checkpoint& current) {
    const share::visible_commit visible = others_.commit();
    return follow_through(visible, {current.version, store_.super().chain, current.log_begin});
}

const std::vector<heap_range>* follower::read_ahead(std::uint64_t own) {
    ahead_.emplace(others_);
    if (own == 0 && ahead_->current().sequence == store_.super().sequence &&
        ahead_->read(session_.log().file(), store_, place()))
        return &ahead_->places();
    ahead_.reset();
    return nullptr;
}

result<bool> follower::catch_up(std::uint64_t own) {
    if (ahead_) {
        auto followed = follow_ahead();
        ahead_.reset();
        return followed ? result<bool>(true) : followed.error();
    }
    const share::visible_commit visible = others_.commit(); // before the hold, so it needs no newer superblock
    const held_superblock hold(others_);
    if (own != 0 && hold.current().sequence > own)
        return false;
    auto from = own == 0 ? follow_superblock(hold.current()) : result<recover::log_place>(place());
    if (!from)
        return from.error();
    REM_TRY(follow_through(visible, *from));
    return true;
}

// Returns the place in the log from which memory must follow.
result<recover::log_place> follower::follow_superblock(const share::current_checkpoint& current) {
    if (current.sequence == store_.super().sequence)
        return place();
    const bool is_passed = session_.version() < current.version;
    REM_TRY(store_.follow(current.sequence));
    std::vector<std::uint64_t> newer;
    auto reached = accept_again(current, is_passed ? current.version : session_.version(), &newer);
    if (reached)
        REM_TRY(is_passed ? view_.follow_image() : view_.settler().settle_all_but(newer));
    if (reached && history_ != nullptr && is_passed)
        REM_TRY(history_->follow_passed({current.version, store_.super().chain}, store_.image().bytes()));
    else if (history_ != nullptr)
        history_->note_checkpoint(current.version);
    return reached;
}

result<void> follower::follow_superblock() {
    const held_superblock hold(others_);
    if (hold.current().sequence == store_.super().sequence)
        return {};
    REM_TRY(store_.follow(hold.current().sequence));
    auto reached = accept_again(hold.current(), session_.version(), nullptr);
    return reached ? result<void>() : reached.error();
}

// Applies these records to the store only, for the places of chunks; memory has their bytes already.
result<recover::log_place> follower::accept_again(const share::current_checkpoint& current, std::uint64_t through,
                                                  std::vector<std::uint64_t>* newer) {
    recover::log_place at{current.version, store_.super().chain, current.log_begin};
    while (at.version < through) {
        auto record = recover::next_record(session_.log().file(), store_.session(), at);
        if (!record)
            return record.error();
        if (!*record)
            return lacks_record(at.version + 1);
        changed_.clear();
        REM_TRY(apply(**record, into::store_only));
        if (newer == nullptr)
            continue;
        for (const auto& [page, checksum] : changed_)
            newer->push_back(page);
    }
    changed_.clear();
    if (newer != nullptr) {
        std::ranges::sort(*newer);
        newer->erase(std::unique(newer->begin(), newer->end()), newer->end());
    }
    return at;
}

// The next record need not follow the last one: after a checkpoint's mark it may go to the beginning of the log. The
// process that made the mark has published the place as `log_end`.
result<void> follower::follow_through(const share::visible_commit& visible, recover::log_place at) {
    changed_.clear();
    while (at.version < visible.version) {
        auto record = recover::next_record(session_.log().file(), store_.session(), at);
        if (!record)
            return record.error();
        if (!*record)
            return lacks_record(at.version + 1);
        REM_TRY(apply(**record, into::store_and_memory));
    }
    REM_TRY(end());
    return session_.follow(others_.released().log_begin, {visible.log_end, at.version, visible.durable_through},
                           at.chain);
}

// The superblock of read_ahead() is still current for the store, which only this process's checkpoints change.
result<void> follower::follow_ahead() {
    changed_.clear();
    for (const recover::scanned_record& record : ahead_->records())
        REM_TRY(apply(record, into::store_and_memory));
    REM_TRY(check_changed());
    REM_TRY(view_.end_following(ahead_->places()));
    const share::visible_commit& visible = ahead_->visible();
    return session_.follow(others_.released().log_begin,
                           {visible.log_end, ahead_->end().version, visible.durable_through}, ahead_->end().chain);
}

// The checkpoint will write the pages that the records after the current checkpoint have changed; the records up to
// `pinned` are in memory already. If a record moves a chunk, the chunk's former copy, which memory is mapped from, may
// be reused after the checkpoint. Chunks that were not stored at memory's version need no copy, since no thread here
// reads them. All records are in the log, which is reused only after this checkpoint.
result<void> follower::make_private(std::uint64_t pinned, std::uint64_t target) {
    const held_superblock hold(others_);
    auto current = store::read_superblock(store_.file(), hold.current().sequence);
    if (!current)
        return current.error();
    std::vector<heap_range> touched;
    recover::log_place at{hold.current().version, current->super.chain, hold.current().log_begin};
    while (at.version < target) {
        auto record = recover::next_record(session_.log().file(), store_.session(), at);
        if (!record)
            return record.error();
        if (!*record)
            return lacks_record(at.version + 1);
        if (at.version > pinned && !append_places(**record, store_.image(), touched))
            return recover::damaged_log(session_.log().file().path(), (*record)->offset, "it is not well-formed");
    }
    sort_and_merge(touched);
    const std::uint64_t chunk_bytes = store_.image().chunk_bytes();
    touched = split_at_chunks(touched, chunk_bytes);
    std::erase_if(touched,
                  [&](const heap_range& each) { return !store_.image().is_stored(each.offset / chunk_bytes); });
    return view_.make_private(touched);
}

bool follower::is_behind(std::uint64_t own) const {
    const share::visible_commit visible = others_.commit();
    const std::uint64_t current = others_.checkpoint_sequence();
    return session_.version() != visible.version || session_.log().end() != visible.log_end ||
           (current != store_.super().sequence && current != own);
}

result<share::visible_commit> follower::take_over() {
    REM_TRY(follow_rest(place(), others_.released().log_begin));
    return state();
}

result<void> follower::catch_up_alone() {
    auto newest = store_.writer().newest_superblock();
    if (!newest)
        return newest.error();
    const format::superblock& current = newest->super;
    auto from = follow_superblock({current.sequence, current.checkpoint_version, current.log_begin});
    if (!from)
        return from.error();
    REM_TRY(store_.supers().confirm());
    return follow_rest(*from, current.log_begin);
}

// Neither the records after the visible commit nor the chunks that they name may be durable, so both are synced. A torn
// record after them cannot be taken for a part of the chain later (R2).
result<void> follower::follow_rest(recover::log_place at, std::uint64_t log_begin) {
    os::file& log = session_.log().file();
    std::vector<recover::scanned_record> records;
    for (;;) {
        auto record = recover::next_record(log, store_.session(), at);
        if (!record)
            return record.error();
        if (!*record)
            break;
        records.push_back(std::move(**record));
    }
    REM_TRY(recover::confirm(log, records));
    changed_.clear();
    for (const recover::scanned_record& record : records)
        REM_TRY(apply(record, into::store_and_memory));
    if (!records.empty())
        REM_TRY(store_.whole_chunks().sync());
    REM_TRY(end());
    return session_.follow(
        log_begin, {at.offset, at.version, records.empty() ? session_.durable_through() : at.version}, at.chain);
}

result<void> follower::apply(const recover::scanned_record& record, into where) {
    recover::replay places(store_.copies(), store_.whole_chunks(), session_.log().file().path());
    REM_TRY(places.add(record, [&](std::uint64_t chunk) { return store_.image().has_contents(chunk); }));
    std::vector<std::uint64_t> placed;
    std::vector<log::page_entry> pages;
    std::vector<chunk_range> given_back;
    (void)log::for_each_part(
        record.bytes, store_.image().chunk_pages(),
        [&](const log::placed_chunk& each) { placed.push_back(each.chunk); },
        [&](const log::page_entry& each) { pages.push_back(each); },
        [&](chunk_range run) { given_back.push_back(run); }); // places.add() has checked that the record is sound
    const std::uint64_t chunk_pages = store_.image().chunk_pages();
    const auto forget_pages = [&](std::uint64_t chunk) {
        changed_.erase(changed_.lower_bound(chunk * chunk_pages), changed_.lower_bound((chunk + 1) * chunk_pages));
    };
    for (const chunk_range& run : given_back) {
        for (std::uint64_t chunk = run.first; chunk < run.end(); ++chunk)
            forget_pages(chunk);
        if (where == into::store_and_memory)
            REM_TRY(view_.forget(to_bytes(run, store_.image().chunk_bytes())));
    }
    for (const std::uint64_t chunk : placed) {
        forget_pages(chunk);
        if (where == into::store_and_memory)
            REM_TRY(view_.follow_chunk(chunk));
    }
    for (const log::page_entry& each : pages) {
        if (!store_.image().is_stored(each.page / chunk_pages))
            return recover::damaged_log(session_.log().file().path(), record.offset,
                                        "it changes a page that does not exist");
        changed_[each.page] = each.checksum;
        if (where != into::store_and_memory)
            continue;
        auto bytes = view_.open_to_follow(each.page);
        if (!bytes)
            return bytes.error();
        log::apply_ranges(each, *bytes);
    }
    return history_ != nullptr && where == into::store_and_memory ? history_->follow(record) : result<void>();
}

result<void> follower::end() {
    REM_TRY(check_changed());
    return view_.end_following();
}

// Checks the pages only after the last record: a checkpoint may have been overwriting a page while it was copied, and
// the page's last record makes the copy right again.
result<void> follower::check_changed() {
    for (const auto& [page, checksum] : changed_) {
        const std::span<const std::byte> bytes(view_.base() + page * k_page_bytes, k_page_bytes);
        if (page_checksum(bytes) != checksum) {
            const std::uint64_t at = store_.image().copy_of(page * k_page_bytes);
            return fail(
                errc::corrupt,
                "page " + std::to_string(page) + " of " + store_.path() + " at byte " + std::to_string(at) +
                    " does not match its checksum once the redo log is applied. Close the heap in all processes, and "
                    "restore heap and log from a copy.",
                store_.path(), 0, at);
        }
        view_.follow_page(page, checksum);
    }
    changed_.clear();
    return store_.follow_length();
}

unexpected follower::lacks_record(std::uint64_t version) {
    const std::string& path = session_.log().file().path();
    return fail(
        errc::corrupt,
        "the redo log " + path + " lacks commit " + std::to_string(version) +
            ", which another process has made. Close the heap in all processes, and restore heap and log from a "
            "copy.",
        path);
}

} // namespace remanence::txn
