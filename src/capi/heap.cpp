// Opens and closes heaps, and describes open heaps.

#include "api/leak_part.hpp"
#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/structs.hpp"

#include <chrono>

using namespace remanence;

namespace remanence::capi {

namespace {

// The options that a C program may set in each group of heap_options.

void choose_durability(const rem_options& given, heap_options& options) {
    switch (given.durability) {
    case REM_AS_OPENED:
    case REM_DURABLE:
        break;
    case REM_LAZY:
        options.commits = durability::lazy;
        break;
    case REM_NONE:
        options.commits = durability::none;
        break;
    default:
        refuse_argument("rem_options::durability is not a rem_durability.");
    }
}

void choose_tracker(const rem_options& given, heap_options& options) {
    switch (given.tracking) {
    case REM_TRACK_AUTOMATIC:
        break;
    case REM_TRACK_SCAN:
        options.tracker = tracking::scan;
        break;
    case REM_TRACK_TRAP:
        options.tracker = tracking::trap;
        break;
    case REM_TRACK_FALLBACK:
        options.tracker = tracking::fallback;
        break;
    default:
        refuse_argument("rem_options::tracking is none of rem_tracking.");
    }
}

void choose_kind(const rem_options& given, heap_options& options) {
    switch (given.kind) {
    case REM_TRANSACTIONAL:
    case REM_SNAPSHOT:
        break;
    case REM_ARCHIVE:
        options.commit_at_close = true;
        break;
    default:
        refuse_argument("rem_options::kind is none of rem_kind.");
    }
}

void set_checks(const rem_options& given, heap_options& options) {
    options.checks.catch_stray_writes = given.catch_stray_writes;
    options.checks.red_zones = given.red_zones;
    if (given.leak_frames != 0 && detail::known_leak_part == nullptr)
        throw error(errc::not_supported,
                    "the program lacks the code for rem_options::leak_frames. It has that code if it calls "
                    "rem_find_leaks() anywhere.");
    options.checks.leak_frames = {given.leak_frames, detail::known_leak_part};
    if (given.application != nullptr)
        options.checks.application = given.application;
}

void set_memory(const rem_options& given, heap_options& options) {
    options.memory.core_dump = given.core_dump;
    options.memory.read_ahead = !given.no_read_ahead;
    options.memory.aligned_blocks = given.aligned_blocks;
    options.memory.reserve_bytes = given.reserve_bytes;
    options.memory.chunk_bytes = given.chunk_bytes;
    options.memory.base = given.base;
    options.memory.dirty_limit_bytes = given.dirty_limit_bytes;
}

void set_log(const rem_options& given, heap_options& options) {
    options.log.log_limit_bytes = given.log_limit_bytes;
    if (given.log_directory != nullptr)
        options.log.log_directory = given.log_directory;
    if (given.lazy_interval_ms != 0)
        options.log.lazy_interval = std::chrono::milliseconds(given.lazy_interval_ms);
}

void set_sharing(const rem_options& given, heap_options& options) {
    if (given.mode != 0)
        options.sharing.mode = given.mode;
    if (given.open_timeout_ms != 0)
        options.sharing.open_timeout = std::chrono::milliseconds(given.open_timeout_ms);
}

void set_progress(const rem_options& given, heap_options& options) {
    if (given.on_progress == nullptr)
        return;
    options.on_progress = [call = given.on_progress, context = given.context](const progress& now) {
        const rem_phase phase = now.what == progress::phase::recovery     ? REM_RECOVERY
                                : now.what == progress::phase::checkpoint ? REM_CHECKPOINT
                                                                          : REM_VERIFY;
        call(context, phase, now.bytes_done, now.bytes_total);
    };
}

heap_options options_of(const rem_options& given) {
    heap_options options;
    choose_durability(given, options);
    choose_tracker(given, options);
    choose_kind(given, options);
    options.read_only = given.read_only;
    set_checks(given, options);
    set_memory(given, options);
    set_log(given, options);
    set_sharing(given, options);
    set_progress(given, options);
    return options;
}

} // namespace

rem_status open_by(detail::opening mode, sharing access, const char* path, const rem_options* given, rem_heap** into,
                   const opening_details& details) {
    if (into != nullptr)
        *into = nullptr;
    return guard([&] {
        if (path == nullptr || into == nullptr)
            refuse_argument("rem_open needs a path, and a place for the handle.");
        const rem_options options = whole_struct(given, "rem_options");
        if (access != sharing::exclusive && options.kind != REM_TRANSACTIONAL)
            refuse_argument("a heap that processes share is transactional: what a section does not commit is undone.");
        heap_options of_cpp = options_of(options);
        of_cpp.access = access;
        of_cpp.history = details.history;
        of_cpp.procedures = details.procedures;
        of_cpp.version = details.version;
        of_cpp.kept_version = details.kept_version;
        of_cpp.read_only = of_cpp.read_only || details.version || !details.kept_version.empty();
        heap opened = detail::open(os::posix_file_system(), path, of_cpp, mode);
        // The engine maps a heap without roots elsewhere if its address is taken, but addresses that C objects store
        // would be wrong there.
        if (const auto& elsewhere = detail::impl_of(opened).engine().why_elsewhere())
            detail::raise(*elsewhere);
        *into = add_handle(std::move(opened), options.kind);
        return REM_OK;
    });
}

} // namespace remanence::capi

