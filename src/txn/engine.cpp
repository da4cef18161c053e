#include "txn/engine.hpp"

#include "log/recovery.hpp"
#include "log/scan.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace remanence::txn {

namespace {

/// Pages that follow each other, in the heap and in the file.
struct stretch {
    std::uint64_t first;
    std::uint64_t count;
};

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

/// The pages that fresh chunks have contents for, once they have a home.
stretches fresh_stretches(const store::heap_file& store, const view::change_set& changes) {
    stretches found(store);
    for (const view::fresh_chunk& fresh : changes.fresh) {
        for (std::uint64_t i = 0; i < store.chunk_pages(); ++i) {
            if (fresh.checksums[i] != 0)
                found.add(fresh.chunk * store.chunk_pages() + i);
        }
    }
    return found;
}

/// What those below, who know no files, could not do.
unexpected name_file(const std::string& before, const std::string& path, failure why) {
    why.message = before + path + ": " + why.message;
    why.path = path;
    return unexpected(std::move(why));
}

unexpected cannot_map(const std::string& path, failure why) { return name_file("cannot map ", path, std::move(why)); }

} // namespace

result<std::unique_ptr<engine>> engine::open(os::file_system& files, const std::string& path, open_mode mode,
                                             const engine_options& options, std::string_view abi) {
    auto started = std::chrono::steady_clock::now();
    std::unique_ptr<engine> opened(new engine(files, options));
    std::optional<os::reservation> place;
    REM_TRY(opened->open_store(path, mode, abi, place));
    REM_TRY(opened->open_memory(std::move(*place)));
    opened->stats_.open_time = std::chrono::steady_clock::now() - started;
    return opened;
}

result<void> engine::open_store(const std::string& path, open_mode mode, std::string_view abi,
                                std::optional<os::reservation>& place) {
    bool create = mode == open_mode::create;
    if (mode == open_mode::open_or_create) {
        auto present = files_.exists(path);
        if (!present)
            return present.error();
        create = !*present;
    }
    if (create) {
        if (options_.read_only)
            return fail(errc::not_found, "cannot open " + path + " read-only: there is no such file.", path);
        auto taken = options_.base != 0 ? os::reservation::at(options_.base, options_.reserve_bytes)
                                        : os::reservation::at_random(options_.reserve_bytes);
        if (!taken)
            return cannot_map(path, taken.why());
        place = std::move(*taken);
        auto base = reinterpret_cast<std::uint64_t>(place->base());
        auto made = store::heap_file::create(files_, path, {options_.chunk_bytes, base, abi, options_.mode});
        if (made) {
            store_ = std::move(*made);
            return {};
        }
        // Another process may have been first; with open_or_create that is as good.
        if (made.why().code != errc::exists || mode == open_mode::create)
            return made.error();
        if (auto present = files_.exists(path); !present || !*present)
            return made.error(); // something else is in the way
        place.reset();
    }

    auto opened =
        store::heap_file::open(files_, path, options_.read_only ? os::access::read_only : os::access::read_write);
    if (!opened)
        return opened.error();
    store_ = std::move(*opened);
    if (store_->abi() != abi) {
        return fail(errc::abi_mismatch,
                    path + " was written with the ABI \"" + std::string(store_->abi()) + "\", this program has \"" +
                        std::string(abi) + "\". Build it with the same standard library and debug modes.",
                    path);
    }
    if (options_.read_only) {
        if (store_->is_clean()) {
            REM_TRY(log::check_clean(files_, *store_));
        } else {
            return fail(errc::recovery_needed,
                        path + " was not closed cleanly. Open it for writing once, to recover it.", path);
        }
    } else {
        auto recovered = log::recover(files_, *store_, [&](std::uint64_t done, std::uint64_t total) {
            if (options_.on_progress)
                options_.on_progress(engine_options::work::recovery, done, total);
        });
        if (!recovered)
            return recovered.error();
        stats_.recovered_commits = recovered->commits;
        stats_.recovered_bytes = recovered->bytes;
    }
    auto taken = os::reservation::at(store_->super().base, std::max(options_.reserve_bytes, store_->image_bytes()));
    if (!taken) {
        taken =
            os::reservation::at(store_->super().base, store_->image_bytes() + store_->chunk_bytes()); // less will do
    }
    if (!taken)
        return cannot_map(path, taken.why());
    place = std::move(*taken);
    return {};
}

