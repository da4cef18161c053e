// The public handle: what it may be opened with, and a thin function for each thing that it can do.

#include "api/heap_impl.hpp"
#include "api/history_limits.hpp"
#include "api/history_part.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "api/stray_write.hpp"
#include "api/version_opening.hpp"
#include "store/superblocks.hpp"
#include "txn/thread_fronts.hpp"
#include "types/declaration_check.hpp"
#include "types/pointer_check.hpp"
#include "types/root_directory.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

namespace remanence {

using detail::check;
using detail::checked;
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

/// Without naming sharing::processes, which would bring that part into each program.
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
    // Whole chunks, whatever their size: a checkpoint maps them whole, and nothing behind the reservation is ours.
    into.reserve_bytes = align_up(reserve_bytes, format::k_chunk_bytes_max);
    if (given.chunk_bytes != 0)
        into.chunk_bytes = given.chunk_bytes;
    if (!is_power_of_two(into.chunk_bytes) || into.chunk_bytes < format::k_chunk_bytes_min ||
        into.chunk_bytes > format::k_chunk_bytes_max)
        refuse(path, errc::invalid_argument, "options.memory.chunk_bytes must be a power of two from 64 KiB to 4 MiB.");
    into.base = given.base;
    into.aligned_blocks = given.aligned_blocks;
    into.dirty_limit_bytes = given.dirty_limit_bytes;
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
    if (detail::part_for_version(options) == nullptr) // changed by a member of std::optional or std::string
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

/// Those of the engine, or a refusal.
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
    internal.guarded_blocks = options.checks.guarded_blocks;
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
        internal.inspect_unannounced = types::refuse_unannounced;
    }
    return internal;
}

/// The roots tell: what none of them leads to is not found again.
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
    : heap(os::posix_file_system(), path, options, mode, abi, {.fronts = txn::thread_fronts::make}) {}

heap::heap(os::file_system& files, const std::filesystem::path& path, const heap_options& options, opening mode,
           std::string_view abi, const txn::parts& has) {
    detail::refuse_in_new_scope(path.c_str());
    const os::no_cancellation whole;
    txn::engine_options internal = engine_options_of(path, options);
    internal.has.fronts = has.fronts;
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
    if (is_place_taken && detail::registry::holds(place)) // two readers share its lock
        refuse(path, errc::in_use,
               internal.version
                   ? "it is open in this process already, which can have one version of it at a time. Compare "
                     "the versions by that handle, or make a heap of this one; or open it in another process."
                   : "it is open in this process already. Use that handle.");
    if (!engine)
        detail::raise(engine.why());
    if (is_place_taken && may_hold_addresses((*engine)->memory()))
        detail::raise(*(*engine)->why_elsewhere());
    impl_.reset(new detail::heap_impl(this, {files, path, *guard}, options, std::move(*engine)));
    detail::registry::add(*impl_);
    impl_->memory().allow_writes(false);
    impl_->threads.watch_memory();
    if (options.migrate)
        options.migrate(*this);
}

static void belong_to(heap* handle, detail::heap_impl* impl) {
    if (impl != nullptr)
        impl->belong_to(handle);
}

heap::heap(heap&& other) noexcept : impl_(std::move(other.impl_)) { belong_to(this, impl_.get()); }

heap& heap::operator=(heap&& other) noexcept {
    impl_ = std::move(other.impl_);
    belong_to(this, impl_.get());
    return *this;
}

detail::heap_impl& detail::impl_of(const heap& of) { return *checked(of.impl_); }

heap::~heap() { impl_.reset(); } // the handle is empty from the beginning on, for threads that still use it

void heap::close() {
    (void)checked(impl_);
    const os::no_cancellation whole;
    detail::heap_impl::close(impl_);
}

namespace {

/// Runs `f` with the write lock held, whether or not the thread is in a write section already.
template <class F>
void exclusively(detail::heap_impl* impl, F&& f) {
    impl->sections.enter_write(detail::section_kind::joining);
    try {
        f();
    } catch (...) {
        impl->sections.leave_write();
        throw;
    }
    impl->sections.leave_write();
}

/// For explicit commits, with the write lock held. In a write section nothing is looked at, as at its end.
void check_if_outside_sections(detail::heap_impl& impl) {
    if (impl.sections.write_depth() == 1)
        check(impl.strangers.refuse_their_memory(impl.memory()));
}

/// Runs `f` with the read lock held, or within the section the thread is in.
template <class F>
decltype(auto) shared(detail::heap_impl* impl, F&& f) {
    detail::read_section section(impl);
    const detail::whole_call reading(impl->calls);
    return f();
}

} // namespace

