// The operations that concern several parts of a heap: construction, and the end of a section.

#include "api/heap_impl.hpp"
#include "api/history_part.hpp"

#include "api/raise.hpp"

#include <remanence/types/fragile.hpp>

#include <new>
#include <optional>
#include <utility>

namespace remanence::detail {

heap_impl::heap_impl(heap* of, heap_origin where, const heap_options& how, std::unique_ptr<txn::engine> opened)
    : debugger_view{},
      origin(std::move(where)),
      options(how),
      engine_(std::move(opened)),
      threads(*engine_, options.log.lazy_interval),
      sections(this, origin, *engine_),
      commits(origin, {*engine_, sections, threads, calls, outdated, foreign, virtuals}),
      losses(origin, options, *engine_) {
    file_name = origin.path.c_str();
    first_byte = engine_->memory().base();
    belong_to(of);
    engine_->let_checkpoints_be_carried_out([this] { return threads.carry_out_checkpoint(); });
    if (engine_->is_shared() && !options.read_only)
        threads.watch_checkpoints();
    if (const auto& table = options.procedures.table())
        table->serve(*this);
    if (engine_->has_history()) {
        held = part_for(options.history)->hold(*this);
        engine_->history()->let_roots_be_kept(*held);
    }
}

void heap_impl::belong_to(heap* handle) noexcept {
    handle_ = handle;
    exceptions_ = std::uncaught_exceptions();
}

std::optional<heap_commits::in_flight> heap_impl::finish_write(durability how) {
    origin.check_process();
    std::optional<heap_commits::in_flight> commit;
    if (sections.write_depth() == 1)
        commit = commits.make(txn::commit_scope::declared, how);
    sections.leave_write();
    return commit;
}

void heap_impl::forget_live_values() const noexcept {
    detail::forget_live_values(memory().base(), memory().reserved_bytes());
}

void heap_impl::forget_outside() noexcept {
    forget_live_values();
    outsiders.begin_new_state();
}

memory_share heap_impl::survey() {
    const read_section section(this);
    const alloc::occupancy used =
        memory().with_allocator([](const alloc::block_allocator& blocks) { return blocks.survey(); });
    return {used.availability, used.page_efficiency()};
}

void heap_impl::roll_back() {
    sections.refuse_half_made();
    const whole_call rolling_back(calls);
    if (!options.read_only) {
        forget_outside();
        check(engine_->rollback());
        foreign.forget();
    }
    sections.undo_doom();
}

std::uint64_t heap_impl::make_savepoint() {
    sections.end_declared();
    // If the last commit has so far only copied its pages, its record is made now. If that fails, its changes count as
    // uncommitted.
    check(engine_->finish_point());
    auto made = engine_->points().make(sections.write_depth());
    if (!made)
        raise(made.why());
    return *made;
}

void heap_impl::roll_back_to(std::uint64_t savepoint) {
    sections.refuse_half_made();
    const whole_call rolling_back(calls);
    check(engine_->points().roll_back_to(savepoint));
    forget_outside();
}

bool heap_impl::could_go_back() noexcept {
    if (sections.is_doomed() || sections.is_half_made())
        return false;
    const whole_call rolling_back(calls);
    try {
        auto is_back = engine_->points().roll_back_to_around(sections.write_depth()); // a failure poisons the engine
        if (is_back && *is_back)
            forget_outside();
        return is_back && *is_back;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

std::weak_ptr<heap_impl*> heap_impl::watch() {
    if (!watched_)
        watched_ = std::make_shared<heap_impl*>(this);
    return watched_;
}

void heap_impl::abandon_write(const txn::change_listener& lost) noexcept {
    end_new_scopes();
    const os::no_cancellation whole;
    if (!origin.same_process()) { // the section called fork(): the child must touch neither the file nor the tracker
        sections.let_go();
        return;
    }
    if (sections.write_depth() > 1) {
        if (!could_go_back())
            sections.doom();
    } else {
        const whole_call rolling_back(calls);
        try {
            if (!options.read_only) {
                forget_outside();
                (void)engine_->rollback(lost); // a failure poisons the engine, so the next commit reports it
                foreign.forget();
            }
        } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): poisons, too
        }
        sections.undo_doom();
    }
    sections.leave_write();
}

heap_impl* opened(const std::unique_ptr<heap_impl, heap_impl_deleter>& impl) {
    if (!impl)
        raise(errc::closed, "the heap is closed, or its handle was moved from. Open it again.");
    impl->origin.check_process();
    return impl.get();
}

heap_impl* checked(const std::unique_ptr<heap_impl, heap_impl_deleter>& impl) {
    heap_impl* const found = opened(impl);
    if (late_errors* const late = found->late.load()) [[unlikely]]
        late->raise_own();
    return found;
}

write_section::write_section(heap_impl* impl, section_kind kind, std::optional<durability> until, section_place place)
    : impl_(impl), how_(until.value_or(impl->options.commits)) {
    if (impl->options.read_only)
        impl->origin.raise_read_only(); // throws before the program can write to protected memory
    if (place == section_place::outermost && impl->sections.write_depth() != 0) {
        raise(errc::section_conflict,
              "write_async() of " + impl->origin.path.string() +
                  " was called inside a write section of the same thread, whose end commits both. Use write(), or end "
                  "that "
                  "section first.",
              impl->origin.path.string());
    }
    impl->sections.enter_write(kind);
}

write_section::~write_section() {
    if (impl_ != nullptr && !impl_->is_left_to_sections())
        impl_->abandon_write();
}

/// `f` may have destroyed the heap, or assigned another heap to its handle.
static void refuse_to_commit_without_heap(const heap_impl& impl) {
    if (impl.is_left_to_sections())
        raise(errc::closed,
              "the heap " + impl.origin.path.string() +
                  " was destroyed within its own write section, which is rolled back. Destroy a heap, or assign to it, "
                  "outside of its sections.",
              impl.origin.path.string());
}

void write_section::commit() {
    refuse_to_commit_without_heap(*impl_);
    {
        const os::no_cancellation whole;
        const auto commit = impl_->finish_write(how_); // if it throws, the destructor rolls back
        heap_impl* const impl = std::exchange(impl_, nullptr);
        if (!commit)
            return;
        // R5: other threads may commit meanwhile, and this commit cannot be rolled back any longer
        impl->commits.await(*commit);
    }
    os::end_if_cancelled();
}

commit_ticket write_section::commit_async() {
    refuse_to_commit_without_heap(*impl_);
    impl_->origin.check_process();
    const os::no_cancellation whole;
    const auto commit =
        impl_->commits.make_async(txn::commit_scope::declared); // if it throws, the destructor rolls back
    heap_impl* const impl = std::exchange(impl_, nullptr);
    impl->sections.leave_write();
    return impl->commits.ticket_of(commit);
}

read_section::read_section(heap_impl* impl) : impl_(impl) { impl->sections.enter_read(); }
read_section::~read_section() {
    if (!impl_->is_left_to_sections())
        impl_->sections.leave_read();
}

} // namespace remanence::detail
