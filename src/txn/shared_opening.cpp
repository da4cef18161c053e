#include "txn/shared_opening.hpp"

#include "recover/history_of_heap.hpp"
#include "txn/opening_steps.hpp"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace remanence::txn {

namespace {

constexpr std::chrono::milliseconds k_creator_has_lock{500};
constexpr std::chrono::milliseconds k_between_tries{1};

/// Repeats `f` while it fails with errc::in_use, for at most `longest`.
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

/// Completes joining: pins the visible version and holds the current superblock. Returns false if all processes that
/// shared the heap have left meanwhile.
result<bool> begin_to_follow(shared_access& shared) {
    while (!shared.others->pin(shared.others->visible())) {
        if (auto alive = shared.others->check_session(); !alive)
            return alive.why().code == errc::closed ? result<bool>(false) : alive.error();
    }
    shared.current = shared.others->hold();
    return true;
}

share::coordination::on where_it_may_be(const engine_options& options) {
    return options.share_on_network ? share::coordination::on::any : share::coordination::on::local;
}

/// Attaches. If other processes are attached, also pins the visible version and holds the current superblock.
result<shared_access> attach(const open_request& request) {
    auto file = request.files.open(request.path, os::access::read_write);
    if (!file)
        return file.error();
    auto mode = (*file)->permissions();
    if (!mode)
        return mode.error();
    const share::deadline until = std::chrono::steady_clock::now() + request.options.open_timeout;
    auto attached = while_in_use(k_creator_has_lock, [&] {
        return share::coordination::attach(request.files, **file, request.path, *mode, until,
                                           where_it_may_be(request.options));
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

/// Attaches as a guest; pins and holds as attach() does. Returns nothing if no process shares the heap.
result<std::optional<shared_access>> attach_to_read(const open_request& request, share::deadline until) {
    auto file = request.files.open(request.path, os::access::read_only);
    if (!file)
        return file.error();
    auto attached = share::coordination::attach_to_read(request.files, **file, request.path, until,
                                                        where_it_may_be(request.options));
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

/// Uses the limits of the history that the other processes keep. If they keep none but the caller wants one, fails.
result<void> follow_history(opened_heap& heap, const open_request& request) {
    REM_TRY(recover::check_history_part(*heap.store, request.options.has.history != nullptr));
    auto recorded = heap.store->history();
    if (!recorded)
        return recorded.error();
    if (*recorded) {
        heap.history = history::read_limits(**recorded);
        return {};
    }
    if (!request.options.history)
        return {};
    return fail(errc::invalid_argument,
                "other processes have " + heap.store->path() +
                    " open, and it has no history. Open it without one, or close it in all of them: the first that "
                    "opens it then begins one.",
                heap.store->path());
}

/// Opens beside processes that have the heap open. Precondition: the current superblock is held, and the visible
/// version pinned.
result<opened_heap> join(const open_request& request, shared_access shared) {
    const engine_options& options = request.options;
    const std::string& path = request.path;
    auto opened = store::heap_file::open_shared(request.files, path, shared.current->sequence,
                                                options.read_only ? os::access::read_only : os::access::read_write);
    if (!opened)
        return opened.error();
    REM_TRY(check_is_still_at(*shared.file, path));
    opened_heap heap{.store = std::move(*opened)};
    REM_TRY(check_is_ours(*heap.store, request));
    REM_TRY(shared.others->check_identity(identity_of(*heap.store)));
    if (options.log_directory && *options.log_directory != heap.store->where_log_lies().directory())
        return fail(errc::invalid_argument,
                    "other processes have " + path +
                        " open, whose redo log stays where it is meanwhile. Name no log_directory, or the "
                        "one that they have.",
                    path);
    if (!options.read_only)
        REM_TRY(follow_history(heap, request));
    heap.store->unused().keep_length(true);
    REM_TRY(reserve_place(heap, request));
    heap.shared = std::move(shared);
    return heap;
}

/// Opens as the first process. No other process attaches before this one is ready.
result<opened_heap> open_first(const open_request& request, shared_access shared) {
    auto opened = store::heap_file::open_shared(request.files, request.path, std::nullopt);
    if (!opened)
        return opened.error();
    REM_TRY(check_is_still_at(*shared.file, request.path));
    opened_heap heap{.store = std::move(*opened)};
    REM_TRY(check_is_ours(*heap.store, request));
    REM_TRY(recover::check_history_part(*heap.store, request.options.has.history != nullptr));
    REM_TRY(recover(request.files, heap, request));
    REM_TRY(place_log(heap, request));
    REM_TRY(settle_history(heap, request));
    heap.store->unused().keep_length(true);
    REM_TRY(reserve_place(heap, request));
    heap.shared = std::move(shared);
    return heap;
}

} // namespace

// Another process may be creating the heap at the same time.
result<void> create_to_share(const open_request& request) {
    auto made = while_in_use(request.options.open_timeout, [&]() -> result<void> {
        auto place = place_of_new(request);
        if (!place)
            return place.error();
        auto empty = store::create_empty(request.files, request.path, creation_at(*place, request));
        return empty ? result<void>() : empty.error();
    });
    if (!made && made.why().code == errc::exists && request.mode != open_mode::create)
        return {};
    return made;
}

result<opened_heap> open_shared(const open_request& request) {
    auto shared = attach(request);
    if (!shared)
        return shared.error();
    return shared->role == share::coordination::role::joined ? join(request, std::move(*shared))
                                                             : open_first(request, std::move(*shared));
}

result<opened_heap> open_as_guest(const open_request& request, opener otherwise) {
    const share::deadline until = std::chrono::steady_clock::now() + request.options.open_timeout;
    return while_in_use(k_creator_has_lock, [&]() -> result<opened_heap> {
        auto shared = attach_to_read(request, until);
        if (!shared)
            return shared.error();
        return *shared ? join(request, std::move(**shared))
                       : otherwise(request); // errc::in_use if another process has opened the heap meanwhile
    });
}

} // namespace remanence::txn
