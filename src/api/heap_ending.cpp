// Ends a heap: by close(), which reports errors, or by the destructor (I9), which may find sections and calls still
// running.

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "os/main_thread.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <thread>
#include <utility>

namespace remanence::detail {

heap_impl::~heap_impl() {
    if (origin.same_process())
        end_engine();
    else
        threads.abandon();
    delete virtuals.load();
    delete late.load();
}

void heap_impl::end_engine() noexcept {
    if (!engine_)
        return;
    forget_live_values();
    threads.end();
    commits.settle();
    watched_.reset();
    engine_.reset();
}

void heap_impl::check_not_ending() const {
    if (is_ending_)
        origin.raise_ended();
}

void heap_impl::begin_to_close(const char* what) {
    bool alone = !sections.is_in_any() && sections.try_enter_to_close();
    if (alone && commits.are_in_flight()) { // a committing thread is still in a call; no section can begin now
        sections.leave_write();
        alone = false;
    }
    if (!alone) {
        raise(errc::section_open,
              origin.path.string() + " cannot be " + what +
                  " while a section is open, or another thread commits. End every section first.",
              origin.path.string());
    }
    calls.begin(); // this call never ends, so the heap counts as in use until it is gone
}

void heap_impl::drop(std::unique_ptr<heap_impl, heap_impl_deleter>& handle) {
    heap_impl* const impl = handle.get();
    impl->begin_to_close("rebuilt");
    if (auto synced = impl->engine_->sync(); !synced && !impl->engine_->is_poisoned()) {
        impl->calls.end();
        impl->sections.leave_write();
        raise(synced.why());
    }
    impl->sections.let_go();
    registry::remove(*impl);
    delete handle.release(); // NOLINT: the deleter would close
}

void heap_impl::close(std::unique_ptr<heap_impl, heap_impl_deleter>& handle) {
    heap_impl* const impl = handle.get();
    impl->begin_to_close("closed");
    result<void> committed;
    result<void> closed;
    bool lacked_memory = false;
    try {
        if (impl->engine_->is_shared()) {
            // Nothing is uncommitted, since this thread is outside of all sections.
        } else if (!impl->options.commit_at_close) {
            impl->losses.tell(discarded_changes::by::close);
        } else if (!impl->options.read_only) {
            committed = impl->foreign.refuse_their_memory(impl->memory());
            if (committed) {
                impl->outdated.renew(impl->memory());
                committed = impl->engine_->commit();
            }
        }
        if (committed && !impl->options.read_only && !impl->engine_->is_poisoned())
            committed = impl->engine_->find_failed_point();
        if (!committed && (is_refusal(committed.why().code) || committed.why().code == errc::foreign_pointer)) {
            impl->calls.end();
            impl->sections.leave_write();
            raise(committed.why());
        }
        impl->threads.end(); // only now: if an error above left the heap open, its threads would still be needed
        closed = impl->engine_->close();
    } catch (const std::bad_alloc&) {
        lacked_memory = true;
    }
    impl->sections.let_go();
    registry::remove(*impl);
    delete handle.release(); // NOLINT: the deleter would close it a second time
    if (lacked_memory)
        throw std::bad_alloc();
    check(std::move(committed));
    check(std::move(closed));
}

/// Waits until the heap's own threads release the allocator, which they hold while they spill. Waits no longer than a
/// spill may take: if this thread was interrupted while it allocated, the allocator is never released.
static bool is_allocator_quiet(const txn::heap_memory& memory) noexcept {
    constexpr int k_looks_max = 5'000;
    for (int look = 0; look != k_looks_max; ++look) {
        if (memory.quiet_allocator() != nullptr)
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

// A thread outside of all sections may still be in another call, or wait for the device. This thread itself may have
// been interrupted during a call or an allocation.
heap_impl::ending heap_impl::begin_to_end() noexcept {
    const bool is_in_section = sections.is_in_any();
    is_ending_ = true;
    if (calls.any() || !sections.try_to_take_over() || commits.are_in_flight() || !is_allocator_quiet(memory())) {
        is_ending_ = false;
        return ending::as_by_crash;
    }
    return is_in_section || std::uncaught_exceptions() > exceptions_ ? ending::discarding : ending::as_asked;
}

/// The newest in the list of heap objects that are never freed. Since the list reaches them, leak checkers do not
/// report them.
static std::atomic<heap_impl*> heaps_kept = nullptr;

void heap_impl::keep() noexcept {
    kept_before_ = heaps_kept;
    while (!heaps_kept.compare_exchange_weak(kept_before_, this))
        ;
}

// Memory stays mapped for threads and operations that still use it. The files stay locked until the process ends.
void heap_impl::leave_as_by_crash() noexcept {
    keep();
    losses.tell_of_end_in_section();
    handle_ = nullptr;
    engine_->stop_reporting();
}

void heap_impl::outlive_its_heap(bool keeps_memory) noexcept {
    keep();
    if (!keeps_memory && origin.same_process())
        end_engine();
    sections.end();
}

void heap_impl::end_files(ending how) noexcept {
    try {
        sections.end_declared();
        memory().allow_writes(true);
        if (!options.commit_at_close || how == ending::discarding) {
            losses.tell(discarded_changes::by::destructor);
        } else if (!options.read_only) {
            if (const auto refused = foreign.refuse_their_memory(memory()); !refused) {
                std::fprintf(stderr, "remanence: closing discards changes: %s\n", refused.why().message.c_str());
                losses.tell(discarded_changes::by::destructor);
            } else {
                outdated.renew(memory());
                (void)engine_->commit();
            }
        }
        threads.end();
        // I9: ignored, because programs call close() to get errors; what was not checkpointed is still in the log
        (void)engine_->close();
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): a destructor has nobody to report it to
    }
}

void heap_impl::destroy(heap_impl* impl) noexcept {
    end_new_scopes();
    const os::no_cancellation whole;
    impl->is_left_to_sections_ = impl->sections.is_in_any();
    const bool is_of_this_process = impl->origin.same_process();
    const ending how = is_of_this_process ? impl->begin_to_end() : ending::discarding;
    if (how == ending::as_by_crash)
        return impl->leave_as_by_crash();
    registry::remove(*impl); // a forked child must not find the heap either
    if (is_of_this_process)
        impl->end_files(how);
    // A thread other than the main one may be ending, and so destroying a thread_local heap. Then the heap's memory is
    // unmapped, because otherwise it would stay mapped until the process ends.
    if (impl->is_left_to_sections_)
        impl->outlive_its_heap(false);
    else if (is_of_this_process && txn::section_lock::is_thread_ending())
        impl->outlive_its_heap(os::is_main_thread());
    else
        delete impl;
}

void heap_impl_deleter::operator()(heap_impl* impl) const noexcept { heap_impl::destroy(impl); }

} // namespace remanence::detail
