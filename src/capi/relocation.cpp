// rem_relocate(). A separate file, so that programs that do not call it do not link it.
#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <remanence/relocate.hpp>

using namespace remanence;

rem_status rem_relocate(const char* path, void* base, void** now) {
    return capi::guard([&] {
        if (path == nullptr)
            capi::refuse_argument("rem_relocate: the path is NULL.");
        const relocated done = relocate(path, reinterpret_cast<std::uintptr_t>(base));
        if (now != nullptr)
            *now = reinterpret_cast<void*>(done.base); // NOLINT(performance-no-int-to-ptr): it was an address
        return REM_OK;
    });
}
