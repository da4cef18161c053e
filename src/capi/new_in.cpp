// Directs malloc() in C code to a heap.

#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <remanence/new_in.hpp>

#include <optional>

using namespace remanence;

namespace {

thread_local std::optional<new_in> t_scope;

} // namespace

rem_status rem_malloc_into(rem_heap* heap) {
    detail::end_new_scopes(); // ends scopes of C++ code, too
    t_scope.reset();
    return capi::guard([&] {
        if (capi::volatile_face* const memory = capi::find_volatile(heap))
            t_scope.emplace(memory->memory());
        else if (heap != nullptr)
            t_scope.emplace(capi::opened(heap).of);
        return REM_OK;
    });
}
