#include "txn/opening.hpp"

#include "os/memory.hpp"
#include "os/overlay_files.hpp"
#include "recover/history_of_heap.hpp"
#include "recover/recovery.hpp"
#include "share/presence.hpp"
#include "txn/name_file.hpp"
#include "txn/sharing.hpp"
#include "txn/undo_manager.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace remanence::txn {

namespace {

unexpected cannot_map(const std::string& path, const failure& why) { return name_file("cannot map ", path, why); }

result<bool> is_to_be_created(os::file_system& files, const std::string& path, open_mode mode) {
    if (mode != open_mode::open_or_create)
        return mode == open_mode::create;
    auto present = files.exists(path);
    if (!present)
        return present.error();
    return !*present;
}

/// The heap's file, and addresses for it.
struct file_and_place {
    std::unique_ptr<os::file_system> in_memory{}; // below the store
    std::unique_ptr<store::heap_file> store;
    std::optional<os::reservation> place{};
    recover::recovery_outcome recovered{};
    std::optional<failure> why_elsewhere{};
    std::optional<shared_access> shared{};
    std::optional<history::limits> history{};
};

store::creation creation_of(const engine_options& options, std::uint64_t base, std::string_view abi) {
    return {options.chunk_bytes,   base, abi, options.mode, options.application, options.aligned_blocks,
            options.guarded_blocks};
}

/// Sees to it that a log can be made where it is to lie. Precondition: there is none.
result<void> place_log(os::file_system& files, store::heap_file& store, const engine_options& options) {
    if (options.log_directory && *options.log_directory != store.where_log_lies().directory()) {
        // Else the log that was removed there might come back, and nobody would look for it. What is gone cannot be synced.
        auto left = files.sync_directory("log: sync directory that it leaves", store.log_path());
        if (!left && left.why().code != errc::not_found)
            return left;
        REM_TRY(store.move_log(*options.log_directory));
    }
    const std::string& directory = store.where_log_lies().directory();
    if (directory.empty())
        return {};
    auto is_there = files.has_directory(directory);
    if (!is_there || *is_there)
        return is_there ? result<void>() : is_there.error();
    return fail(errc::not_found,
                "the redo log of " + store.path() + " belongs into " + directory +
                    ", which is not there. Mount its device; or, since the heap was closed and has all its commits, "
                    "open it with another log_directory (empty: the log lies beside the heap).",
                directory);
}

/// Of a history that is not kept over sessions nothing is recorded.
result<void> settle_history(os::file_system& files, file_and_place& heap, const engine_options& options) {
    auto settled = recover::settle_history(files, *heap.store,
                                           options.history_kept ? options.history : std::optional<history::limits>());
    if (!settled)
        return settled.error();
    heap.history = *settled;
    return {};
}

/// No store: another process has just created the heap, which is as good where opening it was asked for, too.
result<file_and_place> create(os::file_system& files, const std::string& path, open_mode mode,
                              const engine_options& options, std::string_view abi) {
    if (options.read_only)
        return fail(errc::not_found, "cannot open " + path + " read-only: there is no such file.", path);
    auto taken = options.base != 0 ? os::reservation::at(options.base, options.reserve_bytes)
                                   : os::reservation::at_random(options.reserve_bytes);
    if (!taken)
        return cannot_map(path, taken.why());
    const auto base = reinterpret_cast<std::uint64_t>(taken->base());
    auto made = store::heap_file::create(files, path, creation_of(options, base, abi));
    if (made) {
        file_and_place heap{.store = std::move(*made), .place = std::move(*taken)};
        REM_TRY(place_log(files, *heap.store, options));
        REM_TRY(settle_history(files, heap, options));
        return heap;
    }
    if (made.why().code != errc::exists || mode == open_mode::create)
        return made.error();
    if (auto present = files.exists(path); !present || !*present)
        return made.error(); // something else is in the way
    return file_and_place{};
}

/// Whether this program, built as it is, may have the heap.
result<void> check_is_ours(const store::heap_file& store, const engine_options& options, std::string_view abi) {
    REM_TRY(store.check_application(options.application, store::unstated::refused));
    if (store.abi() == abi)
        return {};
    return fail(errc::abi_mismatch,
                store.path() + " was written with the ABI \"" + std::string(store.abi()) + "\", this program has \"" +
                    std::string(abi) + "\". Build it with the same standard library and debug modes.",
                store.path());
}

/// Brings into the image what the log has.
result<recover::recovery_outcome> recover(os::file_system& files, store::heap_file& store,
                                          const engine_options& options) {
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        if (options.on_progress)
            options.on_progress(engine_options::work::recovery, done, total);
    };
    return recover::recover(files, store, progress,
                            options.has.history != nullptr ? options.has.history->keep_records : nullptr);
}

