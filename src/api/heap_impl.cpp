// What a handle stands for: its sections and commits, the functions behind the public templates, and the one place where
// failures become exceptions.

#include "api/heap_impl.hpp"
#include "os/main_thread.hpp"
#include "types/pointer_check.hpp"
#include "types/root_directory.hpp"

#include <remanence/detail/announcer.hpp>
#include <remanence/types/fragile.hpp>

#include <chrono>
#include <cstdio>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::detail {

void raise(const failure& why) {
    if (why.code == errc::exhausted)
        throw heap_exhausted(why.message);
    throw error(why.code, why.message, why.path, why.os_error, why.offset);
}

std::filesystem::path real_path(const std::filesystem::path& path) {
    std::error_code unknown;
    std::filesystem::path place = std::filesystem::absolute(path, unknown);
    if (!unknown)
        place = std::filesystem::weakly_canonical(place, unknown);
    return unknown ? path : place;
}

namespace {

[[noreturn]] void raise(errc code, const std::string& message, const std::string& path = {}) {
    detail::raise(failure{code, message, path});
}

} // namespace

heap_impl::heap_impl(heap* of, std::filesystem::path where, const heap_options& how,
                     std::unique_ptr<txn::engine> opened, os::fork_guard process)
    : debugger_view{},
      handle(of),
      path(std::move(where)),
      options(how),
      engine(std::move(opened)),
      progress(std::make_shared<commit_progress>(path, process)),
      guard(progress->guard),
      lock(this) {
    file_name = path.c_str();
    first_byte = engine->memory().base();
    begin_new_state();
    txn::section_lock::watch_end_of_thread();
    engine->let_checkpoints_be_carried_out([this] { return carry_out_checkpoint(); });
}

heap_impl::~heap_impl() {
    if (guard.same_process()) {
        end_engine();
    } else {
        // A child of a fork has not the threads, and cannot end them, nor wait for a lock that one of them held.
        (void)checkpointer.release(); // NOLINT(bugprone-unused-return-value)
        (void)syncer.release();       // NOLINT(bugprone-unused-return-value)
        (void)spiller.release();      // NOLINT(bugprone-unused-return-value)
    }
}

void heap_impl::end_engine() noexcept {
    if (!engine)
        return;
    forget_live_values();
    end_threads();
    progress->bring(*engine);
    engine.reset();
}

void heap_impl::end_threads() {
    spiller.reset();
    checkpointer.reset();
    syncer.reset();
}

void heap_impl::check_process() const {
    if (!guard.same_process()) {
        raise(errc::closed,
              path.string() +
                  " was opened before fork(): the heap belongs to the parent process. Open it in the child itself.",
              path.string());
    }
}

[[noreturn]] static void raise_ended(const heap_impl& impl) {
    raise(errc::closed,
          impl.path.string() +
              " is closed: its heap was destroyed, perhaps since the process ends. End the threads and "
              "sections that use a heap before it is destroyed.",
          impl.path.string());
}

void heap_impl::check_not_ending() const {
    if (is_ending)
        raise_ended(*this);
}

// Never twice the same, among all heaps: one may be opened where another one was.
void heap_impl::begin_new_state() noexcept {
    constexpr std::uintptr_t k_step = k_lies_in_other_heap + 1;
    constexpr std::uintptr_t k_states = k_owner_note_bits / k_step;
    static std::atomic<std::uintptr_t> begun = 0;
    state.store(k_step * (1 + begun.fetch_add(1, std::memory_order_relaxed) % k_states), std::memory_order_relaxed);
}

[[noreturn]] static void raise_read_only(const heap_impl& impl) {
    raise(errc::read_only, impl.path.string() + " is open read-only. Open it for writing to change it.",
          impl.path.string());
}

// The containers must not think that there is none while there is one.
void heap_impl::begin_declared() {
    declared_sections.fetch_add(1, std::memory_order_relaxed);
    engine->memory().begin_declared();
}

