// Opens old versions without making a new heap. Separate from versions.cpp, so that only programs that open one link
// it.

#include "capi/guard.hpp"
#include "capi/handles.hpp"

using namespace remanence;

rem_status rem_open_version(const char* path, const rem_options* options, uint64_t version, const char* name,
                            rem_heap** heap) {
    if (heap != nullptr)
        *heap = nullptr;
    return capi::guard([&] {
        capi::opening_details details;
        if (name == nullptr)
            details.version = version;
        else if (*name == '\0')
            capi::refuse_argument("rem_open_version needs the name of a version, or NULL and its number.");
        else
            details.kept_version = name;
        return capi::open_by(detail::opening::open_existing, sharing::exclusive, path, options, heap, details);
    });
}