result<void> reserve(file_and_place& heap, const engine_options& options) {
    const std::uint64_t base = heap.store->super().base;
    const std::uint64_t image_bytes = heap.store->image().bytes();
    const std::uint64_t bytes = std::max(options.reserve_bytes, image_bytes);
    auto taken = options.when_taken == when_base_taken::elsewhere ? os::reservation::at_or_elsewhere(base, bytes)
                                                                  : os::reservation::at(base, bytes);
    if (!taken)
        taken = os::reservation::at(base, image_bytes + heap.store->image().chunk_bytes()); // less will do
    if (!taken && taken.why().code == errc::base_taken && options.when_taken == when_base_taken::look_elsewhere) {
        if (auto other = os::reservation::elsewhere(bytes)) {
            heap.why_elsewhere = cannot_map(heap.store->path(), taken.why()).why();
            taken = std::move(other);
        }
    }
    if (!taken)
        return cannot_map(heap.store->path(), taken.why());
    heap.place = std::move(*taken);
    return {};
}

constexpr std::chrono::milliseconds k_creator_has_lock{500};
constexpr std::chrono::milliseconds k_between_tries{1};

/// Repeats `f` for so long while it says that somebody has the file.
template <class F>
auto while_in_use(std::chrono::milliseconds longest, const F& f) {
    const auto give_up = std::chrono::steady_clock::now() + longest;
    for (;;) {
        auto done = f();
        if (done || done.why().code != errc::in_use || std::chrono::steady_clock::now() > give_up)
            return done;
        std::this_thread::sleep_for(k_between_tries);
    }
}

/// Makes an empty heap for all who want to open it; another process may be about to do the same.
result<void> create_to_share(os::file_system& files, const std::string& path, open_mode mode,
                             const engine_options& options, std::string_view abi) {
    auto made = while_in_use(options.open_timeout, [&]() -> result<void> {
        auto place = options.base != 0 ? os::reservation::at(options.base, options.reserve_bytes)
                                       : os::reservation::at_random(options.reserve_bytes);
        if (!place)
            return cannot_map(path, place.why());
        const auto base = reinterpret_cast<std::uint64_t>(place->base());
        auto empty = store::create_empty(files, path, creation_of(options, base, abi));
        return empty ? result<void>() : empty.error();
    });
    if (!made && made.why().code == errc::exists && mode != open_mode::create)
        return {};
    return made;
}

/// The rest of joining: what is read from now on stays. False: the session has ended meanwhile.
result<bool> begin_to_follow(shared_access& shared) {
    while (!shared.others->pin(shared.others->visible())) {
        if (auto alive = shared.others->check_session(); !alive)
            return alive.why().code == errc::closed ? result<bool>(false) : alive.error();
    }
    shared.ruling = shared.others->hold();
    return true;
}

share::coordination::on where_it_may_be(const engine_options& options) {
    return options.share_on_network ? share::coordination::on::any : share::coordination::on::local;
}

/// Takes part; joined: with the newest version pinned and its superblock held.
result<shared_access> attach(os::file_system& files, const std::string& path, const engine_options& options) {
    auto file = files.open(path, os::access::read_write);
    if (!file)
        return file.error();
    auto mode = (*file)->permissions();
    if (!mode)
        return mode.error();
    const share::deadline until = std::chrono::steady_clock::now() + options.open_timeout;
    auto attached = while_in_use(k_creator_has_lock, [&] {
        return options.has.sharing->attach(files, **file, path, *mode, until, where_it_may_be(options));
    });
    if (!attached)
        return attached.error();
    shared_access shared{std::move(*file), std::move(attached->how), attached->as};
    if (shared.role == share::coordination::role::joined) {
        auto begun = begin_to_follow(shared);
        if (!begun)
            return begun.error();
    }
    return shared;
}

/// Takes part as a guest, as attach() does. Nothing: nobody shares the heap.
result<std::optional<shared_access>> attach_to_read(os::file_system& files, const std::string& path,
                                                    const engine_options& options, share::deadline until) {
    auto file = files.open(path, os::access::read_only);
    if (!file)
        return file.error();
    auto attached = options.has.sharing->attach_to_read(files, **file, path, until, where_it_may_be(options));
    if (!attached)
        return attached.error();
    if (*attached == nullptr)
        return std::optional<shared_access>();
    shared_access shared{std::move(*file), std::move(*attached), share::coordination::role::joined};
    auto begun = begin_to_follow(shared);
    if (!begun)
        return begun.error();
    return *begun ? std::optional(std::move(shared)) : std::nullopt;
}

