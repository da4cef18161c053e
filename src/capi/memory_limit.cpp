// rem_limit_memory(). A separate file, so that only programs that limit memory link what does it.
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "txn/memory_limiter.hpp"

using namespace remanence;

rem_status rem_limit_memory(rem_heap* heap, size_t bytes) {
    return capi::guard([&] {
        txn::engine& engine = capi::opened(heap).impl().engine();
        if (bytes != 0 && bytes < txn::k_resident_limit_min)
            capi::refuse_argument("a limit of resident memory must be 0, for no limit, or at least 1 MiB.");
        engine.limit_memory_by(txn::k_memory_limiter_part);
        engine.limiter()->limit_heap(bytes);
        return REM_OK;
    });
}
