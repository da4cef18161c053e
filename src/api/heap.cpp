// The public handle: checks, sections, and the one place where failures become exceptions.

#include "api/heap_impl.hpp"
#include "types/declaration_check.hpp"
#include "types/pointer_check.hpp"
#include "types/root_directory.hpp"

#include <chrono>
#include <cstdlib>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

namespace remanence {

namespace detail {

namespace {

constexpr std::uint64_t k_reserve_bytes = 16 * GiB;
constexpr std::uint64_t k_chunk_bytes = 256 * KiB;
constexpr std::uint64_t k_log_limit_bytes = 64 * MiB;
constexpr std::chrono::milliseconds k_lazy_interval_min{1};
constexpr std::chrono::milliseconds k_lazy_interval_max = std::chrono::hours(1);

thread_local os::file_system* files_for_tests = nullptr;

[[noreturn]] void raise(errc code, const std::string& message, const std::string& path = {}) {
    detail::raise(failure{code, message, path});
}

} // namespace

void raise(const failure& why) {
    if (why.code == errc::exhausted)
        throw heap_exhausted(why.message);
    throw error(why.code, why.message, why.path, why.os_error, why.offset);
}

file_system_for_tests::file_system_for_tests(os::file_system& files) noexcept { files_for_tests = &files; }
file_system_for_tests::~file_system_for_tests() { files_for_tests = nullptr; }

heap_impl::heap_impl(heap* of, std::filesystem::path where, const heap_options& how,
                     std::unique_ptr<txn::engine> opened, os::fork_guard process)
    : handle(of),
      path(std::move(where)),
      options(how),
      engine(std::move(opened)),
      guard(std::move(process)),
      lock(this) {}

void heap_impl::check_process() const {
    if (!guard.same_process()) {
        raise(errc::closed,
              path.string() +
                  " was opened before fork(): the heap belongs to the parent process. Open it in the child itself.",
              path.string());
    }
}

[[noreturn]] static void raise_read_only(const heap_impl& impl) {
    raise(errc::read_only, impl.path.string() + " is open read-only. Open it for writing to change it.",
          impl.path.string());
}

void heap_impl::enter_write(section_kind kind) {
    check_process();
    if (lock.enter_write(true) == txn::section_lock::outcome::conflict) {
        raise(errc::section_conflict,
              "a write section of " + path.string() +
                  " was asked for inside a read section of the same thread, which would wait for itself. "
                  "End the read section first.",
              path.string());
    }
    if (lock.write_depth() == 1) {
        engine->allow_writes(true);
        if (kind == section_kind::declared)
            engine->begin_declared();
    } else if (kind == section_kind::ordinary) {
        engine->end_declared();
    }
}

bool heap_impl::try_enter_write() {
    const auto got = lock.enter_write(false);
    if (got == txn::section_lock::outcome::outermost)
        engine->allow_writes(true);
    if (got == txn::section_lock::outcome::nested)
        engine->end_declared();
    return got == txn::section_lock::outcome::outermost || got == txn::section_lock::outcome::nested;
}

void heap_impl::leave_write() noexcept {
    if (lock.write_depth() == 1 && guard.same_process()) {
        engine->end_declared();
        engine->allow_writes(false);
    }
    lock.leave_write();
}

void heap_impl::enter_read() {
    check_process();
    lock.enter_read(true);
}

void heap_impl::roll_back() {
    if (!options.read_only)
        check(engine->rollback());
    doomed = false;
}

void heap_impl::abandon_write() noexcept {
    if (!guard.same_process()) { // a fork inside the section: the child must touch neither file nor tracker
        lock.leave_write();
        return;
    }
    if (lock.write_depth() > 1) {
        doomed = true;
    } else {
        try {
            if (!options.read_only)
                (void)engine->rollback(); // a failure poisons, so the next commit reports it
        } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): this one, too
        }
        doomed = false;
    }
    leave_write();
}

std::optional<heap_impl::in_flight> heap_impl::finish_write(durability how) {
    check_process();
    std::optional<in_flight> commit;
    if (lock.write_depth() == 1)
        commit = submit(txn::commit_scope::declared, how);
    leave_write();
    return commit;
}

void heap_impl::leave_read() noexcept { lock.leave_read(); }

