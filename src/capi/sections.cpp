// Sections, commits and asynchronous commits.

#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "os/cancellation.hpp"

#include <chrono>
#include <optional>

using namespace remanence;

namespace remanence::capi {

namespace {

using detail::heap_impl;
using detail::section_kind;

rem_status would_wait(const heap_impl& impl) {
    return note(REM_WOULD_WAIT, "another thread, or process, is in a section, or this thread is in a read section.",
                impl.origin.path.string());
}

rem_status no_section(const heap_impl& impl) {
    return note(REM_NO_SECTION, "the calling thread is in no such section: it began none, or has ended it.",
                impl.origin.path.string());
}

/// Runs f(heap_impl&) if this thread is in a write section of the heap. Otherwise refuses.
template <class F>
rem_status in_write_section(rem_heap* heap, const F& f) {
    return guard([&] {
        heap_impl& impl = opened(heap).impl();
        if (impl.sections.write_depth() == 0)
            return no_section(impl);
        f(impl);
        return REM_OK;
    });
}

std::optional<durability> durability_of(rem_durability given) {
    switch (given) {
    case REM_AS_OPENED:
        return {};
    case REM_DURABLE:
        return durability::durable;
    case REM_LAZY:
        return durability::lazy;
    case REM_NONE:
        return durability::none;
    }
    refuse_argument("the durability is not a rem_durability.");
}

rem_status begin_write(const rem_heap* handle, section_kind kind) {
    opened(handle).writable().sections.enter_write(kind);
    return REM_OK;
}

/// Leaves the section after its commit has failed.
void leave_without_commit(const open_heap& heap, heap_impl& impl) {
    if (heap.is_transactional())
        impl.abandon_write();
    else
        impl.sections.leave_write();
}

rem_status end_write(const open_heap& heap, heap_impl& impl, durability how) {
    {
        const os::no_cancellation whole;
        std::optional<detail::heap_commits::in_flight> commit;
        try {
            commit = impl.finish_write(how);
        } catch (...) {
            leave_without_commit(heap, impl);
            throw;
        }
        if (commit)
            impl.commits.await(*commit);
    }
    os::end_if_cancelled();
    return REM_OK;
}

/// Commits, and leaves the section even if the commit fails.
template <class Leave>
rem_status commit_async(open_heap& heap, heap_impl& impl, txn::commit_scope scope, std::uint64_t* point,
                        const Leave& leave_after_failure) {
    const os::no_cancellation whole;
    std::optional<detail::heap_commits::in_flight> commit;
    try {
        commit = impl.commits.make_async(scope);
    } catch (...) {
        leave_after_failure();
        throw;
    }
    impl.sections.leave_write();
    std::uint64_t last = heap.last_point;
    while (last < commit->version && !heap.last_point.compare_exchange_weak(last, commit->version))
        ;
    (void)impl.commits.ticket_of(*commit);
    if (point != nullptr)
        *point = commit->version;
    return REM_OK;
}

heap_impl& impl_with_point(const rem_heap* handle, std::uint64_t point) {
    const open_heap& heap = opened(handle);
    heap_impl& impl = heap.impl();
    if (point > heap.last_point)
        refuse_argument("the number is none that rem_commit_async() or rem_write_end_async() gave for this heap.");
    return impl;
}

} // namespace

} // namespace remanence::capi

rem_status rem_write_begin(rem_heap* heap) {
    return capi::guard([&] { return capi::begin_write(heap, detail::section_kind::ordinary); });
}

rem_status rem_write_begin_declared(rem_heap* heap) {
    return capi::guard([&] { return capi::begin_write(heap, detail::section_kind::declared); });
}

rem_status rem_write_try_begin(rem_heap* heap) {
    return capi::guard([&] {
        detail::heap_impl& impl = capi::opened(heap).writable();
        return impl.sections.try_enter_write() ? REM_OK : capi::would_wait(impl);
    });
}

rem_status rem_write_begin_within(rem_heap* heap, unsigned longest_ms) {
    return capi::guard([&] {
        detail::heap_impl& impl = capi::opened(heap).writable();
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(longest_ms);
        return impl.sections.try_enter_write_until(until) ? REM_OK : capi::would_wait(impl);
    });
}

rem_status rem_write_end(rem_heap* heap) {
    return capi::guard([&] {
        const capi::open_heap& opened = capi::opened(heap);
        detail::heap_impl& impl = opened.impl();
        if (capi::callback::writes_within(impl) == 0)
            return capi::no_section(impl);
        if (opened.is_transactional())
            return capi::end_write(opened, impl, impl.options.commits);
        impl.sections.leave_write();
        return REM_OK;
    });
}