void heap::commit() { commit(checked(impl_)->options.commits); }

void heap::commit(durability until) {
    detail::heap_impl* impl = checked(impl_);
    {
        const os::no_cancellation whole;
        std::optional<detail::heap_commits::in_flight> commit;
        exclusively(impl, [&] {
            check_if_outside_sections(*impl);
            commit = impl->commits.make(txn::commit_scope::everything, until);
        });
        impl->commits.await(*commit);
    }
    os::end_if_cancelled();
}

commit_ticket heap::commit_async() {
    detail::heap_impl* impl = checked(impl_);
    const os::no_cancellation whole;
    std::optional<detail::heap_commits::in_flight> commit;
    exclusively(impl, [&] {
        check_if_outside_sections(*impl);
        commit = impl->commits.make_async(txn::commit_scope::everything);
    });
    return impl->commits.ticket_of(*commit);
}

void heap::sync() {
    detail::heap_impl* impl = checked(impl_);
    {
        const detail::whole_call syncing(impl->calls);
        impl->check_not_ending();
        check(impl->engine().sync());
    }
    os::end_if_cancelled();
}

void heap::rollback() {
    detail::heap_impl* impl = checked(impl_);
    exclusively(impl, [&] { impl->roll_back(); });
}

void heap::checkpoint() {
    detail::heap_impl* impl = checked(impl_);
    {
        const os::no_cancellation whole;
        exclusively(impl, [&] {
            const detail::whole_call folding(impl->calls);
            check(impl->engine().checkpoint());
        });
    }
    os::end_if_cancelled();
}

static detail::heap_sections&
sections_to_write(const std::unique_ptr<detail::heap_impl, detail::heap_impl_deleter>& of) {
    detail::heap_impl* const impl = checked(of);
    if (impl->options.read_only)
        impl->origin.raise_read_only();
    return impl->sections;
}

void heap::lock() { sections_to_write(impl_).lock(); }

bool heap::try_lock() { return sections_to_write(impl_).try_lock(); }

bool heap::try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return sections_to_write(impl_).try_lock_until(deadline);
}

void heap::unlock() noexcept {
    if (impl_ && impl_->origin.same_process())
        impl_->unlock();
}

void heap::lock_shared() { checked(impl_)->sections.enter_read(); }

bool heap::try_lock_shared() { return checked(impl_)->sections.try_enter_read(); }

void heap::unlock_shared() noexcept {
    if (impl_ && impl_->origin.same_process())
        impl_->sections.leave_read();
}

std::vector<root_info> heap::roots() const {
    detail::heap_impl* impl = checked(impl_);
    std::vector<root_info> found;
    shared(impl, [&] {
        check(types::root_directory(impl->memory()).for_each([&](const types::root_view& root) {
            found.push_back({std::string(root.name), std::string(root.type), root.bytes});
        }));
    });
    return found;
}

void heap::touch(const void* pointer, std::size_t bytes) const {
    detail::heap_impl* impl = checked(impl_);
    const auto* first = static_cast<const std::byte*>(pointer);
    if (bytes == 0)
        return;
    txn::heap_memory& memory = impl->memory();
    if (!memory.contains(first) || bytes > memory.reserved_bytes() - memory.offset_of(first)) {
        detail::raise(failure{errc::invalid_argument, "touch: the range does not lie in " + path().string() + ".",
                              path().string()});
    }
    const detail::whole_call announcing(impl->calls);
    check(memory.touch(first, bytes));
}

std::uint64_t heap::version() const {
    detail::heap_impl* impl = checked(impl_);
    return shared(impl, [&] { return impl->engine().version(); });
}

namespace {

share::coordination& others_of(detail::heap_impl* impl) {
    if (!impl->engine().is_shared()) {
        detail::raise(failure{errc::invalid_argument,
                              impl->origin.path.string() +
                                  " is open exclusively: no other process has it. Open it with sharing::processes.",
                              impl->origin.path.string()});
    }
    return impl->engine().shared()->protocol();
}

heap_user user_of(share::participant who) { return {who.process, who.thread, std::move(who.program), who.since}; }

} // namespace

bool heap::wait_for_version(std::uint64_t version, std::chrono::milliseconds longest) const {
    const bool waits_for_ever = longest > std::chrono::hours(24 * 365 * 100); // too long for a deadline
    return others_of(checked(impl_))
        .wait_for_version(version, waits_for_ever ? share::deadline() : std::chrono::steady_clock::now() + longest);
}