result<void> check_is_still_at(os::file& file, const std::string& path) {
    auto is_same = file.is_at(path);
    if (is_same && *is_same)
        return {};
    return fail(errc::unlinked, path + " was removed or replaced while it was being opened. Open it again.", path);
}

unexpected lacks_sharing(const std::string& path) {
    return fail(errc::not_supported,
                "cannot open " + path +
                    " to be shared: this program has that part of the library not linked in. Open it for one process.",
                path);
}

/// The history is that of those who have the heap open, or none.
result<void> follow_history(file_and_place& heap, const engine_options& options) {
    REM_TRY(recover::check_history_part(*heap.store, options.has.history != nullptr));
    auto recorded = heap.store->history();
    if (!recorded)
        return recorded.error();
    if (*recorded) {
        heap.history = history::read_limits(**recorded);
        return {};
    }
    if (!options.history)
        return {};
    return fail(errc::invalid_argument,
                "other processes have " + heap.store->path() +
                    " open, and it has no history. Open it without one, or close it in all of them: the first that "
                    "opens it then begins one.",
                heap.store->path());
}

/// Beside those that have it open: the superblock that rules is held, and its version pinned.
result<file_and_place> join(os::file_system& files, const std::string& path, const engine_options& options,
                            std::string_view abi, shared_access shared) {
    auto opened = store::heap_file::open_shared(files, path, shared.ruling->sequence,
                                                options.read_only ? os::access::read_only : os::access::read_write);
    if (!opened)
        return opened.error();
    REM_TRY(check_is_still_at(*shared.file, path));
    file_and_place heap{.store = std::move(*opened)};
    REM_TRY(check_is_ours(*heap.store, options, abi));
    REM_TRY(shared.others->check_identity(identity_of(*heap.store)));
    if (options.log_directory && *options.log_directory != heap.store->where_log_lies().directory())
        return fail(errc::invalid_argument,
                    "other processes have " + path +
                        " open, whose redo log stays where it is meanwhile. Name no log_directory, or the "
                        "one that they have.",
                    path);
    if (!options.read_only)
        REM_TRY(follow_history(heap, options));
    heap.store->unused().keep_length(true);
    REM_TRY(reserve(heap, options));
    heap.shared = std::move(shared);
    return heap;
}

result<file_and_place> open_shared(os::file_system& files, const std::string& path, const engine_options& options,
                                   std::string_view abi) {
    if (options.has.sharing == nullptr)
        return lacks_sharing(path);
    auto shared = attach(files, path, options);
    if (!shared)
        return shared.error();
    if (shared->role == share::coordination::role::joined)
        return join(files, path, options, abi, std::move(*shared));
    auto opened = store::heap_file::open_shared(files, path, std::nullopt);
    if (!opened)
        return opened.error();
    REM_TRY(check_is_still_at(*shared->file, path));
    file_and_place heap{.store = std::move(*opened)};
    REM_TRY(check_is_ours(*heap.store, options, abi));
    REM_TRY(recover::check_history_part(*heap.store, options.has.history != nullptr));
    auto recovered = recover(files, *heap.store, options);
    if (!recovered)
        return recovered.error();
    heap.recovered = std::move(*recovered);
    REM_TRY(place_log(files, *heap.store, options));
    REM_TRY(settle_history(files, heap, options));
    heap.store->unused().keep_length(true);
    REM_TRY(reserve(heap, options));
    heap.shared = std::move(*shared);
    return heap;
}

/// With a lock that is shared with others who do the same. What was not closed is recovered in memory.
result<file_and_place> open_read_only(os::file_system& files, const std::string& path, const engine_options& options,
                                      std::string_view abi) {
    auto opened = store::heap_file::open(files, path, os::access::read_only);
    if (!opened)
        return opened.error();
    file_and_place heap{.store = std::move(*opened)};
    REM_TRY(check_is_ours(*heap.store, options, abi));
    auto is_shared = share::is_shared_now(heap.store->file());
    if (!is_shared)
        return is_shared.error();
    if (*is_shared)
        return fail(errc::in_use,
                    path + " is shared by other processes, which may write to it. Open it with sharing::processes, or "
                           "close it there first.",
                    path);
    if (heap.store->is_clean()) {
        REM_TRY(recover::check_clean(files, *heap.store));
    } else {
        if (auto may = store::check_may_be_written(heap.store->super(), path); !may)
            return fail(errc::recovery_needed,
                        path + " was not closed cleanly, and has features that this release cannot recover. Open it "
                               "for writing once, with a newer release.",
                        path);
        heap.in_memory = std::make_unique<os::overlay_files>(files);
        opened = store::heap_file::open(*heap.in_memory, path, os::access::read_write); // beside the lock above
        if (!opened)
            return opened.error();
        heap.store = std::move(*opened);
        auto recovered = recover(*heap.in_memory, *heap.store, options);
        if (!recovered)
            return recovered.error();
        heap.recovered = *recovered;
    }
    REM_TRY(reserve(heap, options));
    return heap;
}

