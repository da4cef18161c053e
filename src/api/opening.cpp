// Makes heap handles: checks the options and passes them to the engine, which opens the heap.

#include "api/heap_impl.hpp"
#include "api/history_limits.hpp"
#include "api/history_part.hpp"
#include "api/leak_part.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "api/relocation_part.hpp"
#include "api/stray_write.hpp"
#include "api/version_opening.hpp"
#include "store/superblocks.hpp"
#include "txn/slab_caches.hpp"
#include "types/declaration_check.hpp"
#include "types/pointer_check.hpp"
#include "types/root_directory.hpp"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

namespace remanence {

using detail::opening;

namespace {

constexpr std::chrono::milliseconds k_lazy_interval_min{1};
constexpr std::chrono::milliseconds k_lazy_interval_max = std::chrono::hours(1);
constexpr std::chrono::milliseconds k_open_timeout_max = std::chrono::hours(1);

track::tracker_choice tracker_of(tracking wanted) {
    switch (wanted) {
    case tracking::scan:
        return track::tracker_choice::scan;
    case tracking::trap:
        return track::tracker_choice::trap;
    case tracking::fallback:
        return track::tracker_choice::fallback;
    case tracking::automatic:
        break;
    }
    return track::tracker_choice::automatic;
}

constexpr const char* k_tracking_variable = "REMANENCE_TRACKING";

/// Does not use sharing::processes, because naming it would link the sharing code into each program.
bool is_shared(const heap_options& options) { return options.access != sharing::exclusive; }

[[noreturn]] void refuse(const std::filesystem::path& path, errc code, const std::string& why) {
    detail::raise(failure{code, "cannot open " + path.string() + ": " + why, path.string()});
}

std::string checked_log_directory(const std::filesystem::path& path, const std::filesystem::path& directory) {
    if (directory.empty())
        return {};
    std::error_code why;
    std::string real = std::filesystem::canonical(directory, why).string();
    if (why == std::errc::no_such_file_or_directory || why == std::errc::not_a_directory ||
        (!why && !std::filesystem::is_directory(real, why)))
        refuse(path, errc::not_found,
               "options.log.log_directory, " + directory.string() + ", is no directory that is there. Make it first.");
    if (why)
        refuse(path, errc::io, "options.log.log_directory, " + directory.string() + ": " + why.message() + ".");
    if (!store::may_be_log_directory(real))
        refuse(path, errc::invalid_argument, "options.log.log_directory is too long.");
    return real;
}

const std::string& checked_application(const std::filesystem::path& path, const std::string& name) {
    if (!store::may_be_application(name) && !name.empty())
        refuse(path, errc::invalid_argument,
               "options.checks.application must have 1 to 15 printable characters of ASCII, none of them a space.");
    return name;
}

void take_sharing(const std::filesystem::path& path, const sharing_options& given, txn::engine_options& into) {
    if (given.open_timeout < std::chrono::milliseconds::zero() || given.open_timeout > k_open_timeout_max)
        refuse(path, errc::invalid_argument, "options.sharing.open_timeout must be from 0 to 1 hour.");
    if ((given.mode & ~0777U) != 0)
        refuse(path, errc::invalid_argument, "options.sharing.mode may have permissions only, which are at most 0777.");
    into.share_on_network = given.share_on_network;
    into.open_timeout = given.open_timeout;
    into.mode = given.mode;
}

void take_log(const std::filesystem::path& path, const log_options& given, bool is_shared, txn::engine_options& into) {
    if (given.lazy_interval < k_lazy_interval_min || given.lazy_interval > k_lazy_interval_max)
        refuse(path, errc::invalid_argument, "options.log.lazy_interval must be from 1 ms to 1 hour.");
    if (given.log_bytes_max != 0 && !is_shared)
        refuse(path, errc::invalid_argument, "options.log.log_bytes_max has a meaning with sharing::processes only.");
    if (given.log_bytes_max != 0 && given.log_bytes_max / 2 < given.log_limit_bytes)
        refuse(path, errc::invalid_argument,
               "options.log.log_bytes_max must be at least twice options.log.log_limit_bytes.");
    if (given.log_directory)
        into.log_directory = checked_log_directory(path, *given.log_directory);
    into.log_limit_bytes = given.log_limit_bytes;
    into.log_bytes_max = given.log_bytes_max;
}

void take_memory(const std::filesystem::path& path, const memory_options& given, txn::engine_options& into) {
    if (given.base % os::k_base_alignment != 0 || given.base >= os::k_address_end)
        refuse(path, errc::invalid_argument, "options.memory.base must be a multiple of 1 GiB below 2^47.");
    const std::uint64_t reserve_bytes = given.reserve_bytes != 0 ? given.reserve_bytes : into.reserve_bytes;
    if (reserve_bytes >= os::k_address_end / 2)
        refuse(path, errc::invalid_argument, "options.memory.reserve_bytes must be below 64 TiB.");
    // Rounded to chunks of the largest size: a checkpoint maps whole chunks, which must not extend behind the
    // reservation.
    into.reserve_bytes = align_up(reserve_bytes, format::k_chunk_bytes_max);
    if (given.chunk_bytes != 0)
        into.chunk_bytes = given.chunk_bytes;
    if (!is_power_of_two(into.chunk_bytes) || into.chunk_bytes < format::k_chunk_bytes_min ||
        into.chunk_bytes > format::k_chunk_bytes_max)
        refuse(path, errc::invalid_argument, "options.memory.chunk_bytes must be a power of two from 64 KiB to 4 MiB.");
    into.base = given.base;
    into.aligned_blocks = given.aligned_blocks;
    if (const std::uint64_t limit = given.resident_limit_bytes.bytes(); limit != 0 && limit < txn::k_resident_limit_min)
        refuse(path, errc::invalid_argument,
               "options.memory.resident_limit_bytes must be 0, for no limit, or at least 1 MiB.");
    into.dirty_limit_bytes = given.dirty_limit_bytes;
    into.resident_limit_bytes = given.resident_limit_bytes.bytes();
    into.has.memory_limiter = into.resident_limit_bytes != 0 ? given.resident_limit_bytes.part() : nullptr;
    into.read_ahead = given.read_ahead;
    into.core_dump = given.core_dump;
}

std::optional<history::limits> checked_history(const std::filesystem::path& path, const heap_options& options) {
    if (!options.history.is_on())
        return {};
    if (detail::part_for(options.history) == nullptr)
        refuse(path, errc::not_supported,
               "the program lacks the part for histories. Name it with braces: options.history = {.steps_max = 100}.");
    if (is_shared(options) && !options.history.kept_over_sessions)
        refuse(path, errc::invalid_argument,
               "the history of a heap that processes share lies in its files, since all of them undo and redo the same "
               "steps. Set kept_over_sessions of its history.");
    if (options.read_only)
        refuse(path, errc::invalid_argument,
               "a history has no meaning for a heap that is opened read-only, where nothing is committed.");
    return detail::limits_of(options.history);
}

decltype(txn::engine_options::version) checked_version(const std::filesystem::path& path, const heap_options& options) {
    if (!options.version && options.kept_version.empty())
        return {};
    if (options.version && !options.kept_version.empty())
        refuse(path, errc::invalid_argument, "name either options.version or options.kept_version, not both.");
    // The part is null if the option was set by emplace(), append() or the like, which do not link that part.
    if (detail::part_for_version(options) == nullptr)
        refuse(path, errc::invalid_argument,
               "options.version and options.kept_version must be assigned: options.version = 5, or "
               "options.kept_version = \"name\".");
    if (!options.read_only)
        refuse(path, errc::invalid_argument,
               "an old version can only be read. Set options.read_only; or make the version the newest one with "
               "heap::restore(), or a heap of its own with heap::branch().");
    if (options.version)
        return *options.version;
    return static_cast<const std::string&>(options.kept_version);
}

/// Returns the engine's options. Refuses those that make no sense.
txn::engine_options engine_options_of(const std::filesystem::path& path, const heap_options& options) {
    if (path.empty())
        detail::raise(failure{errc::invalid_argument, "cannot open a heap without a name. Give the path of its file."});
    if (is_shared(options) && options.commit_at_close)
        refuse(path, errc::invalid_argument,
               "options.commit_at_close has no meaning with sharing::processes, where everything is committed in "
               "sections.");
    txn::engine_options internal;
    take_sharing(path, options.sharing, internal);
    take_log(path, options.log, is_shared(options), internal);
    take_memory(path, options.memory, internal);
    internal.read_only = options.read_only;
    internal.version = checked_version(path, options);
    if (internal.version)
        internal.has.map_version = detail::part_for_version(options)->map;
    internal.is_shared = is_shared(options) && !internal.version;
    internal.application = checked_application(path, options.checks.application);
    internal.red_zones = options.checks.red_zones;
    if (const detail::leak_part* const part = options.checks.leak_frames.part())
        part->note_calls(path, options.checks, internal);
    internal.history = checked_history(path, options);
    internal.history_kept = options.history.kept_over_sessions;
    internal.tracker = tracker_of(options.tracker);
    if (const char* name = std::getenv(k_tracking_variable); name != nullptr && *name != '\0') {
        const auto forced = track::tracker_named(name);
        if (!forced)
            refuse(path, errc::invalid_argument,
                   std::string(k_tracking_variable) + " is \"" + name +
                       "\". Set it to automatic, scan, trap or fallback, or unset it.");
        internal.tracker = *forced;
    }
    if (options.checks.catch_stray_writes && !options.read_only) {
        if (internal.tracker != track::tracker_choice::trap)
            refuse(path, errc::invalid_argument,
                   std::string("options.checks.catch_stray_writes needs tracking::trap, from "
                               "options.tracker or from ") +
                       k_tracking_variable + ".");
        internal.report_stray_write = detail::report_stray_write;
    }
    if (options.on_progress) {
        internal.on_progress = [report = options.on_progress](txn::engine_options::work work, std::uint64_t done,
                                                              std::uint64_t total) {
            auto phase = work == txn::engine_options::work::recovery     ? progress::phase::recovery
                         : work == txn::engine_options::work::checkpoint ? progress::phase::checkpoint
                                                                         : progress::phase::verify;
            report({phase, done, total});
        };
    }
    if (types::checks_pointers()) {
        internal.inspect = [](txn::heap_memory& memory, const change::change_set& changes,
                              const alloc::block_allocator& blocks) {
            return types::check_pointers(memory, changes, blocks, detail::registry::path_at);
        };
        internal.inspect_undeclared = types::refuse_undeclared;
    }
    return internal;
}

/// Returns true if a root's type may hold addresses. Objects that no root reaches do not matter, since no program can
/// find them.
bool may_hold_addresses(txn::heap_memory& memory) {
    bool found = false;
    detail::check(types::root_directory(memory).for_each(
        [&](const types::root_view& root) { found = found || !root.position_independent; }));
    return found;
}

} // namespace

heap detail::open(os::file_system& files, const std::filesystem::path& path, const heap_options& options,
                  opening mode) {
    return heap(files, path, options, mode, k_abi, {});
}

heap::heap(const std::filesystem::path& path, const heap_options& options, detail::opening mode, std::string_view abi)
    : heap(os::posix_file_system(), path, options, mode, abi, {.thread_caches = txn::slab_caches::make}) {}

heap::heap(os::file_system& files, const std::filesystem::path& path, const heap_options& options, opening mode,
           std::string_view abi, const txn::parts& has) {
    detail::refuse_in_new_scope(path.c_str());
    const os::no_cancellation whole;
    txn::engine_options internal = engine_options_of(path, options);
    internal.has.thread_caches = has.thread_caches;
    if (const detail::history_part* const part = detail::part_for(options.history))
        internal.has.history = &part->of_engine;
    internal.has.sharing = options.access.part() != nullptr ? options.access.part() : txn::known_sharing_part;
    internal.when_taken =
        mode == opening::open_anywhere ? txn::when_base_taken::elsewhere : txn::when_base_taken::look_elsewhere;
    auto engine_mode = mode == opening::create          ? txn::open_mode::create
                       : mode == opening::open_existing ? txn::open_mode::open_existing
                                                        : txn::open_mode::open_or_create;
    auto guard = os::fork_guard::create();
    if (!guard)
        detail::raise(guard.why());
    detail::registry::watch_faults();
    const std::filesystem::path place = detail::real_path(path);
    auto engine = txn::engine::open(files, place.string(), engine_mode, internal, abi);
    if (!engine && engine.why().code == errc::in_use && internal.version)
        engine = detail::part_for_version(options)->open_detached(files, place.string(), internal, abi);
    const bool is_place_taken = engine ? (*engine)->why_elsewhere().has_value() : engine.why().code == errc::base_taken;
    if (is_place_taken && detail::registry::holds(place)) // a second reader would share the lock of the first
        refuse(path, errc::in_use,
               internal.version
                   ? "it is open in this process already, which can have one version of it at a time. Compare "
                     "the versions by that handle, or make a heap of this one; or open it in another process."
                   : "it is open in this process already. Use that handle.");
    if (!engine)
        detail::raise(engine.why());
    if (is_place_taken && may_hold_addresses((*engine)->memory())) {
        const detail::relocation_part* const part = options.memory.when_taken.part();
        if (part == nullptr)
            detail::raise(*(*engine)->why_elsewhere());
        part->relocate({files, internal, abi, options.on_progress}, *engine);
    }
    impl_.reset(new detail::heap_impl(this, {files, path, *guard}, options, std::move(*engine)));
    detail::registry::add(*impl_);
    impl_->memory().allow_writes(false);
    impl_->threads.watch_memory();
    if (options.migrate) // before classes are compared with the program's, since it may convert their objects
        options.migrate(*this);
    if (detail::known_virtual_part != nullptr && impl_->memory().header().class_table != 0)
        detail::known_virtual_part->serve(*impl_, {}, detail::assumption::none);
}

} // namespace remanence
