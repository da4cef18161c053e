// The history of heaps that several processes share. Separate from sharing.cpp and history.cpp, so that a program that
// uses only one of these files does not link the other.

#include "capi/guard.hpp"
#include "capi/handles.hpp"

using namespace remanence;

rem_status rem_open_shared_with_history(const char* path, const rem_options* options,
                                        const rem_history_options* history, rem_heap** heap) {
    if (heap != nullptr)
        *heap = nullptr;
    return capi::guard([&] {
        return capi::open_by(detail::opening::open_or_create, sharing::processes, path, options, heap,
                             {.history = capi::history_of(history)});
    });
}
