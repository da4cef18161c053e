// Locks that nest like a stack, and waiting for commits of other processes by poll().

#include "api/late_errors.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <remanence/container_lock.hpp>

#include <chrono>

using namespace remanence;

rem_status rem_lock(rem_heap* heap, rem_lock_mode mode, unsigned longest_ms) {
    return capi::guard([&] {
        const capi::open_heap& opened = capi::opened(heap);
        detail::heap_impl& impl = opened.impl();
        if (mode != REM_LOCK_SHARED && mode != REM_LOCK_EXCLUSIVE)
            capi::refuse_argument("rem_lock: the mode is not a rem_lock_mode.");
        if (!opened.is_transactional())
            return capi::note(REM_NOT_SUPPORTED,
                              "rem_lock: the end of such a lock commits, so it is for transactional heaps. Use "
                              "rem_write_begin() and rem_read_begin().",
                              impl.origin.path.string());
        detail::held_lock::push(impl, mode == REM_LOCK_SHARED ? lock_mode::shared : lock_mode::exclusive,
                                std::chrono::milliseconds(longest_ms), nullptr);
        return REM_OK;
    });
}

rem_status rem_unlock(rem_heap* heap) {
    return capi::guard([&] {
        detail::heap_impl& impl = capi::opened(heap).impl();
        detail::held_lock::pop(impl);
        if (detail::late_errors* const late = impl.late.load())
            late->raise_own();
        return REM_OK;
    });
}

rem_status rem_poll_descriptor(rem_heap* heap, int* descriptor) {
    return capi::guard([&] {
        const capi::open_heap& opened = capi::opened(heap);
        if (descriptor == nullptr)
            capi::refuse_argument("rem_poll_descriptor needs a place for the descriptor.");
        *descriptor = opened.of.poll_descriptor();
        return REM_OK;
    });
}