std::vector<heap_reader> heap::readers() const {
    std::vector<heap_reader> found;
    for (share::reader& each : others_of(checked(impl_)).readers())
        found.push_back({user_of(std::move(each.who)), each.version});
    return found;
}

std::optional<heap_user> heap::writer() const {
    auto who = others_of(checked(impl_)).writer();
    return who ? std::optional(user_of(std::move(*who))) : std::nullopt;
}

std::vector<std::span<const std::byte>> heap::changed_ranges() const {
    detail::heap_impl* const impl = checked(impl_);
    return shared(impl, [&] {
        auto pages = impl->engine().written_pages();
        check(pages ? result<void>() : result<void>(pages.error()));
        std::vector<std::span<const std::byte>> ranges;
        for (const heap_range& each : *pages)
            ranges.emplace_back(impl->memory().base() + each.offset, each.bytes);
        return ranges;
    });
}

heap_stats heap::stats() const {
    detail::heap_impl* impl = checked(impl_);
    std::vector<share::reader> reading; // asked for before this thread reads
    if (impl->engine().is_shared())
        reading = impl->engine().shared()->protocol().readers();
    return shared(impl, [&] {
        const txn::engine_stats counted = impl->engine().stats();
        heap_stats stats;
        stats.readers = reading.size();
        stats.oldest_read_version = reading.empty() ? 0 : reading.front().version;
        const auto now = std::chrono::system_clock::now();
        for (const share::reader& each : reading)
            stats.oldest_read_age = std::max<std::chrono::nanoseconds>(stats.oldest_read_age, now - each.who.since);
        stats.commits = counted.commits;
        stats.checkpoints = counted.checkpoints;
        stats.checkpoint_waits = counted.checkpoint_waits;
        stats.changed_bytes = counted.changed_bytes;
        stats.logged_bytes = counted.logged_bytes;
        stats.image_bytes = counted.image_bytes + counted.spilled_bytes;
        stats.spilled_bytes = counted.spilled_bytes;
        stats.written_bytes = counted.written_bytes;
        stats.discarded_bytes = impl->losses.discarded_bytes();
        stats.syncs = counted.syncs;
        stats.commit_times = impl->commits.times();
        stats.log_limit_bytes = counted.log_limit_bytes;
        stats.log_used_bytes = counted.log_used_bytes;
        stats.twin_bytes = counted.twin_bytes;
        stats.checkpoint_done_bytes = counted.checkpoint.done_bytes;
        stats.checkpoint_total_bytes = counted.checkpoint.total_bytes;
        stats.heap_bytes = counted.committed_bytes;
        stats.allocated_bytes = counted.allocated_bytes;
        stats.tracker = counted.tracker;
        stats.recovered_commits = counted.recovered_commits;
        stats.recovered_bytes = counted.recovered_bytes;
        stats.open_time = counted.open_time;
        return stats;
    });
}

verify_report heap::verify() const {
    detail::heap_impl* impl = checked(impl_);
    const auto look = [&] {
        auto checked_heap = impl->engine().verify();
        if (!checked_heap)
            detail::raise(checked_heap.why());
        verify_report report;
        report.pages_checked = checked_heap->pages_checked;
        report.log_records_checked = checked_heap->log_records_checked;
        report.blocks_checked = checked_heap->blocks_checked;
        for (store::damage& d : checked_heap->problems)
            report.problems.push_back({std::move(d.what), d.offset});
        const bool are_blocks_sound = report.problems.empty(); // else it is not known which there are
        auto roots = types::root_directory(impl->memory()).for_each([&](const types::root_view& root) {
            if (!are_blocks_sound)
                return;
            if (auto fault = impl->checks.fault_in(root, impl->memory()))
                report.problems.push_back({std::move(*fault), error::k_no_offset});
        });
        if (roots)
            roots = types::root_directory(impl->memory()).check_descriptions();
        if (!roots)
            report.problems.push_back({roots.why().message, roots.why().offset});
        return report;
    };
    if (!impl->engine().is_shared())
        return shared(impl, look);
    std::optional<verify_report> report; // what others write must not change the file meanwhile
    exclusively(impl, [&] { report = look(); });
    return std::move(*report);
}

const std::filesystem::path& heap::path() const { return checked(impl_)->origin.path; }

std::string heap::application() const { return std::string(checked(impl_)->engine().application()); }

void* heap::base() const { return checked(impl_)->memory().base(); }

heap* heap_of(const void* pointer) noexcept {
    detail::heap_impl* impl = detail::registry::find(pointer);
    return impl != nullptr && impl->memory().contains(pointer) ? impl->handle() : nullptr;
}

} // namespace remanence