result<void> engine::open_memory(os::reservation place) {
    version_ = store_->super().checkpoint_version;
    chain_ = store_->super().chain;
    auto mapped = view::memory_view::open(
        *store_, std::move(place),
        {options_.tracker, options_.read_only, options_.core_dump, options_.report_stray_write});
    if (!mapped && mapped.why().path.empty())
        return name_file("cannot open ", path(), mapped.why());
    if (!mapped)
        return mapped.error();
    view_ = std::move(*mapped);
    auto extend = [this](std::uint64_t end) -> result<std::uint64_t> {
        REM_TRY(view_->make_accessible(end));
        return view_->accessible_bytes();
    };
    if (store_->image_bytes() == 0) {
        REM_TRY(view_->make_accessible(k_page_bytes));
        REM_TRY(format_header());
        has_other_changes_ = true;
    } else {
        REM_TRY(check_header());
    }
    // The limit is the allocator's own: the reservation grows while the addresses behind it are free.
    allocator_ = std::make_unique<alloc::block_allocator>(view_->base(), header().allocator, extend,
                                                          std::uint64_t{1} << 44, view_->accessible_bytes());
    return check_allocator();
}

result<void> engine::check_header() {
    const format::heap_header& h = header(); // I7
    if (h.magic == format::k_header_magic && h.version == format::k_header_version)
        return {};
    std::uint64_t at = store_->home_of(0);
    if (h.magic == format::k_header_magic) {
        return fail(errc::unsupported_format,
                    "the heap header in " + path() + " has version " + std::to_string(h.version) +
                        ", this release knows version " + std::to_string(format::k_header_version) +
                        ". Use the release that wrote it.",
                    path(), 0, at);
    }
    return fail(errc::corrupt,
                "the heap header in " + path() + " at byte " + std::to_string(at) +
                    " is damaged. Restore the heap from a copy.",
                path(), 0, at);
}

result<void> engine::format_header() {
    format::heap_header& h = header();
    h.magic = format::k_header_magic;
    h.version = format::k_header_version;
    alloc::block_allocator::format(h.allocator);
    if (options_.read_only)
        return os::protect_read_only(view_->base(), k_page_bytes);
    return {};
}

// I7. The allocator knows neither the file nor where in it the heap's memory lies.
result<void> engine::check_allocator() {
    auto sound = allocator_->check_state();
    if (sound || sound.why().code != errc::corrupt)
        return sound;
    const failure& why = sound.why();
    const bool is_in_file = why.offset < store_->image_bytes();
    const std::uint64_t at = is_in_file ? store_->home_of(why.offset) : error::k_no_offset;
    return fail(errc::corrupt,
                "the allocator's structures in " + path() + (is_in_file ? " at byte " + std::to_string(at) : "") +
                    " are damaged (" + why.message + "). Restore the heap from a copy.",
                path(), 0, at);
}

result<void> engine::usable() const {
    if (options_.read_only) {
        return fail(errc::read_only, path() + " is open read-only. Open it for writing to change it.", path());
    }
    if (lacked_memory_) {
        return fail(errc::poisoned,
                    path() + " takes no more commits, since the process had no memory left in the midst of an earlier "
                             "one. Close it and open it again: it will be as of its last durable commit.",
                    path());
    }
    const std::lock_guard guard(health_);
    if (!poisoned_)
        return {};
    return fail(errc::poisoned,
                path() + " takes no more commits, since an earlier write failed: " + poisoned_->message +
                    " Close it and open it again: it will be as of its last durable commit.",
                path(), poisoned_->os_error, poisoned_->offset);
}

unexpected engine::poison(unexpected why) {
    // errc::no_space promises that nothing was written and that the call may be repeated: not so any more.
    if (why.why().code == errc::no_space) {
        why.why().code = errc::io;
        why.why().message = "writing " + path() +
                            " failed: its device is full, although it had granted the space "
                            "(is it thinly provisioned, or copy-on-write?). Make room on the device.";
    }
    const std::lock_guard guard(health_);
    if (!poisoned_)
        poisoned_ = why.why(); // I5
    return why;
}

bool engine::is_poisoned() const {
    const std::lock_guard guard(health_);
    return poisoned_ || lacked_memory_;
}

std::uint64_t engine::version() const {
    return log_ && is_poisoned() ? std::min(version_, log_->durable_through()) : version_;
}