namespace {

log::durability internal(durability how) {
    switch (how) {
    case durability::lazy:
        return log::durability::lazy;
    case durability::none:
        return log::durability::none;
    case durability::durable:
        break;
    }
    return log::durability::durable;
}

} // namespace

heap_impl::in_flight heap_impl::submit(txn::commit_scope scope, durability how) {
    if (doomed) {
        raise(errc::rolled_back,
              "a nested write section of " + path.string() +
                  " failed, so the outermost one cannot be committed; its changes are rolled back.",
              path.string());
    }
    if (how == durability::lazy && !syncer) {
        try {
            syncer = std::make_unique<lazy_sync>(*engine, options.lazy_interval);
        } catch (const std::system_error&) {
            how = durability::durable; // no thread to be had: then it waits for the disk itself
        }
    }
    const auto started = std::chrono::steady_clock::now();
    const std::uint64_t before = engine->version();
    auto version = engine->submit(scope);
    if (!version)
        detail::raise(version.why());
    ++commits_in_flight;
    return {*version, how, started, *version != before};
}

void heap_impl::await(const in_flight& commit) {
    struct landing {
        std::atomic<int>& count;
        ~landing() { --count; }
    } const lands{commits_in_flight};
    check(engine->await(commit.version, internal(commit.how)));
    if (commit.how == durability::lazy)
        syncer->note();
    if (!commit.has_record)
        return;
    const std::scoped_lock recording(timing);
    commit_times.add(std::chrono::steady_clock::now() - commit.started);
}

void heap_impl_deleter::operator()(heap_impl* impl) const noexcept {
    registry::remove(*impl); // in a forked child, too: nothing may find it any more
    if (impl->guard.same_process()) {
        try {
            impl->syncer.reset();
            if (impl->options.commit_at_close && !impl->options.read_only)
                (void)impl->engine->commit();
            (void)impl->engine->close();  // I9: close() is there to hear of failures; the log keeps what was not folded
        } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): nobody is there to hear of it
        }
    } else {
        // A child of a fork has not the thread, and cannot end it.
        (void)impl->syncer.release(); // NOLINT(bugprone-unused-return-value)
    }
    delete impl;
}

heap_impl* checked(const std::unique_ptr<heap_impl, heap_impl_deleter>& impl) {
    if (!impl)
        raise(errc::closed, "the heap is closed, or its handle was moved from. Open it again.");
    impl->check_process();
    return impl.get();
}

write_section::write_section(heap_impl* impl, section_kind kind, std::optional<durability> until)
    : impl_(impl), how_(until.value_or(impl->options.commits)) {
    if (impl->options.read_only)
        raise_read_only(*impl); // before it runs into write-protected memory
    impl->enter_write(kind);
}

write_section::~write_section() {
    if (impl_ != nullptr)
        impl_->abandon_write();
}

void write_section::commit() {
    const auto commit = impl_->finish_write(how_); // when it throws, the destructor rolls back
    heap_impl* const impl = std::exchange(impl_, nullptr);
    if (commit)
        impl->await(*commit); // R5: others may commit meanwhile, and it cannot be rolled back any more
}

read_section::read_section(heap_impl* impl) : impl_(impl) { impl->enter_read(); }
read_section::~read_section() { impl_->leave_read(); }

void* find_root(heap_impl* impl, std::string_view name, const type_fingerprint& type) {
    auto found = types::root_directory(*impl->engine).find(name, type);
    if (!found)
        raise(found.why());
    return *found;
}

void add_root(heap_impl* impl, std::string_view name, const type_fingerprint& type, void* object) {
    check(types::root_directory(*impl->engine).add(name, type, object));
}

void erase_root(heap_impl* impl, std::string_view name) { check(types::root_directory(*impl->engine).erase(name)); }

heap_header* header_of(heap_impl* impl) { return reinterpret_cast<heap_header*>(impl->engine->base()); }

heap_header* default_heap() noexcept {
    auto* impl = static_cast<heap_impl*>(txn::section_lock::innermost_write_owner());
    if (impl == nullptr)
        impl = registry::only_exclusive();
    return impl != nullptr ? header_of(impl) : nullptr;
}

