// The history of heaps that several processes have open. Apart from sharing.cpp and history.cpp, so that a program which opens a heap in
// one of the two ways has not the code of the other.

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
