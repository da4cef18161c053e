// rem_shrink(). A separate file, so that programs that do not call it do not link it.
#include "capi/guard.hpp"
#include "capi/handles.hpp"

using namespace remanence;

rem_status rem_shrink(rem_heap* heap, uint64_t* shorter) {
    return capi::guard([&] {
        const std::uint64_t bytes = capi::opened(heap).of.shrink();
        if (shorter != nullptr)
            *shorter = bytes;
        return REM_OK;
    });
}