void heap_impl::end_declared() {
    if (!engine->memory().is_declared())
        return;
    engine->memory().end_declared();
    declared_sections.fetch_sub(1, std::memory_order_relaxed);
}

void heap_impl::enter_write(section_kind kind) {
    check_process();
    const auto entered = lock.enter_write(true);
    if (entered == txn::section_lock::outcome::ended)
        raise_ended(*this);
    if (entered == txn::section_lock::outcome::conflict) {
        raise(errc::section_conflict,
              "a write section of " + path.string() +
                  " was asked for inside a read section of the same thread, which would wait for itself. "
                  "End the read section first.",
              path.string());
    }
    if (lock.write_depth() == 1) {
        engine->memory().allow_writes(true);
        if (kind == section_kind::declared)
            begin_declared();
    } else if (kind == section_kind::ordinary) {
        end_declared();
    }
}

bool heap_impl::try_enter_write() {
    const auto got = lock.enter_write(false);
    if (got == txn::section_lock::outcome::ended)
        raise_ended(*this);
    if (got == txn::section_lock::outcome::outermost)
        engine->memory().allow_writes(true);
    if (got == txn::section_lock::outcome::nested)
        end_declared();
    return got == txn::section_lock::outcome::outermost || got == txn::section_lock::outcome::nested;
}

void heap_impl::leave_write() noexcept {
    if (lock.write_depth() == 1 && guard.same_process()) {
        end_declared();
        engine->memory().allow_writes(false);
    }
    lock.leave_write();
}

void heap_impl::enter_read() {
    check_process();
    if (lock.enter_read(true) == txn::section_lock::outcome::ended)
        raise_ended(*this);
}

bool heap_impl::try_enter_read() {
    const auto got = lock.enter_read(false);
    if (got == txn::section_lock::outcome::ended)
        raise_ended(*this);
    return got != txn::section_lock::outcome::busy;
}

void heap_impl::forget_live_values() const noexcept {
    detail::forget_live_values(engine->memory().base(), engine->memory().reserved_bytes());
}

result<void> heap_impl::refuse_memory_of_no_heap() {
    const std::vector<const void*> places = strangers.all();
    if (places.empty())
        return {};
    return engine->memory().with_allocator([&](const alloc::block_allocator& blocks) {
        return types::refuse_strange_memory(engine->memory(), places, blocks, registry::path_at);
    });
}

void heap_impl::roll_back() {
    const whole_call rolling_back(*this);
    if (!options.read_only) {
        forget_live_values();
        begin_new_state();
        check(engine->rollback());
        strangers.forget();
    }
    doomed = false;
}

