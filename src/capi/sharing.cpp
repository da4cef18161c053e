// Heaps that several processes share. A separate file, so that only programs that share a heap link it.

#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <chrono>

using namespace remanence;

namespace remanence::capi {

namespace {

using visit_participant = bool (*)(void* context, const rem_participant* who);

/// Calls the caller's visitor for a process; true if it wants more.
bool show(const rem_heap* heap, const heap_user& who, std::uint64_t version, visit_participant visit, void* context) {
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(who.since.time_since_epoch());
    const rem_participant shown{who.process, who.thread, who.program.c_str(), since.count(), version};
    return call_back(opened(heap).impl(), [&] { return visit(context, &shown); });
}

void check_visit(const rem_heap* heap, visit_participant visit, const char* what) {
    (void)opened(heap); // throws if the heap is closed
    if (visit == nullptr)
        refuse_argument(what);
}

} // namespace

} // namespace remanence::capi

rem_status rem_open_shared(const char* path, const rem_options* options, rem_heap** heap) {
    return capi::open_by(detail::opening::open_or_create, sharing::processes, path, options, heap);
}

rem_status rem_wait_for_version(rem_heap* heap, uint64_t version, unsigned longest_ms) {
    return capi::guard([&] {
        const capi::open_heap& opened = capi::opened(heap);
        return opened.of.wait_for_version(version, std::chrono::milliseconds(longest_ms))
                   ? REM_OK
                   : capi::note(REM_WOULD_WAIT, "the version was not committed in this time.",
                                opened.of.path().string());
    });
}

rem_status rem_readers(rem_heap* heap, bool (*visit)(void* context, const rem_participant* who), void* context) {
    return capi::guard([&] {
        capi::check_visit(heap, visit, "rem_readers needs a function to call.");
        for (const heap_reader& each : capi::opened(heap).of.readers()) {
            if (!capi::show(heap, each, each.version, visit, context))
                break;
        }
        return REM_OK;
    });
}

rem_status rem_writer(rem_heap* heap, bool (*visit)(void* context, const rem_participant* who), void* context) {
    return capi::guard([&] {
        capi::check_visit(heap, visit, "rem_writer needs a function to call.");
        if (const auto who = capi::opened(heap).of.writer())
            (void)capi::show(heap, *who, 0, visit, context);
        return REM_OK;
    });
}