// What a lack of memory interrupts may be half done. It is noted without memory, too.
template <class F>
result<void> engine::poisoning_without_memory(F step) {
    try {
        return step();
    } catch (const std::bad_alloc&) {
        lacked_memory_ = true;
        throw;
    }
}

result<void> engine::commit(log::durability how, commit_scope scope) {
    auto version = submit(scope);
    if (!version)
        return version.error();
    return await(*version, how);
}

void engine::begin_declared() {
    std::lock_guard allocation(allocation_);
    is_declared_ = true;
    view_->note_announcements(true);
    allocator_->set_listener([this](std::uint64_t offset, std::uint64_t bytes) {
        (void)view_->announce(offset,
                              bytes); // a tracker that cannot open the pages has another try when they are written
    });
}

void engine::end_declared() {
    std::lock_guard allocation(allocation_);
    if (!is_declared_)
        return;
    is_declared_ = false;
    has_other_changes_ = has_other_changes_ || !view_->has_no_announcements();
    view_->note_announcements(false);
    allocator_->set_listener({});
}

bool engine::knows_all_changes() const {
    return is_declared_ && !has_other_changes_ && view_->notes_all_announcements();
}

result<view::change_set> engine::collect(bool only_declared) {
    const auto is_unused = [this](std::uint64_t page) { return allocator_->is_free_page(page); };
    if (!only_declared)
        return view_->collect(is_unused);
    if (options_.inspect_unannounced) {
        auto missed = view_->collect_unannounced(is_unused);
        if (!missed)
            return missed.error();
        if (!missed->empty()) {
            if (auto passed = options_.inspect_unannounced(*this, *missed, *allocator_); !passed)
                return passed.error();
        }
    }
    return view_->collect_announced(is_unused);
}

void engine::accept(const view::change_set& changes, bool only_declared) {
    if (only_declared) {
        view_->accept_announced(changes);
    } else {
        view_->accept(changes);
        has_other_changes_ = false;
    }
}

result<std::uint64_t> engine::submit(commit_scope scope) {
    REM_TRY(usable());
    std::lock_guard allocation(allocation_);
    const bool only_declared = scope == commit_scope::declared && knows_all_changes();
    has_other_changes_ = has_other_changes_ || !only_declared; // until they are committed
    auto changes = collect(only_declared);
    if (!changes)
        return changes.error();
    if (changes->empty()) {
        accept(*changes, only_declared); // what was written is what is committed
        return version_;
    }
    if (options_.inspect)
        REM_TRY(options_.inspect(*this, *changes, *allocator_));

    log::record_builder record;
    for (const view::fresh_chunk& fresh : changes->fresh)
        record.add_fresh(fresh.chunk, fresh.checksums);
    for (const view::changed_page& page : changes->pages) {
        record.add_page(page.page, page.checksum, changes->ranges_of(page), view_->base() + page.page * k_page_bytes);
    }
    // Up to here a lack of memory changed nothing.
    const std::uint64_t before = version_;
    try {
        REM_TRY(submit(*changes, record, only_declared));
        REM_TRY(checkpoint_if_due(only_declared));
    } catch (const std::bad_alloc&) {
        lacked_memory_ = true;
        if (version_ == before)
            throw;
        // This commit is in the log, and await() will tell what becomes of it; the next one will hear.
    }
    return version_;
}

result<void> engine::submit(view::change_set& changes, log::record_builder& record, bool only_declared) {
    REM_TRY(prepare(changes, record));

    // From here on a failure poisons: what reached the disk is unknown (I5).
    if (auto written = write_fresh(changes); !written)
        return poison(written.error());
    std::uint64_t image_bytes = store_->image_bytes();
    if (!changes.fresh.empty())
        image_bytes = std::max(image_bytes, (changes.fresh.back().chunk + 1) * store_->chunk_bytes());
    const auto& super = store_->super();
    const std::uint64_t bytes =
        record.finish({super.uuid, super.epoch, version_ + 1, chain_, log_->durable_through()}, image_bytes).size();
    log_->submit(record.take());

    ++version_;
    chain_ = record.checksum();
    ++stats_.commits;
    stats_.logged_bytes += bytes;
    stats_.changed_bytes += changes.changed_bytes();
    for (view::fresh_chunk& fresh : changes.fresh)
        store_->accept_fresh(fresh.chunk, std::move(fresh.checksums), version_);
    accept(changes, only_declared);
    return {};
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
    return log == nullptr ? result<void>() : await(log->submitted_through(), log::durability::durable);
}

