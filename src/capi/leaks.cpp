// Leaked blocks of heaps with a file. A separate file, so that only programs that search for them link the search.

#include "api/leak_part.hpp"
#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/shown_leaks.hpp"

using namespace remanence;

[[maybe_unused]] static const bool k_is_known = (detail::known_leak_part = &detail::k_leak_part, true);

rem_status rem_find_leaks(const rem_heap* heap, void (*found)(void* context, const rem_leaks* leaks), void* context) {
    return capi::guard([&] {
        if (found == nullptr)
            capi::refuse_argument("rem_find_leaks needs a function to call.");
        const leak_report all = capi::opened(heap).of.leaks();
        capi::show_leaks(all, [&](const rem_leaks* shown) {
            capi::call_back(capi::opened(heap).impl(), [&] { found(context, shown); });
        });
        return REM_OK;
    });
}