rem_status rem_write_end_as(rem_heap* heap, rem_durability durability) {
    return capi::guard([&] {
        const auto until = capi::durability_of(durability);
        const capi::open_heap& opened = capi::opened(heap);
        detail::heap_impl& impl = opened.impl();
        if (capi::callback::writes_within(impl) == 0)
            return capi::no_section(impl);
        return capi::end_write(opened, impl, until.value_or(impl.options.commits));
    });
}

rem_status rem_write_end_async(rem_heap* heap, uint64_t* point) {
    return capi::guard([&] {
        capi::open_heap& opened = capi::opened(heap);
        detail::heap_impl& impl = opened.impl();
        if (capi::callback::writes_within(impl) == 0)
            return capi::no_section(impl);
        if (impl.sections.write_depth() > 1)
            return capi::note(REM_SECTION_CONFLICT,
                              "rem_write_end_async: the section is a nested one; the outermost one's end commits.",
                              impl.origin.path.string());
        return capi::commit_async(opened, impl, txn::commit_scope::declared, point,
                                  [&] { capi::leave_without_commit(opened, impl); });
    });
}

rem_status rem_write_abort(rem_heap* heap) {
    return capi::guard([&] {
        const capi::open_heap& opened = capi::opened(heap);
        detail::heap_impl& impl = opened.impl();
        if (capi::callback::writes_within(impl) == 0)
            return capi::no_section(impl);
        if (!opened.is_transactional())
            return capi::note(REM_NOT_SUPPORTED,
                              "rem_write_abort would undo other sections, too: it is for transactional heaps. "
                              "rem_rollback() restores the last commit.",
                              impl.origin.path.string());
        impl.abandon_write();
        return REM_OK;
    });
}

rem_status rem_read_begin(rem_heap* heap) {
    return capi::guard([&] {
        capi::opened(heap).impl().sections.enter_read();
        return REM_OK;
    });
}

rem_status rem_read_try_begin(rem_heap* heap) {
    return capi::guard([&] {
        detail::heap_impl& impl = capi::opened(heap).impl();
        return impl.sections.try_enter_read() ? REM_OK : capi::would_wait(impl);
    });
}

rem_status rem_read_end(rem_heap* heap) {
    return capi::guard([&] {
        detail::heap_impl& impl = capi::opened(heap).impl();
        if (capi::callback::reads_within(impl) == 0)
            return capi::no_section(impl);
        impl.sections.leave_read();
        return REM_OK;
    });
}

rem_status rem_commit(rem_heap* heap, rem_durability durability) {
    return capi::guard([&] {
        const auto until = capi::durability_of(durability);
        capi::open_heap& opened = capi::opened(heap);
        opened.of.commit(until.value_or(opened.impl().options.commits));
        return REM_OK;
    });
}

rem_status rem_commit_async(rem_heap* heap, uint64_t* point) {
    return capi::guard([&] {
        capi::open_heap& opened = capi::opened(heap);
        detail::heap_impl& impl = opened.writable();
        impl.sections.enter_write(detail::section_kind::joining);
        return capi::commit_async(opened, impl, txn::commit_scope::everything, point,
                                  [&] { impl.sections.leave_write(); });
    });
}

rem_status rem_point_wait(rem_heap* heap, uint64_t point) {
    return capi::guard([&] {
        capi::impl_with_point(heap, point).commits.await_durable(point);
        return REM_OK;
    });
}

rem_status rem_point_ready(rem_heap* heap, uint64_t point) {
    return capi::guard([&] {
        detail::heap_impl& impl = capi::impl_with_point(heap, point);
        return impl.commits.is_durable(point)
                   ? REM_OK
                   : capi::note(REM_WOULD_WAIT, "the commit is not durable yet.", impl.origin.path.string());
    });
}

rem_status rem_sync(rem_heap* heap) {
    return capi::guard([&] {
        capi::opened(heap).of.sync();
        return REM_OK;
    });
}

rem_status rem_rollback(rem_heap* heap) {
    return capi::guard([&] {
        capi::opened(heap).of.rollback();
        return REM_OK;
    });
}

rem_status rem_savepoint(rem_heap* heap, uint64_t* savepoint) {
    return capi::in_write_section(heap, [&](capi::heap_impl& impl) {
        if (savepoint == nullptr)
            capi::refuse_argument("rem_savepoint needs a place for the savepoint's number.");
        *savepoint = impl.make_savepoint();
    });
}

rem_status rem_rollback_to(rem_heap* heap, uint64_t savepoint) {
    return capi::in_write_section(heap, [&](capi::heap_impl& impl) { impl.roll_back_to(savepoint); });
}

rem_status rem_savepoint_end(rem_heap* heap, uint64_t savepoint) {
    return capi::in_write_section(heap, [&](capi::heap_impl& impl) { impl.engine().points().end(savepoint); });
}

rem_status rem_checkpoint(rem_heap* heap) {
    return capi::guard([&] {
        capi::opened(heap).of.checkpoint();
        return REM_OK;
    });
}
