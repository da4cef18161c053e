// rem_collect(). A separate file, so that only programs that collect link it.

#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/shown_leaks.hpp"

using namespace remanence;

rem_status rem_collect(rem_heap* heap, void (*freed)(void* context, const rem_leaks* leaks), void* context) {
    return capi::guard([&] {
        const leak_report all = capi::opened(heap).of.collect();
        if (freed != nullptr)
            capi::show_leaks(all, [&](const rem_leaks* shown) {
                capi::call_back(capi::opened(heap).impl(), [&] { freed(context, shown); });
            });
        return REM_OK;
    });
}