/// As a guest of those that share it; if nobody does, as a heap that nobody writes to.
result<file_and_place> open_to_read(os::file_system& files, const std::string& path, const engine_options& options,
                                    std::string_view abi) {
    if (!options.is_shared)
        return open_read_only(files, path, options, abi);
    if (options.has.sharing == nullptr)
        return lacks_sharing(path);
    const share::deadline until = std::chrono::steady_clock::now() + options.open_timeout;
    return while_in_use(k_creator_has_lock, [&]() -> result<file_and_place> {
        auto shared = attach_to_read(files, path, options, until);
        if (!shared)
            return shared.error();
        return *shared ? join(files, path, options, abi, std::move(**shared))
                       : open_read_only(files, path, options, abi); // errc::in_use: somebody has come meanwhile
    });
}

result<file_and_place> open_existing(os::file_system& files, const std::string& path, const engine_options& options,
                                     std::string_view abi) {
    auto opened = store::heap_file::open(files, path, os::access::read_write);
    if (!opened)
        return opened.error();
    file_and_place heap{.store = std::move(*opened)};
    REM_TRY(check_is_ours(*heap.store, options, abi));
    REM_TRY(recover::check_history_part(*heap.store, options.has.history != nullptr));
    const bool was_closed = heap.store->is_clean();
    auto recovered = recover(files, *heap.store, options);
    if (!recovered)
        return recovered.error();
    if (!was_closed && options.has.sharing != nullptr) { // processes that shared it, and died, leave that
        auto removed = options.has.sharing->remove_left_over(files, path);
        if (!removed && removed.why().code != errc::exists) // that is not theirs, and in nobody's way
            return removed.error();
    }
    heap.recovered = std::move(*recovered);
    REM_TRY(place_log(files, *heap.store, options));
    REM_TRY(settle_history(files, heap, options));
    REM_TRY(reserve(heap, options));
    return heap;
}

result<file_and_place> create_or_open(os::file_system& files, const std::string& path, open_mode mode,
                                      const engine_options& options, std::string_view abi) {
    auto creates = is_to_be_created(files, path, mode);
    if (!creates)
        return creates.error();
    if (options.read_only)
        return *creates ? create(files, path, mode, options, abi) // which it refuses
                        : open_to_read(files, path, options, abi);
    if (options.is_shared) {
        if (*creates)
            REM_TRY(create_to_share(files, path, mode, options, abi));
        return open_shared(files, path, options, abi);
    }
    if (*creates) {
        auto created = create(files, path, mode, options, abi);
        if (!created || created->store)
            return created;
    }
    return open_existing(files, path, options, abi);
}

} // namespace

share::heap_identity identity_of(const store::heap_file& store) {
    const format::superblock& super = store.super();
    share::heap_identity identity{super.uuid, {}, super.epoch};
    static_assert(sizeof super.session == sizeof identity.session);
    std::ranges::copy(super.session, identity.session.begin());
    return identity;
}

result<opened_heap> open_heap(os::file_system& files, const std::string& path, open_mode mode,
                              const engine_options& options, std::string_view abi) {
    auto heap = create_or_open(files, path, mode, options, abi);
    if (!heap)
        return heap.error();
    auto mapped = view::memory_view::open(*heap->store, std::move(*heap->place),
                                          {options.tracker, options.read_only && !heap->shared, options.core_dump,
                                           options.report_stray_write, options.scattered_max, options.stretches_max,
                                           options.read_ahead});
    if (!mapped && mapped.why().path.empty())
        return name_file("cannot open ", heap->store->path(), mapped.why());
    if (!mapped)
        return mapped.error();
    return opened_heap{std::move(heap->in_memory), std::move(heap->store), std::move(*mapped),
                       heap->recovered.commits,    heap->recovered.bytes,  std::move(heap->why_elsewhere),
                       std::move(heap->shared),    heap->history};
}

} // namespace remanence::txn
