// Undo and redo. A separate file, so that only programs that open a heap with a history link it.

#include "api/history_calls.hpp"
#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/structs.hpp"

#include <chrono>
#include <string_view>

using namespace remanence;

namespace remanence::capi {

history_options history_of(const rem_history_options* all) {
    const rem_history_options given = whole_struct(all, "rem_history_options");
    history_options history{given.bytes_max, given.steps_max, history_options::when_full::oldest_go,
                            given.kept_over_sessions};
    switch (given.when_full) {
    case REM_OLDEST_GO:
        break;
    case REM_REFUSE:
        history.then = history_options::when_full::refuse;
        break;
    default:
        refuse_argument("rem_history_options::when_full is none of rem_when_full.");
    }
    if (history.bytes_max == 0 && history.steps_max == 0)
        history.bytes_max = history_options::k_bytes_max_by_default;
    return history;
}

namespace {

template <class F>
rem_status tell(const rem_heap* heap, std::uint64_t* into, const F& f) {
    return guard([&] {
        const remanence::heap& of = opened(heap).of;
        if (into == nullptr)
            refuse_argument("rem_undo_depth and rem_redo_depth need a place for the number.");
        *into = f(of);
        return REM_OK;
    });
}

} // namespace

} // namespace remanence::capi

rem_status rem_open_with_history(const char* path, const rem_options* options, const rem_history_options* history,
                                 rem_heap** heap) {
    if (heap != nullptr)
        *heap = nullptr;
    return capi::guard([&] {
        return capi::open_by(detail::opening::open_or_create, sharing::exclusive, path, options, heap,
                             {.history = capi::history_of(history)});
    });
}

rem_status rem_undo(rem_heap* heap, uint64_t steps) {
    return capi::guard([&] {
        capi::opened(heap).of.undo(steps);
        return REM_OK;
    });
}

rem_status rem_redo(rem_heap* heap, uint64_t steps) {
    return capi::guard([&] {
        capi::opened(heap).of.redo(steps);
        return REM_OK;
    });
}

rem_status rem_go_to(rem_heap* heap, uint64_t version) {
    return capi::guard([&] {
        capi::opened(heap).of.go_to(version);
        return REM_OK;
    });
}

rem_status rem_undo_depth(const rem_heap* heap, uint64_t* steps) {
    return capi::tell(heap, steps, [](const remanence::heap& of) { return of.undo_depth(); });
}

rem_status rem_redo_depth(const rem_heap* heap, uint64_t* steps) {
    return capi::tell(heap, steps, [](const remanence::heap& of) { return of.redo_depth(); });
}

rem_status rem_group_begin(rem_heap* heap, const char* name) {
    return capi::guard([&] {
        detail::history_calls::begin_group(capi::opened(heap).impl(),
                                           name != nullptr ? std::string_view(name) : std::string_view());
        return REM_OK;
    });
}

rem_status rem_group_end(rem_heap* heap) {
    return capi::guard([&] {
        detail::heap_impl& impl = capi::opened(heap).impl();
        if (!detail::history_calls::end_group(impl))
            return capi::note(REM_NO_SECTION, "no group of the heap is open: none was begun, or all have ended.",
                              impl.origin.path.string());
        return REM_OK;
    });
}

rem_status rem_history(rem_heap* heap, bool (*visit)(void* context, const rem_step* step), void* context) {
    return capi::guard([&] {
        const remanence::heap& of = capi::opened(heap).of;
        if (visit == nullptr)
            capi::refuse_argument("rem_history needs a function to call.");
        detail::heap_impl& impl = detail::impl_of(of);
        for (const history_step& each : of.history()) {
            const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(each.time.time_since_epoch());
            const rem_step shown{
                each.version, each.parent.value_or(0), each.parent.has_value(), each.name.c_str(), time.count(),
                each.bytes,   each.is_present};
            if (!capi::call_back(impl, [&] { return visit(context, &shown); }))
                break;
        }
        return REM_OK;
    });
}

const char* rem_why_history_is_new(const rem_heap* heap) {
    const capi::open_heap* const of = capi::find_opened(heap);
    if (of == nullptr || !of->impl().engine().has_history())
        return "";
    txn::undo_manager& steps = detail::undo_of(of->impl());
    const rem_status read = capi::guard([&] {
        detail::check(steps.read_history());
        return REM_OK;
    });
    return read == REM_OK ? steps.why_history_is_new().c_str() : "";
}

rem_status rem_history_forget(rem_heap* heap) {
    return capi::guard([&] {
        capi::opened(heap).of.forget_history();
        return REM_OK;
    });
}
