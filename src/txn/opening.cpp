#include "txn/opening.hpp"

#include "os/overlay_files.hpp"
#include "recover/history_of_heap.hpp"
#include "recover/recovery.hpp"
#include "share/presence.hpp"
#include "txn/name_file.hpp"
#include "txn/opening_steps.hpp"
#include "txn/sharing.hpp"

#include <algorithm>
#include <utility>

namespace remanence::txn {

namespace {

/// The ways to open a heap. The options, and whether the file exists, decide between them.
enum class opening {
    create,
    existing, // for this process alone
    read_only,
    create_shared,
    shared, // as the first process, or beside others
    guest,  // beside others; read_only if nobody shares it
};

result<opening> decide(const open_request& request) {
    const engine_options& options = request.options;
    bool creates = request.mode == open_mode::create;
    if (request.mode == open_mode::open_or_create) {
        auto present = request.files.exists(request.path);
        if (!present)
            return present.error();
        creates = !*present;
    }
    if (creates && options.read_only)
        return fail(errc::not_found, "cannot open " + request.path + " read-only: there is no such file.",
                    request.path);
    if (options.is_shared && options.has.sharing == nullptr)
        return fail(errc::not_supported,
                    "cannot open " + request.path +
                        " to be shared: this program lacks that part. Name it: options.access = sharing::processes.",
                    request.path);
    if (options.read_only)
        return options.is_shared ? opening::guest : opening::read_only;
    if (options.is_shared)
        return creates ? opening::create_shared : opening::shared;
    return creates ? opening::create : opening::existing;
}

result<opened_heap> open_existing(const open_request& request) {
    auto opened = store::heap_file::open(request.files, request.path, os::access::read_write);
    if (!opened)
        return opened.error();
    opened_heap heap{.store = std::move(*opened)};
    REM_TRY(check_is_ours(*heap.store, request));
    REM_TRY(recover::check_history_part(*heap.store, request.options.has.history != nullptr));
    const bool was_closed = heap.store->is_clean();
    REM_TRY(recover(request.files, heap, request));
    const sharing_part* const sharing = request.options.has.sharing;
    // Processes that shared the heap and died leave their coordination file.
    if (!was_closed && sharing != nullptr) {
        auto removed = sharing->remove_left_over(request.files, request.path);
        if (!removed && removed.why().code != errc::exists) // errc::exists: it is no coordination file, and harmless
            return removed.error();
    }
    REM_TRY(place_log(heap, request));
    REM_TRY(settle_history(heap, request));
    REM_TRY(reserve_place(heap, request));
    return heap;
}

/// If another process has created the heap meanwhile, opens it, unless open_mode::create was asked for.
result<opened_heap> create(const open_request& request) {
    auto taken = place_of_new(request);
    if (!taken)
        return taken.error();
    std::optional<os::reservation> place(std::move(*taken));
    auto made = store::heap_file::create(request.files, request.path, creation_at(*place, request));
    if (!made && made.why().code == errc::exists && request.mode != open_mode::create) {
        auto present = request.files.exists(request.path); // if not, errc::exists was about another file
        place.reset();
        if (present && *present)
            return open_existing(request);
    }
    if (!made)
        return made.error();
    opened_heap heap{.store = std::move(*made), .place = std::move(place)};
    REM_TRY(place_log(heap, request));
    REM_TRY(settle_history(heap, request));
    return heap;
}

/// Acquires a shared lock, so that others may open the heap read-only, too. If the heap was not closed cleanly,
/// recovers it in memory.
result<opened_heap> open_read_only(const open_request& request) {
    const std::string& path = request.path;
    auto opened = store::heap_file::open(request.files, path, os::access::read_only);
    if (!opened)
        return opened.error();
    opened_heap heap{.store = std::move(*opened)};
    REM_TRY(check_is_ours(*heap.store, request));
    auto is_shared = share::is_shared_now(heap.store->file());
    if (!is_shared)
        return is_shared.error();
    if (*is_shared)
        return fail(errc::in_use,
                    path + " is shared by other processes, which may write to it. Open it with sharing::processes, or "
                           "close it there first.",
                    path);
    if (heap.store->is_clean()) {
        REM_TRY(recover::check_clean(request.files, *heap.store));
    } else {
        if (auto may = store::check_may_be_written(heap.store->super(), path); !may)
            return fail(errc::recovery_needed,
                        path + " was not closed cleanly, and has features that this release cannot recover. Open it "
                               "for writing once, with a newer release.",
                        path);
        heap.in_memory = std::make_unique<os::overlay_files>(request.files);
        opened = store::heap_file::open(*heap.in_memory, path, os::access::read_write); // beside the lock above
        if (!opened)
            return opened.error();
        heap.store = std::move(*opened);
        REM_TRY(recover(*heap.in_memory, heap, request));
    }
    REM_TRY(reserve_place(heap, request));
    return heap;
}

result<opened_heap> open_file(const open_request& request) {
    auto what = decide(request);
    if (!what)
        return what.error();
    const sharing_part* const sharing = request.options.has.sharing;
    switch (*what) {
    case opening::create:
        return create(request);
    case opening::existing:
        return open_existing(request);
    case opening::read_only:
        return open_read_only(request);
    case opening::create_shared:
        REM_TRY(sharing->create(request));
        return sharing->open(request);
    case opening::shared:
        return sharing->open(request);
    case opening::guest:
        break;
    }
    return sharing->open_as_guest(request, open_read_only);
}

} // namespace

share::heap_identity identity_of(const store::heap_file& store) {
    const format::superblock& super = store.super();
    share::heap_identity identity{super.uuid, {}, super.epoch};
    static_assert(sizeof super.session == sizeof identity.session);
    std::ranges::copy(super.session, identity.session.begin());
    return identity;
}

result<opened_heap> open_heap(const open_request& request) {
    auto heap = open_file(request);
    if (!heap)
        return heap;
    const engine_options& options = request.options;
    auto mapped = view::memory_view::open(*heap->store, std::move(*std::exchange(heap->place, std::nullopt)),
                                          {options.tracker, options.read_only && !heap->shared, options.core_dump,
                                           options.report_stray_write, options.scattered_max, options.stretches_max,
                                           options.read_ahead});
    if (!mapped)
        return mapped.why().path.empty() ? name_file("cannot open ", heap->store->path(), mapped.why())
                                         : unexpected(mapped.error());
    heap->view = std::move(*mapped);
    return heap;
}

} // namespace remanence::txn