void heap_impl::abandon_write(const txn::change_listener& lost) noexcept {
    const os::no_cancellation whole;
    if (!guard.same_process()) { // a fork inside the section: the child must touch neither file nor tracker
        lock.leave_write();
        return;
    }
    if (lock.write_depth() > 1) {
        doomed = true;
    } else {
        const whole_call rolling_back(*this);
        try {
            if (!options.read_only) {
                forget_live_values();
                begin_new_state();
                (void)engine->rollback(lost); // a failure poisons, so the next commit reports it
                strangers.forget();
            }
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
        commit = make_commit(txn::commit_scope::declared, how);
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

struct landing {
    std::atomic<int>& count;
    ~landing() { --count; }
};

} // namespace

heap_impl::in_flight heap_impl::make_commit(txn::commit_scope scope, durability how, txn::fresh_contents fresh) {
    if (doomed) {
        raise(errc::rolled_back,
              "a nested write section of " + path.string() +
                  " failed, so the outermost one cannot be committed; its changes are rolled back.",
              path.string());
    }
    const whole_call committing(*this);
    if (how == durability::lazy && !start_syncer())
        how = durability::durable; // then it waits for the disk itself
    const auto started = std::chrono::steady_clock::now();
    const std::uint64_t before = engine->version();
    outdated.renew(engine->memory());
    auto version = engine->make_commit(scope, fresh);
    if (!version)
        detail::raise(version.why());
    outdated.forget();
    if (scope == txn::commit_scope::everything)
        strangers.forget();
    ++commits_in_flight;
    return {*version, how, started, *version != before};
}

void heap_impl::await(const in_flight& commit) {
    const landing lands{commits_in_flight};
    check(engine->await(commit.version, internal(commit.how)));
    if (commit.how == durability::lazy) {
        progress->want(commit.version);
        syncer->sync_soon();
    }
    note_time(commit);
}

void heap_impl::note_time(const in_flight& commit) {
    if (!commit.has_record)
        return;
    const std::scoped_lock recording(timing);
    commit_times.add(std::chrono::steady_clock::now() - commit.started);
}

heap_impl::in_flight heap_impl::make_async_commit(txn::commit_scope scope) {
    const in_flight commit =
        make_commit(scope, start_syncer() ? durability::lazy : durability::durable, txn::fresh_contents::in_log_if_few);
    progress->want(commit.version);
    if (commit.how == durability::lazy)
        syncer->sync_now();
    return commit;
}

void heap_impl::land(const in_flight& commit) noexcept {
    const landing lands{commits_in_flight};
    if (commit.how == durability::durable) // nobody else does
        progress->bring(*engine);
    note_time(commit);
}

commit_ticket heap_impl::ticket_of(const in_flight& commit) noexcept {
    commit_ticket ticket(progress, commit.version);
    land(commit); // another thread may close the heap from here on
    return ticket;
}

bool heap_impl::start_syncer() {
    if (syncer)
        return true;
    try {
        syncer = std::make_unique<background_sync>(*engine, *progress, options.lazy_interval);
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

bool heap_impl::carry_out_checkpoint() {
    try {
        if (!checkpointer)
            checkpointer = std::make_unique<background_checkpoint>(*engine);
    } catch (const std::system_error&) {
        return false;
    }
    checkpointer->carry_out();
    return true;
}

// Without a thread for it, programs that allocate now and then spill all the same.
void heap_impl::watch_memory() {
    const os::no_cancellation whole; // containers allocate where they expect no end of the thread
    const std::scoped_lock alone(watching_);
    if (spiller)
        return;
    try {
        if (const std::uint64_t budget = engine->budget_to_watch(); budget != 0)
            spiller = std::make_unique<background_spill>(*engine, budget);
    } catch (const std::system_error&) { // NOLINT(bugprone-empty-catch): there is no thread to be had
    }
}

/// Waits for the heap's own threads, which hold the allocator while they spill. For no longer than that may take: if this thread
/// was interrupted while it allocated, nobody will ever let go.
static bool is_allocator_quiet(const txn::heap_memory& memory) noexcept {
    constexpr int k_looks_max = 5'000;
    for (int look = 0; look != k_looks_max; ++look) {
        if (memory.quiet_allocator() != nullptr)
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

// Of threads that are in no section, one may be in another call or waiting for the device; this one may have been interrupted
// in a call, or while it allocated.
heap_impl::ending heap_impl::begin_to_end() noexcept {
    const bool is_in_section = lock.write_depth() + lock.read_depth() != 0;
    is_ending = true;
    if (whole_calls != 0 || !lock.try_to_take_over() || commits_in_flight != 0 ||
        !is_allocator_quiet(engine->memory())) {
        is_ending = false;
        return ending::as_by_crash;
    }
    return is_in_section || std::uncaught_exceptions() > exceptions ? ending::discarding : ending::as_asked;
}

/// The last of those that live on: reached from here, they are no leaks.
static std::atomic<heap_impl*> kept = nullptr;

void heap_impl::keep() noexcept {
    kept_before = kept;
    while (!kept.compare_exchange_weak(kept_before, this))
        ;
}

// Memory stays mapped for those who use it, and for an interrupted operation; the files are locked until the process ends.
static void leave_as_by_crash(heap_impl& impl) noexcept {
    impl.keep();
    impl.tell_of_end_in_section();
    impl.handle = nullptr;
    impl.engine->stop_reporting();
}

void heap_impl::outlive_its_heap(bool keeps_memory) noexcept {
    keep();
    if (!keeps_memory && guard.same_process())
        end_engine();
    lock.end();
}

void heap_impl_deleter::operator()(heap_impl* impl) const noexcept {
    const os::no_cancellation whole;
    impl->is_left_to_sections = impl->lock.write_depth() + impl->lock.read_depth() != 0;
    const bool is_of_this_process = impl->guard.same_process();
    const auto how = is_of_this_process ? impl->begin_to_end() : heap_impl::ending::discarding;
    if (how == heap_impl::ending::as_by_crash)
        return leave_as_by_crash(*impl);
    registry::remove(*impl); // in a forked child, too: nothing may find it any more
    if (is_of_this_process) {
        try {
            impl->end_declared();
            impl->engine->memory().allow_writes(true);
            if (!impl->options.commit_at_close || how == heap_impl::ending::discarding) {
                impl->tell_of_loss(discarded_changes::by::destructor);
            } else if (!impl->options.read_only) {
                if (const auto refused = impl->refuse_memory_of_no_heap(); !refused) {
                    std::fprintf(stderr, "remanence: closing discards changes: %s\n", refused.why().message.c_str());
                    impl->tell_of_loss(discarded_changes::by::destructor);
                } else {
                    impl->outdated.renew(impl->engine->memory());
                    (void)impl->engine->commit();
                }
            }
            impl->end_threads();
            (void)impl->engine->close();  // I9: close() is there to hear of failures; the log keeps what was not folded
        } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): nobody is there to hear of it
        }
    }
    // An ending thread other than the main one may have destroyed a heap that is thread_local: memory would be held for good.
    if (impl->is_left_to_sections)
        impl->outlive_its_heap(false);
    else if (is_of_this_process && txn::section_lock::is_thread_ending())
        impl->outlive_its_heap(os::is_main_thread());
    else
        delete impl;
}

heap_impl* checked(const std::unique_ptr<heap_impl, heap_impl_deleter>& impl) {
    if (!impl)
        raise(errc::closed, "the heap is closed, or its handle was moved from. Open it again.");
    impl->check_process();
    return impl.get();
}

write_section::write_section(heap_impl* impl, section_kind kind, std::optional<durability> until, section_place place)
    : impl_(impl), how_(until.value_or(impl->options.commits)) {
    if (impl->options.read_only)
        raise_read_only(*impl); // before it runs into write-protected memory
    if (place == section_place::outermost && impl->lock.write_depth() != 0) {
        raise(errc::section_conflict,
              "write_async() of " + impl->path.string() +
                  " was called inside a write section of the same thread, whose end commits both. Use write(), or end "
                  "that "
                  "section first.",
              impl->path.string());
    }
    impl->enter_write(kind);
}

write_section::~write_section() {
    if (impl_ != nullptr && !impl_->is_left_to_sections)
        impl_->abandon_write();
}

/// `f` may have destroyed the heap, or assigned another one to its handle.
static void refuse_to_commit_without_heap(const heap_impl& impl) {
    if (impl.is_left_to_sections)
        raise(errc::closed,
              "the heap " + impl.path.string() +
                  " was destroyed within its own write section, which is rolled back. Destroy a heap, or assign to it, "
                  "outside of its sections.",
              impl.path.string());
}

void write_section::commit() {
    refuse_to_commit_without_heap(*impl_);
    {
        const os::no_cancellation whole;
        const auto commit = impl_->finish_write(how_); // when it throws, the destructor rolls back
        heap_impl* const impl = std::exchange(impl_, nullptr);
        if (!commit)
            return;
        impl->await(*commit); // R5: others may commit meanwhile, and it cannot be rolled back any more
    }
    os::end_if_cancelled();
}

commit_ticket write_section::commit_async() {
    refuse_to_commit_without_heap(*impl_);
    impl_->check_process();
    const os::no_cancellation whole;
    const auto commit =
        impl_->make_async_commit(txn::commit_scope::declared); // when it throws, the destructor rolls back
    heap_impl* const impl = std::exchange(impl_, nullptr);
    impl->leave_write();
    return impl->ticket_of(commit);
}

read_section::read_section(heap_impl* impl) : impl_(impl) { impl->enter_read(); }
read_section::~read_section() {
    if (!impl_->is_left_to_sections)
        impl_->leave_read();
}

/// Of a heap that is mapped elsewhere: what may hold addresses would mean nothing here, or at the next open.
[[noreturn]] static void raise_elsewhere(const heap_impl& impl, const std::string& action, const std::string& type) {
    const std::string path = impl.path.string();
    raise(errc::base_taken,
          "cannot " + action + " in " + path + ": the type " + type +
              " is not position-independent, and the heap is mapped elsewhere, since opening it at its own addresses "
              "failed: " +
              impl.engine->why_elsewhere()->message,
          path);
}

void* find_root(heap_impl* impl, std::string_view name, const type_fingerprint& type, root_check check) {
    const auto renamed =
        impl->options.accept_renamed_members ? types::renamed_members::accepted : types::renamed_members::refused;
    auto found = types::root_directory(impl->engine->memory()).find(name, type, renamed);
    if (!found)
        raise(found.why());
    if (found->object == nullptr)
        return nullptr;
    if (!type.position_independent && impl->engine->why_elsewhere())
        raise_elsewhere(*impl, "use the root \"" + std::string(name) + "\"", type.name);
    impl->checks.know(name, type.hash, check);
    if (found->outdated) {
        impl->checks.know_outdated(name, found->outdated->hash);
        if (!impl->options.read_only)
            impl->outdated.note(name, *found->outdated, type);
    }
    return found->object;
}

void add_root(heap_impl* impl, std::string_view name, const type_fingerprint& type, void* object, root_check check) {
    detail::check(types::root_directory(impl->engine->memory()).add(name, type, object));
    impl->checks.know(name, type.hash, check);
}

void erase_root(heap_impl* impl, std::string_view name) {
    check(types::root_directory(impl->engine->memory()).erase(name));
}

heap_header* header_of(heap_impl* impl) { return reinterpret_cast<heap_header*>(impl->engine->memory().base()); }

heap_header* writable_header_of(heap_impl* impl) {
    if (impl->options.read_only)
        raise_read_only(*impl);
    return header_of(impl);
}

heap_header* header_at_own_base(heap_impl* impl, const std::type_info& type) {
    if (impl->engine->why_elsewhere()) [[unlikely]]
        raise_elsewhere(*impl, "make an object", readable_name(type.name()));
    return header_of(impl);
}

void* allocate(heap_header* owner, std::size_t bytes, std::size_t alignment) {
    heap_impl* impl = registry::find(owner);
    if (impl == nullptr)
        raise(errc::closed, "memory was asked for in a heap that is closed.");
    impl->check_process();
    if (impl->options.read_only)
        raise_read_only(*impl);
    std::optional<unexpected> why; // small: it is zeroed each time
    void* block = impl->engine->memory().allocate(bytes, alignment, why);
    if (block == nullptr)
        raise(why->why());
    if (impl->engine->memory().reserved_bytes() != impl->registered_bytes)
        registry::extend(*impl);
    if (impl->engine->memory().has_grown()) [[unlikely]] {
        try {
            impl->watch_memory();
        } catch (...) {
            impl->engine->memory().deallocate(block, bytes, alignment);
            throw;
        }
    }
    return block;
}

void deallocate(heap_header* owner, void* block, std::size_t bytes, std::size_t alignment) noexcept {
    heap_impl* impl = registry::find(owner);
    if (impl == nullptr || !impl->guard.same_process())
        return; // an object outlived its heap's mapping
    if (!impl->is_of_this_state(owner)) [[unlikely]]
        return; // or what a rollback took away, and perhaps gave back to another one
    impl->engine->memory().deallocate(block, bytes, alignment);
}

} // namespace remanence::detail