result<void> engine::checkpoint_if_due(bool only_declared) {
    if (log_->used_bytes() < options_.log_limit_bytes && view_->twin_bytes() < options_.twin_limit_bytes)
        return {};
    REM_TRY(await(version_, log::durability::durable)); // a failure is this commit's
    if (auto folded = fold_and_settle(only_declared); !folded)
        (void)poison(folded.error()); // this commit is durable; the next one will hear
    return {};
}

// Room for everything the commit, and the fold after it, will write. I5: nothing is written before, so no failure of a
// reservation poisons.
result<void> engine::prepare(const view::change_set& changes, const log::record_builder& record) {
    auto reserved = [&]() -> result<void> {
        REM_TRY(store_->reserve_places());
        if (!log_) {
            // What is not stored must be holes, since zeros are not written; a file that was copied, or grew by somebody
            // else's hand, has bytes there, and they may have rotted.
            REM_TRY(store_->confirm());
            REM_TRY(store_->discard_unstored());
        }
        if (!changes.fresh.empty())
            REM_TRY(store_->add_regions((changes.fresh.back().chunk + 1) * store_->chunk_bytes()));
        REM_TRY(store_->reserve_map(changes.fresh.size()));
        stretches places = fresh_stretches(*store_, changes);
        for (const view::changed_page& page : changes.pages) {
            auto checksum = store_->checksum_of(page.page);
            if (!checksum)
                return checksum.error();
            if (*checksum == 0) {
                places.add(page.page); // a hole so far; the fold will fill it
            } else {
                REM_TRY(store_->reserve_checksums(page.page)); // in a copy of a heap the other place is a hole
            }
        }
        for (const stretch& place : places.all())
            REM_TRY(store_->reserve_pages(place.first, place.count));
        if (!log_)
            REM_TRY(begin_session());
        return log_->reserve(record.record_bytes());
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

// R2: every log is an epoch of its own, durable before its first record.
result<void> engine::begin_session() {
    const auto& super = store_->super();
    auto mode = store_->file().permissions();
    if (!mode)
        return mode.error();
    // Its creator may have died before it could sync the directory, and a log without its heap would be in the way.
    if (version_ == 0)
        REM_TRY(files_.sync_directory("store: sync directory before first log", path()));
    auto log = log::redo_log::create(files_, path(), super.uuid, super.epoch + 1, super.sequence + 1, *mode, version_);
    if (!log)
        return log.error();
    if (auto begun = store_->publish(version_, chain_, super.epoch + 1, false); !begun)
        return poison(begun.error());
    log_ = std::move(*log);
    shared_log_ = log_.get();
    return {};
}

result<void> engine::write_fresh(const view::change_set& changes) {
    if (changes.fresh.empty())
        return {};
    const stretches places = fresh_stretches(*store_, changes);
    for (const stretch& place : places.all()) {
        const auto bytes = static_cast<std::size_t>(place.count * k_page_bytes);
        REM_TRY(store_->write_fresh(place.first, {view_->base() + place.first * k_page_bytes, bytes}));
        stats_.image_bytes += bytes;
    }
    return store_->sync_fresh(); // I2: before the record that names them
}

result<void> engine::rollback() {
    REM_TRY(usable());
    std::lock_guard allocation(allocation_);
    return poisoning_without_memory([&]() -> result<void> {
        if (auto restored = view_->rollback(); !restored)
            return poison(restored.error());
        has_other_changes_ = store_->image_bytes() == 0;
        if (has_other_changes_)
            REM_TRY(format_header()); // nothing was ever committed
        return check_allocator();
    });
}

result<void> engine::checkpoint() {
    REM_TRY(usable());
    if (!log_ || log_->used_bytes() == 0)
        return {};
    return poisoning_without_memory([&]() -> result<void> {
        if (auto folded = fold(false); !folded)
            return poison(folded.error());
        view_->drop_twins();
        return {};
    });
}

result<void> engine::fold_and_settle(bool only_declared) {
    REM_TRY(fold(false));
    REM_TRY(view_->settle(only_declared));
    view_->drop_twins();
    return {};
}

result<void> engine::fold(bool clean) {
    REM_TRY(await(version_, log::durability::durable)); // I1
    auto pages = view_->twin_pages();
    std::span<const store::folded_page> rest(pages);
    constexpr std::size_t k_batch = 4096; // pages between two reports of progress
    while (!rest.empty()) {
        auto batch = rest.first(std::min(k_batch, rest.size()));
        REM_TRY(store_->fold(batch));
        stats_.image_bytes += batch.size() * k_page_bytes;
        rest = rest.subspan(batch.size());
        if (options_.on_progress) {
            options_.on_progress(engine_options::work::checkpoint, (pages.size() - rest.size()) * k_page_bytes,
                                 pages.size() * k_page_bytes);
        }
    }
    REM_TRY(store_->publish(version_, chain_, store_->super().epoch, clean));
    log_->restart();
    ++stats_.checkpoints;
    return {};
}

result<void> engine::close() {
    if (is_poisoned())
        return usable();
    if (!log_)
        return {}; // nothing was committed: the file is as it was
    return poisoning_without_memory([&]() -> result<void> {
        if (auto folded = fold(true); !folded)
            return poison(folded.error());
        return log::remove_log(files_, path());
    });
}

void* engine::allocate(std::uint64_t bytes, std::uint64_t alignment, std::optional<failure>& why) {
    std::lock_guard allocation(allocation_);
    has_other_changes_ = has_other_changes_ || !is_declared_;
    void* block = allocator_->allocate(bytes, alignment);
    if (block != nullptr)
        return block;
    why = allocator_->failure().why();
    if (why->path.empty()) { // the allocator knows no files
        why->path = path();
        why->message = "no " + std::to_string(bytes) + " bytes of memory in the heap " + path() + ": " + why->message;
        if (why->code == errc::exhausted)
            why->message += ". Free memory in it, or split the data over several heaps.";
    }
    return nullptr;
}

void engine::deallocate(void* block, std::uint64_t bytes, std::uint64_t alignment) {
    std::lock_guard allocation(allocation_);
    has_other_changes_ = has_other_changes_ || !is_declared_;
    if (options_.inspect) {
        auto freed = allocator_->block_of(block);
        if (freed && freed->start == block) {
            if (is_declared_)
                (void)view_->announce(offset_of(freed->start), freed->bytes);
            std::memset(freed->start, 0, freed->bytes);
        }
    }
    allocator_->deallocate(block, bytes, alignment);
}

std::optional<alloc::block> engine::block_of(const void* address) const {
    std::lock_guard allocation(allocation_);
    return allocator_->block_of(address);
}

const alloc::block_allocator* engine::quiet_allocator() const {
    if (!allocation_.try_lock())
        return nullptr;
    allocation_.unlock();
    return allocator_.get();
}

result<void> engine::announce(const void* first, std::uint64_t bytes) {
    std::lock_guard allocation(allocation_);
    auto announced = view_->announce(offset_of(first), bytes);
    if (!announced)
        return name_file("touch in ", path(), announced.why());
    return {};
}

bool engine::contains(const void* address) const {
    auto offset = reinterpret_cast<std::uint64_t>(address) - reinterpret_cast<std::uint64_t>(base());
    return offset < view_->reserved_bytes();
}

result<verification> engine::verify() {
    verification report;
    auto pages = store::verify(
        *store_, [&](store::damage d) { report.problems.push_back(std::move(d)); },
        [&](std::uint64_t done, std::uint64_t total) {
            if (options_.on_progress)
                options_.on_progress(engine_options::work::verify, done, total);
        });
    if (!pages)
        return pages.error();
    report.pages_checked = *pages;
    if (log_) {
        const std::uint64_t written = log_->written_through(); // later ones may be under way
        auto records = log::scan(log_->file(), *store_);
        if (!records) {
            report.problems.push_back({records.why().message, records.why().offset});
        } else {
            report.log_records_checked = records->size();
            if (store_->super().checkpoint_version + records->size() < written) {
                report.problems.push_back({"the redo log lacks commits", error::k_no_offset});
            }
        }
    }
    // The allocator's state says how far its structures reach. Where it is damaged, that may be the whole address range.
    const auto is_of_state = [&](const store::damage& d) { return d.offset == store_->home_of(0); };
    if (store_->image_bytes() != 0 && std::ranges::any_of(report.problems, is_of_state))
        return report;
    std::lock_guard allocation(allocation_);
    allocator_->check_invariants([&](std::uint64_t offset, std::string_view what) {
        report.problems.push_back(
            {"allocator, at heap offset " + std::to_string(offset) + ": " + std::string(what), error::k_no_offset});
    });
    allocator_->for_each_block([&](alloc::block) { ++report.blocks_checked; });
    return report;
}

} // namespace remanence::txn