rem_status rem_open(const char* path, const rem_options* options, rem_heap** heap) {
    return capi::open_by(detail::opening::open_or_create, sharing::exclusive, path, options, heap);
}
rem_status rem_create(const char* path, const rem_options* options, rem_heap** heap) {
    return capi::open_by(detail::opening::create, sharing::exclusive, path, options, heap);
}
rem_status rem_open_existing(const char* path, const rem_options* options, rem_heap** heap) {
    return capi::open_by(detail::opening::open_existing, sharing::exclusive, path, options, heap);
}

rem_status rem_close(rem_heap* heap) {
    return capi::guard([&] {
        if (capi::find_volatile(heap) != nullptr) {
            capi::remove_handle(heap);
            return REM_OK;
        }
        remanence::heap& closing = capi::opened(heap).of;
        try {
            capi::callback::refuse_close(capi::opened(heap).impl());
            closing.close();
        } catch (const error& e) {
            // In a forked child, remove_handle() frees the addresses of the child's copy, so that the child can open
            // the heap itself.
            if (!closing.is_open() || e.reason() == errc::closed)
                capi::remove_handle(heap);
            throw;
        } catch (...) {
            if (!closing.is_open())
                capi::remove_handle(heap);
            throw;
        }
        capi::remove_handle(heap);
        return REM_OK;
    });
}

rem_status rem_rebuild(rem_heap* heap) {
    return capi::guard([&] {
        capi::open_heap& rebuilt = capi::opened(heap);
        try {
            rebuilt.of.rebuild();
        } catch (...) {
            if (!rebuilt.of.is_open())
                capi::remove_handle(heap);
            throw;
        }
        rebuilt.last_point = rebuilt.of.version(); // commits that were not durable are lost
        return REM_OK;
    });
}

bool rem_is_open(const rem_heap* heap) {
    const capi::open_heap* const found = capi::find_opened(heap);
    if (found == nullptr)
        return capi::find_volatile(heap) != nullptr;
    try {
        (void)found->impl();
        return true;
    } catch (const error&) {
        return false;
    }
}

const char* rem_path(const rem_heap* heap) {
    return capi::guard_or<const char*>(nullptr, [&] { return capi::opened(heap).of.path().c_str(); });
}

void* rem_base(const rem_heap* heap) {
    return capi::guard_or<void*>(nullptr, [&] { return capi::opened(heap).of.base(); });
}

rem_status rem_version(const rem_heap* heap, uint64_t* version) {
    return capi::guard([&] {
        if (version == nullptr)
            capi::refuse_argument("rem_version needs a place for the number.");
        *version = capi::opened(heap).of.version();
        return REM_OK;
    });
}