void* allocate(heap_header* where, std::size_t bytes, std::size_t alignment) {
    heap_impl* impl = registry::find(where);
    if (impl == nullptr)
        raise(errc::closed, "memory was asked for in a heap that is closed.");
    impl->check_process();
    if (impl->options.read_only)
        raise_read_only(*impl);
    std::optional<failure> why;
    void* block = impl->engine->allocate(bytes, alignment, why);
    if (block == nullptr)
        raise(*why);
    if (impl->engine->reserved_bytes() != impl->registered_bytes)
        registry::extend(*impl);
    return block;
}

void deallocate(heap_header* where, void* block, std::size_t bytes, std::size_t alignment) noexcept {
    heap_impl* impl = registry::find(where);
    if (impl == nullptr || !impl->guard.same_process())
        return; // an object outlived its heap's mapping
    impl->engine->deallocate(block, bytes, alignment);
}

} // namespace detail

using detail::check;
using detail::checked;

namespace {

os::tracker_choice tracker_of(tracking wanted) {
    switch (wanted) {
    case tracking::scan:
        return os::tracker_choice::scan;
    case tracking::trap:
        return os::tracker_choice::trap;
    case tracking::fallback:
        return os::tracker_choice::fallback;
    case tracking::automatic:
        break;
    }
    return os::tracker_choice::automatic;
}

constexpr const char* k_tracking_variable = "REMANENCE_TRACKING";

} // namespace

heap::heap(const std::filesystem::path& path, const heap_options& options, how mode, std::string_view abi) {
    auto refuse = [&](errc code, const std::string& why) {
        detail::raise(failure{code, "cannot open " + path.string() + ": " + why, path.string()});
    };
    if (path.empty())
        detail::raise(failure{errc::invalid_argument, "cannot open a heap without a name. Give the path of its file."});
    if (options.access == sharing::processes)
        refuse(errc::not_supported, "sharing a heap among processes is not there yet. Use sharing::exclusive.");
    if (options.lazy_interval < detail::k_lazy_interval_min || options.lazy_interval > detail::k_lazy_interval_max)
        refuse(errc::invalid_argument, "options.lazy_interval must be from 1 ms to 1 hour.");
    if (options.base % os::k_base_alignment != 0 || options.base >= os::k_address_end) {
        refuse(errc::invalid_argument, "options.base must be a multiple of 1 GiB below 2^47.");
    }
    txn::engine_options internal;
    const std::uint64_t reserve_bytes = options.reserve_bytes != 0 ? options.reserve_bytes : detail::k_reserve_bytes;
    if (reserve_bytes >= os::k_address_end / 2)
        refuse(errc::invalid_argument, "options.reserve_bytes must be below 64 TiB.");
    // Whole chunks, whatever their size: a checkpoint maps them whole, and nothing behind the reservation is ours.
    internal.reserve_bytes = align_up(reserve_bytes, format::k_chunk_bytes_max);
    internal.chunk_bytes = options.chunk_bytes != 0 ? options.chunk_bytes : detail::k_chunk_bytes;
    if (!is_power_of_two(internal.chunk_bytes) || internal.chunk_bytes < format::k_chunk_bytes_min ||
        internal.chunk_bytes > format::k_chunk_bytes_max) {
        refuse(errc::invalid_argument, "options.chunk_bytes must be a power of two from 64 KiB to 4 MiB.");
    }
    internal.base = options.base;
    internal.log_limit_bytes = options.log_limit_bytes != 0 ? options.log_limit_bytes : detail::k_log_limit_bytes;
    internal.mode = options.mode;
    internal.read_only = options.read_only;
    internal.core_dump = options.core_dump;
    internal.tracker = tracker_of(options.tracker);
    if (const char* name = std::getenv(k_tracking_variable); name != nullptr && *name != '\0') {
        const auto forced = os::tracker_named(name);
        if (!forced)
            refuse(errc::invalid_argument, std::string(k_tracking_variable) + " is \"" + name +
                                               "\". Set it to automatic, scan, trap or fallback, or unset it.");
        internal.tracker = *forced;
    }
    if (options.catch_stray_writes && !options.read_only) {
        if (internal.tracker != os::tracker_choice::trap)
            refuse(errc::invalid_argument, std::string("options.catch_stray_writes needs tracking::trap, from "
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
    auto engine_mode = mode == how::create          ? txn::open_mode::create
                       : mode == how::open_existing ? txn::open_mode::open_existing
                                                    : txn::open_mode::open_or_create;
    auto guard = os::fork_guard::create();
    if (!guard)
        detail::raise(guard.why());
    if (types::checks_pointers()) {
        internal.inspect = [](txn::engine& engine, const view::change_set& changes,
                              const alloc::block_allocator& blocks) {
            return types::check_pointers(engine, changes, blocks, detail::registry::path_at);
        };
        internal.inspect_unannounced = types::refuse_unannounced;
    }
    os::file_system& files = detail::files_for_tests != nullptr ? *detail::files_for_tests : os::posix_file_system();
    // Absolute and without symbolic links, since the log is created by name, later: the program may have changed its
    // directory by then, and whoever recovers the heap may use its real name.
    std::error_code unknown;
    std::filesystem::path place = std::filesystem::absolute(path, unknown);
    if (!unknown)
        place = std::filesystem::weakly_canonical(place, unknown);
    auto engine = txn::engine::open(files, (unknown ? path : place).string(), engine_mode, internal, abi);
    if (!engine && engine.why().code == errc::base_taken &&
        detail::registry::holds(path)) { // two readers share its lock
        refuse(errc::in_use, "it is open in this process already. Use that handle.");
    }
    if (!engine)
        detail::raise(engine.why());
    impl_.reset(new detail::heap_impl(this, path, options, std::move(*engine), std::move(*guard)));
    detail::registry::add(*impl_);
    impl_->engine->allow_writes(false);
}

heap::heap(heap&& other) noexcept : impl_(std::move(other.impl_)) {
    if (impl_)
        impl_->handle = this;
}

heap& heap::operator=(heap&& other) noexcept {
    impl_ = std::move(other.impl_);
    if (impl_)
        impl_->handle = this;
    return *this;
}

void heap::close() {
    detail::heap_impl* impl = checked(impl_);
    bool alone = impl->lock.write_depth() + impl->lock.read_depth() == 0 &&
                 impl->lock.enter_write(false) == txn::section_lock::outcome::outermost;
    if (alone && impl->commits_in_flight != 0) { // of a section that has not returned yet; no other one begins now
        impl->lock.leave_write();
        alone = false;
    }
    if (!alone) {
        detail::raise(failure{errc::section_open,
                              path().string() + " cannot be closed while a section is open. End every section first.",
                              path().string()});
    }
    result<void> committed;
    result<void> closed;
    bool lacked_memory = false;
    try {
        if (impl->options.commit_at_close && !impl->options.read_only)
            committed = impl->engine->commit();
        if (!committed && committed.why().code == errc::no_space) {
            impl->lock.leave_write();
            detail::raise(committed.why());
        }
        impl->syncer.reset(); // not before: the heap may stay open, and what is lazy wants to be synced
        closed = impl->engine->close();
    } catch (const std::bad_alloc&) {
        lacked_memory = true;
    }
    impl->lock.leave_write();
    detail::registry::remove(*impl);
    delete impl_.release(); // NOLINT: the deleter would close once more
    if (lacked_memory)
        throw std::bad_alloc();
    check(std::move(committed));
    check(std::move(closed));
}

namespace {

/// Runs `f` with the write lock held, whether or not the thread is in a write section already.
template <class F>
void exclusively(detail::heap_impl* impl, F&& f) {
    impl->enter_write(detail::section_kind::joining);
    try {
        f();
    } catch (...) {
        impl->leave_write();
        throw;
    }
    impl->leave_write();
}

/// Runs `f` with the read lock held, or within the section the thread is in.
template <class F>
decltype(auto) shared(detail::heap_impl* impl, F&& f) {
    detail::read_section section(impl);
    return f();
}

} // namespace

void heap::commit() { commit(checked(impl_)->options.commits); }

void heap::commit(durability until) {
    detail::heap_impl* impl = checked(impl_);
    std::optional<detail::heap_impl::in_flight> commit;
    exclusively(impl, [&] { commit = impl->submit(txn::commit_scope::everything, until); });
    impl->await(*commit);
}

void heap::sync() {
    detail::heap_impl* impl = checked(impl_);
    check(impl->engine->sync());
}

void heap::rollback() {
    detail::heap_impl* impl = checked(impl_);
    exclusively(impl, [&] { impl->roll_back(); });
}

void heap::checkpoint() {
    detail::heap_impl* impl = checked(impl_);
    exclusively(impl, [&] { check(impl->engine->checkpoint()); });
}

void heap::lock() { checked(impl_)->enter_write(detail::section_kind::ordinary); }

bool heap::try_lock() { return checked(impl_)->try_enter_write(); }

void heap::unlock() noexcept {
    if (!impl_ || !impl_->guard.same_process())
        return;
    if (impl_->lock.write_depth() > 1) {
        impl_->leave_write(); // the outermost unlock decides
    } else {
        impl_->abandon_write();
    }
}

void heap::lock_shared() { checked(impl_)->enter_read(); }

bool heap::try_lock_shared() { return checked(impl_)->lock.enter_read(false) != txn::section_lock::outcome::busy; }

void heap::unlock_shared() noexcept {
    if (impl_ && impl_->guard.same_process())
        impl_->leave_read();
}

std::vector<root_info> heap::roots() const {
    detail::heap_impl* impl = checked(impl_);
    std::vector<root_info> found;
    shared(impl, [&] {
        check(types::root_directory(*impl->engine).for_each([&](const types::root_view& root) {
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
    if (!impl->engine->contains(first) || !impl->engine->contains(first + bytes - 1)) {
        detail::raise(failure{errc::invalid_argument, "touch: the range does not lie in " + path().string() + ".",
                              path().string()});
    }
    check(impl->engine->announce(first, bytes));
}

std::uint64_t heap::version() const {
    detail::heap_impl* impl = checked(impl_);
    return shared(impl, [&] { return impl->engine->version(); });
}

heap_stats heap::stats() const {
    detail::heap_impl* impl = checked(impl_);
    return shared(impl, [&] {
        const txn::engine& engine = *impl->engine;
        const txn::engine_stats& counted = engine.stats();
        heap_stats stats;
        stats.commits = counted.commits;
        stats.checkpoints = counted.checkpoints;
        stats.changed_bytes = counted.changed_bytes;
        stats.logged_bytes = counted.logged_bytes;
        stats.image_bytes = counted.image_bytes;
        stats.written_bytes = engine.written_bytes();
        stats.syncs = engine.syncs();
        {
            const std::scoped_lock reading(impl->timing);
            stats.commit_times = impl->commit_times;
        }
        stats.log_limit_bytes = engine.log_limit_bytes();
        stats.log_used_bytes = engine.log_used_bytes();
        stats.twin_bytes = engine.twin_bytes();
        stats.heap_bytes = engine.committed_bytes();
        stats.allocated_bytes = engine.header().allocator.allocated_bytes;
        stats.tracker = engine.tracker_name();
        stats.recovered_commits = counted.recovered_commits;
        stats.recovered_bytes = counted.recovered_bytes;
        stats.open_time = counted.open_time;
        return stats;
    });
}

verify_report heap::verify() const {
    detail::heap_impl* impl = checked(impl_);
    return shared(impl, [&] {
        auto checked_heap = impl->engine->verify();
        if (!checked_heap)
            detail::raise(checked_heap.why());
        verify_report report;
        report.pages_checked = checked_heap->pages_checked;
        report.log_records_checked = checked_heap->log_records_checked;
        report.blocks_checked = checked_heap->blocks_checked;
        for (store::damage& d : checked_heap->problems)
            report.problems.push_back({std::move(d.what), d.offset});
        auto roots = types::root_directory(*impl->engine).for_each([](const types::root_view&) {});
        if (!roots)
            report.problems.push_back({roots.why().message, roots.why().offset});
        return report;
    });
}

const std::filesystem::path& heap::path() const { return checked(impl_)->path; }

void* heap::base() const { return checked(impl_)->engine->base(); }

heap* heap_of(const void* pointer) noexcept {
    detail::heap_impl* impl = detail::registry::find(pointer);
    return impl != nullptr && impl->engine->contains(pointer) ? impl->handle : nullptr;
}

} // namespace remanence
